"""How well every plane explains the readings, as a map over azimuth and tilt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sunveil.estimate import Estimate
from sunveil.grids import plane_grid
from sunveil.infer import SiteSkies
from sunveil.meters.record import Record
from sunveil.planes import TrackerEstimate
from sunveil.plots.inputs import check_inputs
from sunveil.plots.seen import SeenReadings, seen_readings
from sunveil.plots.style import (
    CONTRAST,
    INK,
    SMALL,
    as_polar,
    mark_private,
    name_axes,
    new_polar,
    polar_map,
)
from sunveil.scores import (
    Capacities,
    RatioBins,
    Tolerance,
    count_readings,
    log_power,
    log_profiles,
)
from sunveil.site import Array, Plane
from sunveil.weather import Weather, WeatherCache

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.projections.polar import PolarAxes

MAP_STEP = 5.0
MAP_READINGS = 1500
MAP_TOLERANCE = Tolerance(relative=0.15, floor=0.08)


def plot_score_map(
    record: Record,
    weather: Weather,
    estimate: Estimate,
    *,
    truth: Plane | None = None,
    cache: WeatherCache | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of readings that each plane explains, with the estimate and its 90% region.

    The score of a plane is the agreement count at its best capacity; the estimate is refined
    further than the count, so the two need not peak at the same degree. Of two planes both are
    marked, the larger the cross the larger the share; of a tracker, the planes that it turns
    through.

    Parameters
    ----------
    record, weather
        What the estimate was inferred from.
    estimate
        The estimate, whose clock is used.
    truth
        The true plane where it is known.
    cache
        Where clear skies are kept.
    ax
        Polar axes to draw on.

    Privacy
    -------
    None: the map is made of readings, and is marked so.
    """
    check_inputs(record=record, weather=weather, estimate=estimate, truth=truth, cache=cache, ax=ax)
    polar = new_polar() if ax is None else as_polar(ax)
    data = seen_readings(record, SiteSkies.under(weather, cache=cache), estimate)
    return draw_score_map(data, truth=[] if truth is None else [truth], ax=polar)


def draw_score_map(data: SeenReadings, *, truth: Sequence[Plane] = (), ax: Axes) -> Axes:
    """Draw :func:`plot_score_map` from readings already paired with their sky.

    Parameters
    ----------
    data
        The readings, which bring their estimate along.
    truth
        The true planes where they are known.
    ax
        Polar axes to draw on.
    """
    polar, estimate = as_polar(ax), data.estimate
    polar_map(
        polar,
        100.0 * agreement_map(data),
        cmap="PuBu",
        label="Readings that agree [%]",
    )
    if estimate.tracker is None:
        _draw_planes(polar, estimate)
    else:
        _draw_turn(polar, estimate.tracker)
    if truth:
        polar.plot(
            np.radians([plane.surface_azimuth for plane in truth]),
            [plane.surface_tilt for plane in truth],
            marker="o",
            markersize=4.5,
            linestyle="none",
            color=INK,
            markeredgecolor="white",
            markeredgewidth=0.8,
            label="truth",
        )
    _finish(polar, estimate)
    mark_private(polar)
    return polar


def agreement_map(data: SeenReadings) -> Array:
    """Return the best share of readings that agree with each plane of a 5° grid.

    Of a net meter, the household's usual load is added to each reading first. One row per tilt from
    0 to 90, one column per azimuth from 0 to 355. [fraction]
    """
    limit = data.estimate.ac_limit_kw
    data = data.take(np.isfinite(data.generated))
    chosen = few_places(data.generated, limit=np.inf if limit is None else limit)
    profiles = data.profiles(plane_grid(MAP_STEP, MAP_STEP), chosen)
    power = np.maximum(data.generated[chosen], 0.0)
    return best_shares(power, profiles).reshape(round(90.0 / MAP_STEP) + 1, -1)


def few_places(power: Array, *, limit: float) -> NDArray[np.intp]:
    """Return which readings a map is made of: few enough, and none at the inverter's limit.

    Parameters
    ----------
    power
        Readings. [kW]
    limit
        The inverter's limit, infinite where none shows. [kW]
    """
    # a fixed seed: the same readings give the same map; a stride could fall in step with the days
    few = min(len(power), MAP_READINGS)
    chosen = np.sort(np.random.default_rng(0).choice(len(power), few, replace=False))
    return chosen[power[chosen] < 0.95 * limit]


