"""The systems of a fleet as private releases read them: part by part, each reading taken alone.

Who is refused here is told by the table of systems, by which rows there are, and by their stamps:
all of this is public. What the readings say, and which of them are missing, makes no difference:
a record that could not be used for that reason is taken as one of zeros, which agrees with no
candidate and is released like any other.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from sunveil.errors import MeterError, SunveilError, log_unforeseen
from sunveil.fleet.database import cursor, named, parquet
from sunveil.fleet.gather import gather, gathered_files, not_gathered
from sunveil.fleet.job import FleetJob, RunContext, check_clocks
from sunveil.fleet.layouts import Columns, FileLayout
from sunveil.fleet.order import find_order, find_span
from sunveil.fleet.plain_files import iter_file_systems
from sunveil.fleet.plan import FleetPlan, Part, find_cells, make_plan
from sunveil.fleet.reading import range_of, system_names
from sunveil.fleet.records import raws_of
from sunveil.fleet.settings import FleetSettings
from sunveil.fleet.source import look_at
from sunveil.fleet.systems import RefusedSystem, read_systems
from sunveil.fleet.task import UNREAD, sound_files
from sunveil.meters.assemble import RawSystem, to_record
from sunveil.meters.contents import stem
from sunveil.meters.options import MeterOptions
from sunveil.meters.read import at_longitude
from sunveil.meters.record import Cleaning, Record
from sunveil.releases.frame import prepared

_log = logging.getLogger(__name__)
_READING = (duckdb.Error, pa.ArrowException, OSError)


@dataclass(frozen=True, slots=True, eq=False)
class HeldRecord:
    """A system of the table with its record: private."""

    number: int
    record: Record


@dataclass(frozen=True, slots=True, eq=False)
class FleetRecords:
    """A fleet that is read part by part.

    Parameters
    ----------
    context
        The table of systems, their cells and clocks.
    plan
        The parts.
    """

    context: RunContext
    plan: FleetPlan

    def before(self) -> list[RefusedSystem]:
        """Return what is refused before any part is read."""
        unread = (*self.context.job.source.unreadable, *not_gathered(self.context.job.work))
        return [
            *self.context.systems.refused,
            *(RefusedSystem(stem(Path(name)), UNREAD, reason) for name, reason in unread),
        ]

    def of(self, part: Part) -> Iterator[HeldRecord | RefusedSystem]:
        """Yield the systems of a part, or why there is no record of one.

        Privacy
        -------
        None: records are private. The refusals depend on rows and stamps alone.
        """
        files = self.context.job.source.columns.layout is FileLayout.FILES
        yield from (_from_files if files else _from_rows)(self.context, part)


def open_records(
    fleet: Path, systems: Path, work: Path, *, settings: FleetSettings, workers: int
) -> FleetRecords:
    """Look at a fleet and plan its parts; readings that are spread are brought together.

    Parameters
    ----------
    fleet, systems
        The readings and the table of systems, as for :func:`~sunveil.fleet.run.infer_fleet`.
    work
        A private folder of one's own, for what is needed on the way.
    settings
        How to read the meters; each reading is taken alone, whatever they say.
    workers
        How many files to look at at a time.
    """
    meters = replace(settings.meters, cleaning=Cleaning.EACH)
    settings = replace(settings, meters=meters)
    table = read_systems(systems, meters)
    source = look_at(fleet, meters, aside=[systems, work])
    cells = find_cells(table, settings.cell)
    ordering = find_order(source, table, meters, workers=workers)
    plan = make_plan(source, table, settings, ordering=ordering, cells=cells)
    job = FleetJob(
        # of its own for every state of the inputs: what another has left is not looked at
        out=str(work / plan.fingerprint[:16]),
        systems=str(systems),
        source=source,
        settings=settings,
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
    """Return the systems of a file or folder at one site, or why there is no record of one.

    Parameters
    ----------
    path
        The file or folder.
    options
        How to read it; each reading is taken alone, whatever they say.
    longitude
        Of the site, which clocks must fit. [degrees east]

    Privacy
    -------
    None: records are private. The refusals depend on rows and stamps alone.
    """
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
    """Return a system's record as releases take it, or why there is none.

    Parameters
    ----------
    raw
        Its rows as read, or why they could not be.
    options
        How to read it, with ``cleaning="each"``.
    name
        The system.
    """
    try:
        if isinstance(raw, MeterError):
            raise raw
        return record_of(raw, options)
    except SunveilError as error:
        return RefusedSystem(name, "meter", str(error))


def record_of(raw: RawSystem, options: MeterOptions) -> Record:
    """Return a record as releases take it, or refuse its stamps.

    Parameters
    ----------
    raw
        A system as its source gives it.
    options
        How to read it, with ``cleaning="each"``.
    """
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
        yield _held(raw, context.job.settings.meters, context, name=name)
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
    for each in iter_file_systems(paths, context.job.settings.meters):
        if isinstance(each, RefusedSystem):
            yield each
            continue
        name, raw, options = each
        if name in context.place:
            yield _held(raw, options, context, name=name)
        else:
            yield from _unknown([name], context)
