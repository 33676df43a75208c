"""What households use, every few minutes of a year, with the shapes of real homes.

A load is a base; habits by half hour and day of the week, spread lognormally about a home's own
pattern with memories of an hour, a day and a season; cooling and heating that follow the air and
the sun with some hours' delay; and what runs for a while (:mod:`~sunveil.simulate.appliances`).
Homes stand empty for some days of the year. ``python -m benchmarks.loads`` sets hourly loads beside
those of real homes: spread by hour, quantiles, correlations, seasons.
"""

from __future__ import annotations

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.signal import lfilter

from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.simulate.appliances import APPLIANCE_SHARE, Runs, draw_appliances, draw_charging
from sunveil.simulate.blocks import FAST_MATH
from sunveil.simulate.comfort import add_comfort, find_comfort
from sunveil.simulate.fleet_spec import INTERVALS, NetMix
from sunveil.simulate.household_times import HALVES, KNOT_MINUTES, WEEK, HouseholdTimes, Single
from sunveil.simulate.households import (
    BUSINESS,
    KINDS,
    HouseholdKind,
    SimulatedHouseholds,
    draw_households,
)
from sunveil.simulate.stamps import Index
from sunveil.simulate.systems import US, FleetStatistics
from sunveil.site import Array
from sunveil.weather.base import Weather

# How strong the bumps of a day are, in the morning, at midday and in the evening, over the hours
# asleep; by the kinds of homes.
BUMPS = {
    HouseholdKind.OUT_BY_DAY: (0.9, 0.25, 1.8),
    HouseholdKind.AT_HOME: (0.8, 0.9, 1.4),
    HouseholdKind.LATE: (0.4, 0.6, 1.7),
}
ASLEEP, BUMP_SPREAD = 0.45, 0.4
# What habits vary by: the half hours asleep and awake, and the hours of a home's own week.
HOUR_SPREAD, WEEK_SPREAD = (0.45, 0.75), 0.35
# Correlation from half hour to half hour.
HOUR_MEMORY = 0.8
# Days as a whole, seasons as a whole, and each part of the day apart as months go by, with the
# correlation from day to day. A day has eight parts.
DAY, SEASON, DAYPART = (0.12, 0.4), (0.3, 0.98), (0.45, 0.97)
DAYPARTS = 8
# Comfort too is used more on some days than on others.
COMFORT = (0.35, 0.8)
# Journeys a year, their days, and what is left meanwhile of habits and of comfort.
JOURNEYS, JOURNEY_DAYS, LEFT_HABIT, LEFT_COMFORT = 1.6, (2, 16), 0.05, 0.3


@checked
def simulate_loads(
    weather: Weather,
    n: int,
    *,
    seed: int,
    timezone: str,
    interval_minutes: int = 60,
    cars: float = 0.0,
    statistics: FleetStatistics = US,
) -> pd.DataFrame:
    """Return the loads of homes of one place over the time of its weather. [kW]

    Parameters
    ----------
    weather
        The true sky of the place, with a spacing of 5, 10 or 15 minutes, as
        :func:`~sunveil.simulate.simulate_sky` makes it.
    n
        How many homes.
    seed
        The same seed gives the same loads.
    timezone
        The clock on the wall.
    interval_minutes
        Interval of the means: 15, 30 or 60. [minutes]
    cars
        Share of the homes with an electric car.
    statistics
        How much homes use there; American ones' when left out.

    Returns
    -------
    pandas.DataFrame
        One column per home; stamps name the start of the interval in UTC.
    """
    times = HouseholdTimes.of(weather, timezone)
    per_reading = interval_minutes // times.step_minutes
    if interval_minutes not in INTERVALS or not per_reading:
        raise ParameterError("the interval must be 15, 30 or 60 minutes, and no finer than the sky")
    rng = np.random.default_rng(seed)
    dc_kw = statistics.median_kw * np.exp(statistics.spread * rng.standard_normal(n))
    dc_kw = np.minimum(dc_kw, statistics.largest_home_kw)
    households = draw_households(dc_kw, NetMix(1.0, cars=cars), statistics, rng=rng)
    loads, _ = block_loads(households, times, statistics, rng=rng)
    readings = loads.shape[1] // per_reading
    means = loads[:, : readings * per_reading].reshape(n, readings, per_reading).mean(axis=2)
    first = weather.times[0] - pd.Timedelta(minutes=times.step_minutes / 2)
    stamps = pd.date_range(first, periods=readings, freq=f"{interval_minutes}min")
    return pd.DataFrame(means.T, index=stamps)


