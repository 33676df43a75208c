"""The light on the planes of a site: the paper's figures 3a to 3c, for anywhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from numpy.typing import NDArray

from sunveil._options import checked, number, whole
from sunveil.errors import ParameterError, WeatherError
from sunveil.grids import plane_grid
from sunveil.plots.style import (
    ACCENT,
    CONTRAST,
    INK,
    SMALL,
    as_polar,
    check_inputs,
    compass_point,
    dress,
    hours_axis,
    legend_beside,
    name_axes,
    new_axes,
    new_polar,
    place_name,
    polar_map,
    solar_hour,
)
from sunveil.pv_model import plane_irradiance, sky_at
from sunveil.site import Array, Plane, Site, normals
from sunveil.weather.cache import WeatherCache
from sunveil.weather.clear_sky import clearsky
from sunveil.weather.weather_data import TimeLike, Weather, instant, utc_seconds

LIGHT = "Plane-of-array irradiance [W/m²]"
SOLAR_TIME = "Solar time [h]"
DEFAULT_TILTS = (0.0, 15.0, 30.0, 45.0, 60.0, 75.0, 90.0)
MAP_STEP = 5.0

# A day is not drawn unless the sun rises above this. [degrees of zenith]
LOWEST_NOON = 88.0
_BLOCK = 150
EAST_TO_WEST = [ACCENT, "#5B5B5B", CONTRAST]
FLAT_TO_STEEP = ["#8CC5E3", ACCENT, "#00253B"]


@checked
def plot_irradiance_by_azimuth(
    site: Site,
    date: TimeLike,
    *,
    azimuths: Sequence[float] | None = None,
    tilt: float = 25.0,
    weather: Weather | None = None,
    cache: WeatherCache | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a day's light on planes of one tilt that face different ways: paper fig. 3a."""
    check_inputs(
        "weather", "azimuths", site=site, azimuths=azimuths, weather=weather, cache=cache, ax=ax
    )
    tilt = number("tilt", tilt, low=0.0, high=90.0, unit="degrees")
    chosen = _toward_equator(site) if azimuths is None else azimuths
    planes = [Plane(azimuth, tilt) for azimuth in chosen]
    hours, light = _day_light(site, date, planes, weather=weather, cache=cache)
    turned = [plane.surface_azimuth for plane in planes]
    words = [f"{azimuth:g}° {compass_point(azimuth)}" for azimuth in turned]
    ax = _draw_day(ax, hours, light, words, EAST_TO_WEST, by="Azimuth")
    name_axes(ax, x=SOLAR_TIME, y=LIGHT, title=f"By azimuth at {tilt:g}° tilt, {_day(date)}")
    return ax


