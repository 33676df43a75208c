from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from engine_makers import row_of, rows_of
from hypothesis import given
from hypothesis import strategies as st

from sunveil.engine import InferOptions, make_sky_table
from sunveil.engine import coarse_search as searching
from sunveil.engine.bright_envelope import points_of, starting_grid, starts_within
from sunveil.engine.coarse_search import believable, find_limits, lay_out, on_long_grid, search
from sunveil.engine.power_model import UNLIMITED
from sunveil.engine.shading import prepare
from sunveil.estimates.planes_and_intervals import FEWEST_READINGS
from sunveil.simulate import SystemTruth, clipped, simulate_power, simulate_sky
from sunveil.site import Plane, Site, TimeGrid


def readings_of(power, day):
    begins = np.flatnonzero(np.diff(day, prepend=-1))
    rows = np.asarray(power, dtype=np.float32)[None]
    return lay_out(rows, np.arange(len(power), dtype=np.int32), begins)


def limit_of(power, day, hours=1.0):
    return float(find_limits(readings_of(power, day), day, hours=hours)[0])


def test_what_no_meter_reads_is_nothing():
    power = np.array([1e-30, 1e-8, 0.0, -0.01, 5.0, 1e8, 1e10, 1e38, np.inf, np.nan], np.float32)
    expected = np.array([0.0, 1e-8, 0.0, -0.01, 5.0, 1e8, *[np.nan] * 4], np.float32)
    np.testing.assert_array_equal(believable(power), expected)


@given(st.integers(0, 200), st.sampled_from([60, 300, 600, 900]), st.integers(0, 2**32 - 1))
def test_averages_are_those_of_a_plain_loop(lead, step, seed):
    rng = np.random.default_rng(seed)
    power = rng.uniform(0.0, 5.0, 150).astype(np.float32)
    power[rng.random(150) < 0.05] = np.nan
    grid = TimeGrid(1800 * 1000 + lead * step, step, 150)
    found = on_long_grid(power[None], grid)[0]
    assert len(found) == grid.long.count
    for start, mean in zip(grid.long.starts, found, strict=True):
        own = power[(grid.starts >= start) & (grid.starts < start + 1800)]
        if len(own) < grid.per_long or np.isnan(own).any():
            assert np.isnan(mean)
        else:
            assert mean == pytest.approx(own.mean(), rel=1e-5)


@pytest.mark.parametrize("ratio", [1.5, 1.7])
@pytest.mark.parametrize("minutes", [15, 60])
def test_a_planted_limit_is_found_within_two_percent(power_of, ratio, minutes):
    power = power_of(180.0, 30.0, change=partial(clipped, dc_ac_ratio=ratio), step_minutes=minutes)
    seconds = power.index.tz_localize(None).to_numpy().astype("M8[s]").astype(np.int64)
    day = ((seconds - 7 * 3600) // 86400).astype(np.int32)
    light = power.to_numpy() > 0.0
    found = limit_of(power.to_numpy()[light], day[light], hours=minutes / 60.0)
    assert np.exp(found) == pytest.approx(6.0 / ratio, rel=0.02)


@pytest.mark.parametrize(
    ("azimuth", "tilt"), [(180.0, 30.0), (90.0, 25.0), (180.0, 5.0), (10.0, 20.0)]
)
def test_no_limit_is_found_where_there_is_none(power_of, prepared, azimuth, tilt):
    row = row_of(power_of(azimuth, tilt), prepared.sky.grid)
    assert limit_of(row[prepared.slot], prepared.day) == UNLIMITED


def test_a_pile_on_a_few_days_is_not_a_limit():
    rng = np.random.default_rng(0)
    power = np.concatenate([rng.uniform(0.0, 4.5, 3000), np.full(400, 5.0)])
    few, many = (
        np.concatenate([np.arange(3000) // 12, 250 + np.arange(400) // each]) for each in (100, 4)
    )
    assert limit_of(power, few) == UNLIMITED
    assert np.exp(limit_of(power, many)) == pytest.approx(5.0, rel=0.02)


def test_the_round_tops_of_clear_days_are_not_a_limit():
    """A short clear season has the same top every day, but no day stays at it for hours."""
    hours = np.arange(6.0, 19.0)
    power = np.tile(5.0 * np.sin(np.pi * (hours - 6.0) / 13.0), 60)
    assert limit_of(power, np.repeat(np.arange(60), len(hours))) == UNLIMITED


def test_a_start_within_a_capacity_asks_for_no_more(prepared):
    points, groups = points_of(starting_grid()), prepared.groups
    steep = np.hypot(points[:, 0], points[:, 1]) > 60.0
    north = int(np.flatnonzero(steep & (points[:, 1] > 0.0))[0])
    envelope = np.repeat(4.0 * groups.profiles[[north]], 3, axis=0)
    envelope[:, ::5] = np.nan
    found = starts_within(envelope, groups, np.array([4.2, 2.0, 0.0]))
    assert found[0] == north
    there = np.isfinite(envelope[0])
    shape = groups.profiles[:, there]
    capacity = (shape @ envelope[0, there]) / (shape * shape).sum(axis=1)
    left = ((envelope[0, there] - capacity[:, None] * shape) ** 2).sum(axis=1)
    within = np.flatnonzero(capacity <= 2.0)
    assert found[1] == within[left[within].argmin()]
    # where every plane asks for more, the one that asks for least
    assert found[2] == capacity.argmin()


def test_so_few_readings_are_not_enough(prepared, rows):
    few = np.full_like(rows[:2], np.nan)
    lit = prepared.slot[rows[0, prepared.slot] > 0.0]
    few[0, lit[:FEWEST_READINGS]] = rows[0, lit[:FEWEST_READINGS]]
    few[1, lit[: FEWEST_READINGS - 1]] = rows[0, lit[: FEWEST_READINGS - 1]]
    assert search(few, prepared).enough.tolist() == [True, False]


def test_what_is_doubtful_is_looked_at_again_by_its_readings(monkeypatch):
    """Where no day is clear, bright powers are not those of a clear sky."""
    site = Site(55.0, 8.0, 10.0)
    sky = make_sky_table(site, TimeGrid(1_546_300_800, 3600, 8760))
    weather = simulate_sky(site, 2019, seed=1, step_minutes=15, clear_days=0.0)
    powers = [
        simulate_power(
            SystemTruth("one", site, ((Plane(azimuth, tilt), 1.0),), 6.0, dc_ac_ratio=1.0),
            weather,
            seed=3,
        )
        for azimuth, tilt in ((270.0, 30.0), (135.0, 30.0), (180.0, 10.0), (180.0, 30.0))
    ]
    rows, prepared = rows_of(powers, sky.grid), prepare(sky, InferOptions())
    twice = search(rows, prepared)
    monkeypatch.setattr(searching, "DOUBTFUL", -1.0)
    once = search(rows, prepared)
    assert (once.explained <= 0.4).any()
    assert (twice.explained >= once.explained).all()
    assert (twice.explained > 1.05 * once.explained).any()
    # what was not doubtful stays
    sure = once.explained > 0.4
    np.testing.assert_array_equal(twice.points[sure], once.points[sure])
