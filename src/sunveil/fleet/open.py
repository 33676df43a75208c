"""A fleet opened once, and read part by part: as records, or as blocks for inference."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil._extras import optional_package
from sunveil.errors import MeterError, SunveilError, log_unforeseen
from sunveil.estimates.inference_options import InferOptions
from sunveil.fleet.blocks import Block, record_blocks, usual_blocks
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
from sunveil.fleet.survey import Survey
from sunveil.fleet.systems_table import read_systems
from sunveil.grids import SIZE
from sunveil.meters.build_record import RawSystem, to_record
from sunveil.meters.file_types import stem
from sunveil.meters.numbers_and_dates import name_rows
from sunveil.meters.read_files import at_longitude, settle
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


@dataclass(frozen=True, slots=True, eq=False)
class HeldRecord:
    """A system of the table with its record: private."""

    number: int
    record: Record


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """A fleet that was opened, and is read part by part: private."""

    context: RunContext  # the table of systems, their cells and clocks
    plan: FleetPlan | None = None  # the parts; None in a worker, which is sent its part
    settings: Mapping[str, Any] = field(default_factory=dict)  # as run.json has them

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts."""
        return () if self.plan is None else self.plan.parts

    def refused(self) -> list[RefusedSystem]:
        """Return what is refused before any part is read."""
        unread = (*self.context.job.source.unreadable, *not_gathered(self.context.job.work))
        return [
            *self.context.systems.refused,
            *(RefusedSystem(stem(Path(name)), UNREAD, reason) for name, reason in unread),
        ]

    def gather(self, workers: int) -> None:
        """Bring readings together that are spread over files."""
        if self.plan is not None and self.plan.bucket is not None:
            gather(self.context, self.plan.bucket, workers=workers)

    def records(self, part: Part) -> Iterator[HeldRecord | RefusedSystem]:
        """Yield the systems of a part, or why there is no record of one."""
        # None: records are private. With cleaning="each" the refusals depend on rows and stamps
        # alone.
        if self._of_files:
            yield from _file_records(self.context, part)
            return
        paths = self._paths(part)
        if not paths:
            return
        try:
            found = list(_rows(paths, self.context, part))
        except DAMAGE:
            paths, unread = sound_files(paths, self.context, part)
            yield from unread
            found = list(_rows(paths, self.context, part)) if paths else []
        yield from found

    def blocks(self, part: Part) -> Iterator[Block | RefusedSystem]:
        """Yield the systems of a part on common grids, or why there is no record of one."""
        # None: for inference. A rule that looks at a whole record lets one reading change others,
        # which the sensitivity of a release does not count.
        context = self.context
        if context.job.reading.cleaning is not Cleaning.RECORD:
            raise SunveilError(
                "a fleet that is opened for a release is read as records; open it again with"
                " cleaning record for its blocks"
            )
        if self._of_files:
            yield from _as_blocks(_file_records(context, part), context)
            return
        paths = self._paths(part)
        try:
            survey, values = _surveyed(paths, context, part)
        except DAMAGE:
            paths, unread = sound_files(paths, context, part)
            yield from unread
            survey, values = _surveyed(paths, context, part)
        if survey.unknown_rows:
            columns = context.job.source.columns
            names = system_names(paths, columns, low=part.low, high=part.high)
            yield from _unknown(names, context)
        found = survey.found[: len(survey)]
        survey.needs_review[: len(survey)] |= context.clockless[found]
        if context.job.source.columns.taken is not None:
            # which of two columns counts depends on the meter, and is decided record by record
            survey.needs_review[: len(survey)] |= ~context.systems.generation[found]
        blocks, others = usual_blocks(survey, values, context)
        while blocks:  # each is let go once it is used
            yield blocks.pop(0)
        unusual = [context.names[number] for number in others]
        yield from _as_blocks(_records_of(paths, unusual, context), context)

    @property
    def _of_files(self) -> bool:
        """Whether every file is of one system, and any format."""
        return self.context.job.source.columns.layout is FileLayout.FILES

    def _paths(self, part: Part) -> list[Path]:
        job = self.context.job
        if job.gathered:
            return gathered_files(job.work, part.number)
        return list(job.source.paths(part.files))


