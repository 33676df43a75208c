"""Simulated fleets of homes for :mod:`benchmarks.power`: their truth, and its power."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.power_other import at_planes
from sunveil.estimates.read_write import FleetRows
from sunveil.power.plane_power import SYSTEM_ERROR, DaylightSky, PowerChain, plane_profiles
from sunveil.power.power_result import GroupSky
from sunveil.pv_model import LOWEST_SUN, sky_at
from sunveil.simulate import CLEAN_FLEET, simulate_sky
from sunveil.simulate.fault_rates import EUROPE, US
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.roster import draw_roster
from sunveil.site import Array, Site, TimeGrid

SITE = Site(39.7, -105.2, 1730.0)
YEAR, STEP = 2019, 15
# Every so many days of the year are looked at, all seasons alike.
EVERY = 12
# The list's shares are a fleet's on average; of this many systems' worth is each fleet its own.
OWN = 12.0
# What no home is larger than, by its list: public, as the largest connection of a home is. [kW]
LARGEST_KW = (20.0, 10.0)
# Hours of the evening peak, by the place's standard time, and its months. [h]
EVENING, SUMMER, ZONE = (17.0, 20.0), (6, 7, 8), -7.0


@dataclass(frozen=True, slots=True, eq=False)
class Home:
    """A fleet of homes whose truth is known.

    Parameters
    ----------
    rows
        What a curator would have inferred: the true planes and capacities.
    power
        The true sum at the instants of the light. [kW]
    largest_kw
        What no home is larger than: public. [kW]
    other
        The same sum by physics that the analyst does not share; None where it was not made. [kW]
    """

    rows: FleetRows
    power: Array
    largest_kw: float
    other: Array | None = None


def sampled_light(seed: int = 7) -> DaylightSky:
    """Return the light of every twelfth day of a simulated year, at its daylight quarter hours."""
    sky = simulate_sky(SITE, YEAR, seed=seed, step_minutes=STEP)
    weather = sky.true
    first = int(np.datetime64(f"{YEAR}-01-01").astype("datetime64[s]").astype(np.int64))
    grid = TimeGrid(first + 7 * 3600, 60 * STEP, 363 * 24 * 60 // STEP)
    day = np.arange(grid.count) * grid.step // 86400
    middles = grid.times + np.timedelta64(grid.step // 2, "s")
    light = sky_at(weather, middles)
    lit = np.flatnonzero((light.sun[:, 2] > LOWEST_SUN) & (day % EVERY == 0))
    return DaylightSky(SITE, grid, lit, light.take(lit).single(), weather)


def draw_home(systems: int, light: DaylightSky, *, seed: int, other: Array | None = None) -> Home:
    """Return a fleet of homes, drawn as the simulator's roster draws them, and its true power.

    Every fleet has a mix of its own: shares of sectors and bands about those of a public list, and
    a median size. Every system has an error of its own in what it gives.

    Parameters
    ----------
    systems
        How many.
    light
        The light that its power is made under.
    seed
        Which fleet.
    other
        Other physics' power of a grid of planes, where that is wanted too.
    """
    rng = np.random.default_rng([seed, systems])
    base = (US, EUROPE)[seed % 2]
    statistics = replace(
        base,
        azimuths=tuple(rng.dirichlet(OWN * np.array(base.azimuths) / sum(base.azimuths) + 0.02)),
        tilts=tuple(rng.dirichlet(OWN * np.array(base.tilts) / sum(base.tilts) + 0.02)),
        median_kw=base.median_kw * float(np.exp(0.15 * rng.standard_normal())),
        commercial=0.0,
    )
    cell = SimulatedCell(0, "one", SITE, "America/Denver", statistics, systems)
    rates = replace(CLEAN_FLEET, east_west=0.0, hipped=0.0, trackers=0.0)
    roster = draw_roster(cell, rates, rng=rng)
    given = np.exp(SYSTEM_ERROR * rng.standard_normal(systems))
    power, beside = np.zeros(len(light.daylight)), np.zeros(len(light.daylight))
    for low in range(0, systems, 500):
        part = slice(low, low + 500)
        planes = roster.surface_azimuth[part], roster.surface_tilt[part]
        sized = roster.dc_capacity_kw[part]
        limit = 1.0 / roster.dc_ac_ratio[part, None]
        unit = plane_profiles(light.sky, *planes, PowerChain(ratios=None))
        power += sized @ np.minimum(unit * given[part, None], limit)
        if other is not None:
            unit = at_planes(other, *planes)
            beside += sized @ np.minimum(unit * given[part, None], limit)
    rows = FleetRows(
        tuple(f"h{number}" for number in range(systems)),
        roster.surface_azimuth,
        roster.surface_tilt,
        roster.dc_capacity_kw,
    )
    return Home(rows, power, LARGEST_KW[seed % 2], None if other is None else beside)


def measures(light: DaylightSky, power: Array | NDArray[np.float32]) -> Array:
    """Return energy [kWh], mean power of summer evenings [kW] and the 99% ramp [kW/step].

    Parameters
    ----------
    light
        The instants.
    power
        At these, along the first axis. [kW]
    """
    hour = (light.grid.starts[light.daylight] / 3600.0 + ZONE) % 24.0
    month = light.grid.times[light.daylight].astype("datetime64[M]").astype(np.int64) % 12 + 1
    evening = (hour >= EVENING[0]) & (hour < EVENING[1]) & np.isin(month, SUMMER)
    next_to = np.diff(light.daylight) == 1
    ramps = np.abs(np.diff(power, axis=0))[next_to]
    energy = power.sum(axis=0) * STEP / 60.0 * EVERY
    return np.stack([energy, power[evening].mean(axis=0), np.quantile(ramps, 0.99, axis=0)])


def group_sky(light: DaylightSky, azimuth: Array, tilt: Array) -> GroupSky:
    """Return what planes give under the light."""
    return GroupSky(light, plane_profiles(light.sky, azimuth, tilt, PowerChain()), None)
