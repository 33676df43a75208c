"""Which instant a system's clock stamps with which time, be it right or wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil.simulate.fault_rates import SimulatedClock

CLOCKS = tuple(SimulatedClock)
Index = NDArray[np.int32]


def clock_sources(
    times: pd.DatetimeIndex, timezone: str, *, interval_minutes: int, step_minutes: int
) -> Index:
    """Return for each clock which instant of a sky stands at each instant of its stamps.

    -1 where none does: before a slow clock's year begins, and in the hour that is skipped in
    spring. Of the hour that comes twice in autumn the first is kept, as meters that overwrite do.

    Parameters
    ----------
    times
        Middles of the sky's steps over the year, in UTC.
    timezone
        The clock on the wall, whose daylight saving may be left in.
    interval_minutes
        Interval of the meters. [minutes]
    step_minutes
        Spacing of the sky. [minutes]

    Returns
    -------
    numpy.ndarray
        Indices of instants, shape (clocks, instants), the clocks in the order of ``CLOCKS``.
    """
    ahead = {
        SimulatedClock.DECLARED: 0,
        SimulatedClock.HOUR_FAST: 60,
        SimulatedClock.HOUR_SLOW: -60,
        SimulatedClock.HALF_HOUR_FAST: 30,
        SimulatedClock.HALF_HOUR_SLOW: -30,
        SimulatedClock.DAYLIGHT_SAVING: _saved_minutes(times, timezone),
        SimulatedClock.LABEL_END: interval_minutes,
    }
    n = len(times)
    out = np.full((len(CLOCKS), n), -1, dtype=np.int32)
    instants = np.arange(n, dtype=np.int32)
    for row, clock in zip(out, CLOCKS, strict=True):
        stamps = instants + np.asarray(ahead[clock]) // step_minutes
        kept = (stamps >= 0) & (stamps < n)
        # backwards, so that the first of two is written last
        row[stamps[kept][::-1]] = instants[kept][::-1]
    return out


def _saved_minutes(times: pd.DatetimeIndex, timezone: str) -> NDArray[np.int64]:
    plain = times.tz_localize(None)
    ahead = times.tz_convert(timezone).tz_localize(None) - plain
    minutes = (ahead.total_seconds().to_numpy() // 60).astype(np.int64)
    return np.asarray(minutes - minutes.min())
