from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.simulate import CLEAN_FLEET, FaultRates
from sunveil.simulate.fault_rates import US
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.roster import (
    CellDays,
    SimulatedRoster,
    draw_cell_days,
    draw_roster,
    wear_down,
)
from sunveil.simulate.simulated_sky import TrueSky, dull_days, simulate_true_sky
from sunveil.site import Site

CELL = SimulatedCell(0, "here", Site(45.0, -93.3, 250.0), "America/Chicago", US, systems=200)
DAYS = 366


def drawn(rates: FaultRates) -> SimulatedRoster:
    return draw_roster(CELL, rates, rng=np.random.default_rng(2))


def quiet(**changed: np.ndarray) -> CellDays:
    """Days on which nothing happens but what is asked for."""
    none = np.zeros(DAYS)
    days = CellDays(none.astype(int), none.astype(bool), none, none, none + 1.0)
    return replace(days, **changed)


def snowfall(day: int) -> np.ndarray:
    return np.arange(DAYS) == day


@pytest.fixture(scope="module")
def cold_sky() -> TrueSky:
    sky = simulate_true_sky(CELL.site, 2019, seed=3, step_minutes=60, clear_days=0.4)
    return replace(sky, weather=replace(sky.weather, temp_air=sky.weather.temp_air - 8.0))


def test_a_clean_system_keeps_all_of_its_power():
    wear = wear_down(drawn(CLEAN_FLEET), quiet())
    assert np.all(wear.kept == 1.0)
    assert not wear.snow_days.any()
    assert not wear.soiling_loss.any()


def test_snow_takes_all_at_first_and_leaves_flat_systems_last():
    roster = replace(drawn(CLEAN_FLEET), surface_tilt=np.linspace(0.0, 60.0, CELL.systems))
    wear = wear_down(roster, quiet(snow=snowfall(10), slide=np.full(DAYS, 0.5)))
    assert np.all(wear.kept[:, 9] == 1.0)
    assert np.all(wear.kept[:, 10] == 0.0)
    assert np.all(np.diff(wear.snow_days) <= 0)
    assert wear.snow_days[0] == DAYS - 10  # on the level nothing slides
    assert wear.snow_days[-1] == 3


def test_snow_melts_from_the_flattest():
    roster = replace(drawn(CLEAN_FLEET), surface_tilt=np.zeros(CELL.systems))
    wear = wear_down(roster, quiet(snow=snowfall(10), melt=np.full(DAYS, 0.3)))
    assert set(wear.snow_days) == {4}


def test_a_covered_string_gives_nothing_and_the_others_all():
    roster = drawn(CLEAN_FLEET)
    wear = wear_down(roster, quiet(snow=snowfall(10), melt=np.full(DAYS, 0.4)))
    left = {
        strings: set(np.round(wear.kept[roster.snow_strings == strings, 11], 3))
        for strings in (1, 2, 3)
    }
    assert left == {1: {0.0}, 2: {0.0}, 3: {np.float32(0.333)}}


def test_it_snows_on_dull_days_below_freezing_only(cold_sky):
    rates = replace(CLEAN_FLEET, snowfall=0.5)
    days = draw_cell_days(cold_sky, rates, rng=np.random.default_rng(1))
    weather = cold_sky.weather
    dull = dull_days(cold_sky.day, cold_sky.clear_index, weather.ghi)
    warmth = np.bincount(cold_sky.day, weather.temp_air) / np.bincount(cold_sky.day)
    assert 5 < days.snow.sum() < 60
    assert np.all(dull[days.snow] & (warmth[days.snow] < 0.0))
    assert np.all(days.whiteness[days.snow] > 3.0)
    assert days.snow.sum() <= np.sum(days.whiteness > 1.0) < 200
    warm = replace(cold_sky, weather=replace(weather, temp_air=weather.temp_air + 60.0))
    assert not draw_cell_days(warm, rates, rng=np.random.default_rng(1)).snow.any()


def test_dirt_builds_up_and_rain_washes_it_off(cold_sky):
    rates = replace(CLEAN_FLEET, soiling=0.002, soiling_spread=0.0)
    days = draw_cell_days(cold_sky, rates, rng=np.random.default_rng(1))
    kept = wear_down(drawn(rates), days).kept[0]
    assert np.all(kept[days.since_rain == 0] == 1.0)
    dry = np.flatnonzero(np.diff(kept) < 0.0)
    assert np.diff(kept)[dry] == pytest.approx(-0.002, abs=1e-6)
    assert np.all(kept[1:][np.diff(kept) > 0.0] == 1.0)
    assert 20 < np.sum(days.since_rain == 0) < 150


def test_a_dry_season_lets_dirt_build_up_for_months(cold_sky):
    longest = [
        draw_cell_days(
            cold_sky,
            replace(CLEAN_FLEET, dry_seasons=share),
            rng=np.random.default_rng(1),
        ).since_rain.max()
        for share in (0.0, 1.0)
    ]
    assert longest[0] < 60
    assert 115 < longest[1] < 215


def test_systems_age():
    rates = replace(CLEAN_FLEET, degradation=0.01, oldest_years=20.0)
    roster = drawn(rates)
    wear = wear_down(roster, quiet())
    assert wear.kept[:, 0] == pytest.approx(1.0 - 0.01 * roster.age_years)
    assert wear.kept[:, 0] - wear.kept[:, 365] == pytest.approx(0.01, abs=1e-5)
    assert np.max(roster.age_years) > 19.0


def test_a_dead_string_takes_its_share_for_its_time():
    roster = drawn(replace(CLEAN_FLEET, dead_strings=0.3))
    wear = wear_down(roster, quiet())
    dead = roster.dead_share > 0.0
    assert np.mean(dead) == pytest.approx(0.3, abs=0.1)
    assert np.all(wear.kept[~dead] == 1.0)
    assert wear.kept[dead].min(axis=1) == pytest.approx(1.0 - roster.dead_share[dead])
    length = np.sum(wear.kept[dead] < 1.0, axis=1)
    assert np.all((length >= 59) & (length <= 301))
