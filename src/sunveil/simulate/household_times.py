"""A cell's year as its households know it: the clock on the wall, the air and the sun."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.signal import lfilter

from sunveil.simulate.stamps import Index
from sunveil.site import Array
from sunveil.weather.base import Weather

Single = NDArray[np.float32]
# Habits are known by half hours of the week.
KNOT_MINUTES, HALVES, WEEK = 30, 48, 7
# Delays of rooms behind the air and behind the sun. [h]
AIR_DELAY, SUN_DELAY = 3.0, 1.5


@dataclass(frozen=True, slots=True, eq=False)
class HouseholdTimes:
    """A cell's year as its households know it: the clock on the wall, the air and the sun.

    Parameters
    ----------
    step_minutes
        Spacing of the instants. [minutes]
    slot, day
        Half hour of the week from Monday, and number of the local day, every half hour.
    day_start
        Instant at which each local day begins; 0 for one that began before.
    air, sun
        Temperature of rooms that nobody heats, and the sun's light that came into them lately, at
        each instant. [°C, kW/m²]
    """

    step_minutes: int
    slot: Index
    day: Index
    day_start: NDArray[np.int64]
    air: Single
    sun: Single

    @classmethod
    def of(cls, weather: Weather, timezone: str) -> HouseholdTimes:
        """Return the year of a place whose weather has an even spacing that divides half an hour.

        Parameters
        ----------
        weather
            The air and the sun, in UTC.
        timezone
            The clock on the wall.
        """
        step = round((weather.times[1] - weather.times[0]).total_seconds() / 60.0)
        wall = pd.DatetimeIndex(weather.times).tz_convert(timezone).tz_localize(None)
        days = (wall.normalize() - wall[0].normalize()).days.to_numpy()
        every = slice(None, None, KNOT_MINUTES // step)
        half = wall.hour.to_numpy() * 2 + wall.minute.to_numpy() // 30
        slot = wall.day_of_week.to_numpy() * HALVES + half
        return cls(
            step_minutes=step,
            slot=slot[every].astype(np.int32),
            day=days[every].astype(np.int32),
            day_start=np.searchsorted(days, np.arange(days[-1] + 1)),
            air=_delayed(weather.temp_air, AIR_DELAY * 60.0 / step),
            sun=_delayed(weather.ghi / 1000.0, SUN_DELAY * 60.0 / step),
        )

    @property
    def days(self) -> int:
        """How many local days there are."""
        return len(self.day_start)


def _delayed(values: Array, steps: float) -> Single:
    """Return values as something sees them that follows within some steps."""
    keep = np.exp(-1.0 / steps)
    begin = [keep * np.mean(values[: round(24 * steps)])]
    return np.asarray(lfilter([1.0 - keep], [1.0, -keep], values, zi=begin)[0], dtype=np.float32)
