"""A publication as a folder: tables, what they are, what was promised, and figures."""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd

from sunveil.checked import checked
from sunveil.errors import ParameterError, SunveilError
from sunveil.extras import require_extras
from sunveil.files import real_path
from sunveil.publish.account import PublicationAccount
from sunveil.publish.card import Curator, card_yaml, release_card, slug
from sunveil.publish.csv_text import SAID, defuse, restore
from sunveil.publish.orange import holds_systems, orange_json
from sunveil.publish.publication import Column, Publication, PublishedTable
from sunveil.publish.readme import readme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[["Figure"], None]

# Frictionless' words for what a column holds, and pandas' for the same with gaps.
KINDS = {"string": "string", "integer": "Int64", "number": "Float64", "array": "object"}
# Lists are of planes. CSV has no lists: a flat table beside it has a row for each.
PLANES_TYPE = "STRUCT(surface_azimuth DOUBLE, surface_tilt DOUBLE, share DOUBLE)[]"
MEDIA = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
}
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_SIZE = (6.4, 4.2)


@checked
def write_publication(
    folder: Path | str,
    publication: Publication,
    *,
    account: PublicationAccount | None = None,
    figures: Mapping[str, Draw] | None = None,
    curator: Curator | None = None,
    published: datetime.date | None = None,
) -> list[Path]:
    """Write a publication into a new folder, whole or not at all, and return its files.

    Parameters
    ----------
    folder
        Where: a folder that does not exist, or an empty one.
    publication
        What to write; everything in it is public.
    account
        What the ledger says of it. Without, card and README say that there is none.
    figures
        Names, and functions that each draw on a new matplotlib figure; PNG and SVG are written.
    curator
        Who publishes, for the release card.
    published
        The day of publication; today, in UTC, when left out.
    """
    require_extras("publish", purpose="a publication")
    target = real_path(Path(folder))
    _check(target, publication, figures or {})
    day = published or datetime.datetime.now(datetime.UTC).date()
    made = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made.mkdir()
        _write_tables(made, publication, figures or {})
        _describe(made, publication, account, curator=curator or Curator(), day=day)
        names = sorted(path.name for path in made.iterdir())
        for place in (*(made / name for name in names), made):
            _sync(place)
        made.rename(target)
        _sync(target.parent)
    except (OSError, duckdb.Error) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise SunveilError(
            f"the publication cannot be written to {target} ({reason}); nothing was left there, so"
            " give a new folder on a disk with room that can be written"
        ) from error
    finally:  # an interrupt too must leave nothing behind
        with suppress(OSError):
            shutil.rmtree(made)
    return [target / name for name in names]


