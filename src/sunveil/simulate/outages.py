"""What goes wrong with readings: noise, gaps, outages, snow, and records that start or end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.simulate.fault_rates import FaultRates
from sunveil.simulate.roster import SimulatedRoster
from sunveil.site import Array

# How long each kind lasts, evenly spread in the logarithm. [hours]
HOURS, DAYS, WEEKS = (1.0, 12.0), (24.0, 168.0), (168.0, 1344.0)
DOWN_DAYS, DOWN_WEEKS = (24.0, 120.0), (168.0, 1008.0)
FREEZING_DAYS = 20
LONGEST_SNOW_DAYS = 8.0
WATT = np.float32(1000.0)


def draw_snow(temp_air: Array, rates: FaultRates, *, rng: np.random.Generator) -> Array:
    """Return when it snows on a cell, as fractions of the year.

    Parameters
    ----------
    temp_air
        Air temperature at even instants through the year. [°C]
    rates
        How often it snows.
    rng
        Source of randomness.
    """
    days = temp_air[: len(temp_air) // 365 * 365].reshape(365, -1).mean(axis=1)
    freezing = np.flatnonzero(days < 0.0)
    if len(freezing) < FREEZING_DAYS:
        return np.zeros(0)
    falls = min(int(rng.poisson(rates.snow_spells)), len(freezing))
    return np.sort(rng.choice(freezing, size=falls, replace=False)) / 365.0


def add_meter_faults(
    power: NDArray[np.float32],
    roster: SimulatedRoster,
    rates: FaultRates,
    *,
    snow: Array,
    interval_minutes: int,
    rng: np.random.Generator,
) -> None:
    """Turn exact power into what meters say, in place.

    Noise on each reading, rounded to whole watts; zero where a system is down or under snow; NaN
    where there is no reading.

    Parameters
    ----------
    power
        Exact power, one row per system. [kW]
    roster
        The systems.
    rates
        How often and how badly they go wrong.
    snow
        When it snows, as fractions of the year.
    interval_minutes
        Interval of the meters. [minutes]
    rng
        Source of randomness.
    """
    _blur(power, roster.noise, rng)
    per_hour = 60.0 / interval_minutes
    _cover(power, roster.surface_tilt, snow=snow, per_hour=per_hour, rng=rng)
    prone = rng.gamma(rates.uneven, 1.0 / rates.uneven, len(power))
    for rate, hours, value in (
        (rates.down_days, DOWN_DAYS, 0.0),
        (rates.down_weeks, DOWN_WEEKS, 0.0),
        (rates.hour_gaps, HOURS, np.nan),
        (rates.day_gaps, DAYS, np.nan),
        (rates.week_gaps, WEEKS, np.nan),
    ):
        _interrupt(power, rate * prone, hours, per_hour=per_hour, value=value, rng=rng)
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


def _cover(
    power: NDArray[np.float32],
    surface_tilt: Array,
    *,
    snow: Array,
    per_hour: float,
    rng: np.random.Generator,
) -> None:
    # on a steep roof snow stays for a shorter time
    longest = 24.0 * LONGEST_SNOW_DAYS * per_hour * (1.0 - surface_tilt / 90.0)
    for start in np.rint(snow * power.shape[1]).astype(int):
        for row, length in enumerate(rng.random(len(power)) * longest):
            power[row, start : start + int(length)] *= np.float32(0.0)


def _interrupt(
    power: NDArray[np.float32],
    rates: Array,
    hours: tuple[float, float],
    *,
    per_hour: float,
    value: float,
    rng: np.random.Generator,
) -> None:
    rows = np.repeat(np.arange(len(power)), rng.poisson(rates))
    starts = rng.integers(0, power.shape[1], len(rows))
    low, high = np.log(hours[0]), np.log(hours[1])
    lengths = np.exp(rng.uniform(low, high, len(rows))) * per_hour
    ends = starts + np.maximum(np.rint(lengths), 1.0).astype(np.int64)
    for row, start, end in zip(rows, starts, ends, strict=True):
        # a product, so that a gap stays a gap
        power[row, start:end] *= np.float32(value)
