"""How far inferred planes and trackers are from the true ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.measure import turned, wedge_holds
from benchmarks.planes_systems import Answer, KnownMounts
from sunveil.engine.clock_faults import repaired
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.intervals_and_rounding import Interval
from sunveil.fleet.blocks import record_span
from sunveil.meters import from_pandas
from sunveil.pv_model import ac_power, sky_at
from sunveil.site import Plane
from sunveil.weather import get_weather

HALF_TURN = 180.0
# Readings so close to a model are clear, and those so dim say little. [shares]
CLOSE, DIM = 0.2, 0.1


@dataclass(frozen=True, slots=True)
class PairErrors:
    """Errors of one system that was told as two planes, each plane beside its true one.

    Parameters
    ----------
    azimuth, tilt
        Of the two planes, absolute. [degrees]
    angle
        Between each plane and its true one. [degrees]
    share
        Of the larger plane, absolute.
    capacity
        Of the whole capacity, absolute; NaN where it is not known. [%]
    held
        How often the 90% intervals of both planes hold azimuth, tilt, share and capacity.
    """

    azimuth: tuple[float, float]
    tilt: tuple[float, float]
    angle: tuple[float, float]
    share: float
    capacity: float
    held: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class TrackerErrors:
    """Errors of one system that was told as a tracker.

    Parameters
    ----------
    axis
        Of where the axis points, absolute. [degrees]
    backtrack
        Whether what was told of backtracking is right.
    gcr
        Of the ground coverage ratio, absolute; NaN of one that does not backtrack, or was not said
        to, since nothing tells it there.
    max_angle
        Of the greatest angle, absolute. [degrees]
    capacity
        Of the whole capacity, absolute. [%]
    held
        Whether the 90% intervals hold axis, coverage (None without one), greatest angle and
        capacity.
    """

    axis: float
    backtrack: bool
    gcr: float
    max_angle: float
    capacity: float
    held: tuple[bool, bool | None, bool, bool]


def nearest_order(planes: Sequence[Plane], true: Sequence[Plane]) -> tuple[int, int]:
    """Return which of two planes belongs to the first and to the second true one."""
    straight = planes[0].angle_to(true[0]) + planes[1].angle_to(true[1])
    crossed = planes[1].angle_to(true[0]) + planes[0].angle_to(true[1])
    return (0, 1) if straight <= crossed else (1, 0)


def pair_errors(system: KnownMounts, found: Estimate | None) -> PairErrors | None:
    """Return the errors of a system that was told as two planes, None of any other."""
    if found is None or len(found.planes) != 2:
        return None
    true = [plane for plane, _ in system.planes]
    order = nearest_order([each.plane for each in found.planes], true)
    told = [found.planes[place] for place in order]
    both = list(zip(told, system.planes, strict=True))
    kw = system.dc_capacity_kw
    held = [
        (
            wedge_holds(each.azimuth_interval, plane.surface_azimuth),
            _within(plane.surface_tilt, each.tilt_interval),
            _within(share, each.share_interval),
            _within(share * kw, each.capacity_interval),
        )
        for each, (plane, share) in both
    ]
    return PairErrors(
        azimuth=_two(abs(turned(each.surface_azimuth, p.surface_azimuth)) for each, (p, _) in both),
        tilt=_two(abs(each.surface_tilt - p.surface_tilt) for each, (p, _) in both),
        angle=_two(each.plane.angle_to(p) for each, (p, _) in both),
        share=abs(told[0].share - system.planes[0][1]),
        capacity=_percent(found.dc_capacity_kw, kw),
        held=tuple(np.mean(held, axis=0).tolist()),
    )


def tracker_errors(system: KnownMounts, found: Estimate | None) -> TrackerErrors | None:
    """Return the errors of a tracker that was told as one, None of any other."""
    true = system.tracker
    if found is None or found.tracker is None or true is None:
        return None
    told = found.tracker
    # an axis has two ends
    axis = abs((told.axis_azimuth - true.axis_azimuth + 90.0) % HALF_TURN - 90.0)
    wedge = told.axis_interval
    covers = true.backtrack and told.backtrack
    ends = (true.axis_azimuth, true.axis_azimuth + HALF_TURN)
    return TrackerErrors(
        axis=axis,
        backtrack=told.backtrack == true.backtrack,
        gcr=abs(told.gcr - true.gcr) if covers else math.nan,
        max_angle=abs(told.max_angle - true.max_angle),
        capacity=_percent(found.dc_capacity_kw, system.dc_capacity_kw),
        held=(
            any(wedge_holds(wedge, each % 360.0) for each in ends),
            _within(true.gcr, told.gcr_interval) if covers else None,
            _within(true.max_angle, told.max_angle_interval),
            _within(system.dc_capacity_kw, found.capacity_interval),
        ),
    )


def gain_of_two(system: KnownMounts, found: Estimate) -> float:
    """Return the share of what one plane leaves of clear readings that two planes explain.

    One plane is the effective one. Both are laid over the readings through Sunveil's plain chain,
    without the engine, and scaled to them; clear are readings that either comes close to.
    """
    record = from_pandas(system.power, system_id=system.name, label=system.label, power_unit="kW")
    record = repaired(record, found, system.site)
    weather = get_weather("clearsky", system.site, *record_span(record))
    sky = sky_at(weather, record.middles).hazier((found.haze_summer + found.haze_winter) / 2.0)
    shares = np.array([each.share for each in found.planes])
    normals = np.array([found.plane.normal, *(each.plane.normal for each in found.planes)])
    power = found.dc_capacity_kw * ac_power(sky, normals, heat=found.heat)
    one, two = power[0], shares @ power[1:]
    read = record.power_kw
    close = [np.abs(read - each) < CLOSE * each for each in (one, two)]
    clear = (close[0] | close[1]) & (read > DIM * np.nanmax(read))
    left = [
        np.sum((read - each * (read @ each) / (each @ each)) ** 2)
        for read, each in ((read[clear], each[clear]) for each in (one, two))
    ]
    return float(1.0 - left[1] / left[0])


def called(answers: Iterable[Answer], what: Callable[[Estimate], bool]) -> list[str]:
    """Return the names of systems whose estimate is of some kind."""
    return [system.name for system, found in answers if found is not None and what(found)]


def two_planes(found: Estimate) -> bool:
    """Whether an estimate tells of two planes."""
    return len(found.planes) == 2


def is_tracker(found: Estimate) -> bool:
    """Whether an estimate tells of a tracker."""
    return found.tracker is not None


def half_and_tail(values: Iterable[float], digits: int) -> str:
    """Return median and 95th percentile for a table, a dash where there is nothing."""
    known = np.array([value for value in values if math.isfinite(value)])
    if not len(known):
        return "-"
    return " / ".join(f"{np.quantile(known, share):.{digits}f}" for share in (0.5, 0.95))


def percentage(values: Sequence[float]) -> str:
    """Return a share of some cases in percent, a dash where there are none."""
    return f"{100.0 * float(np.mean(values)):.0f}" if len(values) else "-"


def _percent(found: float, true: float) -> float:
    return abs(100.0 * (found / true - 1.0))


def _within(value: float, interval: Interval) -> bool:
    return interval.low <= value <= interval.high


def _two(values: Iterable[float]) -> tuple[float, float]:
    first, second = values
    return first, second
