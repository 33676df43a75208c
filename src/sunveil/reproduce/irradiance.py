"""The light on planes at Chino, California, in 2016: the paper's figures 3a, 3b and 3c."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sunveil.grids import plane_grid
from sunveil.plots import (
    plot_irradiance_by_azimuth,
    plot_irradiance_by_tilt,
    plot_yearly_irradiance,
)
from sunveil.plots.embed import loose_figure
from sunveil.plots.irradiance import MAP_STEP
from sunveil.plots.style import INK, USUAL
from sunveil.reproduce.artefact import Artefact, Statement
from sunveil.reproduce.optimum import (
    CLEAR,
    CLOUDY,
    PAPER_AZIMUTHS,
    PAPER_TILTS,
    Optimum,
    mean_daily_light,
)
from sunveil.reproduce.subject import CHINO, SEED, YEAR
from sunveil.simulate import simulate_sky
from sunveil.site import Array, Plane
from sunveil.weather import Weather, clearsky

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DAY = f"{YEAR}-07-15"
TILT, AZIMUTH = 25.0, 180.0
AZIMUTHS = (90.0, 135.0, 180.0, 225.0, 270.0)
TILTS = (0.0, 15.0, 30.0, 45.0, 60.0, 75.0, 90.0)


def paper_skies() -> dict[str, Weather]:
    """Return the two weathers of Chino over the year: always clear, and with simulated clouds.

    The second is the satellite's view of the sky that the simulated subject stands under.
    """
    clear = clearsky(CHINO, f"{YEAR}-01-01", f"{YEAR + 1}-01-01", step_minutes=60)
    return {CLEAR: clear, CLOUDY: simulate_sky(CHINO, YEAR, seed=SEED).satellite}


def irradiance_by_azimuth() -> Artefact:
    """Draw the light over a summer day on planes that face different ways: paper fig. 3a."""
    figure = loose_figure(6.6, 3.8)
    ax = figure.subplots()
    plot_irradiance_by_azimuth(CHINO, DAY, azimuths=AZIMUTHS, tilt=TILT, ax=ax)
    planes = [Plane(azimuth, TILT) for azimuth in AZIMUTHS]
    curves = _curves(ax, planes)
    first, last = curves[0], curves[-1]
    return Artefact(
        name="1a-irradiance-by-azimuth",
        title="Light over a summer day, by azimuth (paper fig. 3a)",
        words=(
            f"Plane-of-array irradiance at Chino on 15 July {YEAR} under a clear sky, for planes"
            f" tilted by {TILT:g}°. Turning a plane from east to west moves its peak from"
            f" {_clock(first['peak_hour'])} to {_clock(last['peak_hour'])} solar time."
        ),
        figure=figure,
        data={**_day_data(), "curves": curves},
    )


def irradiance_by_tilt() -> Artefact:
    """Draw the light over a summer day on planes of different tilts: paper fig. 3b."""
    figure = loose_figure(6.6, 3.8)
    ax = figure.subplots()
    plot_irradiance_by_tilt(CHINO, DAY, tilts=TILTS, azimuth=AZIMUTH, ax=ax)
    planes = [Plane(AZIMUTH, tilt) for tilt in TILTS]
    curves = _curves(ax, planes)
    peaks = [curve["peak"] for curve in curves]
    return Artefact(
        name="1b-irradiance-by-tilt",
        title="Light over a summer day, by tilt (paper fig. 3b)",
        words=(
            f"The same day for planes that face south. Tilting a plane changes how tall its curve"
            f" is, from {max(peaks):.0f} to {min(peaks):.0f} W/m² at its peak, and hardly when the"
            " peak comes."
        ),
        figure=figure,
        data={**_day_data(), "curves": curves},
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
        _outline(ax)
        maps[name] = _rounded(mean_daily_light(weather, grid), 3)
    return Artefact(
        name="1c-yearly-irradiance",
        title="Light over the year on every plane (paper fig. 3c)",
        words=(
            "Mean daily irradiation at Chino: the middle is a flat plane, the edge a wall, up is"
            " north. The cross marks the best plane in steps of 5°; the small frame is where the"
            " paper finds it. The top of the hill is flat: many planes are nearly as good."
        ),
        figure=figure,
        data={
            "latitude": CHINO.latitude,
            "longitude": CHINO.longitude,
            "year": YEAR,
            "surface_azimuth": _rounded(grid.surface_azimuth, 1),
            "surface_tilt": _rounded(grid.surface_tilt, 1),
            "mean_daily_kwh_per_m2": maps,
            "optimum": {name: optimum.to_dict() for name, optimum in optima.items()},
        },
    )


def daily_statement(by_azimuth: Artefact, by_tilt: Artefact) -> Statement:
    """Hold the curves of a day against the paper's reading of them."""
    turned, tilted = by_azimuth.data["curves"], by_tilt.data["curves"]
    hours, tilted_hours = (_range(curves, "peak_hour") for curves in (turned, tilted))
    peaks, tilted_peaks = (_range(curves, "peak") for curves in (turned, tilted))
    minutes = 60.0 * (tilted_hours[1] - tilted_hours[0])
    return Statement(
        paper=(
            "As azimuth and tilt are varied, both the time and the magnitude of the day's peak"
            " change drastically (figs. 3a and 3b)."
        ),
        measured=(
            f"Azimuth from 90° to 270° moves the peak by {hours[1] - hours[0]:.1f} h and its height"
            f" by {_share(peaks)}; tilt from 0° to 90° moves it by {minutes:.0f} minutes and its"
            f" height by {_share(tilted_peaks)}."
        ),
        holds=hours[1] - hours[0] > 1.0 and tilted_peaks[0] < 0.8 * tilted_peaks[1],
        why=(
            "Each does one of the two: azimuth moves the time of the peak, tilt its height. A plane"
            " that faces south has its peak at solar noon whatever its tilt."
        ),
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


def _day_data() -> dict[str, Any]:
    return {
        "latitude": CHINO.latitude,
        "longitude": CHINO.longitude,
        "date": DAY,
        "weather": "clearsky",
        "units": {"solar_hour": "h", "peak_hour": "h", "poa_global": "W/m²", "peak": "W/m²"},
    }


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
