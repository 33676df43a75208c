"""File order; pure plan of parts and weather cells."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil import __version__
from sunveil._extras import optional_package
from sunveil._options import number, shown, whole
from sunveil.errors import MeterError, ParameterError
from sunveil.estimates.inference_options import ENGINE, SKIES, InferOptions, Method
from sunveil.fleet.duckdb_reader import cursor, hashes, parquet
from sunveil.fleet.file_layouts import (
    FileLayout,
    FileOrder,
    FleetSource,
    SourceFile,
    files_together,
    named,
)
from sunveil.fleet.systems_table import SystemTable
from sunveil.grids import BAND, SIZE, Cell, cell_of
from sunveil.meters.reading_options import MeterOptions
from sunveil.site import Site

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = optional_package("duckdb", purpose="a fleet")

_DEFAULTS = MeterOptions()

# About how many readings are worked on at a time: a year of hours of some 250 systems. A file is
# not cut in two below four times as many.
PART_ROWS = 2_500_000


@dataclass(frozen=True, slots=True, eq=False)
class FleetOrder:
    """How the systems of a fleet lie in its files."""

    order: FileOrder  # whether files are ranges of names, hold whole systems, or share systems
    members: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    together: Mapping[str, int] = field(default_factory=dict)


def find_order(
    source: FleetSource,
    systems: SystemTable,
    options: MeterOptions = _DEFAULTS,
    *,
    workers: int = 1,
) -> FleetOrder:
    """Return how systems lie in files: as footers tell, or the names alone where they do not."""
    files = [file.name for file in source.files]
    if source.columns.layout is FileLayout.FILES:
        if len(files) == 1:
            return FleetOrder(FileOrder.WHOLE)
        groups = files_together(source.paths(files), options)
        return FleetOrder(FileOrder.WHOLE, together=dict(zip(files, groups, strict=True)))
    if _sorted(source.files):
        return FleetOrder(FileOrder.SORTED)
    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(lambda file: _names(source, file), files))
    every = np.concatenate([np.empty(0, dtype=np.uint64), *found])
    if len(np.unique(every)) < len(every):
        return FleetOrder(FileOrder.SPREAD)
    return FleetOrder(FileOrder.WHOLE, dict(zip(files, _numbers(found, systems), strict=True)))


def by_name(files: Sequence[SourceFile]) -> list[SourceFile]:
    """Return files in the order of the systems in them."""
    return sorted(files, key=lambda file: (file.bounds or ("", ""), file.name))


def _sorted(files: Sequence[SourceFile]) -> bool:
    """Whether each file is a range of names, and ranges do not overlap but at their ends."""
    if any(file.bounds is None for file in files):
        return False
    bounds = [file.bounds for file in by_name(files) if file.bounds is not None]
    return all(before[1] <= after[0] for before, after in pairwise(bounds))


def _numbers(found: list[NDArray[np.uint64]], systems: SystemTable) -> list[NDArray[np.int64]]:
    """Return the numbers of the systems that the table knows, file by file."""
    known = hashes(systems.ids)
    if not len(known):
        return [np.empty(0, dtype=np.int64) for _ in found]
    order = np.argsort(known)
    numbers = []
    for names in found:
        place = np.minimum(np.searchsorted(known, names, sorter=order), len(known) - 1)
        here = order[place]
        numbers.append(np.sort(here[known[here] == names]))
    return numbers


def _names(source: FleetSource, name: str) -> NDArray[np.uint64]:
    """Return hashes of the names of a file's systems; none, where it is damaged within."""
    columns = source.columns
    table = parquet(source.paths([name]), hive=bool(columns.hive))
    system = columns.name_sql()
    try:
        found = (
            cursor()
            .sql(f"SELECT hash(s) AS h FROM (SELECT DISTINCT {system} AS s FROM {table})")
            .to_arrow_table()
        )
    except (duckdb.Error, pa.ArrowException):
        return np.empty(0, dtype=np.uint64)
    return np.asarray(found.column("h").to_numpy(), dtype=np.uint64)


