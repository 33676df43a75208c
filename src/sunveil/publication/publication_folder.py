"""Publications written to a folder and read back: tables, data package, figures."""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from sunveil._extras import optional_package, require_extras
from sunveil._files import defuse, real_path, restore
from sunveil._options import check_path, checked
from sunveil.errors import ParameterError, SourceError, SunveilError
from sunveil.publication.published_tables import Column, Publication, PublishedTable
from sunveil.publication.readme_and_card import (
    Curator,
    LedgerAccount,
    card_yaml,
    readme,
    release_card,
    slug,
)

if TYPE_CHECKING:
    import duckdb
    from matplotlib.figure import Figure
else:
    duckdb = optional_package("duckdb", purpose="a publication")

NEEDED = ("release_id", "surface_azimuth", "surface_tilt", "dc_capacity_kw")


def holds_systems(table: PublishedTable) -> bool:
    """Return whether a table has one released system per row."""
    names = {column.name for column in table.columns}
    return set(NEEDED) <= names and "plane" not in names  # which is for tables of single planes


def orange_button(table: PublishedTable, *, description: str = "") -> dict[str, Any]:
    """Return the systems of a table as an Orange Button document."""
    # A system is a `PVSystem` with its `CapacityDC` and one `PVArray` for each of its planes; its
    # `Orientation` has azimuth, clockwise from true north, and tilt from the horizontal. Its
    # `PVSystemID` is the release's random name. Where no planes are given, and for a tracker, the
    # array has the system's own azimuth and tilt.
    if not holds_systems(table):
        raise ParameterError(
            f"the table {table.name} has no systems to describe: Orange Button needs the columns"
            f" {', '.join(NEEDED)}"
        )
    names, azimuths, tilts, capacities = (table.column(name) for name in NEEDED)
    given = any(column.name == "planes" for column in table.columns)
    planes = table.column("planes") if given else [None] * len(names)
    found = []
    for name, azimuth, tilt, capacity, own in zip(
        names, azimuths, tilts, capacities, planes, strict=True
    ):
        arrays = own or [{"surface_azimuth": azimuth, "surface_tilt": tilt}]
        found.append(_system(name, arrays, capacity, description))
    return {"PVSystems": found}


def orange_json(table: PublishedTable, *, description: str = "") -> str:
    """Return the systems of a table as the text of an Orange Button document."""
    systems = orange_button(table, description=description)
    return json.dumps(systems, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _system(
    name: str, planes: Sequence[Mapping[str, float]], capacity: float | None, description: str
) -> dict[str, Any]:
    system: dict[str, Any] = {"PVSystemID": {"Value": name}}
    if description:
        system["Description"] = {"Value": description}
    if capacity is not None:
        system["CapacityDC"] = {"Value": capacity, "Unit": "kW"}
    return {**system, "PVArrays": [{"Orientation": _orientation(plane)} for plane in planes]}


def _orientation(plane: Mapping[str, float]) -> dict[str, Any]:
    return {
        "OrientationAzimuth": _angle(plane["surface_azimuth"]),
        "OrientationTilt": _angle(plane["surface_tilt"]),
    }


def _angle(degrees: float) -> dict[str, Any]:
    return {"Value": degrees, "Unit": "Degree"}


Draw = Callable[["Figure"], None]

# Frictionless' words for what a column holds, and pandas' for the same with gaps.
KINDS = {"string": "string", "integer": "Int64", "number": "Float64", "array": "object"}

# Lists are of planes. CSV has no lists: a flat table beside it has a row for each.
PLANES_TYPE = "STRUCT(surface_azimuth DOUBLE, surface_tilt DOUBLE, share DOUBLE)[]"

MEDIA = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")

_SIZE = (6.4, 4.2)


@checked
def write_publication(
    folder: Path | str,
    publication: Publication,
    *,
    account: LedgerAccount | None = None,
    figures: Mapping[str, Draw] | None = None,
    curator: Curator | None = None,
    published: datetime.date | None = None,
) -> list[Path]:
    """Write a publication into a new folder, whole or not at all, and return its files.

    Parameters
    ----------
    folder
        A folder that does not exist, or an empty one.
    publication
        The publication; everything in it is public.
    account
        The ledger's account of it, as :meth:`sunveil.publish.Publisher.account` returns it. Without
        it, card and README say that there is none.
    figures
        Names, and functions that each draw on a new matplotlib figure; PNG and SVG are written.
    curator
        The publisher, for the release card.
    published
        The day of publication; by default today, in UTC.
    """
    require_extras("plots", "files", purpose="a publication")
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
    account: LedgerAccount | None,
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
    """Return a table as a DataFrame of columns that may have gaps."""
    names = [column.name for column in table.columns]
    frame = pd.DataFrame(list(table.rows), columns=names, dtype=object)
    return frame.astype({column.name: KINDS[column.kind] for column in table.columns})


def read_table(path: Path | str) -> pd.DataFrame:
    """Return a published table, from its CSV or Parquet file, with texts as they were published."""
    # The types are those of the `datapackage.json` beside it. CSV files hold texts that look like
    # formulas behind an apostrophe, which is taken away.
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
    """Return a DataFrame without texts that a spreadsheet takes for formulas."""
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
    """Return the Frictionless description (Data Package 2.0) of a folder's tables."""
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


PACKAGE = "datapackage.json"


@dataclass(frozen=True, slots=True, eq=False)
class PublishedFleet:
    """A publication as it was read: everything in it is public."""

    tables: Mapping[str, pd.DataFrame]  # by name
    about: Mapping[str, str]  # what each is, by name
    public: Mapping[str, Any]  # the public choices it was made with


@checked
def read_publication(path: Path | str) -> PublishedFleet:
    """Read the publication in a folder, as a curator wrote it or the service returned it.

    Parameters
    ----------
    path
        The folder, or its ``datapackage.json``.
    """
    folder = check_path("path", path)
    folder = folder.parent if folder.name == PACKAGE else folder
    try:
        package = json.loads((folder / PACKAGE).read_text(encoding="utf-8"))
        resources = {each["title"]: each for each in package["resources"]
                     if each["format"] == "parquet"}  # fmt: skip
        tables = {name: pd.read_parquet(folder / Path(each["path"]).name) for name, each in
                  resources.items()}  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError(
            f"{folder} is no publication: its {PACKAGE} or a table that it names cannot be read"
            f" ({type(error).__name__}); give the folder as it was published"
        ) from error
    about = {name: str(each.get("description", "")) for name, each in resources.items()}
    return PublishedFleet(tables, about, package.get("sunveil:public", {}))


def published_fleet(publication: Publication) -> PublishedFleet:
    """Return a publication in memory as one that was read."""
    return PublishedFleet(
        {table.name: frame_of_table(table) for table in publication.tables},
        {table.name: table.about for table in publication.tables},
        publication.public,
    )


SAID = (
    "Texts that a spreadsheet would take for a formula (they begin with =, +, -, @, a tab or a line"
    " break) have an apostrophe before them in CSV files, and only there."
)
