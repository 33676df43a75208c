"""Readings against the model; score map; skyline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.projections.polar import PolarAxes
from numpy.typing import NDArray

from sunveil.engine.bright_envelope import points_of, profiles_of
from sunveil.engine.clock_faults import repaired
from sunveil.engine.coarse_search import on_long_grid
from sunveil.engine.constants import CLEAR_HAZE, MEASURED_HAZE, Numbers, numbers_of
from sunveil.engine.power_model import HAZE_SEASON, UNLIMITED
from sunveil.engine.shading import PreparedSky
from sunveil.engine.sky_tables import SkyTable, in_blocks, sun_vectors_over
from sunveil.engine.tracker_model import (
    AXIS,
    COVERAGE,
    MOST,
    T_HAZE,
    T_HEAT,
    T_LIMIT,
    T_SEASON,
    TRACKER_PARAMETERS,
    tracked_sky,
    tracker_profiles,
)
from sunveil.errors import ParameterError, WeatherError
from sunveil.estimates.estimate_text import HiddenSky, hidden_skies
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.inference_options import InferOptions
from sunveil.estimates.planes_and_intervals import TrackerEstimate
from sunveil.fleet.blocks import grid_of, on_grid
from sunveil.grids import Grid, plane_grid
from sunveil.inference.fleet_part import SiteSkies
from sunveil.meters.reading_options import parse_timezone
from sunveil.meters.record import Record
from sunveil.plots.style import (
    ACCENT,
    COMPASS,
    CONTRAST,
    INK,
    SMALL,
    as_polar,
    check_inputs,
    dress,
    halo,
    mark_private,
    name_axes,
    new_axes,
    new_polar,
    polar_map,
)
from sunveil.releases.score_kernels import (
    Capacities,
    RatioBins,
    Tolerance,
    count_readings,
    log_power,
    log_profiles,
)
from sunveil.site import Array, Plane, Site
from sunveil.weather.cache import WeatherCache
from sunveil.weather.weather_data import Weather


def engine_options(estimate: Estimate) -> InferOptions:
    """Return the options of the engine under an estimate's assumptions."""
    assumed = estimate.assumptions
    return InferOptions(losses=assumed.losses, albedo=assumed.albedo, mount=assumed.mount)


def modelled_parts(estimate: Estimate, sky: SkyTable, numbers: Numbers) -> Array:
    # Their sum below the inverter's limit is what the system gives.
    air = _air(estimate, clear=sky.clear)
    if estimate.tracker is not None:
        point = _tracker_point(estimate.tracker, *air)
        profile = tracker_profiles(tracked_sky(sky.rows[:, : sky.usable]), point, numbers)
        return estimate.dc_capacity_kw * profile.astype(np.float64)
    haze, heat, season = air
    azimuths, tilts, capacities = np.array(
        [(each.surface_azimuth, each.surface_tilt, each.dc_capacity_kw) for each in estimate.planes]
    ).T
    points = points_of(Grid(azimuths, tilts), haze=haze, heat=heat)
    points[:, HAZE_SEASON] = season
    profiles = profiles_of(sky.sheet, points, numbers)[:, : sky.usable]
    return np.asarray(capacities[:, None] * profiles.astype(np.float64))


def _air(estimate: Estimate, *, clear: bool) -> tuple[float, float, float]:
    """Return an estimate's haze over the year, its heat and how much hazier winters are."""
    usual = (CLEAR_HAZE if clear else MEASURED_HAZE)[0]
    heat = estimate.assumptions.mount.heat if estimate.heat is None else estimate.heat
    if estimate.haze_summer is None or estimate.haze_winter is None:
        return usual, heat, 0.0
    summer, winter = estimate.haze_summer, estimate.haze_winter
    return 0.5 * (summer + winter), heat, 0.5 * (winter - summer)


def _tracker_point(tracker: TrackerEstimate, haze: float, heat: float, season: float) -> Array:
    point = np.zeros((1, TRACKER_PARAMETERS))
    point[0, [AXIS, COVERAGE, MOST]] = (
        tracker.axis_azimuth,
        tracker.gcr if tracker.backtrack else 0.0,
        tracker.max_angle,
    )
    point[0, [T_HAZE, T_HEAT, T_SEASON, T_LIMIT]] = haze, heat, season, UNLIMITED
    return point


_OF_READINGS = ("place", "day", "sun", "power", "modelled", "generated")