def best_shares(power: Array, profiles: NDArray[np.floating]) -> Array:
    """Return the share of readings that agree with each plane at its best capacity. [fraction]

    Parameters
    ----------
    power
        Readings in daylight, shape (n,). [kW]
    profiles
        Power of each plane per kW, shape (planes, n). [kW/kW]
    """
    lit = np.asarray(profiles, dtype=np.float32)
    bright = float(np.quantile(power, 0.98))
    if not bright > 0.0:
        return np.zeros(len(lit))
    bins = RatioBins.of(Capacities(0.6 * bright, 6.0 * bright, 0.02), MAP_TOLERANCE)
    counts = count_readings(log_power(power), log_profiles(lit, MAP_TOLERANCE.floor), bins)
    possible = int((lit >= MAP_TOLERANCE.floor).sum(axis=1).max())
    return np.asarray(counts.max(axis=1) / max(1, possible))


def around(plane: Plane, degrees: float) -> tuple[Array, Array]:
    """Return azimuths and tilts of the planes at an angle from ``plane``, as a closed curve."""
    normal = plane.normal
    azimuth, tilt = np.radians(plane.surface_azimuth), np.radians(plane.surface_tilt)
    level = np.array([np.cos(azimuth), -np.sin(azimuth), 0.0])
    slope = np.array(
        [np.cos(tilt) * np.sin(azimuth), np.cos(tilt) * np.cos(azimuth), -np.sin(tilt)]
    )
    turn = np.linspace(0.0, 2.0 * np.pi, 181)[:, None]
    radius = np.radians(min(degrees, 179.0))
    ring = np.cos(radius) * normal + np.sin(radius) * (np.cos(turn) * level + np.sin(turn) * slope)
    tilts = np.degrees(np.arccos(np.clip(ring[:, 2], -1.0, 1.0)))
    azimuths = np.degrees(np.arctan2(ring[:, 0], ring[:, 1])) % 360.0
    return azimuths, np.minimum(tilts, 90.0)


def _draw_planes(ax: PolarAxes, estimate: Estimate) -> None:
    """Mark each plane and the region that holds it; of several, the larger share as the larger."""
    for place, each in enumerate(estimate.planes):
        azimuths, tilts = around(each.plane, estimate.plane_error_degrees)
        region, cross = ("90% region", "estimate") if place == 0 else (None, None)
        ax.plot(np.radians(azimuths), tilts, color=CONTRAST, linewidth=1.3, label=region)
        ax.plot(
            np.radians(each.surface_azimuth),
            each.surface_tilt,
            marker="+",
            markersize=10.0 * np.sqrt(each.share / estimate.planes[0].share),
            linestyle="none",
            color=CONTRAST,
            markeredgewidth=1.8,
            label=cross,
            gid="plane",
        )
    if len(estimate.planes) > 1:
        ax.plot(
            np.radians(estimate.surface_azimuth),
            estimate.surface_tilt,
            marker="x",
            markersize=6,
            linestyle="none",
            color=CONTRAST,
            markeredgewidth=1.2,
            label="both as one",
            gid="effective",
        )


def _draw_turn(ax: PolarAxes, tracker: TrackerEstimate) -> None:
    """Draw the planes that a tracker turns through, from side to side."""
    sides = np.radians([tracker.axis_azimuth - 90.0, 0.0, tracker.axis_azimuth + 90.0])
    tilts = [tracker.max_angle, 0.0, tracker.max_angle]
    ax.plot(sides[:2], tilts[:2], color=CONTRAST, linewidth=2.0, gid="turn", label="turns along")
    ax.plot(sides[1:], tilts[1:], color=CONTRAST, linewidth=2.0, gid="turn")


def _title(estimate: Estimate) -> str:
    if estimate.tracker is not None:
        tracker = estimate.tracker
        return f"Tracker: axis {tracker.axis_azimuth:.1f}°, up to {tracker.max_angle:.0f}°"
    if len(estimate.planes) > 1:
        each = (f"{p.surface_azimuth:.0f}° / {p.surface_tilt:.0f}°" for p in estimate.planes)
        return f"Estimate: two planes, {' and '.join(each)}"
    azimuth, tilt = estimate.surface_azimuth, estimate.surface_tilt
    return f"Estimate: azimuth {azimuth:.1f}°, tilt {tilt:.1f}°"


def _finish(ax: PolarAxes, estimate: Estimate) -> None:
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        ncols=4,
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        handlelength=1.2,
        columnspacing=1.2,
    )
    name_axes(ax, title=_title(estimate))
    ax.set_xlabel("Angle: azimuth [°]; radius: tilt [°]", fontsize=SMALL, color=INK)
