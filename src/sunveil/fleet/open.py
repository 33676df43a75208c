"""Records of a fleet, part by part."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil._extras import optional_package
from sunveil.errors import MeterError, SunveilError, log_unforeseen
from sunveil.estimates.inference_options import InferOptions
from sunveil.fleet.duckdb_reader import (
    DAMAGE,
    NO_TIME,
    cursor,
    filled,
    hashes,
    parquet,
    range_of,
    read_rows,
    system_names,
)
from sunveil.fleet.file_layouts import Columns, FileLayout, Stamp, iter_file_systems, look_at, named
from sunveil.fleet.gather import gather, gathered_files, not_gathered
from sunveil.fleet.run_context import FleetJob, RunContext, check_clocks
from sunveil.fleet.run_plan import (
    PART_ROWS,
    FleetPlan,
    Part,
    find_cells,
    find_order,
    find_span,
    make_plan,
    run_settings,
)
from sunveil.fleet.systems_table import read_systems
from sunveil.grids import SIZE
from sunveil.meters.build_record import RawSystem, to_record
from sunveil.meters.file_types import stem
from sunveil.meters.numbers_and_dates import name_rows
from sunveil.meters.read_files import at_longitude
from sunveil.meters.reading_options import MeterOptions
from sunveil.meters.record import UNREAD, Cleaning, Record, RefusedSystem, prepared
from sunveil.meters.time_steps import Stamps
from sunveil.site import Array

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = optional_package("duckdb", purpose="a fleet")

# Stamps, readings, numbers of rows and, where it is counted apart, what was taken from the grid.
RowsOfSystem = tuple[NDArray[np.int64], Array, NDArray[np.int64], Array | None]


# So many systems are read anew at a time.
_AT_ONCE = 64


def raws_of(
    paths: Sequence[Path],
    columns: Columns,
    names: Sequence[str],
    *,
    gathered: bool,
    declared_only: bool = False,
) -> Iterator[tuple[str, RawSystem | MeterError]]:
    """Yield some systems of Parquet files as the files give them."""
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        for name, rows, file in _some(paths, columns, some):
            where = f"system {name}" if gathered else f"{file}, system {name},"
            if gathered or columns.layout is FileLayout.LISTS:
                rows = rows[0], rows[1], np.arange(len(rows[2])), rows[3]
            yield name, _raw(rows, columns, name, where, declared_only=declared_only)


def _some(
    paths: Sequence[Path], columns: Columns, names: Sequence[str]
) -> Iterator[tuple[str, RowsOfSystem, str]]:
    """Yield the rows of some systems, and the name of the file that the first of them is from."""
    system = columns.name_sql()
    # by the hash, which is compared sooner than a name
    wanted = hashes(pa.array(names, pa.string()))
    listed = ", ".join(str(each) for each in wanted)
    found = (
        cursor()
        .sql(
            f"SELECT hash({system}) AS h, filename AS f, {_columns(columns)}"
            f" FROM {parquet(paths, hive=bool(columns.hive))} WHERE hash({system}) IN ({listed})"
        )
        .to_arrow_table()
    )
    seen = found.column("h").to_numpy()
    micros = filled(found.column("w"), NO_TIME)
    values = found.column("v").to_numpy().astype(np.float64)
    number = found.column("r").to_numpy()
    taken = found.column("i").to_numpy().astype(np.float64) if columns.taken else None
    for name, each in sorted(zip(names, wanted, strict=True)):
        rows = np.flatnonzero(seen == each)
        if len(rows):
            file = Path(found.column("f")[int(rows[0])].as_py()).name
            apart = None if taken is None else taken[rows]
            yield name, (micros[rows], values[rows], number[rows], apart), file


def _columns(columns: Columns) -> str:
    """Return what is read of each row, as SQL."""
    kind = "" if columns.stamp is Stamp.INSTANT else "::TIMESTAMP"
    lists = columns.layout is FileLayout.LISTS

    def number(name: str | None) -> str:
        value = named(name or "")
        return f"unnest({value})::DOUBLE" if lists else f"{value}::DOUBLE"

    numbers = f"{number(columns.power)} AS v, file_row_number AS r"
    if columns.taken:
        numbers += f", {number(columns.taken)} AS i"
    if not lists:
        assert columns.time is not None
        return f"epoch_us({named(columns.time)}{kind}) AS w, {numbers}"
    if columns.time is not None:
        time = f"list_transform({named(columns.time)}, lambda x: epoch_us(x{kind}))"
        return f"unnest({time}) AS w, {numbers}"
    assert columns.start is not None
    assert columns.length is not None
    start, length = f"epoch_us({named(columns.start)}{kind})", named(columns.length)
    place = f"generate_subscripts({named(columns.power)}, 1)"
    return f"{start} + ({place} - 1) * round({length} * 6e7)::BIGINT AS w, {numbers}"


def _raw(
    rows: RowsOfSystem, columns: Columns, name: str, where: str, *, declared_only: bool
) -> RawSystem | MeterError:
    """Return a system's rows as its file gives them."""
    micros, values, number, taken = rows
    number = number.astype(np.int64) + 1
    timeless = micros == NO_TIME
    lost = timeless & ~np.isnan(values)
    if lost.any() and not declared_only:
        return MeterError(
            f"{where} has readings without a time at {name_rows(number[lost])}; remove them"
        )
    kept = ~timeless
    if not kept.any():
        return MeterError(f"{where} has no times at all in its column of times")
    wall = micros[kept].astype(np.int64)
    instant = columns.stamp is Stamp.INSTANT
    offset = np.full(len(wall), 0.0 if instant else np.nan)
    stamps = Stamps(wall, offset, columns.zone if instant else None)
    return RawSystem(
        name,
        where,
        number[kept],
        stamps,
        values[kept],
        columns.unit,
        columns.notes,
        net=columns.net,
        imported=None if taken is None else taken[kept],
    )