@dataclass(frozen=True, slots=True, eq=False)
class SeenReadings:
    """The daylight readings of a record on the clock that its estimate found: private."""

    sky: SkyTable  # the sky over the record
    place: NDArray[np.intp]  # index of each reading's interval among the sky's usable ones
    day: NDArray[np.int64]  # number of the solar day of each reading since 1970
    sun: Array  # the sun's vector at the middle of each interval, shape (readings, 3)
    power: Array  # [kW] what was measured
    modelled: Array  # [kW] what the estimate gives
    parts: Array  # [kW] what each of its planes gives, shape (planes, readings)
    estimate: Estimate  # the estimate
    generated: Array  # [kW] measured, a household's usual load added

    def __repr__(self) -> str:
        return f"SeenReadings({len(self.power)} readings, private)"

    def __len__(self) -> int:
        return len(self.power)

    @property
    def starts(self) -> NDArray[np.datetime64]:
        """UTC start of each reading's interval, by the sun's clock."""
        return self.sky.grid.long.times[self.sky.slot[self.place]]

    def take(self, chosen: NDArray[np.bool_]) -> SeenReadings:
        """Return some of the readings."""
        chosen_ones = {name: getattr(self, name)[chosen] for name in _OF_READINGS}
        return replace(self, **chosen_ones, parts=self.parts[:, chosen])

    def profiles(self, grid: Grid, chosen: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the power of planes per kW at some of the readings. [kW/kW]"""
        sheet = in_blocks(self.sky.rows[:, self.place[chosen]])
        numbers = numbers_of(engine_options(self.estimate), clear=self.sky.clear)
        return profiles_of(sheet, points_of(grid), numbers)[:, : len(chosen)]


def seen_readings(record: Record, skies: SiteSkies, estimate: Estimate) -> SeenReadings:
    fixed = repaired(record, estimate, skies.site)
    grid = grid_of(fixed)
    sky = skies.over(grid)
    prepared = PreparedSky(sky, engine_options(estimate))
    power = on_long_grid(on_grid([fixed], grid), grid)[0][prepared.slot].astype(np.float64)
    place = np.flatnonzero(np.isfinite(power))
    if not len(place):
        raise WeatherError(
            f"the weather from {sky.source} covers none of the daylight readings of system"
            f" {record.system_id}; give weather of the same dates"
        )
    parts = modelled_parts(estimate, sky, prepared.numbers)[:, place]
    limit = np.inf if estimate.ac_limit_kw is None else estimate.ac_limit_kw
    return SeenReadings(
        sky=sky,
        place=place,
        day=prepared.day[place].astype(np.int64),
        sun=sky.sun[place],
        power=power[place],
        generated=_with_load(power, grid.long.times[prepared.slot], estimate, record)[place],
        modelled=np.minimum(parts.sum(axis=0), limit),
        parts=parts,
        estimate=estimate,
    )


def _with_load(
    power: Array, starts: NDArray[np.datetime64], estimate: Estimate, record: Record
) -> Array:
    """Return readings, those of a net meter with the household's usual load added. [kW]"""
    if estimate.household is None:
        return power
    local = local_times(starts, record.timezone)
    load = estimate.household.usual_load(local.month.to_numpy(), local.hour.to_numpy())
    # a reading of zero says no more than that it was at most zero
    return np.where(power == 0.0, np.nan, power + load)


def local_times(starts: NDArray[np.datetime64], timezone: str) -> pd.DatetimeIndex:
    """Return instants, given in UTC, on a declared clock."""
    return pd.DatetimeIndex(starts).tz_localize("UTC").tz_convert(parse_timezone(timezone)[0])


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
        The estimate; its clock is used.
    truth
        The true plane where it is known.
    cache
        Where clear skies are kept.
    ax
        Polar axes to draw on.

    Privacy
    -------
    No protection: the map is made of readings, and is marked so.
    """
    check_inputs(record=record, weather=weather, estimate=estimate, truth=truth, cache=cache, ax=ax)
    polar = new_polar() if ax is None else as_polar(ax)
    data = seen_readings(record, SiteSkies.under(weather, cache=cache), estimate)
    return draw_score_map(data, truth=[] if truth is None else [truth], ax=polar)


def draw_score_map(data: SeenReadings, *, truth: Sequence[Plane] = (), ax: Axes) -> Axes:
    """Draw :func:`plot_score_map` from readings already paired with their sky."""
    polar, estimate = as_polar(ax), data.estimate
    polar_map(polar, 100.0 * agreement_map(data), cmap="PuBu", label="Readings that agree [%]")
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
    """Return the best share of readings that agree with each plane of a 5° grid."""
    # Of a net meter, the household's usual load is added to each reading first. One row per tilt
    # from 0 to 90, one column per azimuth from 0 to 355. [fraction]
    limit = data.estimate.ac_limit_kw
    data = data.take(np.isfinite(data.generated))
    chosen = few_places(data.generated, limit=np.inf if limit is None else limit)
    profiles = data.profiles(plane_grid(MAP_STEP, MAP_STEP), chosen)
    power = np.maximum(data.generated[chosen], 0.0)
    return best_shares(power, profiles).reshape(round(90.0 / MAP_STEP) + 1, -1)


def few_places(power: Array, *, limit: float) -> NDArray[np.intp]:
    """Return which readings a map is made of: few enough, and none at the inverter's limit."""
    # a fixed seed: the same readings give the same map; a stride could fall in step with the days
    few = min(len(power), MAP_READINGS)
    chosen = np.sort(np.random.default_rng(0).choice(len(power), few, replace=False))
    return chosen[power[chosen] < 0.95 * limit]


def best_shares(power: Array, profiles: NDArray[np.floating]) -> Array:
    """Return the share of readings that agree with each plane at its best capacity. [fraction]"""
    shares = np.asarray(profiles, dtype=np.float32)
    bright = float(np.quantile(power, 0.98))
    if not bright > 0.0:
        return np.zeros(len(shares))
    bins = RatioBins.of(Capacities(0.6 * bright, 6.0 * bright, 0.02), MAP_TOLERANCE)
    counts = count_readings(log_power(power), log_profiles(shares, MAP_TOLERANCE.floor), bins)
    possible = int((shares >= MAP_TOLERANCE.floor).sum(axis=1).max())
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


# The longest and the shortest day, and one between; a path is the same each year to a few tenths.
DAYS = (("2019-06-21", "21 June"), ("2019-03-21", "21 March"), ("2019-12-21", "21 December"))

# Where a path's name ends, before noon. [degrees]
NAME_BEFORE = 15.0
HIDDEN = "#6F6F6F"

# From this height and width on, a number fits below the skyline. [degrees]
FIRST_INSIDE = (10.0, 24.0)


def plot_skyline(estimate: Estimate, site: Site, *, ax: Axes | None = None) -> Axes:
    """Draw what hides the sun before the sun's paths, as one would see it from the panels.

    The equator is in the middle: south at northern sites, north at southern ones. A diamond marks
    where the panels of each plane face, lines where those of a tracker turn.

    Privacy
    -------
    No protection: the figure shows what was inferred from readings, and is marked so.
    """
    check_inputs(estimate=estimate, site=site, ax=ax)
    if not estimate.skyline:
        raise ParameterError(
            f"nothing hides the sun from system {estimate.system_id}; draw others' skylines"
        )
    ax = ax if ax is not None else new_axes(6.4, 3.0)
    middle = 180.0 if site.latitude >= 0.0 else 0.0
    dress(ax)
    top = max(_draw_path(ax, site, *day, middle=middle) for day in DAYS)
    _draw_hidden(ax, np.asarray(estimate.skyline), middle)
    facing = _facing(estimate)
    _draw_panels(ax, estimate, facing, middle)
    ax.set_xlim(middle - 180.0, middle + 180.0)
    highest = max(top, *estimate.skyline, *(90.0 - plane.surface_tilt for plane in facing))
    ax.set_ylim(0.0, highest + 9.0)
    ticks = middle + np.arange(-180.0, 181.0, 45.0)
    names = [f"{COMPASS[round(tick / 45.0) % 8]}\n{tick % 360.0:.0f}°" for tick in ticks]
    ax.set_xticks(ticks.tolist(), names)
    ax.set_yticks(np.arange(0.0, ax.get_ylim()[1], 20.0))
    name_axes(ax, x="Azimuth [°]", y="Elevation [°]")
    mark_private(ax)
    return ax


def _draw_path(ax: Axes, site: Site, date: str, name: str, *, middle: float) -> float:
    """Draw the sun's path over one day with its name, and return how high it gets. [degrees]"""
    midnight = int(np.datetime64(date, "s").astype(np.int64) - 240.0 * site.longitude)
    sun = sun_vectors_over(site, midnight + np.arange(0, 86401, 300))
    sun = sun[sun[:, 2] > 0.0]
    if not len(sun):
        return 0.0
    azimuth = _around(np.degrees(np.arctan2(sun[:, 0], sun[:, 1])), middle)
    elevation = np.degrees(np.arcsin(sun[:, 2]))
    place, side = int(elevation.argmax()), "right"
    if azimuth[place] < middle - 90.0:
        side = "left"
    elif abs(azimuth[place] - middle) < 90.0:
        # left of noon, where most panels face and their mark is
        place = int(np.abs(azimuth - middle + NAME_BEFORE).argmin())
    label = ax.text(
        azimuth[place],
        elevation[place] + 1.0,
        name,
        ha=side,
        va="bottom",
        fontsize=SMALL,
        color=CONTRAST,
    )
    halo(label)
    # no line across the figure where a path leaves it at one side and comes in at the other
    breaks = np.flatnonzero(np.abs(np.diff(azimuth)) > 180.0) + 1
    azimuth, elevation = (np.insert(each, breaks, np.nan) for each in (azimuth, elevation))
    ax.plot(azimuth, elevation, color=CONTRAST, linewidth=1.2, gid="path")
    return float(np.nanmax(elevation))


def _draw_hidden(ax: Axes, skyline: Array, middle: float) -> None:
    """Fill the sky below the skyline, which begins at north, and write how high it is."""
    width = 360.0 / len(skyline)
    edges = middle - 180.0 + width * np.arange(len(skyline) + 1)
    # sectors begin at north, which is the left edge or the middle of the figure
    turned = np.roll(skyline, 0 if middle else len(skyline) // 2)
    ax.stairs(turned, edges, fill=True, color=HIDDEN, alpha=0.85, zorder=2.5)
    # the middle of the widest highest part, where the number is best placed
    tops = np.where(skyline == skyline.max(), skyline, 0.0).tolist()
    highest = max(hidden_skies(tops), key=_wide)
    inside = highest.highest >= FIRST_INSIDE[0] and _wide(highest) >= FIRST_INSIDE[1]
    ax.text(
        float(_around(np.array([0.5 * (highest.first + highest.last)]), middle)[0]),
        highest.highest + (-1.0 if inside else 1.0),
        f"{highest.highest:g}°",
        ha="center",
        va="top" if inside else "bottom",
        fontsize=SMALL,
        color="white" if inside else INK,
        zorder=4,
    )


def _wide(hidden: HiddenSky) -> float:
    return hidden.last - hidden.first


def _facing(estimate: Estimate) -> list[Plane]:
    """Return the planes of a system; of a tracker, those as far as it turns to both sides."""
    tracker = estimate.tracker
    if tracker is None:
        return [each.plane for each in estimate.planes]
    sides = (tracker.axis_azimuth - 90.0, tracker.axis_azimuth + 90.0)
    return [Plane(side % 360.0, tracker.max_angle) for side in sides]


def _draw_panels(ax: Axes, estimate: Estimate, facing: Sequence[Plane], middle: float) -> None:
    """Mark the points of the sky that the panels face, and name the first of them."""
    azimuths = _around(np.array([plane.surface_azimuth for plane in facing]), middle)
    elevations = [90.0 - plane.surface_tilt for plane in facing]
    azimuth, elevation = float(azimuths[0]), elevations[0]
    inside = azimuth < middle + 100.0
    if estimate.tracker is not None:
        ax.vlines(azimuths, elevations, 90.0, color=ACCENT, linewidth=2.0, zorder=4, gid="turn")
    ax.plot(
        azimuths,
        elevations,
        marker="D",
        markersize=6.0,
        color=ACCENT,
        markeredgecolor="white",
        linestyle="none",
        zorder=5,
        gid="panels",
    )
    label = ax.annotate(
        "panels face here" if estimate.tracker is None else "panels turn up from here",
        (azimuth, elevation),
        xytext=(7.0, 0.0) if inside else (-7.0, 0.0),
        textcoords="offset points",
        ha="left" if inside else "right",
        va="center",
        fontsize=SMALL,
        color=ACCENT,
        zorder=5,
    )
    halo(label)


def _around(azimuth: Array, middle: float) -> Array:
    """Return azimuths within half a turn of the figure's middle. [degrees]"""
    return np.asarray((azimuth - middle + 180.0) % 360.0 - 180.0 + middle)
