"""Readings and weather in, metadata out.

:func:`infer` takes pandas objects, :func:`infer_records` the records that readers return. One
system is a batch of one: all of them go through :func:`sunveil.engine.infer_block`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sunveil.engine import (
    SAVINGS,
    BlockEstimates,
    EngineOptions,
    SkyTable,
    infer_block,
    make_sky_table,
    reason,
)
from sunveil.engine.assumed import Clock as Clock
from sunveil.engine.hypotheses import ClockHypothesis, FoundClock
from sunveil.engine.metering import flag_meters, name_likelier_unit, refuse_net
from sunveil.engine.outcomes import NO_FIT, NO_WEATHER, VAGUEST, flags_of, skyline_of
from sunveil.engine.saving import ClockCalendar
from sunveil.errors import MeterError, ParameterError, SunveilError, TooLittleData, WeatherError
from sunveil.estimate import Assumptions, Estimate, Flag
from sunveil.meters.options import MeterOptions
from sunveil.meters.read import failed
from sunveil.meters.record import Record
from sunveil.meters.refusals import RefusedSystem
from sunveil.profiles import DayGroup
from sunveil.quantities import Interval
from sunveil.search import Search
from sunveil.site import Losses, Mount, Plane, Site, SkyModel
from sunveil.timegrid import TimeGrid

if TYPE_CHECKING:
    import pandas as pd

    from sunveil.weather import Weather, WeatherCache

MARGIN = dt.timedelta(days=2)
# Systems that are inferred together; a sky serves them all.
BATCH = 64
# Skies of a site that are kept, a few megabytes each.
KEPT = 8

Kind = TypeVar("Kind", bound=StrEnum)
Span = tuple["pd.Timestamp", "pd.Timestamp"]


class Method(StrEnum):
    """How the plane is inferred."""

    DEFAULT = "default"
    PAPER = "paper"


@dataclass(frozen=True, slots=True)
class Options:
    """What an inference assumes and does.

    Parameters
    ----------
    method
        ``default``: agreement over all readings and a robust refinement; ``paper``: the paper's.
    clock
        ``repair``: test the clock and repair it first; ``given``: take it as declared.
    losses
        What stands between light and meter.
    albedo
        Fraction of global light that the ground sends back.
    group
        How the paper's method groups days.
    search
        How the paper's method looks for its maximiser: ``exhaustive`` over all 32,400 planes, or
        ``bayesopt``, at most 110 of them chosen by GP-UCB.
    mount
        How the modules are mounted, where somebody knows: hot modules give less, so it matters for
        the capacity.
    force
        Whether to infer what does not look like generation at its place all the same, flagged.
    """

    method: Method = Method.DEFAULT
    clock: Clock = Clock.REPAIR
    losses: Losses = field(default_factory=Losses)
    albedo: float = 0.2
    group: DayGroup = DayGroup.MONTH
    search: Search = Search.EXHAUSTIVE
    mount: Mount = Mount.UNKNOWN
    force: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.albedo <= 1.0:
            raise ParameterError(f"albedo must be between 0 and 1, and {self.albedo:g} is not")

    @classmethod
    def of(
        cls,
        *,
        method: str = "default",
        clock: str = "repair",
        losses: Losses | None = None,
        albedo: float = 0.2,
        group: str = "month",
        search: str = "exhaustive",
        mount: str = "unknown",
        force: bool = False,
    ) -> Options:
        """Return options given by their names; the parameters are those of the class.

        Parameters
        ----------
        method, clock, group, search, mount
            Names of what the class has as enumerations.
        losses
            PVWatts' when None.
        albedo
            Fraction of global light that the ground sends back.
        force
            Whether to infer what does not look like generation.
        """
        return cls(
            method=_choice(Method, "method", method),
            clock=_choice(Clock, "clock", clock),
            losses=losses or Losses(),
            albedo=albedo,
            group=_choice(DayGroup, "group", group),
            search=_choice(Search, "search", search),
            mount=_choice(Mount, "mount", mount),
            force=force,
        )

    @property
    def engine(self) -> EngineOptions:
        """What of them the engine takes."""
        return EngineOptions(self.clock, self.losses, self.albedo, self.mount, self.force)


def infer(
    power: pd.Series[float] | Record,
    *,
    latitude: float,
    longitude: float,
    altitude: float | None = None,
    weather: str | Weather | pd.DataFrame = "clearsky",
    timezone: str | None = None,
    unit: str = "auto",
    label: str = "auto",
    method: str = "default",
    clock: str = "repair",
    losses: Losses | None = None,
    albedo: float = 0.2,
    group: str = "month",
    search: str = "exhaustive",
    mount: str = "unknown",
    force: bool = False,
    cache: WeatherCache | None = None,
) -> Estimate:
    """Infer azimuth, tilt and DC capacity of one system from its generation data.

    Parameters
    ----------
    power
        A series of power indexed by time, or a record that a reader returned, whose own unit, time
        zone and label then count. For a frame of several systems, see :func:`infer_frame`.
    latitude, longitude
        The place; north and east are positive. [degrees]
    altitude
        Height above the sea; looked up when left out. [m]
    weather
        ``"clearsky"`` (no network, no key), ``"nsrdb"``, ``"pvgis"``, a file's path, a
        :class:`~sunveil.weather.Weather`, or a frame in pvlib's names.
    timezone
        Time zone of times that have none: ``"UTC"``, ``"-07:00"``, an IANA name.
    unit
        Unit of a series: W, kW, Wh or kWh; with ``auto`` it is taken to be kW, and a capacity that
        would be a home's in W is flagged.
    label
        Which instant of its interval a stamp names: ``start``, ``middle``, ``end``; or ``auto``:
        the middle of intervals below 30 minutes, the start of longer ones.
    method
        ``default`` or ``paper``.
    clock
        ``repair`` or ``given``.
    losses
        System losses, inverter efficiency, temperature coefficient; PVWatts' when left out.
    albedo
        Fraction of light that the ground sends back.
    group
        How the paper's method groups days: ``week``, ``month`` or ``quarter``.
    search
        How it looks for its maximiser: ``exhaustive`` or ``bayesopt``.
    mount
        ``rack``, ``roof`` or ``unknown``; a known mount makes the capacity surer.
    force
        Infer what does not look like generation at this place all the same, flagged.
    cache
        Where weather is kept; the user's cache folder when left out.

    Returns
    -------
    Estimate
        Plane, capacity, their 90% intervals, the clock, and what to know before trusting them.

    Privacy
    -------
    None: the estimate is as private as the readings. Releases are another matter.
    """
    from sunveil.meters import from_pandas

    options = Options.of(
        method=method,
        clock=clock,
        losses=losses,
        albedo=albedo,
        group=group,
        search=search,
        mount=mount,
        force=force,
    )
    if isinstance(power, Record):
        record = power
    else:
        name = "system" if power.name is None else str(power.name)
        record = from_pandas(power, system_id=name, unit=unit, timezone=timezone, label=label)
    skies = SiteSkies(latitude, longitude, altitude, weather=weather, cache=cache)
    return _given(next(infer_records([record], skies, options=options)))


def infer_frame(
    frame: pd.DataFrame,
    *,
    latitude: float,
    longitude: float,
    altitude: float | None = None,
    weather: str | Weather | pd.DataFrame = "clearsky",
    unit: str = "auto",
    timezone: str | None = None,
    label: str = "auto",
    cache: WeatherCache | None = None,
    refused: list[RefusedSystem] | None = None,
    **settings: Any,
) -> list[Estimate]:
    """Infer every system of a long frame of one place, in the order of the systems.

    Parameters
    ----------
    frame
        Columns ``system_id``, ``time`` and ``power_kw``.
    latitude, longitude, altitude, weather, cache
        As for :func:`infer`.
    unit, timezone, label
        As for :func:`infer`; the unit is told by the column's name when left out.
    refused
        A list to which systems that cannot be inferred are added, with their reasons; without one,
        the first of them raises its reason. The others' estimates are the same in any case.
    **settings
        ``method``, ``clock``, ``losses``, ``albedo``, ``group``, ``search``, ``mount`` and
        ``force``, as for
        :func:`infer`.
    """
    from sunveil.meters import records_from_frame

    options = Options.of(**settings)
    reading = MeterOptions(unit=unit, timezone=timezone, label=label)
    records = records_from_frame(frame, reading, refused=refused)
    skies = SiteSkies(latitude, longitude, altitude, weather=weather, cache=cache)
    estimates = []
    for record, found in zip(records, infer_records(records, skies, options=options), strict=True):
        if refused is not None and isinstance(found, SunveilError):
            refused.append(RefusedSystem(record.system_id, "inference", str(found)))
        else:
            estimates.append(_given(found))
    return estimates


def record_span(record: Record) -> Span:
    """Return the span of a record with a margin for wrong clocks, in UTC."""
    import pandas as pd

    first, last = (pd.Timestamp(t, tz="UTC") for t in record.extent)
    return first - MARGIN, last + MARGIN


class SiteSkies:
    """The skies of one site: made once for each grid of times, whatever the number of systems.

    Parameters
    ----------
    latitude, longitude
        The place; north and east are positive. [degrees]
    altitude
        Height above the sea; looked up when None. [m]
    weather
        As for :func:`~sunveil.weather.get_weather`.
    cache
        Where weather is kept.
    load
        Gets the weather over a span, where the caller has its own way.
    """

    def __init__(
        self,
        latitude: float,
        longitude: float,
        altitude: float | None = None,
        *,
        weather: str | Weather | pd.DataFrame = "clearsky",
        cache: WeatherCache | None = None,
        load: Callable[[Span], Weather] | None = None,
    ) -> None:
        self.site = Site(latitude, longitude, altitude)
        self._given, self._cache, self._load = weather, cache, load
        self._made: dict[TimeGrid, SkyTable] = {}

    @classmethod
    def under(cls, weather: Weather, *, cache: WeatherCache | None = None) -> SiteSkies:
        """Return the skies of the place that some weather is of."""
        site = weather.site
        return cls(site.latitude, site.longitude, site.height, weather=weather, cache=cache)

    @property
    def clear(self) -> bool:
        """Whether they are the embedded clear sky."""
        from sunveil.weather import Weather

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
        from sunveil.weather import get_weather

        if self._load is not None:
            return self._load(span)
        return get_weather(self._given, self.site, *span, cache=self._cache)


def infer_record(
    record: Record,
    weather: Weather,
    *,
    options: Options | None = None,
    cache: WeatherCache | None = None,
) -> Estimate:
    """Infer the metadata of one system.

    Parameters
    ----------
    record
        The readings.
    weather
        The weather over their span, which names the site too.
    options
        What is assumed and done.
    cache
        Where clear-sky weather is kept.
    """
    skies = SiteSkies.under(weather, cache=cache)
    return _given(next(infer_records([record], skies, options=options)))


def infer_records(
    records: Sequence[Record], skies: SiteSkies, *, options: Options | None = None
) -> Iterator[Estimate | SunveilError]:
    """Yield the metadata of each system of a site, or why there is none, in the records' order.

    Every system stands alone: whatever one record holds, the others' estimates are the same.

    Parameters
    ----------
    records
        The readings.
    skies
        The skies of the site.
    options
        What is assumed and done.
    """
    options = options or Options()
    # neighbours in the file that share a grid and a clock are inferred together
    for key, alike in groupby(records, key=_key):
        for batch in _batches(alike):
            yield from _settle_batch(batch, key[0], skies, options)


def grid_of(record: Record) -> TimeGrid:
    """Return the grid of times from a record's first reading to its last."""
    step = round(record.interval_minutes * 60.0)
    first, last = record.times[[0, -1]].astype("datetime64[s]").astype(np.int64).tolist()
    return TimeGrid(first, step, (last - first) // step + 1)


def on_grid(records: Sequence[Record], grid: TimeGrid) -> NDArray[np.float32]:
    """Return the readings of records on a grid, NaN where there is none. [kW]"""
    power = np.full((len(records), grid.count), np.nan, dtype=np.float32)
    for row, record in zip(power, records, strict=True):
        starts = record.times.astype("datetime64[s]").astype(np.int64)
        row[(starts - grid.first) // grid.step] = record.power_kw
    return power


def _key(record: Record) -> tuple[TimeGrid, str, bool]:
    return grid_of(record), record.timezone, record.label_known


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    rest = iter(records)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _settle_batch(
    records: Sequence[Record], grid: TimeGrid, skies: SiteSkies, options: Options
) -> list[Estimate | SunveilError]:
    """Return the estimates of records that share a grid; one that fails leaves the others alone."""
    try:
        return list(_infer_batch(records, grid, skies, options))
    except SunveilError as error:  # of the sky, which all of them share
        return [error] * len(records)
    except Exception as error:
        if len(records) == 1:
            return [SunveilError(failed(records[0].system_id, error).reason)]
        return [_settle_batch([record], grid, skies, options)[0] for record in records]


def _infer_batch(
    records: Sequence[Record], grid: TimeGrid, skies: SiteSkies, options: Options
) -> Iterator[Estimate | SunveilError]:
    """Yield the estimates of records that share a grid, a clock and a label."""
    sky = skies.over(grid)
    kept = [record for record in records if options.force or not record.net]
    found = infer_block(
        on_grid(kept, grid),
        sky,
        options=options.engine,
        timezone=records[0].timezone,
        label_known=records[0].label_known,
    )
    net, known = ([bool(each.net) for each in kept], [each.unit_known for each in kept])
    flag_meters(found, net=np.array(net, dtype=bool), unit_known=np.array(known, dtype=bool))
    places = iter(range(len(kept)))
    for record in records:
        if record.net and not options.force:
            yield MeterError(refuse_net(record.system_id, record.net))
            continue
        place = next(places)
        outcome = int(found.outcome[place])
        if outcome:
            kind = WeatherError if outcome == NO_WEATHER else TooLittleData
            said = reason(outcome, int(found.lit[place]), source=sky.source)
            yield kind(f"system {record.system_id}: {said}")
            continue
        try:
            estimate = _estimate(record, found, place, source=sky.source, options=options)
            yield _by_paper(record, estimate, skies, options)
        except SunveilError as error:
            yield error


def _given(found: Estimate | SunveilError) -> Estimate:
    """Return an estimate, or raise why there is none."""
    if isinstance(found, SunveilError):
        raise found
    return found


def _choice(kind: type[Kind], name: str, value: str) -> Kind:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(member.value for member in kind)
        raise ParameterError(f"{name} must be one of {known}, and {value!r} is not") from None


def _estimate(
    record: Record, found: BlockEstimates, place: int, *, source: str, options: Options
) -> Estimate:
    """Return one system's entry of a block as its estimate."""

    def number(name: str) -> float:
        return float(getattr(found, name)[place])

    limit = number("ac_limit_kw")
    hypothesis = ClockHypothesis(
        number("clock_offset_minutes"),
        SAVINGS[int(found.clock_saving[place])],
        found.clock_steps[place],
    )
    clock = FoundClock(hypothesis, number("clock_gain"))
    flags, notes = flags_of(int(found.flags[place])), record.notes
    if Flag.UNLIKELY_UNIT in flags:
        notes = (*notes, name_likelier_unit(number("dc_capacity_kw"), record.unit))
    return Estimate(
        system_id=record.system_id,
        plane=Plane(number("surface_azimuth"), number("surface_tilt")),
        dc_capacity_kw=number("dc_capacity_kw"),
        azimuth_interval=Interval(number("azimuth_low"), number("azimuth_high")),
        tilt_interval=Interval(number("tilt_low"), number("tilt_high")),
        capacity_interval=Interval(number("capacity_low"), number("capacity_high")),
        plane_error_degrees=number("plane_error_degrees"),
        ac_limit_kw=None if np.isnan(limit) else limit,
        clock=clock.finding(record.label, record.interval_minutes),
        agreement=number("agreement"),
        flags=flags,
        assumptions=Assumptions(
            losses=options.losses,
            albedo=options.albedo,
            sky_model=SkyModel.PEREZ.value,
            weather=source,
            method=options.method.value,
            mount=options.mount,
        ),
        notes=notes,
        haze_summer=number("haze_summer"),
        haze_winter=number("haze_winter"),
        heat=number("heat"),
        clear_hours=number("clear_hours"),
        skyline=skyline_of(found.skyline[place]),
        years=found.years[place],
        trend_percent_per_year=None if np.isnan(number("trend")) else number("trend"),
        planes=found.planes[place],
        tracker=found.tracker[place],
    )


def _by_paper(record: Record, estimate: Estimate, skies: SiteSkies, options: Options) -> Estimate:
    """Return an estimate with the paper's plane and capacity in place of the engine's, if asked.

    The clock that the engine found is repaired first; flags and agreement are the engine's.
    """
    if options.method is not Method.PAPER:
        return estimate
    from sunveil import paper

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
        told = reason(NO_FIT, 0, source=weather.source)
        raise TooLittleData(f"system {record.system_id}: {told}")
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
    return replace(
        estimate,
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


def repaired(record: Record, estimate: Estimate, site: Site) -> Record:
    """Return a record on the clock that an estimate found.

    Parameters
    ----------
    record
        The readings.
    estimate
        What was found of their clock.
    site
        Where they are, which decides when daylight is saved.
    """
    clock = estimate.clock
    # a label found to be another one is half an interval or a whole one of offset
    moved = (clock.label.fraction - record.label.fraction) * record.interval_minutes
    hypothesis = ClockHypothesis(clock.offset_minutes + moved, clock.daylight_saving, clock.steps)
    seconds = record.times.astype("datetime64[s]").astype(np.int64)
    calendar = ClockCalendar.of(seconds, site, record.timezone)
    times = record.times - hypothesis.ahead_seconds(calendar).astype("timedelta64[s]")
    # where an hour is put back, the last readings before and the first ones after it meet
    times, first = np.unique(times, return_index=True)
    return replace(record, times=times, power_kw=record.power_kw[first], rows_span=None)


def _span(grid: TimeGrid) -> Span:
    """Return the span of a grid with a margin for wrong clocks, in UTC."""
    import pandas as pd

    first, last = (pd.Timestamp(t, unit="s", tz="UTC") for t in (grid.first, grid.starts[-1]))
    return first - MARGIN, last + MARGIN
