from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from engine_makers import row_of
from hypothesis import given
from hypothesis import strategies as st

from sunveil.engine.coarse_search import (
    BlockReadings,
    believable,
    find_limits,
    lay_out,
    on_long_grid,
    padded,
)
from sunveil.engine.power_model import BLOCK, UNLIMITED
from sunveil.simulate import clipped
from sunveil.site import TimeGrid


def readings_of(power: np.ndarray, day: np.ndarray) -> BlockReadings:
    begins = np.flatnonzero(np.diff(day, prepend=-1))
    rows = np.asarray(power, dtype=np.float32)[None]
    return lay_out(rows, np.arange(len(power), dtype=np.int32), begins)


def limit_of(power: np.ndarray, day: np.ndarray, hours: float = 1.0) -> float:
    return float(find_limits(readings_of(power, day), day, hours=hours)[0])


def test_what_no_meter_reads_is_nothing():
    power = np.array([1e-30, 1e-8, 0.0, -0.01, 5.0, 1e8, 1e10, 1e38, np.inf, np.nan], np.float32)
    expected = np.array([0.0, 1e-8, 0.0, -0.01, 5.0, 1e8, *[np.nan] * 4], np.float32)
    np.testing.assert_array_equal(believable(power), expected)


def test_short_intervals_are_averaged_to_half_hours():
    power = np.array([[1.0, 3.0, np.nan, 5.0, 2.0, 4.0]], dtype=np.float32)
    found = on_long_grid(power, TimeGrid(0, 900, 6))
    np.testing.assert_array_equal(found, [[2.0, np.nan, 3.0]])


def test_a_grid_that_begins_within_half_an_hour_lacks_its_first_and_last():
    power = np.arange(6, dtype=np.float32)[None]
    grid = TimeGrid(1000 * 1800 + 600, 600, 6)
    assert (grid.lead, grid.long.count) == (1, 3)
    np.testing.assert_array_equal(on_long_grid(power, grid), [[np.nan, 3.0, np.nan]])


@pytest.mark.parametrize("step", [1800, 3600, 1200, 420])
def test_other_intervals_stay_as_they_are(step):
    power = np.ones((2, 9), dtype=np.float32)
    assert on_long_grid(power, TimeGrid(300, step, 9)) is power


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


def test_rows_are_padded_to_whole_blocks():
    found = padded(np.ones((2, 70), dtype=bool))
    assert found.shape == (2, 2 * BLOCK)
    assert found.dtype == np.float32
    assert (found.sum(axis=1) == 70.0).all()
    assert padded(np.empty((3, 0), dtype=np.float32)).shape == (3, 0)


def test_readings_are_laid_onto_the_usable_intervals():
    rows = np.array([[0, 1, 2, np.nan, 4, 5, 0, 7], [np.nan] * 8], dtype=np.float32)
    slot = np.array([1, 2, 3, 5, 6], dtype=np.int32)
    found = lay_out(rows, slot, np.array([0, 2, 3]))
    np.testing.assert_array_equal(found.power[0, :5], [1, 2, 0, 5, 0])
    np.testing.assert_array_equal(found.have[0, :5], [1, 1, 0, 1, 1])
    assert found.power[:, 5:].sum() == found.have[:, 5:].sum() == 0.0
    assert found.count.tolist() == [4, 0]
    assert found.daylight_readings.tolist() == [3, 0]
    # the day of the missing reading has none
    assert found.days.tolist() == [2, 0]
    assert found.bright[1] == found.top[1] == 0.0
    assert repr(found) == "BlockReadings(2 systems, private)"


@given(st.lists(st.floats(0, 1e6, width=32), min_size=1, max_size=300), st.integers(0, 9))
def test_bright_power_and_top_are_numpys_quantiles(values, gap):
    power = np.array(values, dtype=np.float32)
    power[::10][gap:] = np.nan
    found = readings_of(power, np.zeros(len(power), dtype=np.int32))
    own = power[np.isfinite(power)].astype(np.float64)
    expected = np.quantile(own, [0.98, 0.999]) if len(own) else (0.0, 0.0)
    assert (found.bright[0], found.top[0]) == pytest.approx(tuple(expected), rel=1e-5)


def test_some_systems_at_some_intervals():
    power = np.arange(3.0 * 200).reshape(3, 200).astype(np.float32)
    found = lay_out(power, np.arange(200, dtype=np.int32), np.array([0]))
    places = np.array([3, 50, 180], dtype=np.int32)
    thin, have = found.thinned(places, np.array([2, 0]))
    np.testing.assert_array_equal(thin[:, :3], power[[2, 0]][:, places])
    assert have.sum() == 6.0
    np.testing.assert_array_equal(found.take(np.array([1])).power[0, :200], power[1])


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


def test_readings_without_power_have_no_limit():
    assert limit_of(np.zeros(100), np.arange(100)) == UNLIMITED


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