def find_span(source: FleetSource) -> tuple[int, int] | None:
    """Return the first and last stamp of a fleet, from its footers or else its times. [µs]"""
    if source.span is not None or source.columns.layout is not FileLayout.LONG:
        return source.span
    columns = source.columns
    if columns.time is None:
        raise MeterError("the fleet has no column of times")
    table = parquet(source.paths(file.name for file in source.files), hive=bool(columns.hive))
    time = f"epoch_us({named(columns.time)}{'' if columns.stamp == 'instant' else '::TIMESTAMP'})"
    try:
        found = cursor().execute(f"SELECT min({time}), max({time}) FROM {table}").fetchone()
    except duckdb.Error:
        return None
    return None if found is None or found[0] is None else (int(found[0]), int(found[1]))


# What of Sunveil itself decides a result; workers on other machines must have the same.
IDENTITY = (__version__, ENGINE)

# A file of fewer parts than this is not cut.
WHOLE_PARTS = 4

# So much is never too much for one part. [readings]
LARGEST = 1_000_000

# Of files that only the reader of single files knows, and which take longer. [readings]
FILES_ROWS = 500_000

# So many parts at the end of a long plan are smaller, so that workers end at about the same time.
ENDING = 4

# How many skies a worker keeps.
SKIES_KEPT = 48


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of work."""

    number: int  # its place in the plan, and the number of the file that it writes
    files: tuple[str, ...]
    low: Any = None
    high: Any = None
    rows: int = 0  # about how many readings it has
    systems: int = 0  # how many of the known systems it may hold
    cells: tuple[tuple[int, int, int | None], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The weather cells of the systems."""

    cells: tuple[Cell, ...]  # the cells
    of: NDArray[np.int32]  # the number of each system's cell
    sites: tuple[Site, ...]

    def keys(self, members: NDArray[np.int64]) -> tuple[tuple[int, int, int | None], ...]:
        """Return the cells of some systems, as plain numbers."""
        found = (self.cells[code] for code in np.unique(self.of[members]))
        return tuple((cell.row, cell.column, cell.band) for cell in found)


@dataclass(frozen=True, slots=True, eq=False)
class FleetPlan:
    """The parts that a fleet is worked through in, and what tells this run from any other."""

    parts: tuple[Part, ...]  # the parts, in the order in which they are worked through
    fingerprint: str  # A digest of everything that decides the result
    bucket: NDArray[np.int32] | None = None


def make_plan(
    source: FleetSource,
    systems: SystemTable,
    settings: Mapping[str, Any],
    *,
    ordering: FleetOrder,
    cells: Cells,
) -> FleetPlan:
    """Return the plan of a fleet."""
    mark, part_rows = fingerprint(source, systems, settings), settings["part_rows"]
    # what cannot be cut, and is too much for one part, is brought into parts first
    most = max(4 * WHOLE_PARTS * part_rows, LARGEST)
    if ordering.order is not FileOrder.SPREAD:

        def placed(drafts: Iterable[Part]) -> list[Part]:
            if ordering.order is FileOrder.SORTED:
                return _by_range(drafts, source, systems, cells)
            return _by_member(drafts, ordering.members, cells) if ordering.members else list(drafts)

        parts = placed(_drafts(source, ordering, part_rows))
        fits = max(part.rows for part in parts) <= most and not _scattered(parts, cells)
        if fits or source.columns.layout is FileLayout.FILES:
            # stable: parts with unknown cells stay in the order of their files
            parts.sort(key=lambda part: [(row, column) for row, column, _ in part.cells[:1]])
            if len(parts) > 4 * ENDING:
                parts[-ENDING:] = placed(_halves(parts[-ENDING:], source, ordering))
            return FleetPlan(tuple(replace(p, number=n) for n, p in enumerate(parts)), mark)
    return _gathered(source, cells, mark, part_rows)


def run_settings(
    reading: MeterOptions,
    options: InferOptions,
    *,
    weather: str = "clearsky",
    cell: float = SIZE,
    part_rows: int = PART_ROWS,
) -> dict[str, Any]:
    """Return what decides the estimates of a fleet beside its readings, as plain JSON types."""
    if weather not in SKIES:
        raise ParameterError(
            f"option `weather` of a fleet must be one of {', '.join(SKIES)}, and {shown(weather)}"
            " is not"
        )
    number("option `cell`", cell, low=0.01, high=1.0, unit="degrees")
    whole("option `part_rows`", part_rows, low=1, high=10**12)
    if options.method is not Method.DEFAULT:
        raise ParameterError("option `method` must be default for a fleet")
    losses = options.losses
    return {
        "meters": asdict(reading),
        "clock": options.clock.value,
        "system_losses": losses.system,
        "inverter_efficiency": losses.inverter_efficiency,
        "gamma_pdc_per_degC": losses.gamma_pdc,
        "albedo": options.albedo,
        "mount": options.mount.value,
        "force": options.force,
        "weather": weather,
        "cell_degrees": cell,
        "part_rows": part_rows,
    }


