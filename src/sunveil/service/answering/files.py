"""The files of a release: tables, what they are, and the release card."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path
from typing import Any

from sunveil.privacy.guarantee import Guarantee
from sunveil.privacy.units import parse_unit
from sunveil.publish.folder import write_publication
from sunveil.publish.publication import Publication, PublishedTable
from sunveil.service.store.releases import ReleaseRow


def publication_of(body: dict[str, Any]) -> Publication:
    """Return a release as the publication that it was."""
    given = body["guarantee"]
    guarantee = Guarantee(
        parse_unit(body["unit"]), given["epsilon"], given["delta"], given["proof"]
    )
    return Publication(
        title=body["title"],
        tables=tuple(PublishedTable.from_dict(table) for table in body["tables"]),
        guarantee=guarantee,
        mechanism=body["mechanism"],
        public=body["public"],
    )


def files_of(row: ReleaseRow, body: dict[str, Any]) -> dict[str, bytes]:
    """Return the files of a release by name; the same release gives the same bytes."""
    day = datetime.datetime.fromisoformat(row.made).date()
    with tempfile.TemporaryDirectory() as folder:
        written = write_publication(Path(folder) / "files", publication_of(body), published=day)
        return {path.name: path.read_bytes() for path in written}