def block_loads(
    households: SimulatedHouseholds,
    times: HouseholdTimes,
    statistics: FleetStatistics,
    *,
    rng: np.random.Generator,
) -> tuple[Single, Array]:
    """Return the loads of households at each instant, and how much of each is cooling.

    Parameters
    ----------
    households
        The households.
    times
        Their year.
    statistics
        How much homes of the place use.
    rng
        Source of randomness.

    Returns
    -------
    loads, cooling
        One row per household, and the mean power of its cooling. [kW]
    """
    n = len(households)
    week = _weeks(households, rng)
    present = _present(rng, n, times.days)
    comfort = find_comfort(households, times, statistics)
    loads = np.zeros((n, len(times.air)), dtype=np.float32)
    base, habit = _parts(households, comfort.mean_kw)
    add_habits(
        loads,
        (times.slot, times.day, KNOT_MINUTES // times.step_minutes),
        (_single(base), _single(habit[:, None] * week)),
        _single(households.restless[:, None] * _hour_spread(week)),
        _single(_daily(rng, present)),
        rng.standard_normal((n, len(times.slot)), dtype=np.float32),
        np.float32(HOUR_MEMORY),
    )
    used = np.exp(_wander(rng, (n, times.days), *COMFORT)) * np.where(present, 1.0, LEFT_COMFORT)
    cooling = add_comfort(loads, times, households, comfort, used=used)
    day_shapes = week.reshape(n, WEEK, HALVES).mean(axis=1)
    add_runs(loads, times, draw_appliances(rng, households, day_shapes, present=present))
    add_runs(loads, times, draw_charging(rng, households, present=present))
    return loads, cooling


def add_runs(loads: Single, times: HouseholdTimes, runs: Runs) -> None:
    """Add what runs for a while to loads, in place.

    Parameters
    ----------
    loads
        One row per household. [kW]
    times
        Their year.
    runs
        What runs when.
    """
    step = times.step_minutes
    begin = times.day_start[runs.day] + (runs.minute // step).astype(np.int64)
    count = np.maximum(np.rint(runs.minutes / step), 1.0)
    kw = runs.kw * runs.minutes / (count * step)
    add_blocks(loads, runs.row, begin, begin + count.astype(np.int64), _single(kw))


def _weeks(households: SimulatedHouseholds, rng: np.random.Generator) -> Single:
    """Return habits by half hour of the week, 1 in the mean, shape (systems, 7 x 48)."""
    n = len(households)
    hours = np.arange(HALVES, dtype=np.float64) / 2.0 + 0.25
    strengths = np.array([BUMPS.get(kind, (0.0, 0.0, 0.0)) for kind in KINDS])[households.kind]
    strengths = strengths * np.exp(BUMP_SPREAD * households.habit)
    out = np.empty((n, WEEK, HALVES))
    for weekend, days in ((False, slice(0, 5)), (True, slice(5, 7))):
        morning = households.morning + (1.5 if weekend else 0.0)
        middays = np.maximum(strengths[:, 1], 0.9) if weekend else strengths[:, 1]
        day = (
            ASLEEP
            + strengths[:, :1] * _bump(hours, morning, 1.1)
            + middays[:, None] * _bump(hours, np.full(n, 13.0), 2.8)
            + strengths[:, 2:] * _bump(hours, households.evening, 2.3)
        )
        open_ = np.where((hours > 7.5) & (hours < 18.5), 0.1 if weekend else 1.0, 0.05)
        day[households.kind == BUSINESS] = 0.1 + open_
        out[:, days] = day[:, None]
    own = np.exp(WEEK_SPREAD * rng.standard_normal((n, WEEK, HALVES // 2)))
    own[households.kind == BUSINESS] = 1.0
    out *= np.repeat(own, 2, axis=2)
    out /= out.mean(axis=(1, 2), keepdims=True)
    return _single(out.reshape(n, WEEK * HALVES))


def _bump(hours: Array, middle: Array, width: float) -> Array:
    apart = np.mod(hours - middle[:, None] + 12.0, 24.0) - 12.0
    return np.asarray(np.exp(-0.5 * (apart / width) ** 2))


def _hour_spread(week: Single) -> Array:
    """Return how widely habits are spread: more where more is used."""
    asleep, awake = HOUR_SPREAD
    return np.asarray(asleep + (awake - asleep) * np.minimum(week, 1.0))


def _present(rng: np.random.Generator, n: int, days: int) -> NDArray[np.bool_]:
    """Return on which days households are at home, shape (systems, days)."""
    row = np.repeat(np.arange(n), rng.poisson(JOURNEYS, n))
    begin = rng.integers(0, days, len(row))
    length = rng.integers(*JOURNEY_DAYS, len(row))
    away = np.zeros((n, days + JOURNEY_DAYS[1] + 1), dtype=np.int64)
    np.add.at(away, (row, begin), 1)
    np.add.at(away, (row, begin + length), -1)
    return np.asarray(np.cumsum(away, axis=1)[:, :days] == 0)


def _daily(rng: np.random.Generator, present: NDArray[np.bool_]) -> Array:
    """Return how much of a habit's usual use days have, 1 in the mean, (systems, days, parts)."""
    n, days = present.shape
    total = np.zeros((n, days, DAYPARTS), dtype=np.float32)
    for (spread, memory), parts in ((DAY, 1), (SEASON, 1), (DAYPART, DAYPARTS)):
        total += _wander(rng, (n, days, parts), spread, memory)
    return np.exp(total) * np.where(present, 1.0, LEFT_HABIT)[:, :, None]


def _wander(
    rng: np.random.Generator, shape: tuple[int, ...], spread: float, memory: float
) -> Single:
    """Return logarithms that wander from day to day, along the second axis; 1 in the mean."""
    shocks = rng.standard_normal(shape, dtype=np.float32)
    shocks[:, 1:] *= np.float32(np.sqrt(1.0 - memory**2))
    back = np.array([1.0, -memory], dtype=np.float32)
    walk = lfilter(back[:1], back, shocks, axis=1)
    return np.asarray(spread * walk - spread**2 / 2.0, dtype=np.float32)


def _parts(households: SimulatedHouseholds, comfort_kw: Array) -> tuple[Array, Array]:
    """Return the base, and the mean of habits, as what cooling and heating leave. [kW]"""
    runs = np.where(households.kind == BUSINESS, 0.0, APPLIANCE_SHARE)
    rest = (1.0 - runs) * households.mean_kw - comfort_kw
    return households.base_share * rest, (1.0 - households.base_share) * rest


def _single(values: object) -> Single:
    return np.ascontiguousarray(values, dtype=np.float32)


@numba.njit(cache=True, nogil=True, fastmath=FAST_MATH)
def add_habits(
    loads: Single,
    times: tuple[Index, Index, int],
    means: tuple[Single, Single],
    spread: Single,
    daily: Single,
    shocks: Single,
    memory: np.float32,
) -> None:
    """Add bases and habits to loads, in place; straight lines between the half hours.

    Parameters
    ----------
    loads
        Shape (systems, instants). [kW]
    times
        Half hour of the week and local day of each half hour, and the instants in one.
    means
        Base, shape (systems,), and mean use by half hour of the week, shape (systems, 336). [kW]
    spread
        Lognormal spread by half hour of the week, shape (systems, 336).
    daily
        What habits of each part of each day are multiplied by, shape (systems, days, parts).
    shocks
        Standard normal numbers, shape (systems, half hours).
    memory
        Correlation from half hour to half hour.
    """
    slot, day, per_knot = times
    base, week = means
    slots_a_part = 48 // daily.shape[2]
    fresh = np.sqrt(np.float32(1.0) - memory * memory)
    half = np.float32(0.5)
    for s in range(loads.shape[0]):
        state = shocks[s, 0]
        before = np.float32(-1.0)
        for k in range(len(slot)):
            if k:
                state = memory * state + fresh * shocks[s, k]
            wide = spread[s, slot[k]]
            usual = week[s, slot[k]] * daily[s, day[k], slot[k] % 48 // slots_a_part]
            value = usual * np.exp(wide * state - half * wide * wide)
            if before < 0.0:
                before = value
            # straight from the value before to this one at the half hour's end
            step = (value - before) / np.float32(per_knot)
            for j in range(k * per_knot, (k + 1) * per_knot):
                before += step
                loads[s, j] += base[s] + before
            before = value


@numba.njit(cache=True, nogil=True)
def add_blocks(
    loads: Single,
    rows: NDArray[np.int64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    powers: Single,
) -> None:
    """Add powers to loads from each begin up to its end, in place.

    Parameters
    ----------
    loads
        Shape (systems, instants). [kW]
    rows
        Whose load each is.
    begins, ends
        First instant of each, and the one after its last; those outside are left out.
    powers
        Power of each. [kW]
    """
    for i in range(len(rows)):
        for j in range(begins[i], min(ends[i], loads.shape[1])):
            loads[rows[i], j] += powers[i]