def sound_files(
    paths: Sequence[Path], context: RunContext, part: Part
) -> tuple[list[Path], list[RefusedSystem]]:
    """Return the files that can be read to their end, and refusals of the others."""
    sound, refused = [], []
    for path in paths:
        try:
            for _ in read_rows([path], context.job.source.columns, low=part.low, high=part.high):
                pass
        except DAMAGE:
            refused.append(RefusedSystem("", UNREAD, f"{path.name} cannot be read: it is damaged"))
        else:
            sound.append(path)
    return sound, refused


_log = logging.getLogger(__name__)


_READING = (duckdb.Error, pa.ArrowException, OSError)


@dataclass(frozen=True, slots=True, eq=False)
class HeldRecord:
    """A system of the table with its record: private."""

    number: int
    record: Record


@dataclass(frozen=True, slots=True, eq=False)
class FleetRecords:
    """A fleet that is read part by part."""

    context: RunContext  # the table of systems, their cells and clocks
    plan: FleetPlan  # the parts

    def before(self) -> list[RefusedSystem]:
        """Return what is refused before any part is read."""
        unread = (*self.context.job.source.unreadable, *not_gathered(self.context.job.work))
        return [
            *self.context.systems.refused,
            *(RefusedSystem(stem(Path(name)), UNREAD, reason) for name, reason in unread),
        ]

    def of(self, part: Part) -> Iterator[HeldRecord | RefusedSystem]:
        """Yield the systems of a part, or why there is no record of one."""
        # None: records are private. The refusals depend on rows and stamps alone.
        files = self.context.job.source.columns.layout is FileLayout.FILES
        yield from (_from_files if files else _from_rows)(self.context, part)


def open_records(
    fleet: Path,
    systems: Path,
    work: Path,
    *,
    reading: MeterOptions,
    weather: str = "clearsky",
    cell: float = SIZE,
    part_rows: int = PART_ROWS,
    workers: int,
) -> FleetRecords:
    """Look at a fleet and plan its parts; readings that are spread are brought together."""
    reading, options = replace(reading, cleaning=Cleaning.EACH), InferOptions()
    assumed = run_settings(reading, options, weather=weather, cell=cell, part_rows=part_rows)
    table = read_systems(systems, reading)
    source = look_at(fleet, reading, aside=[systems, work])
    cells = find_cells(table, cell)
    ordering = find_order(source, table, reading, workers=workers)
    plan = make_plan(source, table, assumed, ordering=ordering, cells=cells)
    job = FleetJob(
        # of its own for every state of the inputs: what another has left is not looked at
        out=str(work / plan.fingerprint[:16]),
        systems=str(systems),
        source=source,
        reading=reading,
        options=options,
        weather=weather,
        cell=cell,
        fingerprint=plan.fingerprint,
        digest=table.digest,
        gathered=plan.bucket is not None,
        span=find_span(source),
    )
    check_clocks(job, table)
    context = RunContext(job, table, cells)
    if plan.bucket is not None:
        gather(context, plan.bucket, workers=workers)
    return FleetRecords(context, plan)


