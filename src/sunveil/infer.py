"""Readings and weather in, metadata out.

:func:`infer` takes pandas objects, :func:`infer_record` a :class:`~sunveil.meters.Record`. Both
compose the stages in flow order: clock, coarse search, refinement, intervals, flags.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sunveil.errors import ParameterError, TooLittleData, WeatherError
from sunveil.estimate import Assumptions, Estimate, Flag
from sunveil.fit.best import best_fit
from sunveil.fit.clocks import Hypothesis, find_clock, finding, reading_saving
from sunveil.fit.daylight import Daylight, coarsen, daylight, earlier
from sunveil.fit.intervals import covariance, spread
from sunveil.fit.planes import compare_planes
from sunveil.fit.refine import Fit, bright_power, modelled_power
from sunveil.fit.shared import (
    FEWEST_DAYS,
    FEWEST_READINGS,
    HEAT_DEVIATION,
    LOW_AGREEMENT_CLEAR,
    LOW_AGREEMENT_MEASURED,
    MEASURED_HAZE,
    UNKNOWN_LABEL,
    Doubts,
    ErrorModel,
)
from sunveil.fit.shared import Clock as Clock
from sunveil.meters.options import MeterOptions
from sunveil.meters.record import SHORT_INTERVAL, Record
from sunveil.profiles import DayGroup
from sunveil.search import Search
from sunveil.site import Losses, Mount, Site, SkyModel

if TYPE_CHECKING:
    import pandas as pd

    from sunveil.weather import Weather, WeatherCache

MARGIN = dt.timedelta(days=2)
SHIFT_SECONDS = 300
AGREES_WITHIN = 0.15


Kind = TypeVar("Kind", bound=StrEnum)


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
    """

    method: Method = Method.DEFAULT
    clock: Clock = Clock.REPAIR
    losses: Losses = field(default_factory=Losses)
    albedo: float = 0.2
    group: DayGroup = DayGroup.MONTH
    search: Search = Search.EXHAUSTIVE
    mount: Mount = Mount.UNKNOWN

    def __post_init__(self) -> None:
        if not 0.0 <= self.albedo <= 1.0:
            raise ParameterError(f"albedo must be between 0 and 1, and {self.albedo:g} is not")


