from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sunveil.engine.clock_faults import relaid
from sunveil.engine.first_and_last_light import ClockCalendar
from sunveil.estimates.planes_and_intervals import (
    DECLARED,
    ClockHypothesis,
    ClockStep,
    DaylightSaving,
    FoundClock,
)
from sunveil.meters import Label

LEFT_IN, TWICE = DaylightSaving.LEFT_IN, DaylightSaving.APPLIED_TWICE
TWO = ClockCalendar(np.array([0, 200]), np.array([False, True]))


def test_hypotheses_say_how_far_ahead_each_reading_is():
    assert ClockHypothesis(30.0).ahead_seconds(TWO).tolist() == [1800, 1800]
    assert ClockHypothesis(0.0, LEFT_IN).ahead_seconds(TWO).tolist() == [0, 3600]
    assert ClockHypothesis(60.0, TWICE).ahead_seconds(TWO).tolist() == [3600, 0]
    assert DECLARED.ahead_seconds(TWO).tolist() == [0, 0]


def test_a_step_holds_from_its_day_on_until_the_next():
    calendar = ClockCalendar(np.arange(6), np.array([False] * 4 + [True] * 2))
    steps = (ClockStep.on(2, -60.0), ClockStep.on(4, 0.0))
    clock = ClockHypothesis(30.0, LEFT_IN, steps)
    minutes = clock.ahead_seconds(calendar) / 60.0
    assert minutes.tolist() == [30.0, 30.0, -60.0, -60.0, 60.0, 60.0]
    assert steps[0].date == datetime.date(1970, 1, 3)


@pytest.mark.parametrize(
    ("offset", "step", "half"),
    [(0.0, 3600, False), (60.0, 3600, False), (30.0, 3600, True), (-30.0, 3600, True),
     (30.0, 1800, False), (90.0, 3600, True), (-90.0, 1800, False)],
)  # fmt: skip
def test_parts_of_an_interval_need_the_half_grid(offset, step, half):
    assert ClockHypothesis(offset).needs_half_grid(step) is half


@given(st.integers(-120, 120), st.sampled_from(list(DaylightSaving)), st.integers(0, 2**32 - 1))
def test_readings_are_moved_to_where_a_clock_puts_them(halves, kind, seed):
    rng = np.random.default_rng(seed)
    row = rng.uniform(size=(1, 60)).astype(np.float32)
    calendar = ClockCalendar(np.arange(60) // 24, np.arange(60) >= 30)
    hypothesis = ClockHypothesis(30.0 * halves, kind, (ClockStep.on(1, 60.0),))
    found = relaid(row, hypothesis, calendar, 3600)
    expected = np.full(60, np.nan, dtype=np.float32)
    for place, shift in enumerate(hypothesis.ahead_seconds(calendar) // 3600):
        if 0 <= place - shift < 60:
            expected[place - shift] = row[0, place]
    np.testing.assert_array_equal(found[0], expected)


@pytest.mark.parametrize(
    ("offset", "label", "interval", "said", "minutes"),
    [
        (30.0, Label.START, 60.0, Label.MIDDLE, 0.0),
        (30.0, Label.MIDDLE, 60.0, Label.END, 0.0),
        (-30.0, Label.END, 60.0, Label.MIDDLE, 0.0),
        (-30.0, Label.START, 60.0, Label.START, -30.0),
        (30.0, Label.END, 60.0, Label.END, 30.0),
        (60.0, Label.START, 60.0, Label.START, 60.0),
        (0.0, Label.END, 60.0, Label.END, 0.0),
        (30.0, Label.START, 15.0, Label.START, 30.0),
    ],
)
def test_half_an_interval_is_a_label_and_anything_else_an_offset(
    offset, label, interval, said, minutes
):
    found = FoundClock(ClockHypothesis(offset, LEFT_IN), 0.1).finding(label, interval)
    assert (found.label, found.offset_minutes) == (said, minutes)
    assert found.daylight_saving is LEFT_IN
    assert found.gain == 0.1


def test_a_clock_with_steps_is_no_label():
    steps = (ClockStep.on(9, 90.0),)
    found = FoundClock(ClockHypothesis(30.0, steps=steps)).finding(Label.START, 60.0)
    assert (found.label, found.offset_minutes, found.steps) == (Label.START, 30.0, steps)
