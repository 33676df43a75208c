"""One part of a fleet: its records laid out as blocks and inferred under cached skies."""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sunveil._options import instance
from sunveil.engine.clock_faults import repaired
from sunveil.engine.infer import infer_block
from sunveil.engine.plausibility import flag_units
from sunveil.engine.sky_tables import SkyTable, make_sky_table
from sunveil.errors import MeterError, SunveilError, TooLittleData, WeatherError, log_unforeseen
from sunveil.estimates.estimates_table import Estimate, Estimates, refused_table, write_table
from sunveil.estimates.flags_and_quality import NO_FIT, NO_WEATHER, Flag, reason
from sunveil.estimates.inference_options import InferOptions, Method, Search
from sunveil.estimates.planes_and_intervals import VAGUEST
from sunveil.fleet.blocks import MARGIN, Block, record_span
from sunveil.fleet.duckdb_reader import DAMAGE
from sunveil.fleet.open import FleetOfFiles
from sunveil.fleet.run_context import FleetJob, RunContext, context_of
from sunveil.fleet.run_plan import SKIES_KEPT, Part
from sunveil.fleet.systems_table import SystemTable
from sunveil.grids import Places
from sunveil.meters.read_files import failed
from sunveil.meters.record import UNREAD, Record, RefusedSystem
from sunveil.paper import fit as paper
from sunveil.site import Site, TimeGrid
from sunveil.weather.sources import check_cache, check_weather, get_weather
from sunveil.weather.weather_data import Weather, utc_index

if TYPE_CHECKING:
    from sunveil.weather.cache import WeatherCache

# Skies of a site that are kept, a few megabytes each.
KEPT = 8

Span = tuple["pd.Timestamp", "pd.Timestamp"]


class SiteSkies:
    """The skies of one site: made once for each grid of times, whatever the number of systems."""

    def __init__(
        self,
        latitude: float,
        longitude: float,
        altitude: float | None = None,
        *,
        weather: str | os.PathLike[str] | Weather | pd.DataFrame = "clearsky",
        cache: WeatherCache | None = None,
        load: Callable[[Span], Weather] | None = None,
    ) -> None:
        self.site = Site(latitude, longitude, altitude)
        self._given, self._cache, self._load = check_weather(weather), check_cache(cache), load
        self._made: dict[TimeGrid, SkyTable] = {}

    @classmethod
    def at(
        cls,
        site: Site,
        *,
        weather: str | os.PathLike[str] | Weather | pd.DataFrame = "clearsky",
        cache: WeatherCache | None = None,
    ) -> SiteSkies:
        """Return the skies of a site."""
        return cls(site.latitude, site.longitude, site.altitude, weather=weather, cache=cache)

    @classmethod
    def under(cls, weather: Weather, *, cache: WeatherCache | None = None) -> SiteSkies:
        """Return the skies of the place that some weather is of."""
        instance("weather", weather, Weather, give="Weather, as sunveil.get_weather returns it")
        site = weather.site
        return cls(site.latitude, site.longitude, site.height, weather=weather, cache=cache)

    @property
    def clear(self) -> bool:
        """Whether they are the embedded clear sky."""
        given = self._given
        if isinstance(given, Weather):
            return given.clear
        return isinstance(given, str) and given == "clearsky"

    def over(self, grid: TimeGrid) -> SkyTable:
        """Return the sky over a grid of times."""
        if grid not in self._made:
            while len(self._made) >= KEPT:
                del self._made[next(iter(self._made))]
            if self.clear:
                self._check(grid)
                self._made[grid] = make_sky_table(self.site, grid)
            else:
                self._made[grid] = make_sky_table(self.site, grid, self.weather(_span(grid)))
        return self._made[grid]

    def _check(self, grid: TimeGrid) -> None:
        """Refuse weather of other dates, though a clear sky could be made for any."""
        if not isinstance(self._given, str):
            self.weather(_span(grid))

    def weather(self, span: Span) -> Weather:
        """Return the weather itself over a span, as the paper's method needs it."""
        if self._load is not None:
            return self._load(span)
        return get_weather(self._given, self.site, *span, cache=self._cache)