def open_fleet(
    fleet: Path,
    systems: Path,
    folder: Path,
    *,
    reading: MeterOptions,
    options: InferOptions | None = None,
    weather: str = "clearsky",
    cell: float = SIZE,
    part_rows: int = PART_ROWS,
    server: Mapping[str, Any] | None = None,
    workers: int,
) -> Fleet:
    """Look at a fleet and its table of systems, and plan its parts; nothing is written yet.

    What a release needs on the way is kept in a folder of its own for every state of the inputs.
    """
    options = options or InferOptions()
    settings = run_settings(reading, options, weather=weather, cell=cell, part_rows=part_rows)
    table = read_systems(systems, reading)
    source = look_at(fleet, reading, aside=[systems, folder])
    cells = find_cells(table, cell)
    ordering = find_order(source, table, reading, workers=workers)
    plan = make_plan(source, table, settings, ordering=ordering, cells=cells)
    own = reading.cleaning is Cleaning.EACH
    job = FleetJob(
        out=str(folder / plan.fingerprint[:16] if own else folder),
        systems=os.path.realpath(systems),
        source=source,
        reading=reading,
        options=options,
        weather=weather,
        cell=cell,
        fingerprint=plan.fingerprint,
        digest=table.digest,
        gathered=plan.bucket is not None,
        span=find_span(source),
        server=tuple((server or {}).items()),
    )
    check_clocks(job, table)
    return Fleet(RunContext(job, table, cells), plan, settings)


def open_records(
    fleet: Path, systems: Path, work: Path, *, reading: MeterOptions, workers: int, **plan: Any
) -> Fleet:
    """Open a fleet for releases; readings that are spread are brought together."""
    reading = replace(reading, cleaning=Cleaning.EACH)
    found = open_fleet(fleet, systems, work, reading=reading, workers=workers, **plan)
    found.gather(workers)
    return found


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
    read = _records_of(paths, sorted(known - lost), context, declared_only=True)
    for each in read:
        name = each.system_id if isinstance(each, RefusedSystem) else context.names[each.number]
        known.discard(name)
        yield each
    for name in sorted(known - lost):
        yield RefusedSystem(name, "meter", f"system {name} has a row without any reading or time")


def _records_of(
    paths: Sequence[Path], names: Sequence[str], context: RunContext, *, declared_only: bool = False
) -> Iterator[HeldRecord | RefusedSystem]:
    """Read some systems of Parquet files by the reader of single files."""
    columns, options = context.job.source.columns, context.job.reading
    gathered = context.job.gathered
    for name, raw in raws_of(paths, columns, names, gathered=gathered, declared_only=declared_only):
        yield _held(raw, options, context, name=name)


def _held(
    raw: RawSystem | MeterError, options: MeterOptions, context: RunContext, *, name: str
) -> HeldRecord | RefusedSystem:
    """Return a system's record, or why there is none."""
    each = context.job.reading.cleaning is Cleaning.EACH
    number = context.place[name]
    found = context.systems.settled(number, raw, options, settle_each if each else settle)
    return found if isinstance(found, RefusedSystem) else HeldRecord(number, found)


def _as_blocks(
    found: Iterator[HeldRecord | RefusedSystem], context: RunContext
) -> Iterator[Block | RefusedSystem]:
    """Yield refusals as they come, then the records as blocks."""
    records: list[tuple[int, Record]] = []
    for each in found:
        if isinstance(each, RefusedSystem):
            yield each
        else:
            records.append((each.number, each.record))
    blocks = record_blocks(records, context)
    while blocks:
        yield blocks.pop(0)


def _surveyed(
    paths: Sequence[Path], context: RunContext, part: Part
) -> tuple[Survey, NDArray[np.float32]]:
    """Read a part's rows: what they say of its systems, and the reading of each row."""
    survey, kept = Survey(len(context.systems)), [np.empty(0, dtype=np.float32)]
    columns = context.job.source.columns
    for keys, micros, values in read_rows(paths, columns, low=part.low, high=part.high):
        survey.note(keys, micros, index=context.index, zones=context.zones, zone=context.clock)
        kept.append(values)
    return survey, np.concatenate(kept)


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


def _file_records(context: RunContext, part: Part) -> Iterator[HeldRecord | RefusedSystem]:
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
