"""What was received, sorted into meters and systems, and seen to be what it says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sunveil.fleet.systems import read_systems
from sunveil.meters.contents import ENDINGS, READABLE, FileKind, kind_of
from sunveil.service.uploads.errors import UploadRefused
from sunveil.service.uploads.file_names import quoted, safe_name
from sunveil.service.uploads.limits import UploadLimits
from sunveil.service.uploads.receive import ReceivedFile
from sunveil.service.uploads.unpack import unpack, unpacked_size

PARQUET = (".parquet", ".pq")
# Tables of systems are among these.
SYSTEMS = (".csv", ".tsv", ".txt", *PARQUET)
# What the reader of meters takes. An empty file is a system without readings.
READ = frozenset(
    {
        FileKind.EMPTY,
        FileKind.TEXT,
        FileKind.JSON,
        FileKind.XML,
        FileKind.PARQUET,
        FileKind.FEATHER,
        FileKind.WORKBOOK,
        FileKind.PACKED,
    }
)


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
        raise UploadRefused("no readings were sent; choose files of readings, or a zip of them")
    left = limits.unpacked
    for path in found:
        name = quoted(str(path.relative_to(meters)))
        check_table(path, name)
        left -= unpacked_size(path, name, limits=replace(limits, unpacked=left))
    check_systems(systems)
    return Upload(meters, systems)


def check_table(path: Path, name: str) -> None:
    """Refuse a file that is none of those that are read; what it holds is not looked at.

    Parameters
    ----------
    path
        The table.
    name
        How it is named to the reader.
    """
    kind = kind_of(path)
    if kind is FileKind.PARQUET or path.suffix.lower() in PARQUET:
        try:
            pq.read_schema(path)
        except (pa.ArrowException, OSError):
            raise UploadRefused(f"{name} is not Parquet, or is damaged; send it again") from None
    elif kind not in READ:
        raise UploadRefused(f"{name} is no meter file: {READABLE} are read")


def check_systems(path: Path) -> None:
    """Refuse a table of systems that an inference cannot use."""
    check_table(path, "the table of systems")
    read_systems(path)


def _place(file: ReceivedFile, meters: Path, *, limits: UploadLimits) -> int:
    """Put a file in its place, and return how much it is there. [bytes]"""
    lower = file.name.lower()
    if lower.endswith(".zip"):
        return sum(path.stat().st_size for path in unpack(file.path, meters, limits=limits))
    if not lower.endswith(ENDINGS):
        raise UploadRefused(f"{quoted(file.name)} is no meter file: {READABLE} are read")
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
        if suffix not in SYSTEMS:
            raise UploadRefused("the table of systems is Parquet or CSV; send one of these")
        source = given[0].path
    else:
        every = [path for path in meters.rglob("*") if path.suffix.lower() in SYSTEMS]
        among = [path for path in every if path.stem.lower() == "systems"]
        if len(among) != 1:
            raise UploadRefused(
                "no table of systems was sent; choose one, or name it systems.csv in the archive"
            )
        source, suffix = among[0], among[0].suffix.lower()
    target = into / f"systems{suffix}"
    os.rename(source, target)
    return target
