from __future__ import annotations

import numpy as np
import pytest

from sunveil.simulate.habits import REAL
from sunveil.simulate.places import Cell
from sunveil.simulate.roster import MOUNTS, Roster, draw_roster
from sunveil.simulate.systems import EUROPE, TILT_EDGES, US, Fleet, Mount
from sunveil.site import Site

SYSTEMS = 20_000


def drawn(fleet: Fleet) -> Roster:
    cell = Cell(0, "here", Site(45.0, 10.0, 0.0), "Europe/Rome", fleet, SYSTEMS)
    return draw_roster(cell, REAL, rng=np.random.default_rng(1))


@pytest.mark.parametrize("fleet", [US, EUROPE], ids=["US", "Europe"])
def test_planes_have_the_weights_of_the_list(fleet):
    roster = drawn(fleet)
    sectors = ((roster.surface_azimuth + 22.5) // 45.0 % 8).astype(int)
    assert np.bincount(sectors, minlength=8) / SYSTEMS == pytest.approx(fleet.azimuths, abs=0.015)
    bands = np.histogram(roster.surface_tilt, TILT_EDGES)[0]
    assert bands / SYSTEMS == pytest.approx(fleet.tilts, abs=0.015)


@pytest.mark.parametrize("fleet", [US, EUROPE], ids=["US", "Europe"])
def test_capacities_have_the_spread_of_the_list(fleet):
    capacity = drawn(fleet).dc_capacity_kw
    homes = capacity[capacity < fleet.largest_home_kw]
    assert np.median(homes) == pytest.approx(fleet.median_kw, rel=0.05)
    assert np.std(np.log(homes)) == pytest.approx(fleet.spread, rel=0.15)
    assert np.mean(capacity > 20.0) == pytest.approx(fleet.commercial, abs=0.01)
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
    assert found == pytest.approx({name: getattr(REAL, name) for name in found}, abs=0.008)
    two = np.mean(roster.first_share < 1.0)
    assert two == pytest.approx(REAL.east_west + REAL.hipped, abs=0.01)
    shares = np.bincount(roster.clock) / SYSTEMS
    assert shares == pytest.approx(list(REAL.clocks.values()), abs=0.008)


def test_trackers_stand_on_racks():
    roster = drawn(US)
    mounts = {MOUNTS[mount] for mount in roster.mount[roster.tracker > 0]}
    assert mounts == {Mount.RACK}
