"""Where the readings of a fleet are: its files, their layout, and what their footers say.

No reading is looked at here: footers tell the columns, the number of rows, and the first and last
system and time of every file and row group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sunveil.errors import MeterError
from sunveil.fleet.layouts import Columns, FileLayout, find_columns
from sunveil.meters.contents import ENDINGS, READABLE
from sunveil.meters.options import MeterOptions

_PARQUET = (".parquet", ".pq")


class FileOrder(StrEnum):
    """How systems lie in the files of a source.

    ``sorted``: each file is a range of names, and ranges do not overlap but at their ends.
    ``whole``: each system is in one file. ``spread``: some are in several.
    """

    SORTED = "sorted"
    WHOLE = "whole"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group: how many readings it has, and its first and last system, a text or a number."""

    rows: int
    low: Any = None
    high: Any = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a source.

    Parameters
    ----------
    name
        Its path within the source.
    size, modified
        Bytes, and nanoseconds since 1970: what tells that it was changed.
    groups
        Its row groups; one without bounds for a file that has no footer.
    span
        The first and the last stamp. [µs since 1970, on the source's clock]
    key
        The system that all of it belongs to, where its folder's name says so.
    """

    name: str
    size: int
    modified: int
    groups: tuple[RowGroup, ...]
    span: tuple[int, int] | None = None
    key: str | None = None

    @property
    def rows(self) -> int:
        """How many readings it has."""
        return sum(group.rows for group in self.groups)

    @property
    def bounds(self) -> tuple[Any, Any] | None:
        """The first and last system, where every row group says so."""
        if self.key is not None:
            return self.key, self.key
        lows = [group.low for group in self.groups]
        highs = [group.high for group in self.groups]
        if not lows or None in lows or None in highs:
            return None
        return min(lows), max(highs)


@dataclass(frozen=True, slots=True)
class FleetSource:
    """The readings of a fleet, as their footers describe them.

    Parameters
    ----------
    root
        The folder that file names start from.
    columns
        What to read, and how.
    files
        The files that can be read.
    unreadable
        The files that cannot, each with the reason.
    """

    root: str
    columns: Columns
    files: tuple[SourceFile, ...]
    unreadable: tuple[tuple[str, str], ...] = ()

    @property
    def rows(self) -> int:
        """How many readings there are; of files without a footer, their bytes over 30."""
        return sum(file.rows for file in self.files)

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last stamp of all files, where all say so. [µs]"""
        spans = [file.span for file in self.files]
        if not spans or None in spans:
            return None
        known = [span for span in spans if span is not None]
        return min(first for first, _ in known), max(last for _, last in known)

    def paths(self, names: Iterable[str]) -> list[Path]:
        """Return files of the source as paths."""
        return [Path(self.root) / name for name in names]


def look_at(fleet: Path | str, options: MeterOptions, *, aside: Iterable[Path] = ()) -> FleetSource:
    """Return what the footers of a fleet's files say.

    Parameters
    ----------
    fleet
        A file, or a folder of files, whose sub-folders may be hive partitions.
    options
        How to read them.
    aside
        Files and folders among them that hold no readings: the table of systems, the output.
    """
    fleet = Path(fleet)
    if not fleet.exists():
        raise MeterError(f"there is no file or folder {str(fleet)!r}")
    root = fleet if fleet.is_dir() else fleet.parent
    found = _found(fleet, {path.resolve() for path in aside})
    if not _is_parquet(found[0]):
        files = tuple(_plain(path, root) for path in found)
        return FleetSource(str(root.resolve()), Columns(FileLayout.FILES), files)
    return _from_footers(fleet, root, found, options)


def _found(fleet: Path, aside: set[Path]) -> list[Path]:
    if not fleet.is_dir():
        return [fleet]
    every = [
        path
        for path in sorted(fleet.rglob("*"))
        if path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(fleet).parts)
        and not ({path.resolve(), *path.resolve().parents} & aside)
    ]
    for endings in (_PARQUET, ENDINGS):
        found = [path for path in every if path.name.lower().endswith(endings)]
        if found:
            return found
    raise MeterError(f"the folder {str(fleet)!r} has no meter files: {READABLE} are read")


