"""Readings are put where their stamps say, whatever the memory held before."""

from __future__ import annotations

import numpy as np
import pytest

from sunveil.fleet.blocks import scatter
from sunveil.site import TimeGrid

AXIS = TimeGrid(1_546_300_800, 3600, 200)
WHOLE = (0, 0, 1, 0, 200)


def laid(*runs, values=None, factor=1.0, systems=1):
    """Return the matrix of runs (system, place, stride, first row, rows), and what is odd."""
    table = np.array(
        [[s, AXIS.first + at * 3600, stride * 3600, row, n] for s, at, stride, row, n in runs],
        dtype=np.int64,
    ).reshape(-1, 5)
    values = np.arange(1, 501, dtype=np.float32) if values is None else values
    power = np.full((systems, AXIS.count), 7.0, dtype=np.float32)
    needs_review = np.zeros(systems, dtype=np.uint8)
    row = np.arange(systems, dtype=np.int32)
    scatter(
        table, values, AXIS, row, shift=0, factor=factor, needs_review=needs_review, power=power
    )
    return power, needs_review


def test_a_whole_record_is_one_copy():
    power, needs_review = laid(WHOLE, factor=2.0)
    np.testing.assert_array_equal(power[0], 2.0 * np.arange(1, 201))
    assert needs_review.sum() == 0


def test_between_around_and_without_runs_there_is_nothing():
    power, needs_review = laid((0, 10, 1, 0, 20), (0, 50, 1, 20, 30), systems=2)
    there = np.r_[10:30, 50:80]
    np.testing.assert_array_equal(power[0, there], np.arange(1, 51))
    assert np.isnan(np.delete(power[0], there)).all()
    assert np.isnan(power[1]).all()
    assert needs_review.sum() == 0


def test_runs_out_of_order_meet_no_harm():
    power, needs_review = laid((0, 100, 1, 0, 20), (0, 0, 1, 20, 100), (0, 120, 1, 120, 80))
    np.testing.assert_array_equal(power[0], np.r_[21:121, 1:21, 121:201])
    assert needs_review.sum() == 0


@pytest.mark.parametrize("second", [(0, 19, 1, 20, 5), (0, 0, 1, 20, 1), (0, 4, 5, 20, 4)])
def test_a_place_that_is_taken_makes_a_system_odd(second):
    assert laid((0, 0, 1, 0, 20), second)[1].tolist() == [1]
    assert laid((0, 30, 1, 0, 20), second)[1].tolist() == [0]


def test_wider_strides_leave_room_for_what_lies_between():
    power, needs_review = laid((0, 0, 2, 0, 100), (0, 1, 2, 100, 100))
    np.testing.assert_array_equal(power[0, ::2], np.arange(1, 101))
    np.testing.assert_array_equal(power[0, 1::2], np.arange(101, 201))
    assert needs_review.sum() == 0


def test_a_reading_that_is_missing_takes_no_place():
    values = np.arange(1, 501, dtype=np.float32)
    values[:5] = np.nan
    power, needs_review = laid((0, 0, 2, 5, 5), (0, 0, 2, 0, 5), values=values)
    np.testing.assert_array_equal(power[0, :10:2], np.arange(6, 11))
    assert needs_review.sum() == 0


@pytest.mark.parametrize("blank", [-999.0, -9999.0, -99999.0, np.nan])
@pytest.mark.parametrize("before", [(), ((0, 150, 1, 150, 1),)])
def test_what_loggers_write_for_nothing_is_nothing(blank, before):
    values = np.arange(1, 501, dtype=np.float32)
    values[3] = blank
    power, needs_review = laid(*before, (0, 0, 1, 0, 100), values=values)
    assert np.flatnonzero(np.isnan(power[0, :100])).tolist() == [3]
    assert needs_review.sum() == 0


@pytest.mark.parametrize("before", [(), ((0, 150, 1, 150, 1),)])
def test_infinite_readings_make_a_system_odd(before):
    values = np.arange(1, 501, dtype=np.float32)
    values[3] = -np.inf
    assert laid(*before, (0, 0, 1, 0, 100), values=values)[1].tolist() == [1]


@pytest.mark.parametrize("run", [(0, -1, 1, 0, 5), (0, 198, 1, 0, 3), (0, 0, 50, 0, 5)])
def test_runs_beyond_the_axis_make_a_system_odd(run):
    power, needs_review = laid(run)
    assert needs_review.tolist() == [1]
    assert np.isnan(power).all()


def test_no_minus_zero_is_left():
    power, _ = laid(WHOLE, values=np.full(200, -0.0, dtype=np.float32))
    assert not np.signbit(power).any()
