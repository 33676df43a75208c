from __future__ import annotations

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.site import TimeGrid


def test_starts_are_evenly_spaced_instants():
    grid = TimeGrid(1_546_300_800, 900, 3)
    assert grid.starts.tolist() == [1_546_300_800, 1_546_301_700, 1_546_302_600]
    assert grid.starts.dtype == np.int64
    expected = ["2019-01-01T00:00:00", "2019-01-01T00:15:00", "2019-01-01T00:30:00"]
    assert grid.times.astype(str).tolist() == expected


@pytest.mark.parametrize("step", [59, 3601, 0, -900])
def test_intervals_that_cannot_be_are_refused(step):
    with pytest.raises(ParameterError, match="1 to 60 minutes"):
        TimeGrid(0, step, 10)


def test_a_grid_of_no_intervals_is_refused():
    with pytest.raises(ParameterError, match="at least one"):
        TimeGrid(0, 900, 0)


@pytest.mark.parametrize(
    ("step", "count", "days"), [(3600, 24, 1), (3600, 25, 2), (900, 96, 1), (900, 1, 1)]
)
def test_days_begun_count_whole(step, count, days):
    assert TimeGrid(0, step, count).days == days


@pytest.mark.parametrize(
    ("step", "per_long"), [(60, 30), (300, 6), (900, 2), (1800, 1), (3600, 1), (1200, 1), (420, 1)]
)
def test_intervals_that_divide_half_an_hour_are_averaged_to_it(step, per_long):
    grid = TimeGrid(1_546_300_800, step, 1000)
    assert grid.per_long == per_long
    if per_long == 1:
        assert grid.long is grid
        assert grid.lead == 0
    else:
        assert grid.long.step == 1800
        assert grid.long.starts[0] <= grid.first
        assert grid.long.starts[-1] + 1800 >= grid.starts[-1] + step


@pytest.mark.parametrize("lead", range(6))
def test_long_intervals_begin_at_half_hours_whenever_the_grid_begins(lead):
    grid = TimeGrid(1_546_300_800 + 300 * lead, 300, 100)
    assert grid.lead == lead
    assert grid.long.first == 1_546_300_800
    assert grid.long.count == -(-(100 + lead) // 6)


def test_stamps_of_middles_keep_their_minutes():
    """Quarter hours read as middles begin seven and a half minutes off the quarter."""
    grid = TimeGrid(1_546_300_800 - 450, 900, 10)
    assert (grid.long.first - grid.first) % 900 == 0
    assert 0 <= grid.first - grid.long.first < 1800
    assert grid.long.step == 1800


def test_a_grid_may_be_moved():
    assert TimeGrid(0, 900, 10).moved(-1800) == TimeGrid(-1800, 900, 10)


def test_two_grids_of_one_clock_have_the_same_long_intervals():
    short, long = TimeGrid(1_546_300_800 + 900, 900, 40), TimeGrid(1_546_300_800 - 2700, 900, 90)
    assert (short.long.first - long.long.first) % 1800 == 0
