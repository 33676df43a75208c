"""What goes wrong with readings: noise, gaps, outages, and records that start or end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.simulate.fault_rates import FaultRates
from sunveil.simulate.loggers import add_logger_faults
from sunveil.simulate.roster import SimulatedRoster
from sunveil.site import Array

# How long each kind lasts, evenly spread in the logarithm. [hours]
HOURS, DAYS, WEEKS = (1.0, 12.0), (24.0, 168.0), (168.0, 1344.0)
DOWN_DAYS, DOWN_WEEKS = (24.0, 120.0), (168.0, 1008.0)
WATT = np.float32(1000.0)


def add_meter_faults(
    power: NDArray[np.float32],
    roster: SimulatedRoster,
    rates: FaultRates,
    *,
    interval_minutes: int,
    rng: np.random.Generator,
    alive: NDArray[np.float32] | None = None,
) -> None:
    """Turn exact power into what meters say, in place.

    Noise on each reading, rounded to whole watts; zero where a system is down; NaN where there is
    no reading; and what the logger makes of these.

    Parameters
    ----------
    power
        Exact power, one row per system. [kW]
    roster
        The systems.
    rates
        How often and how badly they go wrong.
    interval_minutes
        Interval of the meters. [minutes]
    rng
        Source of randomness.
    alive
        Ones, shape of ``power``, to be turned to 0 where a system is down and to NaN in gaps.
    """
    both = [power] if alive is None else [power, alive]
    _blur(power, roster.noise, rng)
    per_hour = 60.0 / interval_minutes
    prone = rng.gamma(rates.uneven, 1.0 / rates.uneven, len(power))
    for rate, hours, value in (
        (rates.down_days, DOWN_DAYS, 0.0),
        (rates.down_weeks, DOWN_WEEKS, 0.0),
        (rates.hour_gaps, HOURS, np.nan),
        (rates.day_gaps, DAYS, np.nan),
        (rates.week_gaps, WEEKS, np.nan),
    ):
        _interrupt(both, rate * prone, hours, per_hour=per_hour, value=value, rng=rng)
    add_logger_faults(power, roster)
    cut_records(power, roster)


def cut_records(power: NDArray[np.float32], roster: SimulatedRoster) -> None:
    """Take out readings before each record begins and after it ends, in place."""
    readings = power.shape[1]
    for row in np.flatnonzero((roster.begin > 0.0) | (roster.end < 1.0)):
        power[row, : round(roster.begin[row] * readings)] = np.nan
        power[row, round(roster.end[row] * readings) :] = np.nan


def _blur(power: NDArray[np.float32], noise: Array, rng: np.random.Generator) -> None:
    draws = rng.standard_normal(power.shape, dtype=np.float32)
    draws *= noise.astype(np.float32)[:, None]
    draws += np.float32(1.0)
    power *= draws
    power *= WATT
    np.rint(power, out=power)
    power /= WATT
    np.maximum(power, np.float32(0.0), out=power)


def _interrupt(
    both: list[NDArray[np.float32]],
    rates: Array,
    hours: tuple[float, float],
    *,
    per_hour: float,
    value: float,
    rng: np.random.Generator,
) -> None:
    n, readings = both[0].shape
    rows = np.repeat(np.arange(n), rng.poisson(rates))
    starts = rng.integers(0, readings, len(rows))
    low, high = np.log(hours[0]), np.log(hours[1])
    lengths = np.exp(rng.uniform(low, high, len(rows))) * per_hour
    ends = starts + np.maximum(np.rint(lengths), 1.0).astype(np.int64)
    for row, start, end in zip(rows, starts, ends, strict=True):
        # a product, so that a gap stays a gap
        for each in both:
            each[row, start:end] *= np.float32(value)
