"""Simulated PV in 25 cities less the loads of real homes, and households that are hard to tell.

Hard ones are real homes with more load, with cooling that follows the sun and without PV, and
simulated homes with batteries and cars, as ``sunveil simulate`` writes them.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.independent import independent_fleet
from benchmarks.net_systems import FOLLOWS_PV, SEED, KnownNet, homes
from benchmarks.simulated import SATELLITE
from sunveil.simulate import (
    CITIES,
    CLEAN_FLEET,
    FleetSpec,
    NetMix,
    SystemTruth,
    draw_systems,
    simulate_loads,
    simulate_power,
    simulate_sky,
    write_fleet,
)
from sunveil.site import Plane, Site

YEAR = 2019
# Systems of a city, in either physics.
EACH = 2
# What a roof's tilt is, and a home's capacity before it is fitted to its load. [degrees, kW]
ROOF_TILTS, HOME_KW = (10.0, 45.0), 5.0
# Yearly load over yearly generation: of the real homes 1.1 to 1.7.
LOAD_SHARES = (0.8, 2.0)
# Homes of the simulated fleet, and the shares of them with batteries and with cars.
FLEET, BATTERIES, CARS = 75, 0.4, 0.4
Hardship = Callable[[KnownNet, np.random.Generator], KnownNet]
ZONES = {city.site: city.timezone for city in CITIES}


def roof(truth: SystemTruth) -> SystemTruth:
    """Return a system as it would stand on a home's roof."""
    low, high = ROOF_TILTS
    tilt = low + (truth.plane.surface_tilt - low) % (high - low)
    plane = Plane(truth.plane.surface_azimuth, tilt)
    zone = ZONES.get(truth.site, truth.timezone)
    return replace(truth, planes=((plane, 1.0),), dc_capacity_kw=HOME_KW, timezone=zone)


def own_physics(*, step_minutes: int = 60, each: int = EACH) -> Iterator[KnownNet]:
    """Yield homes of Sunveil's own simulator in all cities, with a satellite's weather.

    Loads are those of real homes; of intervals below an hour, for which there are none, simulated
    ones.

    Parameters
    ----------
    step_minutes
        Interval of the meters. [minutes]
    each
        How many homes in a city.
    """
    systems = draw_systems(each * len(CITIES), seed=SEED)
    for number, city in enumerate(CITIES):
        sky = simulate_sky(city.site, YEAR, seed=SEED + number, step_minutes=15, errors=SATELLITE)
        loads = simulate_loads(
            sky.true,
            each,
            seed=SEED + number,
            timezone=city.timezone,
            interval_minutes=step_minutes,
            statistics=city.statistics,
        )
        for place in range(number * each, (number + 1) * each):
            truth = roof(replace(systems[place], site=city.site, timezone=city.timezone))
            power = simulate_power(truth, sky, seed=place, step_minutes=step_minutes)
            load = loads[place % each].tz_convert(city.timezone)
            one = home(truth, power, place, load=load if step_minutes < 60 else None)
            yield replace(one, weather=sky.satellite)


def other_physics() -> Iterator[KnownNet]:
    """Yield homes of another physics in all cities, with skylines, dirt, snow and gaps."""
    fleet = independent_fleet(4 * len(CITIES), seed=SEED + 1, change=roof)
    for place, one in enumerate(fleet):
        if place % 4 < EACH:
            yield home(one.truth, one.power, place)


def home(
    truth: SystemTruth, power: pd.Series, place: int, *, load: pd.Series | None = None
) -> KnownNet:
    """Return a simulated system behind the meter of a household.

    Parameters
    ----------
    truth, power
        The system, and what it gives. [kW]
    place, load
        As for :func:`behind_meter`.
    """
    generation, load = behind_meter(power.tz_convert(truth.timezone), place, load=load)
    return KnownNet(
        name=truth.system_id,
        generation=generation,
        load=load,
        site=truth.site,
        plane=truth.plane,
        dc_capacity_kw=float(generation.sum() / power.sum()) * truth.dc_capacity_kw,
    )


