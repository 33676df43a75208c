from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.simulate import NetMix, SimulatedSky
from sunveil.simulate.fault_rates import EUROPE, US
from sunveil.simulate.household_loads import (
    HouseholdTimes,
    SimulatedHouseholds,
    add_comfort,
    draw_households,
    find_comfort,
)

HOMES = 400


@pytest.fixture(scope="module")
def times(mixed_sky: SimulatedSky) -> HouseholdTimes:
    return HouseholdTimes.of(mixed_sky.true, "America/Denver")


@pytest.fixture(scope="module")
def homes() -> SimulatedHouseholds:
    return draw_households(np.full(HOMES, 7.0), NetMix(1.0), US, rng=np.random.default_rng(3))


def warmer(times: HouseholdTimes, kelvin: float) -> HouseholdTimes:
    return replace(times, air=times.air + np.float32(kelvin))


def test_more_homes_cool_where_it_is_hotter_and_more_of_them_in_the_us(times, homes):
    share = [
        np.mean(find_comfort(homes, warmer(times, by), US).cooling > 0.0) for by in (-8.0, 0.0, 8.0)
    ]
    assert share[0] < 0.3 < share[1] + 0.2
    assert share[0] < share[1] < share[2]
    assert share[2] > 0.9
    there = np.mean(find_comfort(homes, times, EUROPE).cooling > 0.0)
    assert there < 0.7 * share[1]


def test_cooling_follows_heat_and_heating_cold(times, homes):
    comfort = find_comfort(homes, warmer(times, 5.0), US)
    loads = np.zeros((HOMES, len(times.air)), dtype=np.float32)
    used = np.ones((HOMES, times.days))
    cooling = add_comfort(loads, warmer(times, 5.0), homes, comfort, used=used)
    smooth = ~homes.cycles & (comfort.cooling > 0.0) & (comfort.heating > 0.0)
    hot, cold = times.air + 5.0 > 29.0, times.air + 5.0 < 5.0
    mild = np.abs(times.air + 5.0 - 19.5) < 0.5
    for row in np.flatnonzero(smooth & (homes.sunny < 1.0))[:20]:
        assert loads[row, hot].mean() > 0.0
        assert loads[row, cold].mean() > 0.0
        assert loads[row, mild].max() == 0.0
    assert np.all(loads.max(axis=1) <= comfort.most_kw * (1.0 + 1e-6))
    assert np.all((cooling > 0.0) == (comfort.cooling > 0.0))