def _span(grid: TimeGrid) -> Span:
    """Return the span of a grid with a margin for wrong clocks, in UTC."""
    first, last = (pd.Timestamp(t, unit="s", tz="UTC") for t in (grid.first, grid.starts[-1]))
    return first - MARGIN, last + MARGIN


def by_paper(
    record: Record, estimate: Estimate, skies: SiteSkies, options: InferOptions
) -> Estimate:
    """Return an estimate with the paper's plane and capacity in place of the engine's, if asked."""
    # The clock that the engine found is repaired first; flags and agreement are the engine's.
    if options.method is not Method.PAPER:
        return estimate
    if estimate.household is not None:
        raise MeterError(
            f"system {record.system_id} is a net meter, and the paper's method needs the generation"
            " alone: set option `method` to default, which tells them apart"
        )
    weather = skies.weather(record_span(record))
    fit = paper.fit_paper(
        repaired(record, estimate, skies.site),
        weather,
        group=options.group,
        losses=options.losses,
        albedo=options.albedo,
        search=paper.SEARCH if options.search is Search.BAYESOPT else None,
    )
    azimuth, tilt, capacity, radius = paper.resampled(fit)
    if not 0.0 < capacity.low <= capacity.high <= VAGUEST * capacity.low:
        why = reason(NO_FIT, 0, source=weather.source)
        raise TooLittleData(f"system {record.system_id}: {why}")
    notes = []
    if fit.bayes is not None:
        notes.append(
            f"GP-UCB looked at {len(fit.result.grid)} of {len(fit.bayes.grid):,} planes, and the"
            " intervals know only these"
        )
    if weather.clear:
        notes.append(
            "the paper's method chooses clear days by measured weather; under a clear sky every day"
            " looks clear, so its choice of days says nothing"
        )
    return estimate.replaced(
        plane=fit.plane,
        dc_capacity_kw=fit.capacity,
        azimuth_interval=azimuth,
        tilt_interval=tilt,
        capacity_interval=capacity,
        plane_error_degrees=radius,
        haze_summer=None,
        haze_winter=None,
        heat=None,
        clear_hours=None,
        skyline=(),
        years=(),
        trend_percent_per_year=None,
        planes=(),
        tracker=None,
        flags=_of_one_plane(estimate.flags),
        notes=(*estimate.notes, *notes),
    )


def _of_one_plane(flags: tuple[Flag, ...]) -> tuple[Flag, ...]:
    """Return the flags of a method that knows one plane only, where the engine may tell more."""
    more = {Flag.TWO_PLANES, Flag.TRACKER} & set(flags)
    rest = {*(set(flags) - more), *([Flag.NOT_ONE_PLANE] if more else [])}
    return tuple(flag for flag in Flag if flag in rest)


# The columns of the estimates that are summed up when all parts are done.
SUMMED = (
    "system_id",
    "surface_azimuth",
    "surface_tilt",
    "dc_capacity_kw",
    "agreement",
    "quality",
    "flags",
    *(f"planes.list.element.{name}" for name in ("surface_azimuth", "surface_tilt", "share")),
    "tracker.axis_azimuth",
)


@dataclass(frozen=True, slots=True)
class PartResult:
    """How many systems of a part were inferred; the estimates themselves are in its files."""

    number: int  # which part
    inferred: int  # how many of its systems have an estimate, and how many have a reason instead
    refused: int  # how many of its systems have an estimate, and how many have a reason instead


def estimates_file(folder: Path, number: int) -> Path:
    """Return the file of a part's estimates."""
    return folder / "estimates" / f"part-{number:05d}.parquet"


