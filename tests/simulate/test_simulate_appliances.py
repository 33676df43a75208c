from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.simulate import NetMix
from sunveil.simulate.fault_rates import US
from sunveil.simulate.household_loads import (
    APPLIANCE_SHARE,
    CHARGING,
    CarCharging,
    draw_appliances,
    draw_charging,
    draw_households,
)

HOMES, DAYS = 200, 365


@pytest.fixture(scope="module")
def homes():
    rng = np.random.default_rng(8)
    return draw_households(np.full(HOMES, 7.0), NetMix(1.0, cars=1.0), US, rng=rng)


@pytest.fixture(scope="module")
def present():
    there = np.ones((HOMES, DAYS), dtype=bool)
    there[:, 100:110] = False
    return there


def test_appliances_have_their_share_of_the_load_at_busy_hours(homes, present):
    shapes = np.zeros((HOMES, 48), dtype=np.float32)
    shapes[::2, 16:18], shapes[1::2, 36:40] = 1.0, 1.0
    runs = draw_appliances(np.random.default_rng(1), homes, shapes, present=present)
    used = np.bincount(runs.row, runs.kw * runs.minutes / 60.0, minlength=HOMES)
    share = used / (24.0 * (DAYS - 10) * homes.mean_kw)
    assert np.mean(share) == pytest.approx(APPLIANCE_SHARE, rel=0.03)
    hours = runs.minute / 60.0
    even = runs.row % 2 == 0
    assert np.all((hours[even] >= 8.0) & (hours[even] < 9.0))
    assert np.all((hours[~even] >= 18.0) & (hours[~even] < 20.0))
    assert not np.isin(runs.day, np.arange(100, 110)).any()


def test_cars_are_charged_when_their_owners_do(homes, present):
    runs = draw_charging(np.random.default_rng(2), homes, present=present)
    assert set(runs.row) == set(range(HOMES))
    hours = runs.minute / 60.0
    way = homes.car[runs.row]
    evening, midday = (
        hours[way == CHARGING.index(each)] for each in (CarCharging.EVENING, CarCharging.MIDDAY)
    )
    assert np.quantile(evening, [0.05, 0.95]) == pytest.approx([15.8, 21.1], abs=0.7)
    assert np.quantile(midday, [0.05, 0.95]) == pytest.approx([8.9, 14.1], abs=0.9)
    night = np.flatnonzero(homes.car == CHARGING.index(CarCharging.NIGHT))
    for row in night[:10]:
        assert len(set(runs.minute[runs.row == row])) == 1
    energy = runs.kw * runs.minutes / 60.0
    assert np.median(energy) == pytest.approx(8.0, rel=0.15)
    assert not np.isin(runs.day, np.arange(100, 110)).any()


def test_homes_without_a_car_charge_none(homes, present):
    walkers = replace(homes, car=np.full(HOMES, -1))
    assert len(draw_charging(np.random.default_rng(2), walkers, present=present).row) == 0
