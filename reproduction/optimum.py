"""Which plane gets the most light over a year at Chino, next to where the paper finds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from reproduction.artefact import Statement, over_subjects
from sunveil.grids import Grid, product_grid
from sunveil.pv_model import plane_irradiance, sky_at
from sunveil.site import Array, Plane
from sunveil.weather import Weather
from sunveil.weather.weather_data import utc_seconds

# Where the paper finds the most light.
PAPER_AZIMUTHS, PAPER_TILTS = (165.0, 180.0), (35.0, 40.0)
CLEAR, CLOUDY = "the clear sky", "Chino's share of clouds"
EARLY = "the clear sky with the sun of half an hour before"
NEARLY = 0.01  # share of the most light that planes called nearly as good have less
HARDLY = 0.005  # and what nobody would read off a figure
_BLOCK = 150


@dataclass(frozen=True, slots=True)
class Optimum:
    """The plane that gets the most light over a year, on a grid of whole degrees.

    Parameters
    ----------
    plane
        The plane.
    energy
        Its mean daily irradiation. [kWh/m² per day]
    azimuths, tilts
        The least and the greatest among planes that get 99% of it. [degrees]
    paper_loss
        What the best plane within the paper's range gets less, as a fraction.
    """

    plane: Plane
    energy: float
    azimuths: tuple[float, float]
    tilts: tuple[float, float]
    paper_loss: float

    def __str__(self) -> str:
        return f"({self.plane.surface_azimuth:.0f}°, {self.plane.surface_tilt:.0f}°)"

    @property
    def as_the_paper_says(self) -> bool:
        """Whether the plane lies within the paper's range."""
        azimuth, tilt = self.plane.surface_azimuth, self.plane.surface_tilt
        return _within(azimuth, PAPER_AZIMUTHS) and _within(tilt, PAPER_TILTS)

    def to_dict(self) -> dict[str, Any]:
        """Return the optimum as plain JSON types."""
        return {
            "surface_azimuth": self.plane.surface_azimuth,
            "surface_tilt": self.plane.surface_tilt,
            "mean_daily_kwh_per_m2": round(self.energy, 4),
            "azimuths_within_1_percent": list(self.azimuths),
            "tilts_within_1_percent": list(self.tilts),
            "loss_within_the_papers_range": round(self.paper_loss, 6),
        }


def find_optimum(weather: Weather) -> Optimum:
    """Return the plane that gets the most light, to the degree, on the south side of the sky.

    The paper's range is looked at on the same grid.
    """
    grid = product_grid(np.arange(140.0, 221.0), np.arange(15.0, 51.0))
    energy = mean_daily_light(weather, grid)
    best = int(energy.argmax())
    near = energy >= (1.0 - NEARLY) * energy[best]
    azimuths, tilts = grid.surface_azimuth, grid.surface_tilt
    paper = (azimuths >= PAPER_AZIMUTHS[0]) & (azimuths <= PAPER_AZIMUTHS[1])
    paper &= (tilts >= PAPER_TILTS[0]) & (tilts <= PAPER_TILTS[1])
    return Optimum(
        plane=grid[best],
        energy=float(energy[best]),
        azimuths=(float(azimuths[near].min()), float(azimuths[near].max())),
        tilts=(float(tilts[near].min()), float(tilts[near].max())),
        paper_loss=1.0 - float(energy[paper].max() / energy[best]),
    )


def find_optima(skies: Mapping[str, Weather]) -> dict[str, Optimum]:
    """Return the optimum under each sky, and under the clear one with a sun that is too early."""
    shifted = sun_too_early(skies[CLEAR])
    return {name: find_optimum(sky) for name, sky in (*skies.items(), (EARLY, shifted))}


def optimum_statement(optima: Mapping[str, Optimum]) -> Statement:
    """Hold the plane with the most light against the paper's range.

    Parameters
    ----------
    optima
        As :func:`find_optima` returns them.
    """
    clear, early = optima[CLEAR], optima[EARLY]
    others = {name: each for name, each in optima.items() if name not in (CLEAR, EARLY)}
    told = {CLEAR: clear, **others}
    paper = (
        "At Chino a panel with an azimuth between 165° and 180° and a tilt between 35° and 40° gets"
        " the most light over 2016 (fig. 3c)."
    )
    best = ", ".join(f"{each} under {name}" for name, each in told.items())
    losses = ", ".join(f"{_percent(each.paper_loss)} under {name}" for name, each in told.items())
    inside = Statement(
        paper,
        f"the best plane of the grid of whole degrees is {best}",
        all(each.as_the_paper_says for each in told.values()),
    )
    good = Statement(
        paper,
        f"the best plane within the paper's range gets less than it by {losses}",
        max(each.paper_loss for each in told.values()) < HARDLY,
    )
    return replace(
        over_subjects([("the optimum", inside), ("the light", good)]),
        why=(
            "The top of the hill is flat: under the clear sky, planes from"
            f" {clear.azimuths[0]:.0f}° to {clear.azimuths[1]:.0f}° of azimuth and from"
            f" {clear.tilts[0]:.0f}° to {clear.tilts[1]:.0f}° of tilt come within 1% of the best."
            " Clouds lower the best tilt, since their light comes from the whole sky. A clear sky"
            " is as bright before noon as after it, which puts the best azimuth at south. East of"
            " south takes brighter mornings, or stamps that are off: hourly light taken with the"
            f" sun of half an hour before gives {early}."
        ),
        section="II-B",
        numbers={name: each.to_dict() for name, each in optima.items()},
    )


def mean_daily_light(weather: Weather, grid: Grid) -> Array:
    """Return the mean irradiation of the planes of a grid. [kWh/m² per day]"""
    lit = weather.ghi > 0.0
    sky = sky_at(weather, utc_seconds(weather.times)[lit])
    normals, share = grid.normals, float(np.mean(lit))
    # in blocks, so that a year of all planes never stands in memory at once
    parts = [
        plane_irradiance(sky, normals[first : first + _BLOCK]).mean(axis=1)
        for first in range(0, len(normals), _BLOCK)
    ]
    return np.asarray(np.concatenate(parts) * share * 24.0 / 1000.0)


def sun_too_early(weather: Weather, minutes: float = 30.0) -> Weather:
    """Return weather whose stamps are early, so that its light meets the sun of before."""
    moved = weather.times - pd.Timedelta(minutes=minutes)
    return replace(weather, times=moved, zenith=None, azimuth=None)


def _within(value: float, ends: tuple[float, float]) -> bool:
    return ends[0] <= value <= ends[1]


def _percent(share: float) -> str:
    return f"{100.0 * share:.2f}%"
