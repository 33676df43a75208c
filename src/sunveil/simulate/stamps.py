"""Which instant a system's clock stamps with which time, be it right or wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil.simulate.fault_rates import FaultRates, SimulatedClock

CLOCKS = tuple(SimulatedClock)
DECLARED = CLOCKS.index(SimulatedClock.DECLARED)
Index = NDArray[np.int32]


def draw_clocks(
    rng: np.random.Generator, rates: FaultRates, n: int, *, saves_daylight: bool
) -> NDArray[np.int64]:
    """Return the clocks of systems, as places in ``CLOCKS``.

    Parameters
    ----------
    rng
        Source of randomness.
    rates
        The share of each clock.
    n
        How many systems.
    saves_daylight
        Whether the clock on the wall does; where it does not, none of theirs does.
    """
    drawn = rng.choice(len(CLOCKS), size=n, p=[rates.clocks[clock] for clock in CLOCKS])
    if not saves_daylight:
        drawn[drawn == CLOCKS.index(SimulatedClock.DAYLIGHT_SAVING)] = DECLARED
    return np.asarray(drawn, dtype=np.int64)


def draw_clock_steps(
    rng: np.random.Generator, rates: FaultRates, clock: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the clocks before and after a step, and when it comes, as fields of a roster.

    A clock that steps is right on one side of its step and an hour off on the other.

    Parameters
    ----------
    rng
        Source of randomness.
    rates
        How many clocks step.
    clock
        The clocks, as places in ``CLOCKS``.
    """
    n = len(clock)
    off = [CLOCKS.index(each) for each in (SimulatedClock.HOUR_FAST, SimulatedClock.HOUR_SLOW)]
    steps = rng.random(n) < rates.clock_steps
    wrong, at = rng.choice(off, n), rng.uniform(0.1, 0.9, n)
    first = rng.random(n) < 0.5
    return {
        "clock": np.where(steps, np.where(first, wrong, DECLARED), clock),
        "later_clock": np.where(steps, np.where(first, DECLARED, wrong), clock),
        "clock_step": np.where(steps, at, np.nan),
    }


def clock_sources(
    times: pd.DatetimeIndex, timezone: str, *, interval_minutes: int, step_minutes: int
) -> tuple[Index, Index]:
    """Return for each clock which instants of a sky stand at each instant of its stamps.

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
    sources
        Indices of instants, shape (clocks, instants), the clocks in the order of ``CLOCKS``.
    before
        For each clock 1 where half of what is read comes from the instant before its source, since
        it is off by half a step of the sky; else 0.
    """
    ahead: dict[SimulatedClock, Any] = {
        SimulatedClock.DECLARED: 0,
        SimulatedClock.HOUR_FAST: 60,
        SimulatedClock.HOUR_SLOW: -60,
        SimulatedClock.HALF_HOUR_FAST: 30,
        SimulatedClock.HALF_HOUR_SLOW: -30,
        SimulatedClock.DAYLIGHT_SAVING: _saved_minutes(times, timezone),
        SimulatedClock.LABEL_END: interval_minutes,
        SimulatedClock.LABEL_MIDDLE: interval_minutes / 2,
    }
    n = len(times)
    out = np.full((len(CLOCKS), n), -1, dtype=np.int32)
    instants = np.arange(n, dtype=np.int32)
    for row, clock in zip(out, CLOCKS, strict=True):
        stamps = instants + np.asarray(ahead[clock] // step_minutes, dtype=np.int32)
        kept = (stamps >= 0) & (stamps < n)
        # backwards, so that the first of two is written last
        row[stamps[kept][::-1]] = instants[kept][::-1]
    halved = [clock is SimulatedClock.LABEL_MIDDLE for clock in CLOCKS]
    odd = interval_minutes / 2 % step_minutes > 0
    return out, np.asarray(np.array(halved) & odd, dtype=np.int32)


def _saved_minutes(times: pd.DatetimeIndex, timezone: str) -> NDArray[np.int64]:
    plain = times.tz_localize(None)
    ahead = times.tz_convert(timezone).tz_localize(None) - plain
    minutes = (ahead.total_seconds().to_numpy() // 60).astype(np.int64)
    return np.asarray(minutes - minutes.min())