def refused_file(work: Path, number: int) -> Path:
    """Return the file of a part's refusals, which is kept until the run is over."""
    return work / "refused" / f"part-{number:05d}.parquet"


def read_part(job: FleetJob, number: int) -> tuple[pa.Table, pa.Table]:
    """Return the columns of a part's estimates that are summed up, and its refusals."""
    return (
        pq.ParquetFile(estimates_file(job.folder, number)).read(columns=list(SUMMED)),
        pq.read_table(refused_file(job.work, number)),
    )


def finished(job: FleetJob, part: Part) -> PartResult | None:
    """Return what a part came to, if it is done and whole."""
    kept = refused_file(job.work, part.number)
    try:
        inferred = pq.read_metadata(estimates_file(job.folder, part.number)).num_rows
        kinds = pq.read_table(kept, columns=["kind"]).column("kind").to_pylist()
    except DAMAGE:
        return None
    return PartResult(part.number, inferred, sum(kind != UNREAD for kind in kinds))


def infer_systems(
    block: Block,
    names: Sequence[str],
    sky: SkyTable,
    options: InferOptions,
    places: Places | None = None,
) -> Iterator[Estimates | tuple[int, SunveilError]]:
    """Yield the estimates of a block, and the number of each system that has none, with why."""
    # One bad system never stops the others: it is found by inferring each alone.
    frame = block.frame
    try:
        found = infer_block(
            block.power,
            sky,
            net=frame.net,
            options=options,
            timezone=frame.timezone,
            label=frame.label,
            label_known=frame.label_known,
            places=places,
        )
    except Exception as error:
        if len(names) == 1:
            yield int(block.systems[0]), as_refusal(names[0], error)
            return
        for row in range(len(names)):
            alone = slice(row, row + 1)
            own = Block(frame, block.systems[alone], block.power[alone])
            here = None if places is None else places.take(np.array([row]))
            yield from infer_systems(own, names[alone], sky, options, here)
        return
    flag_units(found)
    found.set(system=block.systems)
    inferred = found.outcome == 0
    for row in np.flatnonzero(~inferred).tolist():
        outcome = int(found.outcome[row])
        why = reason(outcome, int(found.daylight_readings[row]), source=sky.source)
        kind = WeatherError if outcome == NO_WEATHER else TooLittleData
        yield int(block.systems[row]), kind(f"system {names[row]}: {why}")
    if inferred.all():
        yield found
    elif inferred.any():
        yield found.take(inferred)


def as_refusal(name: str, error: Exception) -> SunveilError:
    """Return an error as one that users see."""
    if isinstance(error, SunveilError):
        return error
    refused = SunveilError(failed(name, error).reason)
    refused.__cause__ = error
    return refused


def infer_cells(block: Block, context: RunContext) -> Iterator[Estimates | RefusedSystem]:
    """Yield the estimates of a block, cell by cell, and the systems that have none."""
    code = context.cells.of[block.systems]
    if not len(code):
        return
    edges = np.flatnonzero(np.r_[True, code[1:] != code[:-1], True])
    for start, end in pairwise(edges.tolist()):
        own = Block(block.frame, block.systems[start:end], block.power[start:end])
        names = [context.names[number] for number in own.systems]
        try:
            cell = int(code[start])
            # servers are asked for the centres of cells: other runs share their answers
            clear = context.job.weather == "clearsky"
            site = context.cells.sites[cell] if clear else context.cells.cells[cell].site
            sky = skies_of(context).over(site, own.frame.axis)
        except SunveilError as error:
            yield from (RefusedSystem(name, "weather", str(error)) for name in names)
            continue
        places = context.systems.places(own.systems)
        for found in infer_systems(own, names, sky, context.job.options, places):
            if isinstance(found, Estimates):
                yield found
            else:
                number, why = found
                kind = _REFUSED_AS.get(type(why), "failed")
                yield RefusedSystem(context.names[number], kind, str(why))


_REFUSED_AS = {WeatherError: "weather", TooLittleData: "too little data"}