def behind_meter(
    power: pd.Series, place: int, *, load: pd.Series | None = None
) -> tuple[pd.Series, pd.Series]:
    """Return generation as large as a household's load asks for, and that load. [kW]

    Parameters
    ----------
    power
        What a system gives, on the household's clock. [kW]
    place
        Its number, which decides whose load it has and how large it is beside that.
    load
        The load on the household's clock; a real home's when left out. [kW]
    """
    rng = np.random.default_rng([SEED, place])
    if load is None:
        names = [name for name in homes() if name != FOLLOWS_PV]
        load = load_on(homes()[names[place % len(names)]].load_kw, power.index)
    asked = np.exp(rng.uniform(*np.log(LOAD_SHARES)))
    return float(load[power.notna()].sum() / power.sum() / asked) * power, load


def load_on(load: pd.Series, index: pd.DatetimeIndex) -> pd.Series:
    """Return a home's hourly load at the same hour, day and month of another place's clock.

    Parameters
    ----------
    load
        Hourly, on its household's clock. [kW]
    index
        The starts of hours on another household's clock.
    """
    calendar = load.groupby([load.index.month, load.index.day, load.index.hour]).mean()
    wanted = pd.MultiIndex.from_arrays([index.month, index.day, index.hour])
    return pd.Series(calendar.reindex(wanted).ffill().bfill().to_numpy(), index=index)


def with_cooling(one: KnownNet, rng: np.random.Generator) -> KnownNet:
    """Return a home whose cooling follows the sun through the warm half of the year."""
    index = one.load.index
    summer = np.clip(np.cos(2.0 * np.pi * (index.dayofyear.to_numpy() - 205) / 365.0), 0.0, None)
    light = one.generation.rolling(3, min_periods=1).mean().shift(1).fillna(0.0)
    share = rng.uniform(0.6, 1.0)
    return replace(one, load=one.load + share * summer * light)


def loaded(low: float, high: float) -> Hardship:
    """Return what makes a home's load so many times its generation."""

    def change(one: KnownNet, rng: np.random.Generator) -> KnownNet:
        share = rng.uniform(low, high)
        return replace(one, load=one.load * share * one.generation.sum() / one.load.sum())

    return change


def without_pv(one: KnownNet, rng: np.random.Generator) -> KnownNet:
    """Return a home without any PV."""
    return replace(one, generation=0.0 * one.generation, plane=None, dc_capacity_kw=math.nan)


HARD: dict[str, Hardship] = {
    "cooling that follows the sun": with_cooling,
    "a load of 2 to 3 times the PV": loaded(2.0, 3.0),
    "a load of 3 to 6 times the PV": loaded(3.0, 6.0),
    "no PV": without_pv,
}
BATTERY, CAR, NEITHER = "a battery", "a car and no battery", "neither battery nor car"


def hard(own: Iterable[KnownNet]) -> Iterator[KnownNet]:
    """Yield homes with each of what makes a plane hard to tell."""
    real = list(own)
    for kind, change in HARD.items():
        for place, one in enumerate(real):
            rng = np.random.default_rng([SEED, place, *kind.encode()])
            yield replace(change(one, rng), kind=kind, name=f"{one.name}, {kind}")


def fleet() -> Iterator[KnownNet]:
    """Yield the homes of a fleet of ``sunveil simulate`` with batteries and cars, on roofs."""
    mix = NetMix(1.0, batteries=BATTERIES, cars=CARS)
    spec = FleetSpec.of(FLEET, seed=SEED, cells=len(CITIES), rates=CLEAN_FLEET, net=mix)
    with tempfile.TemporaryDirectory() as folder:
        for _ in write_fleet(Path(folder) / "fleet", spec, workers=1):
            pass
        truth, systems, readings = (
            pd.read_parquet(Path(folder) / "fleet" / name)
            for name in ("truth.parquet", "systems.parquet", "readings")
        )
    series = {
        name: each.set_index("time")["power_kw"] for name, each in readings.groupby("system_id")
    }
    table = truth.merge(systems[["system_id", "latitude", "longitude", "timezone"]])
    for one in table.itertuples():
        if one.household != "business" and one.surface_tilt >= ROOF_TILTS[0]:
            yield _of_fleet(one, series[one.system_id].astype(float))


def _of_fleet(one: Any, net: pd.Series) -> KnownNet:
    net = net.tz_convert(one.timezone)
    car = CAR if isinstance(one.car, str) else NEITHER
    return KnownNet(
        name=one.system_id,
        generation=net,
        load=0.0 * net,
        site=Site(one.latitude, one.longitude),
        plane=Plane(one.surface_azimuth, one.surface_tilt),
        dc_capacity_kw=one.dc_capacity_kw,
        kind=BATTERY if one.battery_kwh > 0.0 else car,
    )
