"""Random processes, and the days of a place by its own sun, for simulated skies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.signal import lfilter

from sunveil.site import Array


def autoregressive(rng: np.random.Generator, size: int, *, correlation: float) -> Array:
    """Return a stationary AR(1) series of unit variance.

    Parameters
    ----------
    rng
        Source of randomness.
    size
        Number of values.
    correlation
        Correlation between neighbours, in [0, 1).
    """
    shocks = rng.standard_normal(size)
    shocks[1:] *= math.sqrt(1.0 - correlation**2)
    return np.asarray(lfilter([1.0], [1.0, -correlation], shocks), dtype=np.float64)


def correlated_noise(
    rng: np.random.Generator, size: int, *, step_minutes: float, memory_minutes: float
) -> Array:
    """Return an AR(1) series of unit variance whose memory is given in time.

    Parameters
    ----------
    rng
        Source of randomness.
    size
        Number of values.
    step_minutes
        Spacing of the values. [minutes]
    memory_minutes
        Time after which the correlation has fallen to 1/e. [minutes]
    """
    return autoregressive(rng, size, correlation=math.exp(-step_minutes / memory_minutes))


@dataclass(frozen=True, slots=True, eq=False)
class SolarCalendar:
    """The days of a place by its own sun, so that a day's weather does not change at noon.

    Parameters
    ----------
    index
        Number of the local day of each instant, from 0.
    hour
        Local mean solar time of each instant. [h]
    days
        Number of local days.
    season
        From 0 to 1 through the year from the depth of winter, one per local day.
    """

    index: NDArray[np.int64]
    hour: Array
    days: int
    season: Array

    @classmethod
    def of(cls, times: pd.DatetimeIndex, *, latitude: float, longitude: float) -> SolarCalendar:
        """Return the calendar of a place over ``times``.

        Parameters
        ----------
        times
            The instants, in UTC.
        latitude
            Which hemisphere's seasons. [degrees]
        longitude
            By which the mean sun tells the time. [degrees]
        """
        first = times[0].normalize() - pd.Timedelta(days=1)
        hours = (times - first).total_seconds().to_numpy() / 3600.0 + longitude / 15.0
        index = (hours // 24.0).astype(np.int64)
        index -= index[0]
        days = int(index[-1]) + 1
        # mid-January is the coldest time of the north, mid-July that of the south
        turn = 15.0 if latitude >= 0.0 else 197.0
        day_of_year = times[0].day_of_year + np.arange(days, dtype=np.float64)
        return cls(index, hours % 24.0, days, np.mod((day_of_year - turn) / 365.25, 1.0))

    @property
    def summer(self) -> Array:
        """+1 at the height of summer, -1 in the depth of winter, one per local day."""
        return -np.cos(2.0 * np.pi * self.season)
