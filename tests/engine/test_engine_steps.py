from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sunveil.engine import infer_generation, make_sky_table
from sunveil.engine.bright_envelope import points_of, profiles_of
from sunveil.engine.first_and_last_light import (
    OFFSETS,
    OPEN_SHARE,
    PRICE,
    ClockCalendar,
    Daylight,
    light_against,
    may_have_steps,
    offsets_by_day,
    with_offsets,
)
from sunveil.engine.shading import prepare
from sunveil.estimates.inference_options import InferOptions
from sunveil.estimates.planes_and_intervals import (
    DECLARED,
    ClockHypothesis,
    ClockStep,
    DaylightSaving,
)
from sunveil.grids import Grid
from sunveil.site import Site, TimeGrid

DAYS = 300


def leads_of(offsets: np.ndarray, *, seed: int = 1, noise: float = 12.0) -> np.ndarray:
    """First and last light of a clock, as they scatter on real days. [minutes]"""
    rng = np.random.default_rng(seed)
    leads = offsets + rng.normal(0.0, noise, (2, len(offsets)))
    leads[:, rng.random(len(offsets)) < 0.2] = np.nan
    return leads


def stepped(day: int, minutes: float, until: int = DAYS) -> np.ndarray:
    offsets = np.zeros(DAYS)
    offsets[day:until] = minutes
    return offsets


@pytest.mark.parametrize(
    "offsets",
    [stepped(100, 60.0), stepped(40, -30.0), stepped(230, -60.0), stepped(100, 60.0, 160)],
)
def test_the_days_of_steps_are_found(offsets):
    (found,) = offsets_by_day(leads_of(offsets), step=1800)
    assert np.count_nonzero(found != offsets) <= 3


@pytest.mark.parametrize("seed", range(5))
def test_days_that_only_scatter_have_no_steps(seed):
    (found,) = offsets_by_day(leads_of(np.zeros(DAYS), seed=seed, noise=25.0), step=1800)
    assert (found == 0.0).all()


def test_a_week_is_no_step():
    (found,) = offsets_by_day(leads_of(stepped(100, 60.0, 107)), step=1800)
    assert (found == 0.0).all()


def test_a_hill_in_winter_is_no_step():
    leads = leads_of(np.zeros(DAYS))
    leads[0, 200:] += 70.0
    (found,) = offsets_by_day(leads, step=1800)
    assert (found == 0.0).all()


def test_of_long_intervals_half_ones_are_tried_apart():
    found = offsets_by_day(leads_of(stepped(100, 60.0) - 30.0), step=3600)
    assert len(found) == 2
    whole, half = found
    assert set(whole % 60.0) == {0.0}
    assert set(half) == {-30.0, 30.0}


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_the_path_is_the_cheapest(seed):
    rng = np.random.default_rng(seed)
    leads = leads_of(stepped(int(rng.integers(10, 290)), float(rng.choice(OFFSETS))), seed=seed)
    (found,) = offsets_by_day(leads, step=1800)
    against = light_against(leads, OFFSETS) + OPEN_SHARE * np.abs(OFFSETS)

    def cost(path: np.ndarray) -> float:
        own = against[np.arange(DAYS), np.searchsorted(OFFSETS, path)]
        return float(own.sum() + PRICE * np.count_nonzero(np.diff(path)))

    # no constant, and no single step, is cheaper
    for offset in OFFSETS:
        assert cost(found) <= cost(np.full(DAYS, offset)) + 1e-6
        day = int(rng.integers(1, DAYS))
        assert cost(found) <= cost(np.where(np.arange(DAYS) < day, found[0], offset)) + 1e-6


def test_days_without_light_say_nothing():
    leads = np.array([[60.0, np.nan, 0.0, 50.0], [60.0, 60.0, 0.0, -50.0]])
    against = light_against(leads, np.array([0.0, 60.0]))
    assert against.tolist() == [[45.0, 0.0], [0.0, 0.0], [0.0, 45.0], [0.0, 10.0]]


def test_offsets_by_day_become_a_clock():
    calendar = ClockCalendar(np.arange(50, 56), np.zeros(6, dtype=bool))
    offsets = np.array([0.0, 0.0, 60.0, 60.0, 0.0, 0.0])
    kind = DaylightSaving.LEFT_IN
    found = with_offsets(ClockHypothesis(30.0, kind), offsets, calendar)
    assert found == ClockHypothesis(30.0, kind, (ClockStep.on(52, 90.0), ClockStep.on(54, 30.0)))
    assert with_offsets(DECLARED, np.zeros(6), calendar) == DECLARED


def test_only_weeks_that_are_far_off_make_a_suspect():
    rng = np.random.default_rng(3)
    days = np.array(
        [stepped(100, 60.0), np.zeros(DAYS), stepped(100, 60.0, 110), stepped(60, -30.0)]
    )
    bounds = 12.0 + np.array([[-5.0], [5.0]])[:, None] + (days + rng.normal(0, 10, days.shape)) / 60
    hill = bounds.copy()
    hill[0, 1, 150:] += 1.0
    flat = Daylight(np.array([[[7.0]], [[17.0]]]), np.ones((1, 1)))
    for each in (bounds, hill):
        found = may_have_steps(Daylight(each, np.ones(days.shape)), flat, minutes=60.0)
        assert found.tolist() == [True, False, False, True]
    nothing = Daylight(np.full_like(bounds, np.nan), np.ones(days.shape))
    assert not may_have_steps(nothing, flat, minutes=60.0).any()
    short = Daylight(bounds[:, :, :20], np.ones((4, 20)))
    assert not may_have_steps(short, flat, minutes=60.0).any()


def test_a_step_of_ninety_minutes_is_found_where_the_grid_starts_at_solar_midnight():
    """Half an interval earlier, such a record has one solar day more."""
    site, first = Site(53.5, -2.2, 40.0), 1546300800  # 2019
    fine = make_sky_table(site, TimeGrid(first, 1800, 2 * 8760))
    plane = points_of(Grid(np.array([180.0]), np.array([30.0])))
    power = np.zeros(fine.grid.count, dtype=np.float32)
    numbers = prepare(fine, InferOptions()).numbers
    lit = fine.slot[: fine.usable]
    power[lit] = profiles_of(fine.sheet, plane, numbers)[0, : fine.usable]
    day = 120 * 48
    power[day:] = np.roll(power[day:], 3)
    hourly = np.float32(5.0) * power.reshape(-1, 2).mean(axis=1)
    found = infer_generation(hourly[None], make_sky_table(site, TimeGrid(first, 3600, 8760)))
    step = found[0].clock_steps[-1]
    assert abs((step.date - dt.date(2019, 5, 1)).days) <= 3
    assert step.offset_minutes == 90.0