@checked
def plot_irradiance_by_tilt(
    site: Site,
    date: TimeLike,
    *,
    tilts: Sequence[float] = DEFAULT_TILTS,
    azimuth: float | None = None,
    weather: Weather | None = None,
    cache: WeatherCache | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a day's light on planes of one azimuth and different tilts: paper fig. 3b."""
    check_inputs("weather", site=site, tilts=tilts, weather=weather, cache=cache, ax=ax)
    facing = _toward_equator(site)[2]
    if azimuth is not None:
        facing = number("azimuth", azimuth, unit="of degrees")
    planes = [Plane(facing, tilt) for tilt in tilts]
    hours, light = _day_light(site, date, planes, weather=weather, cache=cache)
    words = [f"{plane.surface_tilt:g}°" for plane in planes]
    ax = _draw_day(ax, hours, light, words, FLAT_TO_STEEP, by="Tilt")
    name_axes(ax, x=SOLAR_TIME, y=LIGHT, title=f"By tilt at {facing:g}° azimuth, {_day(date)}")
    return ax


def plot_yearly_irradiance(
    site: Site,
    year: int,
    *,
    weather: Weather | None = None,
    cache: WeatherCache | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the year's mean daily light over azimuth and tilt, its optimum marked: paper fig. 3c."""
    check_inputs("weather", site=site, weather=weather, cache=cache, ax=ax)
    year = whole("year", year, low=1900, high=2100)
    polar = new_polar() if ax is None else as_polar(ax)
    start, end = f"{year:04d}-01-01", f"{year + 1:04d}-01-01"
    if weather is None:
        found = clearsky(site, start, end, step_minutes=60, cache=cache)
    else:
        found = weather.between(start, end)
    grid = plane_grid(MAP_STEP, MAP_STEP)
    energy = _daily_energy(found, grid.normals)
    best = grid[int(energy.argmax())]
    rows = round(90.0 / MAP_STEP) + 1
    polar_map(
        polar,
        energy.reshape(rows, -1),
        cmap="YlOrBr",
        label="Mean plane-of-array irradiation [kWh/m² per day]",
    )
    place = np.radians(best.surface_azimuth), best.surface_tilt
    polar.plot(*place, marker="+", color=INK, markersize=11, markeredgewidth=1.6)
    words = f"azimuth {best.surface_azimuth:.0f}°, tilt {best.surface_tilt:.0f}°"
    name_axes(polar, title=f"Over the year {year}, {place_name(site)}")
    polar.set_xlabel(
        f"Angle: azimuth [°]; radius: tilt [°]\n+ best: {words}, {energy.max():.2f} kWh/m² per day",
        fontsize=SMALL,
        color=INK,
    )
    return polar


def _daily_energy(weather: Weather, directions: Array) -> Array:
    """Return the mean irradiation of planes. [kWh/m² per day]"""
    daylight = weather.ghi > 0.0
    if not daylight.any():
        raise WeatherError(f"the weather from {weather.source} has no light in that year")
    sky = sky_at(weather, utc_seconds(weather.times)[daylight])
    share = np.count_nonzero(daylight) / len(weather.times)
    # in blocks, so that a year of all planes is never in memory at once
    parts = [
        plane_irradiance(sky, directions[first : first + _BLOCK]).mean(axis=1)
        for first in range(0, len(directions), _BLOCK)
    ]
    return np.asarray(np.concatenate(parts) * share * 24.0 / 1000.0)


def _day_light(
    site: Site,
    date: TimeLike,
    planes: Sequence[Plane],
    *,
    weather: Weather | None,
    cache: WeatherCache | None,
) -> tuple[Array, Array]:
    """Return the hours of sun of a solar day, and the light on each plane. [h, W/m²]"""
    if not planes:
        raise ParameterError("give at least one azimuth and one tilt to draw")
    times = _solar_day(site, date)
    first, last = (pd.Timestamp(t, tz="UTC") for t in (times[0], times[-1]))
    hour = pd.Timedelta(hours=1)
    clear = clearsky(site, first - hour, last + hour, cache=cache)
    if clear.sun()[0].min() > LOWEST_NOON:
        raise ParameterError(f"the sun hardly rises on {_day(date)} there; choose another date")
    if weather is None:
        sky = sky_at(clear, times)
    else:
        sky = sky_at(weather.between(first - hour, last + hour), times, clear)
    sky = sky.take(sky.sun[:, 2] > 0.0)
    hours = solar_hour(site, sky.sun)
    order = np.argsort(hours)
    angles = np.array([[p.surface_azimuth, p.surface_tilt] for p in planes])
    light = plane_irradiance(sky, normals(angles[:, 0], angles[:, 1]))
    return hours[order], light[:, order]


def _solar_day(site: Site, date: TimeLike) -> NDArray[np.datetime64]:
    """Return every 5 minutes of a day by the site's mean solar clock, in UTC."""
    midnight = np.datetime64(instant(date).strftime("%Y-%m-%d"), "s")
    turn = np.timedelta64(round(site.longitude * 240.0), "s")
    return np.asarray(midnight - turn + np.arange(0, 86400, 300).astype("timedelta64[s]"))


def _draw_day(
    ax: Axes | None, hours: Array, light: Array, words: list[str], colours: list[str], *, by: str
) -> Axes:
    """Draw a line for each plane's light through a day."""
    ax = new_axes() if ax is None else ax
    dress(ax)
    for values, name, colour in zip(light, words, _blend(colours, len(words)), strict=True):
        ax.plot(hours, values, color=colour, linewidth=1.8, label=name)
    hours_axis(ax, float(hours[0]), float(hours[-1]))
    ax.set_ylim(0.0, max(1.0, float(light.max())) * 1.06)
    # the tops of summer's curves lie too close for labels on the lines themselves
    legend_beside(ax, by)
    return ax


def _toward_equator(site: Site) -> tuple[float, float, float, float, float]:
    """Return five azimuths from east to west on the side where the sun is at noon. [degrees]"""
    north = site.latitude < 0.0
    return (90.0, 45.0, 0.0, 315.0, 270.0) if north else (90.0, 135.0, 180.0, 225.0, 270.0)


def _blend(colours: list[str], count: int) -> list[str]:
    blend = LinearSegmentedColormap.from_list("blend", colours)
    return [to_hex(blend(place)) for place in np.linspace(0.0, 1.0, count)]


def _day(date: TimeLike) -> str:
    stamp = instant(date)
    return f"{stamp.day} {stamp:%B %Y}"
