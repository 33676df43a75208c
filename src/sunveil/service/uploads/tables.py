"""What was received, sorted into meters and systems, and seen to be what it says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq

from sunveil.fleet.systems import SystemTable, read_systems
from sunveil.meters.contents import READABLE, FileKind, kind_of
from sunveil.meters.options import MeterOptions
from sunveil.publish.households import read_households
from sunveil.service.uploads.errors import UploadRefused, UploadTooLarge
from sunveil.service.uploads.file_names import quoted, safe_path
from sunveil.service.uploads.kinds import SYSTEMS, is_document, is_litter, placed_name
from sunveil.service.uploads.limits import ReadingLimits, UploadLimits
from sunveil.service.uploads.receive import ReceivedFile
from sunveil.service.uploads.unpack import unpack, unpacked_size

PARQUET = (".parquet", ".pq")
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
TABLE = "the table of systems"


@dataclass(frozen=True, slots=True)
class Upload:
    """Data as an inference takes them.

    Parameters
    ----------
    meters
        A folder of tables.
    systems
        The table of systems; None where none was sent.
    left_out
        Names of files that hold no readings, and are not kept.
    """

    meters: Path
    systems: Path | None
    left_out: tuple[str, ...] = ()


def place_files(
    files: Sequence[ReceivedFile],
    into: Path,
    *,
    limits: UploadLimits,
    reading: ReadingLimits | None = None,
) -> Upload:
    """Put received files where an inference finds them, each checked to be what it says.

    Parameters
    ----------
    files
        What was received: fields ``meters``, of which several and archives are taken, and
        ``systems``. Where no systems are given, a table of that name is looked for among the
        meters. The files themselves stay, so that they can be tried again.
    into
        An empty folder.
    limits
        What is taken at most.
    reading
        How much tables may hold; the defaults when left out.
    """
    meters = into / "meters"
    meters.mkdir(mode=0o700)
    left, left_out = limits.unpacked, list[str]()
    for file in files:
        if file.field == "meters":
            left -= _place(file, meters, limits=replace(limits, unpacked=left), left_out=left_out)
    systems = _place_systems([file for file in files if file.field == "systems"], meters, into)
    found = sorted(path for path in meters.rglob("*") if path.is_file())
    if not found:
        raise UploadRefused("no readings were sent; choose files of readings, or a zip of them")
    left = limits.unpacked
    for path in (*found, *([] if systems is None else [systems])):
        name = TABLE if path == systems else quoted(str(path.relative_to(meters)))
        check_table(path, name)
        left -= unpacked_size(path, name, limits=replace(limits, unpacked=left))
    check_rows(found, limits=reading or ReadingLimits())
    return Upload(meters, systems, tuple(left_out))


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


def check_rows(paths: Sequence[Path], *, limits: ReadingLimits) -> None:
    """Refuse Parquet files of readings that say of themselves that they hold too much.

    Parameters
    ----------
    paths
        Files of readings, of any kind.
    limits
        What they may hold.
    """
    rows = 0
    for path in paths:
        if kind_of(path) is FileKind.PARQUET:
            rows += _check_footer(path, quoted(path.name), limits=limits)
    if rows > limits.readings:
        raise UploadTooLarge(
            f"the files have {rows:,} rows of readings, and at most {limits.readings:,} are taken"
            " (setting reading.readings); make several datasets of them"
        )


def check_systems(path: Path, options: MeterOptions, *, limits: ReadingLimits) -> SystemTable:
    """Return a table of systems, or refuse one that an inference cannot use.

    Parameters
    ----------
    path
        The table.
    options
        How the meters are read.
    limits
        What it may hold.
    """
    check_table(path, TABLE)
    if kind_of(path) is FileKind.PARQUET:
        _check_systems_rows(_check_footer(path, TABLE, limits=limits), limits)
    found = read_systems(path, options)
    read_households(path, options.system_column)  # refused here, and not when something is asked
    _check_systems_rows(len(found) + len(found.refused), limits)
    if found.keys.num_columns > limits.columns:
        raise _too_wide(TABLE, found.keys.num_columns, limits)
    return found


def _check_footer(path: Path, name: str, *, limits: ReadingLimits) -> int:
    """Return how many rows a Parquet file says that it has, if it has not too many columns."""
    footer = pq.read_metadata(path)
    if footer.num_columns > limits.columns:
        raise _too_wide(name, footer.num_columns, limits)
    return int(footer.num_rows)


def _too_wide(name: str, columns: int, limits: ReadingLimits) -> UploadTooLarge:
    return UploadTooLarge(
        f"{name} has {columns:,} columns, and at most {limits.columns:,} are taken (setting"
        " reading.columns)"
    )


def _check_systems_rows(rows: int, limits: ReadingLimits) -> None:
    if rows > limits.systems:
        raise UploadTooLarge(
            f"{TABLE} has {rows:,} rows, and at most {limits.systems:,} are taken (setting"
            " reading.systems); make several datasets of them"
        )


def _place(file: ReceivedFile, meters: Path, *, limits: UploadLimits, left_out: list[str]) -> int:
    """Put a file in its place, and return how much it is there. [bytes]"""
    if is_litter(PurePosixPath(file.name)):
        return 0
    path = safe_path(file.name)
    if is_document(path):
        left_out.append(str(path))
        return 0
    if path.suffix.lower() == ".zip":
        made = unpack(file.path, meters, limits=limits, left_out=left_out)
        return sum(each.stat().st_size for each in made)
    target = meters.joinpath(*placed_name(path).parts)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if target.exists():
        raise UploadRefused(f"two files are named {quoted(file.name)}; rename one")
    os.link(file.path, target)
    return file.size


def _place_systems(given: Sequence[ReceivedFile], meters: Path, into: Path) -> Path | None:
    """Put the table of systems in its place: the one that was sent, or one among the meters."""
    if len(given) > 1:
        raise UploadRefused("there is one table of systems; send one file")
    if given:
        suffix = Path(given[0].name).suffix.lower()
        if suffix not in SYSTEMS:
            raise UploadRefused("the table of systems is CSV, Parquet or .xlsx; send one of these")
        os.link(given[0].path, into / f"systems{suffix}")
        return into / f"systems{suffix}"
    every = [path for path in meters.rglob("*") if path.suffix.lower() in SYSTEMS]
    among = [path for path in every if path.stem.lower() == "systems"]
    if len(among) > 1:
        raise UploadRefused("several files are named systems; choose one as the table of systems")
    if not among:
        return None
    target = into / f"systems{among[0].suffix.lower()}"
    os.rename(among[0], target)
    return target
