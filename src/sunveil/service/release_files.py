"""Files of a release, made from its publication."""

from __future__ import annotations

import datetime
import json
import tempfile
from pathlib import Path
from typing import Any

from sunveil.privacy.guarantees import ConcentratedGuarantee, Guarantee, parse_unit
from sunveil.publication.publication_folder import write_publication
from sunveil.publication.published_tables import HowMade, Publication, PublishedTable
from sunveil.publish.account import PublicationAccount
from sunveil.service.store.database import ReleaseRow


def publication_of(body: dict[str, Any]) -> Publication:
    """Return a release as the publication that it was."""
    return Publication(
        title=body["title"],
        tables=tuple(PublishedTable.from_dict(table) for table in body["tables"]),
        guarantee=_guarantee_of(body),
        mechanism=body["mechanism"],
        public=body["public"],
        how=HowMade(**body["how"]),
    )


def _guarantee_of(body: dict[str, Any]) -> Guarantee | ConcentratedGuarantee:
    unit, given = parse_unit(body["unit"]), body["guarantee"]
    if given["kind"] == "concentrated":
        return ConcentratedGuarantee(unit, given["rho"], given["proof"])
    return Guarantee(unit, given["epsilon"], given["delta"], given["proof"])


def files_of(release: ReleaseRow) -> dict[str, bytes]:
    """Return the files of a release by name; the same release gives the same bytes."""
    body, day = release.body, datetime.datetime.fromisoformat(release.made).date()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "files"
        account = PublicationAccount.from_dict(body["account"])
        written = write_publication(target, publication_of(body), account=account, published=day)
        files = {path.name: path.read_bytes() for path in written}
    return files | {f"{each['name']}.json": table_json(release.id, each) for each in body["tables"]}


def table_json(release: str, table: dict[str, Any]) -> bytes:
    """Return a table as JSON: its columns, and its rows as objects by column."""
    names = [name for name, _, _ in table["columns"]]
    fields = {
        "release": release,
        "name": table["name"],
        "about": table["about"],
        "columns": [
            {"name": name, "kind": kind, "about": about} for name, kind, about in table["columns"]
        ],
        "rows": [dict(zip(names, row, strict=True)) for row in table["rows"]],
    }
    return json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