def infer(
    power: pd.Series[float] | Record,
    *,
    latitude: float,
    longitude: float,
    altitude: float | None = None,
    weather: str | Weather | pd.DataFrame = "clearsky",
    timezone: str | None = None,
    unit: str = "kW",
    label: str = "auto",
    method: str = "default",
    clock: str = "repair",
    losses: Losses | None = None,
    albedo: float = 0.2,
    group: str = "month",
    search: str = "exhaustive",
    mount: str = "unknown",
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
        Unit of a series: W, kW, Wh or kWh.
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
    from sunveil.weather import get_weather

    options = Options(
        method=_choice(Method, "method", method),
        clock=_choice(Clock, "clock", clock),
        losses=losses or Losses(),
        albedo=albedo,
        group=_choice(DayGroup, "group", group),
        search=_choice(Search, "search", search),
        mount=_choice(Mount, "mount", mount),
    )
    if isinstance(power, Record):
        record = power
    else:
        name = "system" if power.name is None else str(power.name)
        record = from_pandas(power, system_id=name, unit=unit, timezone=timezone, label=label)
    site = Site(latitude, longitude, altitude)
    found = get_weather(weather, site, *record_span(record), cache=cache)
    return infer_record(record, found, options=options, cache=cache)


def infer_frame(
    frame: pd.DataFrame,
    *,
    unit: str = "auto",
    timezone: str | None = None,
    label: str = "auto",
    **settings: Any,
) -> list[Estimate]:
    """Infer every system of a long frame of one place, in the order of the systems.

    Parameters
    ----------
    frame
        Columns ``system_id``, ``time`` and ``power_kw``.
    unit, timezone, label
        As for :func:`infer`; the unit is told by the column's name when left out.
    **settings
        The other parameters of :func:`infer`.
    """
    from sunveil.meters import records_from_frame

    options = MeterOptions(unit=unit, timezone=timezone, label=label)
    return [infer(record, **settings) for record in records_from_frame(frame, options)]


def record_span(record: Record) -> tuple[pd.Timestamp, pd.Timestamp]:
    """Return the span of a record with a margin for wrong clocks, in UTC."""
    import pandas as pd

    first, last = (pd.Timestamp(t, tz="UTC") for t in record.extent)
    return first - MARGIN, last + MARGIN


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
        The weather over their span.
    options
        What is assumed and done.
    cache
        Where clear-sky weather is kept.
    """
    from sunveil.weather import clearsky

    options = options or Options()
    clear = weather if weather.clear else clearsky(weather.site, *record_span(record), cache=cache)
    hypothesis, gain = _clock(record, weather, clear, options=options)
    short = coarsen(record)
    ahead = hypothesis.ahead_seconds(reading_saving(short, clear.site))
    data = daylight(short, weather, clear, ahead_seconds=ahead)
    _enough(record, data, weather)
    errors = ErrorModel(heat_prior=(options.mount.heat, HEAT_DEVIATION))
    if not weather.clear:
        errors = replace(errors, haze_prior=MEASURED_HAZE)
    fit = best_fit(data, losses=options.losses, albedo=options.albedo, errors=errors)
    agreed = agreement(data, fit)
    low = agreed < (LOW_AGREEMENT_CLEAR if weather.clear else LOW_AGREEMENT_MEASURED)
    flags = _flags(data, fit, hypothesis, options=options, errors=errors, low=low)
    common: dict[str, Any] = {
        "system_id": record.system_id,
        "ac_limit_kw": fit.point.limit if Flag.CLIPPING in flags else None,
        "clock": finding(hypothesis, record, gain=gain),
        "agreement": agreed,
        "flags": flags,
        "assumptions": Assumptions(
            losses=options.losses,
            albedo=options.albedo,
            sky_model=SkyModel.PEREZ.value,
            weather=weather.source,
            method=options.method.value,
            mount=options.mount,
        ),
        "notes": record.notes,
    }
    if options.method is Method.PAPER:
        saving = reading_saving(record, clear.site)
        moved = hypothesis.ahead_seconds(saving).astype("timedelta64[s]")
        return _paper_estimate(
            replace(record, times=record.times - moved), weather, options, common
        )
    other = earlier(data, SHIFT_SECONDS, weather=weather, clear=clear)
    there = modelled_power(other, fit.point, losses=options.losses, albedo=options.albedo)
    found = spread(
        fit,
        covariance(
            fit,
            data.day // 7,
            errors=errors,
            doubts=_doubts(record),
            clock_response=(there - fit.modelled) / fit.scale / (SHIFT_SECONDS / 60.0),
        ),
    )
    return Estimate(
        plane=fit.point.plane,
        dc_capacity_kw=fit.point.capacity,
        azimuth_interval=found.azimuth,
        tilt_interval=found.tilt,
        capacity_interval=found.capacity,
        plane_error_degrees=found.plane_error_degrees,
        **common,
    )


def agreement(data: Daylight, fit: Fit) -> float:
    """Return the share of bright readings within 15% of the model."""
    bright = fit.modelled > 0.2 * bright_power(data.power)
    close = np.abs(data.power - fit.modelled) <= AGREES_WITHIN * fit.modelled
    return float(close[bright].mean()) if bright.any() else 0.0


def _choice(kind: type[Kind], name: str, value: str) -> Kind:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(member.value for member in kind)
        raise ParameterError(f"{name} must be one of {known}, and {value!r} is not") from None


def _clock(
    record: Record, weather: Weather, clear: Weather, *, options: Options
) -> tuple[Hypothesis, float]:
    if options.clock is Clock.GIVEN:
        return Hypothesis(0.0), 0.0
    return find_clock(record, weather, clear, losses=options.losses, albedo=options.albedo)


def _enough(record: Record, data: Daylight, weather: Weather) -> None:
    lit = int(np.count_nonzero(data.power > 0.0))
    if len(data) == 0:
        raise WeatherError(
            f"the weather from {weather.source} covers none of the daylight readings of system"
            f" {record.system_id}; give weather of the same dates"
        )
    if lit < FEWEST_READINGS:
        raise TooLittleData(
            f"system {record.system_id} has {lit} daylight readings with power, and at least"
            f" {FEWEST_READINGS} are needed; give a longer record, or check its time zone"
        )


def _doubts(record: Record) -> Doubts:
    # light tells the label of a long interval, but not that of a short one
    if record.label_known or record.interval_minutes * 60.0 >= SHORT_INTERVAL:
        return Doubts()
    return Doubts(clock_minutes=UNKNOWN_LABEL * record.interval_minutes)


def _flags(
    data: Daylight,
    fit: Fit,
    hypothesis: Hypothesis,
    *,
    options: Options,
    errors: ErrorModel,
    low: bool,
) -> tuple[Flag, ...]:
    planes = compare_planes(
        data, fit.point, losses=options.losses, albedo=options.albedo, errors=errors
    )
    found = {
        Flag.CLIPPING: np.count_nonzero(fit.modelled >= 0.99 * fit.point.limit) > 0.005 * len(data),
        Flag.LOW_AGREEMENT: low,
        Flag.TOO_LITTLE_DATA: len(np.unique(data.day)) < FEWEST_DAYS,
        Flag.CLOCK_REPAIRED: not hypothesis.declared,
        Flag.NOT_ONE_PLANE: not planes.one_plane,
    }
    return tuple(flag for flag in Flag if found[flag])


def _paper_estimate(
    record: Record, weather: Weather, options: Options, common: dict[str, Any]
) -> Estimate:
    from sunveil import paper

    fit = paper.fit_paper(
        record,
        weather,
        group=options.group,
        losses=options.losses,
        albedo=options.albedo,
        search=paper.SEARCH if options.search is Search.BAYESOPT else None,
    )
    azimuth, tilt, capacity, radius = paper.resampled(fit)
    if fit.bayes is not None:
        common["notes"] = (
            *common["notes"],
            f"GP-UCB looked at {len(fit.result.grid)} of {len(fit.bayes.grid):,} planes, and the"
            " intervals know only these",
        )
    if weather.clear:
        common["notes"] = (
            *common["notes"],
            "the paper's method chooses clear days by measured weather; under a clear sky every day"
            " looks clear, so its choice of days says nothing",
        )
    return Estimate(
        plane=fit.plane,
        dc_capacity_kw=fit.capacity,
        azimuth_interval=azimuth,
        tilt_interval=tilt,
        capacity_interval=capacity,
        plane_error_degrees=radius,
        **common,
    )