def _check(target: Path, publication: Publication, figures: Mapping[str, Draw]) -> None:
    """Refuse, before anything is written, what cannot be written as it is meant."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ParameterError(f"{target} exists and is not an empty folder; name a new one")
    if not publication.tables:
        raise ParameterError("a publication has at least one table")
    names = [table.name for table in publication.tables] + list(figures)
    if len(set(names)) != len(names) or not all(_NAME.fullmatch(name) for name in names):
        raise ParameterError(
            "tables and figures have distinct names of small letters, digits, hyphens and dots"
        )
    for table in publication.tables:
        _check_table(table)


def _check_table(table: PublishedTable) -> None:
    columns = [column.name for column in table.columns]
    if len(set(columns)) != len(columns) or not columns:
        raise ParameterError(f"the table {table.name} has no columns, or two of one name")
    for column in table.columns:
        if column.kind not in KINDS:
            raise ParameterError(
                f"the column {column.name} of {table.name} is a {column.kind}; use"
                f" {', '.join(KINDS)}"
            )
    if any(len(row) != len(columns) for row in table.rows):
        raise ParameterError(f"the table {table.name} has rows of unequal length")


def _write_tables(folder: Path, publication: Publication, figures: Mapping[str, Draw]) -> None:
    for table in publication.tables:
        _write_table(folder, table)
        if holds_systems(table):
            text = orange_json(table, description=str(publication.guarantee))
            _write(folder / f"{table.name}.orange-button.json", text)
    for name, draw in figures.items():
        _write_figure(folder, name, draw)


def _describe(
    folder: Path,
    publication: Publication,
    account: PublicationAccount | None,
    *,
    curator: Curator,
    day: datetime.date,
) -> None:
    """Write what is said of the tables and figures that a folder has."""
    package = data_package(folder, publication, day=day)
    if account is not None:
        package["sunveil:account"] = account.to_dict()
    _write(folder / "datapackage.json", _as_json(package))
    card = release_card(publication, curator, published=day, account=account)
    _write(folder / "release-card.yaml", card_yaml(card))
    files = sorted({"README.md", *(path.name for path in folder.iterdir())})
    text = readme(publication, files, published=day, account=account)
    _write(folder / "README.md", text)


def frame_of_table(table: PublishedTable) -> pd.DataFrame:
    """Return a table as a pandas frame whose columns may have gaps."""
    names = [column.name for column in table.columns]
    frame = pd.DataFrame(list(table.rows), columns=names, dtype=object)
    return frame.astype({column.name: KINDS[column.kind] for column in table.columns})


def read_table(path: Path | str) -> pd.DataFrame:
    """Return a published table, from its CSV or Parquet file, with texts as they were published.

    The types are those of the ``datapackage.json`` beside it. CSV files hold texts that look like
    formulas behind an apostrophe, which is taken away.
    """
    place = Path(path)
    if place.suffix == ".parquet":
        return pd.read_parquet(place)
    package = json.loads(place.with_name("datapackage.json").read_text(encoding="utf-8"))
    found = [each for each in package["resources"] if each["path"] == place.name]
    if not found:
        raise ParameterError(f"{place.name} is not a table that datapackage.json describes")
    kinds = {field["name"]: field["type"] for field in found[0]["schema"]["fields"]}
    frame = pd.read_csv(place, dtype="string", keep_default_na=False, na_values=[""])
    frame.columns = pd.Index([restore(name) for name in frame.columns])
    for name in frame.columns[[kinds[name] == "string" for name in frame.columns]]:
        frame[name] = frame[name].map(restore, na_action="ignore")
    return frame.astype({name: KINDS[kind] for name, kind in kinds.items()})


def _write_table(folder: Path, table: PublishedTable) -> None:
    frame = frame_of_table(table)
    with duckdb.connect() as database:
        database.register("published", frame)
        database.register("published_csv", _without_formulas(frame, table))
        for ending, source, options in (
            ("csv", "published_csv", "FORMAT csv, HEADER"),
            ("parquet", "published", "FORMAT parquet"),
        ):
            place = str(folder / f"{table.name}.{ending}").replace("'", "''")
            name = defuse if ending == "csv" else str
            chosen = ", ".join(_selected(each, name) for each in columns_in(table, ending))
            database.execute(f"COPY (SELECT {chosen} FROM {source}) TO '{place}' ({options})")


def _without_formulas(frame: pd.DataFrame, table: PublishedTable) -> pd.DataFrame:
    """Return a frame whose texts no spreadsheet takes for formulas."""
    texts = [column.name for column in table.columns if column.kind == "string"]
    held = {name: frame[name].map(defuse, na_action="ignore").astype("string") for name in texts}
    return frame.assign(**held).rename(columns=defuse)


def columns_in(table: PublishedTable, ending: str) -> list[Column]:
    """Return the columns of a table that a kind of file has: CSV has no lists."""
    return [each for each in table.columns if each.kind != "array" or ending != "csv"]


def _selected(column: Column, named: Callable[[str], str]) -> str:
    name = '"' + named(column.name).replace('"', '""') + '"'
    return f"CAST({name} AS {PLANES_TYPE}) AS {name}" if column.kind == "array" else name


def data_package(folder: Path, publication: Publication, *, day: datetime.date) -> dict[str, Any]:
    """Return the Frictionless description (Data Package 2.0) of a folder's tables.

    Parameters
    ----------
    folder
        Where the tables have been written.
    publication
        What they hold.
    day
        The day of publication.
    """
    resources = [
        _resource(folder / f"{table.name}.{ending}", table)
        for table in publication.tables
        for ending in MEDIA
    ]
    return {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": slug(publication.title),
        "title": publication.title,
        "description": str(publication.guarantee),
        "created": f"{day.isoformat()}T00:00:00Z",
        "resources": resources,
        "sunveil:public": publication.public,
    }


def _resource(path: Path, table: PublishedTable) -> dict[str, Any]:
    content = path.read_bytes()
    ending = path.suffix[1:]
    fields: dict[str, Any] = {
        "name": slug(path.name),
        "type": "table",
        "path": path.name,
        "title": table.name,
        "description": f"{table.about} {SAID}" if ending == "csv" else table.about,
        "format": ending,
        "mediatype": MEDIA[ending],
        "bytes": len(content),
        "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "schema": {
            "fields": [
                {"name": column.name, "type": column.kind, "description": column.about}
                for column in columns_in(table, ending)
            ],
            "missingValues": [""],
        },
    }
    if ending == "csv":
        fields["encoding"] = "utf-8"
    return fields


def _write_figure(folder: Path, name: str, draw: Draw) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    draw(figure)
    # without dates and random names, so that one publication is always one folder
    with mpl.rc_context({"svg.hashsalt": "sunveil"}):
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            page = io.BytesIO()
            figure.savefig(page, format=ending, dpi=150, metadata=metadata)
            (folder / f"{name}.{ending}").write_bytes(page.getvalue())


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _as_json(fields: dict[str, Any]) -> str:
    return json.dumps(fields, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
