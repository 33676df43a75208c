"""The simulated meters that the pictures show: those of ``sunveil demo``, with their truth."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.projections.polar import PolarAxes

import sunveil
from sunveil.meters import from_pandas
from sunveil.plots.style import ACCENT, CONTRAST, INK, SMALL, dress_polar
from sunveil.simulate import CITIES, SimulatedSky, SystemTruth, draw_systems, simulate_power
from sunveil.simulate import simulate_sky as make_sky

SEED, YEAR, SYSTEMS = 1, 2019, 12
CITY = next(city for city in CITIES if city.name == "Denver")
# Denver's standard time, without daylight saving. [hours from UTC]
CLOCK = pd.Timedelta(hours=-7)
STEEPEST = 45.0


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A simulated system: its truth, its readings, and what was inferred of it.

    Parameters
    ----------
    truth
        The system.
    power
        Hourly readings; stamps name the start of the hour in UTC. [kW]
    found
        The estimate, under the embedded clear sky.
    """

    truth: SystemTruth
    power: pd.Series[float]
    found: sunveil.Estimate

    @property
    def record(self) -> sunveil.Record:
        """The readings as a record."""
        return from_pandas(
            self.power, system_id=self.truth.system_id, label="start", power_unit="kW"
        )

    @property
    def day(self) -> pd.Series[float]:
        """The readings on Denver's standard time. [kW]"""
        return self.power.set_axis((self.power.index + CLOCK).tz_localize(None))


@functools.cache
def sky() -> SimulatedSky:
    """Return the sky of the demo."""
    return make_sky(CITY.site, YEAR, seed=SEED, step_minutes=10)


@functools.cache
def weather() -> sunveil.Weather:
    """Return the embedded clear sky over the year."""
    return sunveil.get_weather("clearsky", CITY.site, f"{YEAR - 1}-12-30", f"{YEAR + 1}-01-03")


@functools.cache
def scene(number: int) -> Scene:
    """Return a system of the demo, counted from 1."""
    drawn = draw_systems(SYSTEMS, seed=SEED)[number - 1]
    truth = replace(drawn, site=CITY.site, timezone=CITY.timezone)
    power = simulate_power(truth, sky(), seed=SEED + number - 1)
    return Scene(truth, power, sunveil.infer(power, site=CITY.site, label="start"))


def carpet(power: pd.Series[float]) -> np.ndarray:
    """Return hourly readings on a clock of the place as hours by whole days. [kW]"""
    whole = power[power.index.normalize()[-1] - pd.Timedelta(days=364) :]
    return whole.iloc[: 24 * (len(whole) // 24)].to_numpy().reshape(-1, 24).T


def draw_carpet(ax: Axes, power: pd.Series[float], *, cmap: str = "cividis") -> None:
    """Draw a year of readings: days across, hours upwards, the brighter the more power."""
    ax.imshow(carpet(power), origin="lower", aspect="auto", cmap=cmap, interpolation="nearest")
    ax.set_xticks([0, 90, 181, 273], ["Jan", "Apr", "Jul", "Oct"], fontsize=SMALL, color=INK)
    ax.set_yticks([-0.5, 5.5, 11.5, 17.5, 23.5], [0, 6, 12, 18, 24], fontsize=SMALL, color=INK)
    ax.tick_params(length=2.5, width=0.6)
    for spine in ax.spines.values():
        spine.set_visible(False)


def dress_compass(ax: PolarAxes) -> None:
    """Lay axes out as a compass, up to the steepest roofs."""
    dress_polar(ax)
    ax.set_rlim(0.0, STEEPEST)
    ax.set_rgrids([15.0, 30.0, 45.0], ["15°", "30°", "45°"], angle=22.5, fontsize=SMALL, color=INK)


def draw_interval(ax: PolarAxes, found: sunveil.Estimate, *, colour: str = ACCENT) -> None:
    """Draw an estimate on a compass: its plane, and the 90% intervals as a sector."""
    dress_compass(ax)
    low, high = found.azimuth_interval.low, found.azimuth_interval.high
    turn = np.radians(np.linspace(low, low + (high - low) % 360.0, 60))
    ax.fill_between(
        turn, found.tilt_interval.low, found.tilt_interval.high, color=colour, alpha=0.3, lw=0
    )
    ax.plot(np.radians(found.surface_azimuth), found.surface_tilt, "o", ms=4, color=colour)


def draw_truth(ax: PolarAxes, plane: sunveil.Plane) -> None:
    """Draw the true plane as a ring."""
    at = np.radians(plane.surface_azimuth), plane.surface_tilt
    ax.plot(*at, "o", ms=8, mfc="none", mec=CONTRAST, mew=1.6)