def fingerprint(source: FleetSource, systems: SystemTable, settings: Mapping[str, Any]) -> str:
    """Return a digest of what decides the result."""
    decisive = {
        "identity": IDENTITY,
        "settings": settings,
        "systems": systems.digest,
        "columns": asdict(source.columns),
        "files": [(file.name, file.size, file.modified) for file in source.files],
        "unreadable": source.unreadable,
        "plan": (WHOLE_PARTS, FILES_ROWS, SKIES_KEPT, ENDING),
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True, default=str).encode()).hexdigest()


def find_cells(systems: SystemTable, size: float) -> Cells:
    """Return the weather cell of every system."""
    if not len(systems):
        return Cells((), np.empty(0, dtype=np.int32), ())
    known = ~np.isnan(systems.altitude)
    keys = np.column_stack(
        [
            np.floor(systems.latitude / size + 0.5),
            np.floor(systems.longitude / size + 0.5) % round(360.0 / size),
            np.where(known, np.floor(np.nan_to_num(systems.altitude) / BAND + 0.5), -1e6),
        ]
    ).astype(np.int64)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    of = inverse.reshape(-1).astype(np.int32)
    cells = tuple(cell_of(*systems.place(int(at)), size=size) for at in first)
    return Cells(cells, of, _middles(systems, of, first))


def _middles(
    systems: SystemTable, of: NDArray[np.int32], first: NDArray[np.intp]
) -> tuple[Site, ...]:
    """Return the middle of the places in each cell."""
    # They are counted from the first of each, so that systems at one place give that very place,
    # and none is torn apart by the date line.
    count = np.bincount(of, minlength=len(first))
    east = (systems.longitude - systems.longitude[first][of] + 180.0) % 360.0 - 180.0
    parts = (
        systems.latitude - systems.latitude[first][of],
        east,
        np.nan_to_num(systems.altitude - systems.altitude[first][of]),
    )
    north, east, up = (np.bincount(of, part, minlength=len(first)) / count for part in parts)
    return tuple(
        Site(
            float(systems.latitude[at] + north[k]),
            float((systems.longitude[at] + east[k] + 180.0) % 360.0 - 180.0)
            if east[k]
            else float(systems.longitude[at]),
            None if np.isnan(systems.altitude[at]) else float(systems.altitude[at] + up[k]),
        )
        for k, at in enumerate(first)
    )


def _drafts(source: FleetSource, ordering: FleetOrder, limit: int) -> Iterator[Part]:
    """Yield parts without cells or number: whole files together, or large ones cut."""
    if source.columns.layout is FileLayout.FILES:
        limit = min(limit, FILES_ROWS)
    order, together = ordering.order, ordering.together
    files = by_name(source.files) if order is FileOrder.SORTED else list(source.files)
    files.sort(key=lambda file: together.get(file.name, 0))  # stable
    batch: list[SourceFile] = []
    rows = 0
    for file in files:
        if batch and rows + file.rows > limit and _apart(batch, file, together):
            yield from _cut(batch, order, limit)
            batch, rows = [], 0
        batch.append(file)
        rows += file.rows
    if batch:
        yield from _cut(batch, order, limit)


def _halves(parts: Iterable[Part], source: FleetSource, ordering: FleetOrder) -> Iterator[Part]:
    """Yield parts of half as many files, where these can be separated."""
    files = {file.name: file for file in source.files}
    for part in parts:
        if part.low is not None or part.high is not None:
            yield part
            continue
        batch: list[SourceFile] = []
        for file in (files[name] for name in part.files):
            half = 2 * sum(each.rows for each in batch) >= part.rows
            if batch and half and _apart(batch, file, ordering.together):
                yield _whole(batch)
                batch = []
            batch.append(file)
        yield _whole(batch)


