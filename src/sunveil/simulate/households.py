"""Households behind net meters: who lives there, how much they use, and what they own.

What homes use is chosen about public figures: some 10.8 MWh a year in the mean of the US (EIA, for
2022), 1.8 to 4.1 MWh in Britain (Ofgem's typical values), where homes with PV are taken to use
somewhat more. Two homes in five of the US heat mainly with electricity (American Community Survey).
Batteries and chargers have the sizes that are sold. How homes differ is chosen so that hourly loads
spread as those of real homes do, which ``benchmarks.loads`` measures; no reading of theirs is here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.simulate.fleet_spec import NetMix
from sunveil.simulate.roster import SimulatedRoster
from sunveil.simulate.systems import FleetStatistics
from sunveil.site import Array


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
    """The households of one cell's systems, as one array for each of their properties.

    Parameters
    ----------
    net
        Whether the system's meter sees the net of generation and load; of others nothing else here
        means anything.
    kind
        Place in ``KINDS``.
    mean_kw
        What it uses in the mean but for its car, as far as its climate allows. [kW]
    base_share
        Share of that which is used at any hour.
    morning, evening
        When its days begin and are busiest. [h]
    habit
        How its own habits differ from its kind's: strength of morning, midday and evening, in
        standard deviations, shape (systems, 3).
    restless
        How widely its use at an hour is spread, over the usual spread.
    cools, heats
        Uniform numbers: it has air conditioning, or electric heating, where such a share has.
    comfort
        How much of its use goes into cooling and heating, from 0 to 1.
    cooling_above, heating_below
        Temperatures from which it cools and heats. [°C]
    sunny
        How much warmer full sun makes it. [K m²/kW]
    setback
        By how much warmer and colder it may be on workdays. [K]
    cycles
        Whether its cooling and heating run at full power or not at all.
    battery_kwh, battery_kw, battery_efficiency
        Usable capacity, power and efficiency of one way of its battery; 0 kWh for none.
    car
        Place in ``CHARGING``; -1 for none.
    car_kw, car_kwh, car_hour
        Power of its charger, energy of a day it is driven, and when charging begins.
        [kW, kWh, h]
    """

    net: NDArray[np.bool_]
    kind: Whole
    mean_kw: Array
    base_share: Array
    morning: Array
    evening: Array
    habit: Array
    restless: Array
    cools: Array
    heats: Array
    comfort: Array
    cooling_above: Array
    heating_below: Array
    sunny: Array
    setback: Array
    cycles: NDArray[np.bool_]
    battery_kwh: Array
    battery_kw: Array
    battery_efficiency: Array
    car: Whole
    car_kw: Array
    car_kwh: Array
    car_hour: Array

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
    """Return the households of a cell's systems.

    Larger shares of net meters, batteries and cars add to the smaller ones': the draws behind them
    are the same.

    Parameters
    ----------
    dc_kw
        DC capacities of the systems. [kW]
    mix
        How many have net meters, batteries and cars.
    statistics
        How large systems of homes are, and how much homes use.
    rng
        Source of randomness.
    """
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
    """Return systems whose net meters have no spells below zero: their readings are so anyway."""
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
    """Return mean loads: larger systems stand on homes that use more. [kW]"""
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