def _is_parquet(path: Path) -> bool:
    if path.name.lower().endswith(_PARQUET):
        return True
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _plain(path: Path, root: Path) -> SourceFile:
    status = path.stat()
    rows = max(1, status.st_size // 30)
    return SourceFile(_relative(path, root), status.st_size, status.st_mtime_ns, (RowGroup(rows),))


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _from_footers(fleet: Path, root: Path, found: list[Path], options: MeterOptions) -> FleetSource:
    footers: dict[str, Any] = {}
    unreadable: list[tuple[str, str]] = []
    for path in found:
        name = _relative(path, root)
        try:
            footers[name] = pq.read_metadata(path)
        except (pa.ArrowException, OSError):
            unreadable.append((name, f"{name} cannot be read: it is damaged, or not Parquet"))
    if not footers:
        raise MeterError(f"none of the {len(found)} Parquet files of {fleet.name} can be read")
    columns = _columns(footers, options)
    files = []
    for name, footer in footers.items():
        if columns.missing_in(footer.schema.to_arrow_schema(), name):
            unreadable.append((name, f"{name} has other columns than the files beside it"))
        else:
            files.append(_described(root / name, name, footer, columns))
    return FleetSource(str(root.resolve()), columns, tuple(files), tuple(sorted(unreadable)))


def _columns(footers: dict[str, Any], options: MeterOptions) -> Columns:
    """Return the columns to read, by the first file that has them."""
    first: MeterError | None = None
    for name, footer in footers.items():
        try:
            return find_columns(footer.schema.to_arrow_schema(), options, name=name)
        except MeterError as error:
            first = first or error
    assert first is not None
    raise first


def _described(path: Path, name: str, footer: Any, columns: Columns) -> SourceFile:
    status = path.stat()
    if not columns.power:  # nothing but the reader of single files knows what is in it
        whole = (RowGroup(max(1, footer.num_rows)),)
        return SourceFile(name, status.st_size, status.st_mtime_ns, whole)
    places = {footer.schema.column(i).path: i for i in range(len(footer.schema))}
    described, spans = [], []
    power = _leaf(places, columns.power)
    system = places.get(columns.system)
    time = None if columns.time is None else _leaf(places, columns.time)
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        low, high = _ends(group, system)
        described.append(RowGroup(group.column(power).num_values, low, high))
        spans.append(
            _ends(group, time) if columns.start is None else _reach(group, columns, places)
        )
    key = columns.key_of(name)
    groups = tuple(described)
    return SourceFile(name, status.st_size, status.st_mtime_ns, groups, _span(spans), key)


def _leaf(places: dict[str, int], name: str) -> int:
    """Return the place of a column, or of the values of a column of lists."""
    if name in places:
        return places[name]
    return next(place for path, place in places.items() if path.startswith(f"{name}."))


def _ends(group: Any, column: int | None) -> tuple[Any, Any]:
    if column is None:
        return None, None
    found = group.column(column).statistics
    if found is None or not found.has_min_max:
        return None, None
    try:
        return found.min, found.max
    except (OverflowError, ValueError):
        return None, None  # beyond any calendar


def _reach(group: Any, columns: Columns, places: dict[str, int]) -> tuple[Any, Any]:
    """Return the first and last time of lists that all are equally long."""
    assert columns.start is not None
    assert columns.length is not None
    first, last = _ends(group, places[columns.start])
    each = _ends(group, places[columns.length])
    number, rest = divmod(group.column(_leaf(places, columns.power)).num_values, group.num_rows)
    if last is None or each[0] is None or each[0] != each[1] or rest:
        return None, None
    return first, last + timedelta(minutes=float(each[0])) * (number - 1)


def _span(spans: list[tuple[Any, Any]]) -> tuple[int, int] | None:
    ends = [end for span in spans for end in span]
    # NaT is a datetime too, and unlike itself
    if not ends or not all(isinstance(end, datetime) and end == end for end in ends):
        return None
    return _micros(min(ends)), _micros(max(ends))


def _micros(end: datetime) -> int:
    plain = end.astimezone(UTC).replace(tzinfo=None) if end.tzinfo is not None else end
    return int((plain - datetime(1970, 1, 1)) // timedelta(microseconds=1))