def _whole(batch: list[SourceFile]) -> Part:
    names = tuple(file.name for file in batch)
    return Part(0, names, rows=sum(file.rows for file in batch))


def _apart(batch: list[SourceFile], file: SourceFile, together: Mapping[str, int]) -> bool:
    """Whether no system is in both."""
    if together:
        return together[batch[-1].name] != together[file.name]
    before, after = batch[-1].bounds, file.bounds
    return before is None or after is None or before[1] != after[0]


def _cut(batch: list[SourceFile], order: FileOrder, limit: int) -> Iterator[Part]:
    rows = sum(file.rows for file in batch)
    if order is not FileOrder.SORTED or rows <= WHOLE_PARTS * limit or not _in_order(batch):
        yield _whole(batch)
        return
    cuts: list[Any] = []
    seen = 0
    for group in (group for file in batch for group in file.groups):
        if seen >= limit and (not cuts or group.low > cuts[-1]):
            cuts.append(group.low)
            seen = 0
        seen += group.rows
    for low, high in zip([None, *cuts], [*cuts, None], strict=True):
        within = [file for file in batch if _meets(file, low, high)]
        yield Part(0, tuple(f.name for f in within), low, high, rows // (len(cuts) + 1))


def _in_order(batch: list[SourceFile]) -> bool:
    """Whether row groups too are ranges of names that do not overlap but at their ends."""
    groups = [group for file in batch for group in file.groups]
    return batch[0].key is None and all(a.high <= b.low for a, b in pairwise(groups))


def _meets(file: SourceFile, low: Any, high: Any) -> bool:
    bounds = file.bounds
    assert bounds is not None
    return (low is None or bounds[1] >= low) and (high is None or bounds[0] < high)


def _by_range(
    drafts: Iterable[Part], source: FleetSource, systems: SystemTable, cells: Cells
) -> list[Part]:
    """Return parts with the cells of the known systems that their ranges of names hold."""
    bounds = {file.name: file.bounds for file in source.files}
    numbers = any(each is not None and not isinstance(each[0], str) for each in bounds.values())
    names: list[Any] = systems.ids.to_pylist()
    index = np.arange(len(names))
    if numbers:
        whole = [at for at, name in enumerate(names) if name.lstrip("-").isdigit()]
        index = np.array(sorted(whole, key=lambda at: int(names[at])), dtype=np.int64)
        names = [int(names[at]) for at in index]
    found = []
    for part in drafts:
        ends = [each for each in (bounds[name] for name in part.files) if each is not None]
        low = min(end[0] for end in ends) if part.low is None else part.low
        high = max(end[1] for end in ends)
        last = bisect_right(names, high) if part.high is None else bisect_left(names, part.high)
        members = index[bisect_left(names, low) : last]
        found.append(replace(part, systems=len(members), cells=cells.keys(members)))
    return found


def _by_member(
    drafts: Iterable[Part], members: Mapping[str, NDArray[np.int64]], cells: Cells
) -> list[Part]:
    """Return parts with the cells of the known systems that their files hold."""
    found = []
    for part in drafts:
        numbers = np.concatenate([members[name] for name in part.files])
        found.append(replace(part, systems=len(numbers), cells=cells.keys(numbers)))
    return found


def _scattered(parts: list[Part], cells: Cells) -> bool:
    """Whether the skies would be made again and again, since neighbours lie far apart."""
    total = len(cells.cells)
    return total > SKIES_KEPT and sum(len(part.cells) for part in parts) > 3 * total


def _gathered(source: FleetSource, cells: Cells, mark: str, limit: int) -> FleetPlan:
    """Return a plan that brings the readings of neighbours together first."""
    count = len(cells.of)
    each = max(1, source.rows // max(count, 1))
    size = max(1, min(limit // each, 1000))
    order = np.argsort(cells.of, kind="stable")
    bucket = np.empty(count, dtype=np.int32)
    bucket[order] = np.arange(count) // size
    parts = []
    for index in range(-(-count // size)):
        members = np.flatnonzero(bucket == index)
        parts.append(
            Part(
                index, (), rows=each * len(members), systems=len(members), cells=cells.keys(members)
            )
        )
    return FleetPlan(tuple(parts), mark, bucket)
