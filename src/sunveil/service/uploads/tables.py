"""What was received, sorted into meters and systems, and seen to be what it says."""

from __future__ import annotations

import codecs
import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from sunveil.service.uploads.errors import UploadRefused
from sunveil.service.uploads.file_names import quoted, safe_name
from sunveil.service.uploads.limits import UploadLimits
from sunveil.service.uploads.receive import ReceivedFile
from sunveil.service.uploads.unpack import TABLES, unpack

MAGIC = b"PAR1"
# How much of the beginning of a text is looked at. [bytes]
HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class Upload:
    """Data as an inference takes them.

    Parameters
    ----------
    meters
        A folder of tables.
    systems
        The table of systems.
    """

    meters: Path
    systems: Path


def place_files(files: Sequence[ReceivedFile], into: Path, *, limits: UploadLimits) -> Upload:
    """Put received files where an inference finds them, each checked to be what it says.

    Parameters
    ----------
    files
        What was received: fields ``meters``, of which several and archives are taken, and
        ``systems``. Where no systems are given, a table of that name is looked for among the
        meters.
    into
        An empty folder.
    limits
        What is taken at most.
    """
    meters = into / "meters"
    meters.mkdir(mode=0o700)
    left = limits.unpacked
    for file in files:
        if file.field == "meters":
            left -= _place(file, meters, limits=replace(limits, unpacked=left))
    systems = _place_systems([file for file in files if file.field == "systems"], meters, into)
    found = sorted(path for path in meters.rglob("*") if path.is_file())
    if not found:
        raise UploadRefused("no readings were sent; choose Parquet or CSV files, or a zip of them")
    for path in found:
        check_table(path, quoted(str(path.relative_to(meters))))
    check_systems(systems)
    return Upload(meters, systems)


def check_table(path: Path, name: str) -> list[str]:
    """Return the columns of a table, or refuse one that is not what its name says.

    Parameters
    ----------
    path
        The table.
    name
        How it is named to the reader.
    """
    if path.suffix.lower() == ".csv":
        columns = _csv_columns(path)
        wanted = "CSV in UTF-8 with a line of column names and one row or more"
    else:
        columns = _parquet_columns(path)
        wanted = "Parquet, or is damaged; send it again"
    if columns is None:
        raise UploadRefused(f"{name} is not {wanted}")
    return columns


def check_systems(path: Path) -> None:
    """Refuse a table of systems that an inference cannot use."""
    from sunveil.fleet.systems import read_systems

    check_table(path, "the table of systems")
    read_systems(path)


def _place(file: ReceivedFile, meters: Path, *, limits: UploadLimits) -> int:
    """Put a file in its place, and return how much it is there. [bytes]"""
    suffix = Path(file.name).suffix.lower()
    if suffix == ".zip":
        return sum(path.stat().st_size for path in unpack(file.path, meters, limits=limits))
    if suffix not in TABLES:
        raise UploadRefused(
            f"{quoted(file.name)} is neither Parquet, CSV nor a zip of them; send one of these"
        )
    target = meters / safe_name(file.name)
    if target.exists():
        raise UploadRefused(f"two files are named {quoted(file.name)}; rename one")
    os.rename(file.path, target)
    return file.size


def _place_systems(given: Sequence[ReceivedFile], meters: Path, into: Path) -> Path:
    if len(given) > 1:
        raise UploadRefused("there is one table of systems; send one file")
    if given:
        suffix = Path(given[0].name).suffix.lower()
        if suffix not in TABLES:
            raise UploadRefused("the table of systems is Parquet or CSV; send one of these")
        source = given[0].path
    else:
        among = [path for path in meters.rglob("*") if path.stem.lower() == "systems"]
        if len(among) != 1:
            raise UploadRefused(
                "no table of systems was sent; choose one, or name it systems.csv in the archive"
            )
        source, suffix = among[0], among[0].suffix.lower()
    target = into / f"systems{suffix}"
    os.rename(source, target)
    return target


def _parquet_columns(path: Path) -> list[str] | None:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        first = file.read(len(MAGIC))
        file.seek(max(0, size - len(MAGIC)))
        last = file.read()
    if first != MAGIC or last != MAGIC:
        return None
    try:
        with duckdb.connect() as connection:
            found = connection.execute("SELECT * FROM read_parquet($1) LIMIT 0", [str(path)])
            return [column[0] for column in found.description or ()]
    except duckdb.Error:
        return None


def _csv_columns(path: Path) -> list[str] | None:
    with path.open("rb") as file:
        head = file.read(HEAD)
    try:
        # the last letter may be cut in two
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)
        lines = text.splitlines()
        dialect = csv.Sniffer().sniff(lines[0], delimiters=",;\t|")
        columns = next(csv.reader(lines[:1], dialect))
    except (ValueError, IndexError, csv.Error):
        return None
    return columns if len(lines) > 1 and "\0" not in text else None