def estimates_table(blocks: Sequence[Estimates], systems: SystemTable) -> pa.Table:
    """Return estimates in the order of the systems, with their places and public keys."""
    found = Estimates.concat(blocks)
    found = found.take(np.argsort(found.system, kind="stable"))
    rows = pa.array(found.system)
    found.set(
        system_id=systems.ids.take(rows).to_numpy(zero_copy_only=False),
        latitude=systems.latitude[found.system],
        longitude=systems.longitude[found.system],
    )
    table = found.to_arrow()
    for key in systems.keys.column_names:
        table = table.append_column(key, systems.keys.column(key).take(rows))
    return table


_EDGE = np.timedelta64(2, "D")  # of weather around a grid of times


class CellSkies:
    """The public skies of weather cells, the latest used ones kept."""

    def __init__(self, weather: str, *, keep: int, server: Mapping[str, Any]) -> None:
        self._weather, self._keep, self._server = weather, keep, dict(server)
        self._lock = threading.Lock()
        self._making: dict[tuple[Site, TimeGrid], threading.Lock] = {}
        self._kept: OrderedDict[tuple[Site, TimeGrid], SkyTable] = OrderedDict()

    def over(self, site: Site, grid: TimeGrid) -> SkyTable:
        """Return the sky of a place over a grid of times."""
        key = site, grid
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            turn = self._making.setdefault(key, threading.Lock())
        with turn:  # the second caller finds it made
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            sky = self._made(site, grid)
            with self._lock:
                self._kept[key] = sky
                self._making.pop(key, None)
                while len(self._kept) > self._keep:
                    self._kept.popitem(last=False)
            return sky

    def _made(self, site: Site, grid: TimeGrid) -> SkyTable:
        """Return the sky of a place, under its weather."""
        if self._weather == "clearsky":
            return make_sky_table(site, grid)
        first, last = (np.datetime64(int(grid.first + grid.step * k), "s") for k in (0, grid.count))
        span = utc_index(np.array([first - _EDGE, last + _EDGE]))
        found = get_weather(self._weather, site, span[0], span[1], **self._server)
        return make_sky_table(site, grid, found)


_skies: WeakKeyDictionary[RunContext, CellSkies] = WeakKeyDictionary()
_skies_lock = threading.Lock()


def skies_of(context: RunContext) -> CellSkies:
    """Return the skies of a run, made once in each process."""
    with _skies_lock:
        if context not in _skies:
            job = context.job
            made = CellSkies(job.weather, keep=SKIES_KEPT, server=dict(job.server))
            _skies[context] = made
        return _skies[context]


_log = logging.getLogger(__name__)


def run_part(job: FleetJob, part: Part) -> PartResult:
    # What is written is private to the curator.
    context = context_of(job)
    blocks: list[Estimates] = []
    refused: list[RefusedSystem] = []
    for each in _outcomes(context, part):
        if isinstance(each, Estimates):
            blocks.append(each)
        else:
            refused.append(each)
    estimates = estimates_table(blocks, context.systems)
    write_table(refused_file(job.work, part.number), refused_table(refused, part.number))
    write_table(estimates_file(job.folder, part.number), estimates)
    named = sum(each.kind != UNREAD for each in refused)
    return PartResult(part.number, estimates.num_rows, named)


def _outcomes(context: RunContext, part: Part) -> Iterator[Estimates | RefusedSystem]:
    """Yield what becomes of every system of a part, whatever happens to one of them."""
    try:
        for each in FleetOfFiles(context).blocks(part):
            if isinstance(each, RefusedSystem):
                yield each
            else:
                yield from infer_cells(each, context)
    except Exception as error:  # the rest of the fleet goes on
        log_unforeseen(_log, f"part {part.number} could not be worked on", error)
        kind = type(error).__name__
        yield RefusedSystem(
            "", UNREAD, f"part {part.number} could not be worked on ({kind}); report it"
        )
