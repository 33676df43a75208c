from __future__ import annotations

import functools

import numpy as np
import pytest

from sunveil.simulate import PLAIN_FLEET, REAL_FLEET
from sunveil.simulate.fault_rates import EUROPE, TILT_EDGES, US, FleetStatistics
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.roster import NOMINAL_SOILING, SimulatedRoster, draw_roster
from sunveil.site import Losses, Site

SYSTEMS = 20_000


@functools.cache
def drawn(statistics: FleetStatistics) -> SimulatedRoster:
    cell = SimulatedCell(0, "here", Site(45.0, 10.0, 0.0), "Europe/Rome", statistics, SYSTEMS)
    return draw_roster(cell, REAL_FLEET, rng=np.random.default_rng(1))


@pytest.mark.parametrize("statistics", [US, EUROPE], ids=["US", "Europe"])
def test_planes_have_the_weights_of_the_list(statistics):
    roster = drawn(statistics)
    single = roster.first_share == 1.0
    sectors = ((roster.surface_azimuth[single] + 22.5) // 45.0 % 8).astype(int)
    assert np.bincount(sectors, minlength=8) / np.sum(single) == pytest.approx(
        statistics.azimuths, abs=0.015
    )
    bands = np.histogram(roster.surface_tilt, TILT_EDGES)[0]
    assert bands / SYSTEMS == pytest.approx(statistics.tilts, abs=0.015)


@pytest.mark.parametrize("statistics", [US, EUROPE], ids=["US", "Europe"])
def test_capacities_have_the_spread_of_the_list(statistics):
    capacity = drawn(statistics).dc_capacity_kw
    homes = capacity[capacity < statistics.largest_home_kw]
    assert np.median(homes) == pytest.approx(statistics.median_kw, rel=0.05)
    assert np.std(np.log(homes)) == pytest.approx(statistics.spread, rel=0.15)
    assert np.mean(capacity > 20.0) == pytest.approx(statistics.commercial, abs=0.01)
    assert np.max(capacity) <= 1000.0


def test_faults_have_their_shares():
    roster = drawn(US)
    found = {
        "shaded": np.mean(~np.isnan(roster.shade_azimuth)),
        "trackers": np.mean(roster.tracker > 0),
        "late": np.mean((roster.begin > 0.0) & (roster.end == 1.0)),
        "short": np.mean(roster.end < 1.0),
        "oversized": np.mean(roster.dc_ac_ratio > 1.35),
    }
    assert found == pytest.approx({name: getattr(REAL_FLEET, name) for name in found}, abs=0.008)
    two = np.mean(roster.first_share < 1.0)
    assert two == pytest.approx(REAL_FLEET.east_west + REAL_FLEET.hipped, abs=0.01)
    steady = np.isnan(roster.clock_step)
    assert np.mean(~steady) == pytest.approx(REAL_FLEET.clock_steps, abs=0.008)
    shares = np.bincount(roster.clock[steady]) / np.sum(steady)
    assert shares == pytest.approx(list(REAL_FLEET.clocks.values()), abs=0.008)


def test_dirt_and_age_are_part_of_the_nominal_losses():
    roster = drawn(US)
    age = np.mean(roster.degradation * roster.age_years)
    losses = np.mean(roster.losses) + age + NOMINAL_SOILING
    assert losses == pytest.approx(Losses().system, abs=0.005)


def test_what_real_records_have_besides_leaves_the_systems_of_a_plain_fleet_as_they_are():
    cell = SimulatedCell(0, "here", Site(45.0, 10.0, 0.0), "Europe/Rome", US, 50)
    real, plain = (
        draw_roster(cell, rates, rng=np.random.default_rng(4))
        for rates in (REAL_FLEET, PLAIN_FLEET)
    )
    for name in ("surface_azimuth", "surface_tilt", "dc_capacity_kw", "shade_azimuth", "begin"):
        assert np.array_equal(getattr(real, name), getattr(plain, name), equal_nan=True)
    assert not np.any(plain.age_years)
    assert np.all(np.isnan(plain.sentinel))
    assert np.array_equal(plain.skyline.any(axis=1), ~np.isnan(plain.shade_azimuth))
