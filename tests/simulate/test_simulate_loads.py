from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sunveil.errors import ParameterError
from sunveil.simulate import NetMix, SimulatedSky, simulate_loads
from sunveil.simulate.fault_rates import US
from sunveil.simulate.household_loads import HouseholdTimes, block_loads, draw_households

ZONE = "America/Denver"
HOMES = 60


@pytest.fixture(scope="module")
def loads(mixed_sky: SimulatedSky) -> pd.DataFrame:
    return simulate_loads(mixed_sky.true, HOMES, seed=4, timezone=ZONE)


def test_the_same_seed_gives_the_same_loads(mixed_sky, loads):
    again = simulate_loads(mixed_sky.true, HOMES, seed=4, timezone=ZONE)
    assert again.equals(loads)
    other = simulate_loads(mixed_sky.true, HOMES, seed=5, timezone=ZONE)
    assert not np.isclose(other, loads).any(axis=0).all()


def test_finer_intervals_hold_the_same_energy(mixed_sky, loads):
    fine = simulate_loads(mixed_sky.true, HOMES, seed=4, timezone=ZONE, interval_minutes=30)
    assert fine.index[0] == loads.index[0] == pd.Timestamp("2019-01-01", tz="UTC")
    assert np.allclose(fine.resample("60min").mean(), loads, rtol=1e-4)
    with pytest.raises(ParameterError, match="15, 30 or 60"):
        simulate_loads(mixed_sky.true, 1, seed=1, timezone=ZONE, interval_minutes=20)


def test_homes_use_what_they_were_drawn_with(mixed_sky):
    rng = np.random.default_rng(6)
    homes = draw_households(np.full(100, 7.0), NetMix(1.0), US, rng=rng)
    times = HouseholdTimes.of(mixed_sky.true, ZONE)
    made, cooling = block_loads(homes, times, US, rng=rng)
    ratio = made.mean(axis=1) / homes.mean_kw
    assert np.median(ratio) == pytest.approx(1.0, abs=0.06)
    assert np.quantile(ratio, [0.05, 0.95]) == pytest.approx([0.83, 1.15], abs=0.1)
    assert np.all(cooling < 0.5 * made.mean(axis=1))
    assert made.min() > 0.0


def test_hourly_loads_are_spread_about_their_medians_as_real_ones_are(loads):
    """The bounds are wider than what benchmarks.loads finds of simulated homes and of real ones."""
    hour = loads.index.tz_convert(ZONE).hour
    spread = np.log(loads).groupby(hour).std().median()
    assert 0.6 < spread.median() < 0.9
    ratio = loads / loads.groupby(hour).transform("median")
    quantiles = ratio.quantile([0.05, 0.25, 0.75, 0.95]).median(axis=1).to_numpy()
    assert quantiles == pytest.approx([0.3, 0.62, 1.7, 3.7], rel=0.25)


def test_deviations_last_hours_and_come_back_on_other_days(loads):
    logs = np.log(loads)
    off = logs - logs.groupby(loads.index.tz_convert(ZONE).hour).transform("median")
    lasts = {lag: off.corrwith(off.shift(lag)).median() for lag in (1, 6, 24, 168)}
    assert 0.55 < lasts[1] < 0.75
    assert lasts[6] < lasts[24] + 0.05 < lasts[1]
    assert lasts[168] > 0.1


def test_homes_stand_empty_for_some_days(loads):
    daily = loads.resample("D").mean()
    empty = (daily < 0.45 * daily.median()).sum()
    assert 4 < empty.median() < 40
    assert (empty > 10).mean() > 0.3
