"""A fleet opened once, and read part by part: as records, or as blocks for inference."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil._files import held
from sunveil._options import checked, instance
from sunveil.errors import MeterError, ParameterError, SunveilError, log_unforeseen
from sunveil.estimates.inference_options import InferOptions
from sunveil.fleet.blocks import Block, iter_own_blocks, record_blocks, usual_blocks
from sunveil.fleet.duckdb_reader import (
    DAMAGE,
    cursor,
    parquet,
    range_of,
    raws_of,
    read_rows,
    sound_files,
    system_names,
)
from sunveil.fleet.file_layouts import (
    Columns,
    FileLayout,
    FileSystem,
    iter_file_systems,
    look_at,
    named,
)
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
from sunveil.fleet.systems_table import SystemTable, read_systems
from sunveil.grids import SIZE
from sunveil.household_keys import key_of
from sunveil.meters.build_record import RawSystem, to_record
from sunveil.meters.file_types import stem
from sunveil.meters.read_files import at_longitude, record_or_refusal
from sunveil.meters.reading_options import MeterOptions
from sunveil.meters.record import UNREAD, Cleaning, Record, RefusedSystem, prepared
from sunveil.site import Site
from sunveil.weather.weather_data import Weather

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class HeldRecord:
    """A system of the table with its record: private."""

    number: int
    record: Record


class Fleet(ABC):
    """Systems with opened readings, read part by part: private."""

    names: Sequence[str]  # of all systems that are said to be there, with readings or without
    cells: NDArray[np.int32]  # the number of each system's weather cell
    cleaning: Cleaning
    weather: str | Weather  # where the public weather comes from
    server: Mapping[str, Any]  # what a weather server needs
    parts: tuple[Part, ...]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.names)} systems, private)"

    @property
    @abstractmethod
    def sites(self) -> Sequence[Site]:
        """The places of the weather cells."""

    @abstractmethod
    def refused(self) -> list[RefusedSystem]:
        """Return what is refused before any part is read."""

    @abstractmethod
    def records(self, part: Part) -> Iterator[HeldRecord | RefusedSystem]:
        """Yield the systems of a part, or why there is no record of one."""
        # Records are private. With cleaning="each", refusals depend on rows and time stamps alone.

    def blocks(self, part: Part) -> Iterator[Block | RefusedSystem]:
        """Yield the systems of a part on common grids, or why there is no record of one."""
        # For inference only. A rule that looks at a whole record lets one reading change others,
        # which the sensitivity of a release does not count.
        if self.cleaning is not Cleaning.RECORD:
            raise SunveilError(
                "a fleet that is opened for a release is read as records; open it again with"
                " cleaning record for its blocks"
            )
        return self._blocks(part)

    @abstractmethod
    def _blocks(self, part: Part) -> Iterator[Block | RefusedSystem]: ...

    def all_records(self) -> list[Record]:
        """Return the records of all parts."""
        every = (each for part in self.parts for each in self.records(part))
        return [each.record for each in every if isinstance(each, HeldRecord)]

    def in_memory(self) -> FleetInMemory:
        """Return the fleet with all its records read."""
        every = [each for part in self.parts for each in self.records(part)]
        found, given = [*self.refused(), *every], (self.cleaning, self.weather, self.server)
        return FleetInMemory(self.names, self.sites, self.cells, found, *given)


class FleetInMemory(Fleet):
    """Records in memory, each over its own span."""

    def __init__(
        self,
        names: Sequence[str],
        sites: Sequence[Site],
        cells: NDArray[np.int32],
        found: Sequence[HeldRecord | RefusedSystem],
        cleaning: Cleaning,
        weather: str | Weather,
        server: Mapping[str, Any],
    ) -> None:
        self.names, self.cells, self.cleaning = names, cells, cleaning
        self.weather, self.server = weather, server
        self.parts = (Part(0, (), systems=len(names)),)
        self._sites, self._found = sites, found

    @property
    def sites(self) -> Sequence[Site]:
        """The places of the weather cells."""
        return self._sites

    def refused(self) -> list[RefusedSystem]:
        """Return what is refused: all of it is known."""
        return [each for each in self._found if isinstance(each, RefusedSystem)]

    def records(self, part: Part) -> Iterator[HeldRecord | RefusedSystem]:
        """Yield all systems."""
        del part
        yield from self._found

    def _blocks(self, part: Part) -> Iterator[Block | RefusedSystem]:
        yield from self.refused()
        found = [each for each in self._found if isinstance(each, HeldRecord)]
        for block in iter_own_blocks([each.record for each in found]):
            numbers = np.array([found[at].number for at in block.systems], dtype=np.int32)
            yield replace(block, systems=numbers)


class FleetOfFiles(Fleet):
    """A fleet on disk with its table of systems, in one process."""

    def __init__(
        self,
        context: RunContext,
        plan: FleetPlan | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        job = context.job
        self.context = context  # the table of systems, their cells and clocks
        self.plan = plan  # the parts; None in a worker, which is sent its part
        self.settings = settings or {}  # as run.json has them
        self.names, self.cells = context.names, context.cells.of
        self.cleaning, self.weather = Cleaning(job.reading.cleaning), job.weather
        self.server = dict(job.server)
        self.parts = () if plan is None else plan.parts

    @property
    def sites(self) -> Sequence[Site]:
        """The places of the weather cells."""
        return self.context.weather_sites

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
        if self._of_files:
            yield from _file_records(self.context, part)
            return
        paths = self._paths(part)
        if not paths:
            return
        try:
            found = list(_rows(paths, self.context, part))
        except DAMAGE:
            paths, unread = self._sound(paths, part)
            yield from unread
            found = list(_rows(paths, self.context, part)) if paths else []
        yield from found

    def _blocks(self, part: Part) -> Iterator[Block | RefusedSystem]:
        context = self.context
        if self._of_files:
            yield from _as_blocks(_file_records(context, part), context)
            return
        paths = self._paths(part)
        try:
            survey, values = _surveyed(paths, context, part)
        except DAMAGE:
            paths, unread = self._sound(paths, part)
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

    def _sound(self, paths: Sequence[Path], part: Part) -> tuple[list[Path], list[RefusedSystem]]:
        return sound_files(paths, self.context.job.source.columns, part.low, part.high)

    @property
    def _of_files(self) -> bool:
        """Whether every file is of one system, and any format."""
        return self.context.job.source.columns.layout is FileLayout.FILES

    def _paths(self, part: Part) -> list[Path]:
        job = self.context.job
        if job.gathered:
            return gathered_files(job.work, part.number)
        return list(job.source.paths(part.files))


def plan_fleet(
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
) -> FleetOfFiles:
    """Look at a fleet and its table of systems, and plan its parts; nothing is written yet."""
    # What a release needs on the way is in a folder of its own for every state of the inputs.
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
    return FleetOfFiles(RunContext(job, table, cells), plan, settings)


@contextmanager
@checked
def open_fleet(
    readings: Path | str | Sequence[Record],
    systems: Path | str | None = None,
    *,
    site: Site | None = None,
    reading: MeterOptions | None = None,
    weather: str | Weather = "clearsky",
    cell: float = SIZE,
    part_rows: int = PART_ROWS,
    server: Mapping[str, Any] | None = None,
    work: Path | str | None = None,
    workers: int | None = None,
) -> Iterator[Fleet]:
    """Open readings, and hold them open to be read as records or blocks.

    Parameters
    ----------
    readings
        Parquet, long or with lists, a file of any other kind, a folder of files, or records that a
        reader returned.
    systems
        The table of systems: the place of each, its time zone and public columns. None where all
        systems are at one ``site``; their records are then read at once.
    site
        The place of all systems.
    reading
        How to read the meters. With ``cleaning="each"`` every reading is taken alone, as releases
        need it, and there are no blocks.
    weather
        ``"clearsky"``, ``"nsrdb"`` or ``"pvgis"``; at one site also the path of a file, or a
        :class:`~sunveil.Weather`.
    cell, part_rows
        As for :func:`~sunveil.infer_fleet`.
    server
        What a weather server needs: ``api_key``, ``email``.
    work
        A private folder for temporary files, new or empty. It stays when a release is stopped, and
        is removed at the end; None for a temporary one.
    workers
        Number of threads that bring spread readings together; the number of processors if None.

    Yields
    ------
    Fleet
        Its ``parts``, and for each of them ``records(part)`` and ``blocks(part)``.

    Privacy
    -------
    None: readings are held open. With ``cleaning="each"``, who is refused depends on rows, stamps
    and places alone.
    """
    reading = reading or MeterOptions()
    count = (os.cpu_count() or 1) if workers is None else workers
    if not 1 <= count <= 1024:
        raise ParameterError(f"workers must be between 1 and 1024, and {workers} is not")
    if systems is None:
        if site is None:
            raise ParameterError("give the table of systems, or the site where all of them are")
        yield _at_one_site(readings, site, reading, weather, server)
        return
    if not isinstance(readings, (str, Path)) or not isinstance(weather, str):
        raise ParameterError(
            "a table of systems goes with a file or folder of readings, and with weather by name"
        )
    with _folder(None if work is None else Path(os.path.realpath(work))) as folder:
        found = plan_fleet(
            Path(readings),
            Path(systems),
            folder,
            reading=reading,
            weather=weather,
            cell=cell,
            part_rows=part_rows,
            server=server,
            workers=count,
        )
        found.gather(count)
        yield found


def _at_one_site(
    readings: Path | str | Sequence[Record],
    site: Site,
    reading: MeterOptions,
    weather: str | Weather,
    server: Mapping[str, Any] | None,
) -> FleetInMemory:
    """Return the systems of a file, a folder or of records at one site."""
    found: list[Record | RefusedSystem]
    cleaning = Cleaning(reading.cleaning)
    if isinstance(readings, (str, Path)):
        found = _site_records(Path(readings), reading, longitude=site.longitude)
    else:
        found = list(readings)
        for each in found:
            instance("readings", each, Record, give="records, as a reader of meters returns them")
        whole = any(each.cleaning is Cleaning.RECORD for each in readings)
        cleaning = Cleaning.RECORD if whole else Cleaning.EACH
    records = [each for each in found if isinstance(each, Record)]
    every: list[HeldRecord | RefusedSystem]
    every = [each for each in found if isinstance(each, RefusedSystem)]
    every += [HeldRecord(number, record) for number, record in enumerate(records)]
    names = [record.system_id for record in records]
    if len({key_of(name) for name in names}) != len(names):
        raise ParameterError("a system is named twice; each system is one row of a publication")
    cells = np.zeros(len(names), dtype=np.int32)
    return FleetInMemory(names, (site,), cells, every, cleaning, weather, server or {})


def _site_records(
    path: Path, options: MeterOptions, *, longitude: float
) -> list[Record | RefusedSystem]:
    # Records are private. For a release the refusals depend on rows and stamps alone.
    found = list(iter_file_systems([path], options))
    if len(found) == 1 and isinstance(found[0], RefusedSystem):
        raise MeterError(found[0].reason)
    made = record_each if options.cleaning is Cleaning.EACH else record_or_refusal
    records = (
        each if isinstance(each, RefusedSystem) else made(*each[1:], name=each[0]) for each in found
    )
    return [at_longitude(each, longitude) for each in records]


# Says that a folder is a run's own, which may be removed.
_MARKER = ".sunveil-work"


def _check_own(work: Path) -> None:
    """Refuse a folder with anything in it that no run has left there: it is removed at the end."""
    left = (work / _MARKER).is_file() or any(work.glob("*/drawn-*/part-*.json"))
    if not left and any(each.name != ".lock" for each in work.iterdir()):
        raise ParameterError(
            "work must be a new or an empty folder, since it is removed at the end; name another"
        )


@contextmanager
def _folder(work: Path | None) -> Iterator[Path]:
    if work is None:
        with tempfile.TemporaryDirectory(prefix="sunveil-") as name:
            yield Path(name)
        return
    try:
        work.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        raise ParameterError(
            f"{work} cannot be made, which a fleet needs on the way; check the folder above it"
        ) from None
    _check_own(work)
    with held(work):
        (work / _MARKER).touch(mode=0o600)
        needed = False
        try:
            yield work
        except BaseException:
            # what was drawn on a charge is worth keeping; nothing else is
            needed = any(work.glob("*/drawn-*/part-*.json"))
            raise
        finally:
            if not needed:
                shutil.rmtree(work, ignore_errors=True)


def some_records(
    paths: Sequence[Path],
    columns: Columns,
    table: SystemTable,
    names: Collection[str] | None = None,
    *,
    options: MeterOptions,
) -> Iterator[tuple[str | None, Record | RefusedSystem]]:
    """Yield some systems of files by name, as inference reads them, and files that cannot be read.

    A system that the table does not know is read as the options say; without names, files give all.
    """
    found: Iterable[FileSystem | RefusedSystem]
    if columns.layout is FileLayout.FILES:
        found = iter_file_systems(paths, options)
    else:
        read = raws_of(paths, columns, sorted(names or ()), gathered=False)
        found = ((name, raw, options) for name, raw in read)
    places = table.numbers
    for each in found:
        if isinstance(each, RefusedSystem):
            yield None, each
        elif names is None or each[0] in names:
            name, raw, own = each
            if name in places:
                yield name, table.record_at(places[name], raw, own)
            else:
                yield name, record_or_refusal(raw, own, name=name)


def record_each(
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
    found = context.systems.record_at(
        number, raw, options, record_each if each else record_or_refusal
    )
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
    """Return systems with lists of times and readings that do not match."""
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
