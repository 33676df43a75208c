"""Household loads, net meters, batteries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.signal import lfilter

from sunveil._options import checked
from sunveil.errors import ParameterError
from sunveil.simulate.block_power import FAST_MATH, CellDaylight, ac_power, cut_records, read_clocks
from sunveil.simulate.fault_rates import US, FleetStatistics
from sunveil.simulate.places import INTERVALS, NetColumns, NetMix
from sunveil.simulate.roster import Index, SimulatedRoster, add_logger_faults
from sunveil.site import Array, Losses
from sunveil.weather.weather_data import Weather


class HouseholdKind(StrEnum):
    """Who uses the power behind a meter, and when."""

    OUT_BY_DAY = "out_by_day"
    AT_HOME = "at_home"
    LATE = "late"
    BUSINESS = "business"


class CarCharging(StrEnum):
    """When an electric car is charged at home."""

    EVENING = "evening"
    NIGHT = "night"
    MIDDAY = "midday"


KINDS, CHARGING = tuple(HouseholdKind), tuple(CarCharging)
BUSINESS = KINDS.index(HouseholdKind.BUSINESS)

# How common each kind of home and each way of charging is.
KIND_SHARES, CHARGING_SHARES = (0.45, 0.35, 0.20), (0.5, 0.3, 0.2)
HOURS_A_YEAR = 8766.0

# What homes use in a year, and its lognormal spread. [MWh, 1]
LEAST_MWH, MOST_MWH, USE_SPREAD = 2.0, 15.0, 0.45
CHARGERS = (2.3, 3.7, 7.4, 11.0)

# Where more is used, homes heat with electricity more often: those of the US, and others.
LARGE_HOMES_MWH, HEATED = 7.0, (0.4, 0.15)
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedHouseholds:
    """The households of one cell's systems, as one array for each of their properties."""

    net: NDArray[np.bool_]  # whether its meter reads the net
    kind: Whole  # place in `KINDS`
    mean_kw: Array  # [kW] what it uses in the mean but for its car, as far as its climate allows
    base_share: Array  # share of that which is used at any hour
    morning: Array  # [h] middle of its busy morning
    evening: Array  # [h] middle of its busy evening
    habit: Array  # standard normal draws behind the strength of its busy times, shape (n, 3)
    restless: Array  # how widely its use at an hour is spread, over the usual spread
    cools: Array  # draw that decides, with the climate, whether it cools
    heats: Array  # draw that decides, with the climate, whether it heats with electricity
    comfort: Array  # how much of its use goes into cooling and heating, from 0 to 1
    cooling_above: Array  # [°C] it cools above this temperature
    heating_below: Array  # [°C] it heats below this temperature
    sunny: Array  # [K m²/kW] how much warmer full sun makes it
    setback: Array  # [K] by how much warmer and colder it may be on workdays
    cycles: NDArray[np.bool_]  # whether its cooling and heating run at full power or not at all
    battery_kwh: Array  # [kWh] 0 for none
    battery_kw: Array  # [kW] most that it takes or gives
    battery_efficiency: Array
    car: Whole  # place in `CHARGING`; -1 for none
    car_kw: Array  # [kW] power of its charger
    car_kwh: Array  # [kWh] a usual charge
    car_hour: Array  # [h] when it is usually plugged in

    def __len__(self) -> int:
        return len(self.net)

    def take(self, rows: slice | NDArray[np.int64]) -> SimulatedHouseholds:
        """Return the households at ``rows``."""
        return SimulatedHouseholds(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def draw_households(
    dc_kw: Array,
    mix: NetMix,
    statistics: FleetStatistics,
    *,
    rng: np.random.Generator,
) -> SimulatedHouseholds:
    """Return the households of a cell's systems."""
    # Larger shares of net meters, batteries and cars add to the smaller ones': the draws behind
    # them are the same.
    n = len(dc_kw)
    net = rng.random(n) < mix.share
    kind = rng.choice(len(KIND_SHARES), size=n, p=KIND_SHARES)
    kind[dc_kw > statistics.largest_home_kw] = BUSINESS
    follows_sun = rng.random(n) < 0.2
    away = np.where(kind == KINDS.index(HouseholdKind.OUT_BY_DAY), 4.0, 1.0)
    late = kind == KINDS.index(HouseholdKind.LATE)
    return SimulatedHouseholds(
        net=net,
        kind=kind,
        mean_kw=_draw_use(rng, dc_kw, statistics, business=kind == BUSINESS),
        base_share=rng.uniform(0.08, 0.3, n),
        morning=rng.normal(7.0, 0.9, n) + np.where(late, 1.5, 0.0),
        evening=rng.normal(19.0, 1.0, n) + np.where(late, 3.0, 0.0),
        habit=rng.standard_normal((n, 3)),
        restless=np.exp(0.25 * rng.standard_normal(n)),
        cools=rng.random(n),
        heats=rng.random(n),
        comfort=rng.random(n),
        cooling_above=rng.uniform(21.0, 27.0, n),
        heating_below=rng.uniform(13.0, 18.0, n),
        sunny=np.where(follows_sun, rng.uniform(4.0, 8.0, n), rng.uniform(0.0, 3.0, n)),
        setback=away * rng.random(n),
        cycles=rng.random(n) < 0.5,
        **_draw_batteries(rng, dc_kw, mix.batteries),
        **_draw_cars(rng, mix.cars, homes=kind != BUSINESS),
    )


def without_wrong_signs(roster: SimulatedRoster, net: NDArray[np.bool_]) -> SimulatedRoster:
    """Return systems without spells below zero on net meters, which read below zero anyway."""
    never = {
        name: np.where(net, np.nan, getattr(roster, name))
        for name in ("negative_begin", "negative_end")
    }
    return replace(roster, **never)


def _draw_use(
    rng: np.random.Generator,
    dc_kw: Array,
    statistics: FleetStatistics,
    *,
    business: NDArray[np.bool_],
) -> Array:
    """Return mean loads; homes with larger systems use more. [kW]"""
    n = len(dc_kw)
    size = np.log(dc_kw / statistics.median_kw) / statistics.spread
    deviation = 0.5 * size + np.sqrt(0.75) * rng.standard_normal(n)
    home = np.clip(statistics.median_mwh * np.exp(USE_SPREAD * deviation), LEAST_MWH, MOST_MWH)
    firm = dc_kw * np.exp(rng.normal(0.2, 0.7, n))
    return np.where(business, firm, home) * 1000.0 / HOURS_A_YEAR


def _draw_batteries(rng: np.random.Generator, dc_kw: Array, share: float) -> dict[str, Any]:
    n = len(dc_kw)
    there = rng.random(n) < share
    # firms' are in proportion, homes' from the shelf
    usable = np.clip(dc_kw * rng.uniform(0.8, 2.0, n), 3.0, np.maximum(27.0, dc_kw))
    return {
        "battery_kwh": np.where(there, np.round(usable, 1), 0.0),
        "battery_kw": np.round(usable * rng.uniform(0.3, 0.6, n), 1),
        "battery_efficiency": np.sqrt(rng.uniform(0.84, 0.95, n)),
    }


def _draw_cars(
    rng: np.random.Generator, share: float, *, homes: NDArray[np.bool_]
) -> dict[str, Any]:
    n = len(homes)
    there = (rng.random(n) < share) & homes
    way = rng.choice(len(CHARGING), size=n, p=CHARGING_SHARES)
    begin = np.array([18.5, 0.0, 11.5])[way] + np.array([1.2, 1.5, 1.2])[way] * rng.normal(size=n)
    return {
        "car": np.where(there, way, -1),
        "car_kw": rng.choice(CHARGERS, n),
        "car_kwh": np.clip(8.0 * np.exp(0.4 * rng.standard_normal(n)), 2.0, 30.0),
        "car_hour": np.mod(begin, 24.0),
    }


# Ovens, washers, dryers, heaters of water: evenly spread in the logarithm. [kW, minutes]
APPLIANCE_KW, APPLIANCE_MINUTES = (0.8, 4.0), (10.0, 90.0)

# Share of a home's load that is theirs.
APPLIANCE_SHARE = 0.15

# Cars are driven on most days.
DRIVEN = 0.7
MINUTES_A_DAY = 1440.0


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Times at which something runs, one entry for each."""

    row: NDArray[np.int64]  # row of its household
    day: NDArray[np.int64]  # local day, from 0
    minute: Array  # minute of that day at which it begins; it may be of the day after
    minutes: Array  # [minutes] how long it runs
    kw: Array  # [kW] its power


def draw_appliances(
    rng: np.random.Generator,
    households: SimulatedHouseholds,
    shapes: NDArray[np.float32],
    *,
    present: NDArray[np.bool_],
) -> Runs:
    """Return when appliances run: at hours that are busy in each home, on days it is lived in."""
    n, days = present.shape
    homes = households.kind != BUSINESS
    daily = APPLIANCE_SHARE * 24.0 * households.mean_kw / _mean_kwh()
    row = np.repeat(np.arange(n), rng.poisson(np.where(homes, daily, 0.0) * days))
    day = rng.integers(0, days, len(row))
    rising = np.cumsum(shapes, axis=1, dtype=np.float64)
    # one home's shares after another's, so that one search serves all
    ends = (np.arange(n)[:, None] + rising / rising[:, -1:]).ravel()
    half = np.searchsorted(ends, row + rng.random(len(row))) - shapes.shape[1] * row
    kw, minutes = (
        np.exp(rng.uniform(np.log(low), np.log(high), len(row)))
        for low, high in (APPLIANCE_KW, APPLIANCE_MINUTES)
    )
    kept = present[row, day]
    minute = 30.0 * (half + rng.random(len(row)))
    return Runs(row[kept], day[kept], minute[kept], minutes[kept], kw[kept])


def draw_charging(
    rng: np.random.Generator, households: SimulatedHouseholds, *, present: NDArray[np.bool_]
) -> Runs:
    """Return when cars are charged: a timer's night is the same each day, arrivals are not."""
    driven = (rng.random(present.shape) < DRIVEN) & present & (households.car >= 0)[:, None]
    row, day = np.nonzero(driven)
    timed = households.car[row] == CHARGING.index(CarCharging.NIGHT)
    late = np.where(timed, 0.0, 60.0 * rng.standard_normal(len(row)))
    energy = households.car_kwh[row] * np.exp(0.5 * rng.standard_normal(len(row)))
    kw = households.car_kw[row]
    minute = np.clip(60.0 * households.car_hour[row] + late, 0.0, MINUTES_A_DAY - 1.0)
    return Runs(row, day, minute, np.minimum(60.0 * energy / kw, 600.0), kw)


def _mean_kwh() -> float:
    """Return the mean energy of one run of an appliance. [kWh]"""
    means = [(high - low) / np.log(high / low) for low, high in (APPLIANCE_KW, APPLIANCE_MINUTES)]
    return float(means[0] * means[1] / 60.0)


Single = NDArray[np.float32]

# Habits are known by half hours of the week.
KNOT_MINUTES, HALVES, WEEK = 30, 48, 7

# Delays of rooms behind the air and behind the sun. [h]
AIR_DELAY, SUN_DELAY = 3.0, 1.5


@dataclass(frozen=True, slots=True, eq=False)
class HouseholdTimes:
    """A cell's year as its households know it: the clock on the wall, the air and the sun."""

    step_minutes: int  # [minutes] spacing of the instants
    slot: Index  # half hour of the week from Monday, and number of the local day, every half hour
    day: Index  # half hour of the week from Monday, and number of the local day, every half hour
    day_start: NDArray[np.int64]
    air: Single  # [°C, kW/m²]
    sun: Single  # [°C, kW/m²]

    @classmethod
    def of(cls, weather: Weather, timezone: str) -> HouseholdTimes:
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


# Where the air of a year is so far above 24 °C in the mean, two homes in three have air
# conditioning: sooner where homes use much. [K]
WARM, COOLED = 24.0, (0.25, 0.8)

# Those that cool and heat do it with half of their largest shares where the air is so far above
# 24 °C, or below 15 °C, in the mean. [K]
HOT, COOL, COLD = 0.8, 15.0, 6.0

# At most this much of a load is cooling and heating.
MOST_COMFORT = 0.8

# Where it is hardly ever too warm or too cold, machines are hardly used. [K]
LEAST_MEAN = 0.05

# Half hours of the day between which workers are out, and of the week from which it is weekend.
WORK_BEGINS, WORK_ENDS, WEEKEND = 17, 34, 5 * HALVES


@dataclass(frozen=True, slots=True, eq=False)
class Comfort:
    """Cooling and heating of households."""

    cooling: Array  # [kW/K] power for each degree too warm
    heating: Array  # [kW/K] power for each degree too cold
    most_kw: Array  # [kW] power of the machine
    mean_kw: Array  # [kW] what both come to in the mean of the year


def find_comfort(
    households: SimulatedHouseholds, times: HouseholdTimes, statistics: FleetStatistics
) -> Comfort:
    """Return how households cool and heat under their climate."""
    warm = times.air + 1.5 * times.sun
    hot = float(np.mean(np.maximum(warm - WARM, 0.0)))
    cold = float(np.mean(np.maximum(COOL - times.air, 0.0)))
    small = int(statistics.median_mwh < LARGE_HOMES_MWH)
    cools = households.cools < -np.expm1(-hot / COOLED[small])
    heats = households.heats < HEATED[small]
    share = MOST_COMFORT / 2.0 * (0.4 + 0.6 * households.comfort)
    cooling = np.where(cools, share * hot / (hot + HOT), 0.0) * households.mean_kw
    heating = np.where(heats, share * cold / (cold + COLD), 0.0) * households.mean_kw
    excess = _mean_above(warm, households.cooling_above)
    deficit = _mean_above(-times.air, -households.heating_below)
    return Comfort(
        cooling=cooling / np.maximum(excess, LEAST_MEAN),
        heating=heating / np.maximum(deficit, LEAST_MEAN),
        most_kw=np.sqrt(households.mean_kw) * (1.5 + 2.0 * households.comfort),
        mean_kw=cooling + heating,
    )


def add_comfort(
    loads: Single,
    times: HouseholdTimes,
    households: SimulatedHouseholds,
    comfort: Comfort,
    *,
    used: Array,
) -> Array:
    """Add cooling and heating to loads, in place, and return the mean power of cooling. [kW]"""
    cooling = np.zeros(len(loads))
    half = times.slot % HALVES
    working = (times.slot < WEEKEND) & (half >= WORK_BEGINS) & (half < WORK_ENDS)
    knots = (working, times.day, KNOT_MINUTES // times.step_minutes)
    numbers = _comfort_numbers(households, comfort)
    run_machines(loads, cooling, knots, (times.air, times.sun), numbers, used.astype(np.float32))
    return np.asarray(cooling / loads.shape[1])


def _comfort_numbers(households: SimulatedHouseholds, comfort: Comfort) -> Single:
    columns = [
        comfort.cooling,
        households.cooling_above,
        households.sunny,
        comfort.heating,
        households.heating_below,
        households.setback,
        comfort.most_kw,
        households.cycles,
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def _mean_above(values: Single | Array, levels: Array) -> Array:
    """Return how far values are above each level in the mean, 0 where they are below."""
    if not len(levels):
        return levels
    grid = np.linspace(levels.min(), levels.max() + 1e-6, 16)
    means = [np.mean(np.maximum(values - level, 0.0)) for level in grid]
    return np.asarray(np.interp(levels, grid, means))


@numba.njit(cache=True, nogil=True)
def run_machines(
    loads: Single,
    cooling: Array,
    times: tuple[NDArray[np.bool_], Index, int],
    weather: tuple[Single, Single],
    numbers: Single,
    used: Single,
) -> None:
    """Add cooling and heating to loads, in place."""
    # Machines that cycle run at full power at just as many instants as give the mean.
    working, day, per_knot = times
    air, sun = weather
    nothing = np.float32(0.0)
    for s in range(loads.shape[0]):
        cool, above, sunny, heat, below, setback, most, cycles = numbers[s]
        if cool == 0.0 and heat == 0.0:
            continue
        owed = nothing
        for k in range(len(working)):
            off = setback if working[k] else nothing
            share = used[s, day[k]]
            for j in range(k * per_knot, (k + 1) * per_knot):
                colder = cool * max(air[j] + sunny * sun[j] - above - off, nothing)
                warmer = heat * max(below - off - air[j], nothing)
                power = min((colder + warmer) * share, most)
                if cycles > nothing:
                    owed += power
                    power = most if owed >= most else nothing
                    owed -= power
                loads[s, j] += power
                if colder > warmer:
                    cooling[s] += power


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
        How much homes use there. Default: American ones'.

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
    """Return the loads of households at each instant, and how much of each is cooling."""
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
    """Add what runs for a while to loads, in place."""
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
    """Add bases and habits to loads, in place; straight lines between the half hours."""
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
    """Add powers to loads from each begin up to its end, in place."""
    for i in range(len(rows)):
        for j in range(begins[i], min(ends[i], loads.shape[1])):
            loads[rows[i], j] += powers[i]


@numba.njit(cache=True, nogil=True, fastmath=FAST_MATH)
def balance(
    flows: tuple[Single, Single],
    sums: Array,
    generated: Single,
    loads: Single,
    batteries: Single,
    clocks: tuple[Index, Index, Index, int],
) -> None:
    """Fill in what flows to the grid and from it."""
    # A battery takes what is left of the generation and gives what is lacking, at once and as far
    # as its power and its charge allow; it is never charged from the grid.
    exported, imported = flows
    sources, before, by, per_reading = clocks
    nothing, half, missing = np.float32(0.0), np.float32(0.5), np.float32(np.nan)
    out, taken = np.empty(loads.shape[1], np.float32), np.empty(loads.shape[1], np.float32)
    for s in range(loads.shape[0]):
        capacity, most, efficiency = batteries[s]
        charge = nothing
        for j in range(loads.shape[1]):
            sums[s, 0] += generated[s, j]
            sums[s, 1] += loads[s, j]
            left = generated[s, j] - loads[s, j]
            if left > nothing:
                stored = min(left, most, (capacity - charge) / efficiency)
                charge += stored * efficiency
                left -= stored
            elif capacity > nothing:
                given = min(-left, most, charge * efficiency)
                charge -= given / efficiency
                left += given
            out[j] = max(left, nothing)
            taken[j] = max(-left, nothing)
            sums[s, 2] += out[j]
        for r in range(exported.shape[1]):
            clock = by[s, 0] if r < by[s, 2] else by[s, 1]
            gave, took = nothing, nothing
            for j in range(r * per_reading, (r + 1) * per_reading):
                one = sources[clock, j]
                other = max(one - before[clock], 0)
                gave += half * (out[one] + out[other]) if one >= 0 else missing
                took += half * (taken[one] + taken[other]) if one >= 0 else missing
            exported[s, r] = gave / np.float32(per_reading)
            imported[s, r] = took / np.float32(per_reading)


WATT = np.float32(1000.0)
_NOMINAL = Losses().inverter_efficiency


@dataclass(frozen=True, slots=True, eq=False)
class NetFlows:
    """What flows over the meters of some systems, without noise, and what it comes to."""

    exported: Single  # [kW] of each interval
    imported: Single  # [kW] of each interval
    generated: Array  # [kW] mean generation over the year
    used: Array  # [kW] mean load over the year
    sent: Array  # [kW] mean export over the year


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """What systems of a cell give, as long as nothing goes wrong with their meters."""

    roster: SimulatedRoster  # the systems
    daylight: CellDaylight  # their sky
    dc: Single  # [kW] DC power at each daylight instant
    ac: Single  # [kW] AC power of each interval
    kept: Single  # share of DC power left on each day
    clocks: tuple[Index, Index]  # as for block_power
    per_reading: int  # instants of the sky in an interval

    def take(self, rows: NDArray[np.int64]) -> Generation:
        """Return the systems at ``rows``."""
        return replace(
            self,
            roster=self.roster.take(rows),
            dc=self.dc[rows],
            ac=self.ac[rows],
            kept=self.kept[rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Behind:
    """Households, clock and statistics behind the meters of a cell."""

    households: SimulatedHouseholds  # one for each system
    times: HouseholdTimes  # their year
    statistics: FleetStatistics  # how much homes of the place use


def read_net_meters(
    power: Single,
    generation: Generation,
    behind: Behind,
    *,
    alive: Single,
    columns: NetColumns,
    rng: np.random.Generator,
) -> tuple[dict[str, Single], dict[str, NDArray[Any]]]:
    rows = np.flatnonzero(behind.households.net)
    households, given = behind.households.take(rows), generation.take(rows)
    loads, cooling = block_loads(households, behind.times, behind.statistics, rng=rng)
    flows = net_flows(given, loads, households, step_minutes=behind.times.step_minutes)
    daytime = given.ac > 0.0
    over = np.sum(daytime & (flows.exported > flows.imported), axis=1)
    exporting = over / np.maximum(np.sum(daytime, axis=1), 1)
    truth = truth_of_net(behind.households, rows, flows, cooling=cooling, exporting=exporting)
    add_net_faults(flows, given, alive=alive[rows], rng=rng)
    return _written(power, rows, flows, columns), truth


def net_flows(
    generation: Generation, loads: Single, households: SimulatedHouseholds, *, step_minutes: int
) -> NetFlows:
    """Return what flows over the meters of systems and their households."""
    roster, daylight = generation.roster, generation.daylight
    n, readings = generation.ac.shape
    exported, imported = (np.empty((n, readings), dtype=np.float32) for _ in range(2))
    sums = np.zeros((n, 3))
    capacity = households.battery_kwh * 60.0 / step_minutes
    batteries = [capacity, households.battery_kw, households.battery_efficiency]
    limits = (roster.dc_capacity_kw / roster.dc_ac_ratio).astype(np.float32)
    generated = np.zeros_like(loads)
    for row, dc, kept, limit in zip(generated, generation.dc, generation.kept, limits, strict=True):
        ac_power(row, dc, daylight.index, daylight.days, kept, limit, _NOMINAL)
    balance(
        (exported, imported),
        sums,
        generated,
        loads,
        np.stack(batteries, axis=1).astype(np.float32),
        (*generation.clocks, read_clocks(roster, readings), generation.per_reading),
    )
    given, used, sent = sums.T / daylight.instants
    return NetFlows(exported, imported, given, used, sent)


def add_net_faults(
    flows: NetFlows,
    generation: Generation,
    *,
    alive: Single,
    rng: np.random.Generator,
) -> None:
    """Turn exact flows into what meters say, in place."""
    # Noise on each register, rounded to whole watts; where a system is down its household takes all
    # from the grid; NaN where there is no reading; and what loggers make of these.
    roster, down = generation.roster, alive == 0.0
    missing = np.maximum(flows.imported + generation.ac - flows.exported, np.float32(0.0))
    flows.imported[down] = missing[down]
    flows.exported[down] = 0.0
    gaps = np.isnan(alive)
    noise = roster.noise.astype(np.float32)[:, None]
    for register in (flows.exported, flows.imported):
        register *= np.float32(1.0) + noise * rng.standard_normal(register.shape, dtype=np.float32)
        register[:] = np.rint(np.maximum(register, np.float32(0.0)) * WATT) / WATT
        register[gaps] = np.nan
        add_logger_faults(register, roster)
        cut_records(register, roster)


def truth_of_net(
    households: SimulatedHouseholds,
    rows: NDArray[np.int64],
    flows: NetFlows,
    *,
    cooling: Array,
    exporting: Array,
) -> dict[str, NDArray[Any]]:
    """Return the columns of the truth on meters and households."""
    net = households.take(rows)

    def put(values: Array) -> Array:
        out = np.full(len(households), np.nan)
        out[rows] = values
        return out

    def name(names: Sequence[str], codes: NDArray[np.int64]) -> NDArray[Any]:
        out = np.full(len(households), None, dtype=object)
        out[rows] = [names[code] if code >= 0 else None for code in codes]
        return out

    with np.errstate(invalid="ignore", divide="ignore"):
        own = 1.0 - flows.sent / flows.generated
    return {
        "metering": np.where(households.net, "net", "generation").astype(object),
        "household": name([kind.value for kind in KINDS], net.kind),
        "mean_load_kw": put(flows.used),
        "cooling_share": put(cooling / flows.used),
        "self_consumption": put(own),
        "exporting": put(exporting),
        "battery_kwh": put(np.where(net.battery_kwh > 0.0, net.battery_kwh, np.nan)),
        "car": name([way.value for way in CHARGING], net.car),
    }


def _written(
    power: Single, rows: NDArray[np.int64], flows: NetFlows, columns: NetColumns
) -> dict[str, Single]:
    """Return the columns of readings: a generation meter sends all that it reads."""
    if columns is NetColumns.SIGNED:
        # registers are below zero where both hold a sentinel
        marked = flows.exported < 0.0
        power[rows] = np.where(marked, flows.exported, flows.exported - flows.imported)
        return {"power_kw": power}
    taken = np.where(np.isnan(power), power, np.float32(0.0))
    power[rows], taken[rows] = flows.exported, flows.imported
    if columns is NetColumns.EXPORT:
        return {"export_kw": power}
    return {"import_kw": taken, "export_kw": power}
