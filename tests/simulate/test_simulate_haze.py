from __future__ import annotations

import numpy as np
import pytest

from sunveil.simulate import REAL_FLEET
from sunveil.simulate.simulated_sky import (
    SkyTraits,
    SolarCalendar,
    draw_traits,
    draw_turbidity,
    interval_middles,
    map_turbidity,
    simulate_true_sky,
)
from sunveil.site import Site

HEBEI = Site(38.18, 117.46, 5.0)


@pytest.fixture(scope="module")
def calendar() -> SolarCalendar:
    times = interval_middles(2019, 60)
    return SolarCalendar.of(times, latitude=HEBEI.latitude, longitude=HEBEI.longitude)


def test_traits_have_their_shares():
    drawn = [draw_traits(REAL_FLEET, rng=np.random.default_rng(i)) for i in range(2000)]
    assert np.mean([each.smog > 0.0 for each in drawn]) == pytest.approx(REAL_FLEET.smog, abs=0.015)
    assert np.std([each.swing for each in drawn]) == pytest.approx(REAL_FLEET.climate, rel=0.1)
    # a cosine over the year has half the variance of its amplitude
    spread = np.std([each.winter_turbidity for each in drawn]) / np.sqrt(2.0)
    assert spread == pytest.approx(REAL_FLEET.turbidity_season, rel=0.1)


def test_the_season_of_turbidity_leaves_that_of_the_maps(calendar):
    flat, winter = (
        draw_turbidity(
            HEBEI,
            2019,
            rng=np.random.default_rng(1),
            calendar=calendar,
            traits=SkyTraits(winter_turbidity=strength),
        )
        for strength in (0.0, 0.3)
    )
    assert np.mean((winter / flat)[:20]) == pytest.approx(np.exp(0.3), rel=0.1)
    assert np.mean((winter / flat)[190:210]) == pytest.approx(np.exp(-0.3), rel=0.1)
    assert np.std(np.log(flat / map_turbidity(HEBEI, 2019, days=calendar.days))) < 0.2


def test_a_smoggy_sky_is_dim_in_winter_and_cold_by_its_swing():
    usual = simulate_true_sky(HEBEI, 2019, seed=1, step_minutes=60, clear_days=0.9)
    traits = SkyTraits(smog=0.5, swing=6.0)
    smoggy = simulate_true_sky(HEBEI, 2019, seed=1, step_minutes=60, clear_days=0.9, traits=traits)
    january, july = slice(0, 30 * 24), slice(181 * 24, 211 * 24)
    for name, dimmest, brightest in (("ghi", 0.4, 0.7), ("dni", 0.05, 0.5)):
        before, after = getattr(usual.weather, name), getattr(smoggy.weather, name)
        assert dimmest < after[january].sum() / before[january].sum() < brightest
        assert np.array_equal(after[july], before[july])
    colder = usual.weather.temp_air - smoggy.weather.temp_air
    assert np.mean(colder[january]) == pytest.approx(6.0, abs=0.5)
    assert np.mean(colder[july]) == pytest.approx(-6.0, abs=0.5)
    # smog is no cloud: it does not rain more often under it
    assert np.array_equal(usual.clear_index, smoggy.clear_index)
