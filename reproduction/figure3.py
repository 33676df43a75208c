"""The light on planes at Chino, California, in 2016: the paper's figures 3a, 3b and 3c."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.artefact import Artefact, Statement
from reproduction.optimum import (
    CLEAR,
    CLOUDY,
    PAPER_AZIMUTHS,
    PAPER_TILTS,
    Optimum,
    mean_daily_light,
)
from reproduction.subject import CHINO, SEED, YEAR
from sunveil.grids import plane_grid
from sunveil.plots import (
    plot_irradiance_by_azimuth,
    plot_irradiance_by_tilt,
    plot_yearly_irradiance,
)
from sunveil.plots.irradiance import MAP_STEP
from sunveil.plots.style import INK, SMALL, USUAL, loose_figure
from sunveil.simulate.simulated_sky import SkyTraits, simulate_true_sky
from sunveil.site import Array, Plane
from sunveil.weather import Weather, clearsky

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Share of the possible hours with sunshine at Los Angeles.
SUNSHINE = 0.73
DAY = f"{YEAR}-07-15"
TILT, AZIMUTH = 25.0, 180.0
AZIMUTHS = (0.0, 45.0, 90.0, 135.0, 180.0, 225.0, 270.0, 315.0)
TILTS = (0.0, 15.0, 30.0, 45.0, 60.0, 75.0, 90.0)


def paper_skies(weather: Weather | None = None) -> dict[str, Weather]:
    """Return the weathers of Chino over the year: always clear, and with clouds.

    Parameters
    ----------
    weather
        Weather of Chino over the year, such as NSRDB's; a simulated sky of the place's own share of
        sunshine when left out (:func:`chino_sky`).
    """
    clear = clearsky(CHINO, f"{YEAR}-01-01", f"{YEAR + 1}-01-01", step_minutes=60)
    if weather is None:
        return {CLEAR: clear, CLOUDY: chino_sky()}
    return {CLEAR: clear, f"weather from {weather.source}": weather}


@cache
def chino_sky(*, seed: int = SEED) -> Weather:
    """Return a simulated year of Chino's sky: the maps' own haze, and as much sunshine as there is.

    Los Angeles has sunshine in 73% of its possible hours (NOAA's comparative climatic data); with
    that share of clear days the simulated sky has a beam above 120 W/m², which is what counts as
    sunshine, in about as large a share of the sun's hours.
    """
    usual = SkyTraits(turbidity_spread=0.0, own_climate=True)
    return simulate_true_sky(
        CHINO, YEAR, seed=seed, step_minutes=30, clear_days=SUNSHINE, traits=usual
    ).weather


def irradiance_by_azimuth(weather: Weather | None = None) -> Artefact:
    """Draw the light over a summer day on planes that face different ways: paper fig. 3a."""
    figure = loose_figure(6.6, 3.8)
    ax = figure.subplots()
    plot_irradiance_by_azimuth(CHINO, DAY, azimuths=AZIMUTHS, tilt=TILT, weather=weather, ax=ax)
    planes = [Plane(azimuth, TILT) for azimuth in AZIMUTHS]
    curves = _curves(ax, planes)
    by_azimuth = {curve["surface_azimuth"]: curve for curve in curves}
    first, last = by_azimuth[90.0], by_azimuth[270.0]
    peaks = [curve["peak"] for curve in curves]
    return Artefact(
        name="3a-irradiance-by-azimuth",
        title="Light over a summer day, by azimuth (paper fig. 3a)",
        words=(
            f"Plane-of-array irradiance at Chino on 15 July {YEAR} under {_sky_name(weather)},"
            f" for planes tilted by {TILT:g}° that face all ways. Turning a plane from east to west"
            f" through south moves its peak from {_clock(first['peak_hour'])} to"
            f" {_clock(last['peak_hour'])} solar time; facing north costs"
            f" {_share((min(peaks), max(peaks)))} of its height."
        ),
        figure=figure,
        data={**_day_data(weather), "curves": curves},
    )


def irradiance_by_tilt(weather: Weather | None = None) -> Artefact:
    """Draw the light over a summer day on planes of different tilts: paper fig. 3b."""
    figure = loose_figure(6.6, 3.8)
    ax = figure.subplots()
    plot_irradiance_by_tilt(CHINO, DAY, tilts=TILTS, azimuth=AZIMUTH, weather=weather, ax=ax)
    planes = [Plane(AZIMUTH, tilt) for tilt in TILTS]
    curves = _curves(ax, planes)
    peaks = [curve["peak"] for curve in curves]
    return Artefact(
        name="3b-irradiance-by-tilt",
        title="Light over a summer day, by tilt (paper fig. 3b)",
        words=(
            f"The same day for planes that face south. Tilting a plane changes how tall its curve"
            f" is, from {max(peaks):.0f} to {min(peaks):.0f} W/m² at its peak, and hardly when the"
            " peak comes."
        ),
        figure=figure,
        data={**_day_data(weather), "curves": curves},
    )


def yearly_irradiance(skies: Mapping[str, Weather], optima: Mapping[str, Optimum]) -> Artefact:
    """Draw the year's mean daily light over azimuth and tilt: paper fig. 3c.

    Parameters
    ----------
    skies
        The weather of the year at Chino, by its name: one panel each.
    optima
        The plane with the most light under each of them, and under others.
    """
    figure = loose_figure(5.0 * len(skies), 5.2)
    panels = figure.subplots(1, len(skies), subplot_kw={"projection": "polar"}, squeeze=False)[0]
    grid = plane_grid(MAP_STEP, MAP_STEP)
    maps = {}
    for ax, (name, weather) in zip(panels, skies.items(), strict=True):
        plot_yearly_irradiance(CHINO, YEAR, weather=weather, ax=ax)
        ax.set_title(f"Over {YEAR}, under {name}", fontsize=USUAL, color=INK, loc="left")
        _mark_optimum(ax, optima[name])
        _outline(ax)
        maps[name] = _rounded(mean_daily_light(weather, grid), 3)
    return Artefact(
        name="3c-yearly-irradiance",
        title="Light over the year on every plane (paper fig. 3c)",
        words=(
            "Mean daily irradiation at Chino: the middle is a flat plane, the edge a wall, up is"
            " north. The cross marks the best plane to the degree, on the grid that the paper's"
            " range is held against; the small frame is that range. The top of the hill is flat:"
            " many planes are nearly as good."
        ),
        figure=figure,
        data={
            "latitude": CHINO.latitude,
            "longitude": CHINO.longitude,
            "year": YEAR,
            "surface_azimuth": _rounded(grid.surface_azimuth, 1),
            "surface_tilt": _rounded(grid.surface_tilt, 1),
            "mean_daily_kwh_per_m2": maps,
            "mean_daily_ghi_kwh_per_m2": {
                name: round(_daily_ghi(weather), 3) for name, weather in skies.items()
            },
            "optimum": {name: optimum.to_dict() for name, optimum in optima.items()},
        },
    )


def daily_statement(by_azimuth: Artefact, by_tilt: Artefact) -> Statement:
    """Hold the curves of a day against the paper's reading of them."""
    turned, tilted = by_azimuth.data["curves"], by_tilt.data["curves"]
    hours, tilted_hours = (_range(curves, "peak_hour") for curves in (turned, tilted))
    peaks, tilted_peaks = (_range(curves, "peak") for curves in (turned, tilted))
    southern = _range([each for each in turned if 90 <= each["surface_azimuth"] <= 270], "peak")
    minutes = 60.0 * (tilted_hours[1] - tilted_hours[0])
    return Statement(
        paper=(
            "As azimuth and tilt are varied, both the time and the magnitude of the day's peak"
            " change drastically (figs. 3a and 3b)."
        ),
        measured=(
            f"Azimuth moves the peak by up to {hours[1] - hours[0]:.1f} h, and its height by"
            f" {_share(peaks)} over all azimuths and by {_share(southern)} from east to west"
            f" through south; tilt from 0° to 90° moves it by {minutes:.0f} minutes and its"
            f" height by {_share(tilted_peaks)}."
        ),
        holds=hours[1] - hours[0] > 1.0 and tilted_peaks[0] < 0.8 * tilted_peaks[1],
        why=(
            "Each does mostly one of the two: azimuth moves the time of the peak, tilt its height."
            " A plane that faces south has its peak at solar noon whatever its tilt."
        ),
        section="II-B",
        numbers={
            "azimuth_moves_peak_hours": hours[1] - hours[0],
            "azimuth_changes_height": 1.0 - peaks[0] / peaks[1],
            "azimuth_changes_height_east_to_west": 1.0 - southern[0] / southern[1],
            "tilt_moves_peak_minutes": minutes,
            "tilt_changes_height": 1.0 - tilted_peaks[0] / tilted_peaks[1],
        },
    )


def _curves(ax: Axes, planes: list[Plane]) -> list[dict[str, Any]]:
    """Return the curves that were drawn, each with its plane and its peak."""
    curves = []
    for plane, line in zip(planes, ax.get_lines(), strict=True):
        hours, light = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        curves.append(
            {
                "surface_azimuth": plane.surface_azimuth,
                "surface_tilt": plane.surface_tilt,
                "peak_hour": round(float(hours[light.argmax()]), 3),
                "peak": round(float(light.max()), 1),
                "solar_hour": _rounded(hours, 3),
                "poa_global": _rounded(light, 1),
            }
        )
    return curves


def _sky_name(weather: Weather | None) -> str:
    return "a clear sky" if weather is None else f"weather from {weather.source}"


def _day_data(weather: Weather | None) -> dict[str, Any]:
    return {
        "latitude": CHINO.latitude,
        "longitude": CHINO.longitude,
        "date": DAY,
        "weather": "clearsky" if weather is None else weather.source,
        "units": {"solar_hour": "h", "peak_hour": "h", "poa_global": "W/m²", "peak": "W/m²"},
    }


def _daily_ghi(weather: Weather) -> float:
    """Return the mean irradiation of the horizontal. [kWh/m² per day]"""
    return float(weather.ghi.mean()) * 24.0 / 1000.0


def _mark_optimum(ax: Axes, optimum: Optimum) -> None:
    """Move the cross of a polar map from the map's coarse grid to the optimum to the degree."""
    (cross,) = ax.get_lines()
    plane = optimum.plane
    cross.set_data([np.radians(plane.surface_azimuth)], [plane.surface_tilt])
    ax.set_xlabel(
        "Angle: azimuth [°]; radius: tilt [°]\n"
        f"+ best: azimuth {plane.surface_azimuth:.0f}°, tilt {plane.surface_tilt:.0f}°,"
        f" {optimum.energy:.2f} kWh/m² per day",
        fontsize=SMALL,
        color=INK,
    )


def _outline(ax: Axes) -> None:
    """Frame the paper's range on a polar map."""
    low, high = np.radians(PAPER_AZIMUTHS)
    turn = np.linspace(low, high, 12)
    azimuths = np.concatenate([turn, turn[::-1], turn[:1]])
    tilts = np.repeat([PAPER_TILTS[0], PAPER_TILTS[1], PAPER_TILTS[0]], [12, 12, 1])
    ax.plot(azimuths, tilts, color=INK, linewidth=1.0)


def _rounded(values: Array, places: int) -> list[float]:
    return [float(value) for value in np.round(values, places)]


def _range(curves: list[dict[str, Any]], name: str) -> tuple[float, float]:
    values = [float(curve[name]) for curve in curves]
    return min(values), max(values)


def _share(ends: tuple[float, float]) -> str:
    return f"{100.0 * (1.0 - ends[0] / ends[1]):.0f}%"


def _clock(hour: float) -> str:
    minutes = round(60.0 * hour)
    return f"{minutes // 60}:{minutes % 60:02d}"
