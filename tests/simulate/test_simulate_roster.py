from __future__ import annotations

import numpy as np
import pytest

from sunveil.simulate.fault_rates import REAL_FLEET
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.roster import MOUNTS, SimulatedRoster, draw_roster
from sunveil.simulate.systems import EUROPE, TILT_EDGES, US, FleetStatistics
from sunveil.site import Mount, Site

SYSTEMS = 20_000


def drawn(statistics: FleetStatistics) -> SimulatedRoster:
    cell = SimulatedCell(0, "here", Site(45.0, 10.0, 0.0), "Europe/Rome", statistics, SYSTEMS)
    return draw_roster(cell, REAL_FLEET, rng=np.random.default_rng(1))


@pytest.mark.parametrize("statistics", [US, EUROPE], ids=["US", "Europe"])
def test_planes_have_the_weights_of_the_list(statistics):
    roster = drawn(statistics)
    sectors = ((roster.surface_azimuth + 22.5) // 45.0 % 8).astype(int)
    assert np.bincount(sectors, minlength=8) / SYSTEMS == pytest.approx(
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
    shares = np.bincount(roster.clock) / SYSTEMS
    assert shares == pytest.approx(list(REAL_FLEET.clocks.values()), abs=0.008)


def test_trackers_stand_on_racks():
    roster = drawn(US)
    mounts = {MOUNTS[mount] for mount in roster.mount[roster.tracker > 0]}
    assert mounts == {Mount.RACK}