def site_records(
    path: Path, options: MeterOptions, *, longitude: float
) -> list[Record | RefusedSystem]:
    """Return the systems of a file or folder at one site, or why there is no record of one."""
    # None: records are private. The refusals depend on rows and stamps alone.
    found = list(iter_file_systems([path], replace(options, cleaning=Cleaning.EACH)))
    if len(found) == 1 and isinstance(found[0], RefusedSystem):
        raise MeterError(found[0].reason)
    settled = [
        each if isinstance(each, RefusedSystem) else settle_each(*each[1:], name=each[0])
        for each in found
    ]
    return [at_longitude(each, longitude) for each in settled]


def settle_each(
    raw: RawSystem | MeterError, options: MeterOptions, *, name: str
) -> Record | RefusedSystem:
    """Return a system's record as releases take it, or why there is none."""
    try:
        if isinstance(raw, MeterError):
            raise raw
        return record_of(raw, options)
    except SunveilError as error:
        return RefusedSystem(name, "meter", str(error))


def record_of(raw: RawSystem, options: MeterOptions) -> Record:
    """Return a record as releases take it, or refuse its stamps."""
    try:
        return prepared(to_record(raw, options))
    except Exception as error:
        if not isinstance(error, SunveilError):
            log_unforeseen(_log, "a record could not be taken", error, private=True)
        # For its readings, or for its stamps: without any it has the stamps alone to be refused
        # for. What agrees with no candidate is zero of a meter of generation, nothing of a net one.
        nothing = np.full(len(raw.values), np.nan if raw.net or options.net else 0.0)
        return prepared(to_record(replace(raw, values=nothing, imported=None), options))


def _from_rows(context: RunContext, part: Part) -> Iterator[HeldRecord | RefusedSystem]:
    job = context.job
    paths = gathered_files(job.work, part.number) if job.gathered else job.source.paths(part.files)
    if not paths:
        return
    try:
        found = list(_rows(paths, context, part))
    except _READING:
        paths, unread = sound_files(paths, context, part)
        yield from unread
        found = list(_rows(paths, context, part)) if paths else []
    yield from found


def _rows(
    paths: Sequence[Path], context: RunContext, part: Part
) -> Iterator[HeldRecord | RefusedSystem]:
    columns = context.job.source.columns
    names = system_names(paths, columns, low=part.low, high=part.high)
    yield from _unknown(names, context)
    known = {name for name in names if name in context.place}
    lost = known & _uneven_lists(paths, columns, part)
    for name in sorted(lost):
        reason = f"system {name} has lists of times and readings of unequal length; correct them"
        yield RefusedSystem(name, "meter", reason)
    left, gathered = sorted(known - lost), context.job.gathered
    for name, raw in raws_of(paths, columns, left, gathered=gathered, declared_only=True):
        known.discard(name)
        yield _held(raw, context.job.reading, context, name=name)
    for name in sorted(known - lost):
        yield RefusedSystem(name, "meter", f"system {name} has a row without any reading or time")


def _held(
    raw: RawSystem | MeterError, options: MeterOptions, context: RunContext, *, name: str
) -> HeldRecord | RefusedSystem:
    """Return a system's record, or why there is none."""
    number = context.place[name]
    found = context.systems.settled(number, raw, options, settle_each)
    return found if isinstance(found, RefusedSystem) else HeldRecord(number, found)


def _unknown(names: Sequence[str], context: RunContext) -> Iterator[RefusedSystem]:
    where = Path(context.job.systems).name
    for name in names:
        if name == "":
            yield RefusedSystem(
                "", "unknown", "some rows name no system; fill the column of systems"
            )
        elif name not in context.place and name not in context.refused:
            yield RefusedSystem(
                name, "unknown", f"system {name} is not in {where}; add its place there"
            )


def _uneven_lists(paths: Sequence[Path], columns: Columns, part: Part) -> set[str]:
    """Return systems whose lists of times and readings do not go together."""
    if columns.layout is FileLayout.LONG or columns.time is None:
        return set()
    within = range_of(columns, part.low, part.high)
    found = cursor().execute(
        f"SELECT DISTINCT {columns.name_sql()}"
        f" FROM {parquet(paths, hive=bool(columns.hive))}{within}"
        f" {'AND' if within else 'WHERE'}"
        f" len({named(columns.time)}) IS DISTINCT FROM len({named(columns.power)})"
    )
    return {str(row[0]) for row in found.fetchall()}


def _from_files(context: RunContext, part: Part) -> Iterator[HeldRecord | RefusedSystem]:
    """Read files of any kind by the reader of single files."""
    paths = context.job.source.paths(part.files)
    for each in iter_file_systems(paths, context.job.reading):
        if isinstance(each, RefusedSystem):
            yield each
            continue
        name, raw, options = each
        if name in context.place:
            yield _held(raw, options, context, name=name)
        else:
            yield from _unknown([name], context)
