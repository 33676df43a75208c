from __future__ import annotations

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.simulate import NetColumns, NetMix
from sunveil.simulate.fault_rates import EUROPE, US, FleetStatistics
from sunveil.simulate.household_loads import (
    BUSINESS,
    HOURS_A_YEAR,
    draw_households,
)

HOMES = 2000


def drawn(mix: NetMix, statistics: FleetStatistics = US, *, dc_kw: float = 7.0):
    rng = np.random.default_rng(5)
    return draw_households(np.full(HOMES, dc_kw), mix, statistics, rng=rng)


def test_shares_are_as_many_as_were_asked_for():
    households = drawn(NetMix(0.7, batteries=0.3, cars=0.2))
    assert np.mean(households.net) == pytest.approx(0.7, abs=0.03)
    assert np.mean(households.battery_kwh > 0.0) == pytest.approx(0.3, abs=0.03)
    assert np.mean(households.car >= 0) == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize(("statistics", "median"), [(US, 9.5), (EUROPE, 4.2)])
def test_homes_use_two_to_fifteen_megawatt_hours_about_what_is_usual(statistics, median):
    homes = drawn(NetMix(1.0), statistics, dc_kw=statistics.median_kw)
    yearly = homes.mean_kw * HOURS_A_YEAR / 1000.0
    assert yearly.min() >= 2.0
    assert yearly.max() <= 15.0
    assert np.median(yearly) == pytest.approx(median, rel=0.05)


def test_large_systems_stand_on_firms_which_have_no_car():
    firms = drawn(NetMix(1.0, cars=1.0), dc_kw=200.0)
    assert np.all(firms.kind == BUSINESS)
    assert np.all(firms.car < 0)
    assert np.median(firms.mean_kw) > 10.0


@pytest.mark.parametrize(
    "asked", [{"share": 1.2}, {"share": 0.5, "batteries": -0.1}, {"share": 0.5, "cars": 2.0}]
)
def test_shares_are_from_nothing_to_all(asked):
    with pytest.raises(ParameterError, match="from 0 to 1"):
        NetMix(**asked)


@pytest.mark.parametrize("asked", [{"cars": 0.1}, {"columns": NetColumns.TWO}])
def test_what_stands_behind_net_meters_needs_some(asked):
    with pytest.raises(ParameterError, match="need a share of net meters"):
        NetMix(**asked)
