from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from engine_makers import PLANES, flags, plane_of, point_of, row_of, rows_of
from hypothesis import given
from hypothesis import strategies as st

from sunveil.engine import SAVINGS, EngineOptions, infer_block, make_sky_table
from sunveil.engine.clocks import (
    DECLARED,
    NOBODY,
    ClockHypothesis,
    FoundClock,
    decide,
    find_clocks,
    propose,
    relaid,
    unexplained,
)
from sunveil.engine.envelope import profiles_of
from sunveil.engine.light import Daylight
from sunveil.engine.search import search
from sunveil.estimate import DaylightSaving, Flag
from sunveil.meters import Label
from sunveil.simulate import daylight_saving_stamps, fast_clock
from sunveil.site import Plane
from sunveil.timegrid import TimeGrid

LEFT_IN, TWICE = DaylightSaving.LEFT_IN, DaylightSaving.APPLIED_TWICE
NAN = float("nan")


def taken_out_twice(power: pd.Series) -> pd.Series:
    """Stamps an hour behind in summer: daylight saving subtracted from stamps without it."""
    saving = [bool(stamp.dst()) for stamp in power.index.tz_convert("America/Denver")]
    moved = power.set_axis(power.index - pd.to_timedelta(np.array(saving, dtype=int), unit="h"))
    return moved[~moved.index.duplicated()].sort_index()


def test_hypotheses_say_how_far_ahead_each_reading_is():
    saving = np.array([False, True])
    assert ClockHypothesis(30.0).ahead_seconds(saving).tolist() == [1800, 1800]
    assert ClockHypothesis(0.0, LEFT_IN).ahead_seconds(saving).tolist() == [0, 3600]
    assert ClockHypothesis(60.0, TWICE).ahead_seconds(saving).tolist() == [3600, 0]
    assert DECLARED.declared
    assert not ClockHypothesis(0.0, LEFT_IN).declared
    assert not ClockHypothesis(-30.0).declared


@pytest.mark.parametrize(
    ("offset", "step", "half"),
    [(0.0, 3600, False), (60.0, 3600, False), (30.0, 3600, True), (-30.0, 3600, True),
     (30.0, 1800, False), (90.0, 3600, True), (-90.0, 1800, False)],
)  # fmt: skip
def test_parts_of_an_interval_need_the_half_grid(offset, step, half):
    assert ClockHypothesis(offset).needs_half_grid(step) is half


@pytest.mark.parametrize(
    ("leads", "offsets", "saving"),
    [
        ((0.0, 0.0, 0.0), [0], []),
        ((17.9, 17.0, 18.0), [0], []),
        ((NAN, NAN, NAN), [0], []),
        ((58.0, 57.0, 59.0), [0, 60], []),
        ((38.0, 38.0, 38.0), [0, 30, 60], []),
        ((-62.0, -61.0, -63.0), [0, -60], []),
        ((-420.0, -420.0, -420.0), [0, -420], []),
        ((30.0, 0.0, 60.0), [0, 0], [LEFT_IN]),
        ((-30.0, 0.0, -60.0), [0, 0], [TWICE]),
        ((90.0, 60.0, 120.0), [0, 0, 60], [LEFT_IN, LEFT_IN]),
        ((0.0, 0.0, 100.0), [0], []),
    ],
)
def test_light_proposes_clocks(leads, offsets, saving):
    found = propose(*leads)
    assert found[0] is DECLARED
    assert [each.offset_minutes for each in found] == offsets
    assert [each.saving for each in found if each.saving is not DECLARED.saving] == saving


HOUR, HALF = ClockHypothesis(60.0), ClockHypothesis(30.0)


@pytest.mark.parametrize(
    ("hypotheses", "shares", "left", "minutes", "best"),
    [
        # explains more, and the light
        ([DECLARED, HOUR], [0.5, 0.8], [60.0, 3.0], 60.0, 1),
        # explains the light no better
        ([DECLARED, HOUR], [0.5, 0.8], [20.0, 15.0], 60.0, 0),
        # the declared one explains as much, and the light
        ([DECLARED, HOUR], [0.8, 0.8], [5.0, 60.0], 60.0, 0),
        # explains less energy, but its days no longer begin at night
        ([DECLARED, HOUR], [0.8, 0.75], [50.0, 5.0], 60.0, 1),
        ([DECLARED, HOUR], [0.8, 0.75], [30.0, 5.0], 60.0, 0),
        ([DECLARED, HOUR], [0.8, 0.75], [50.0, 15.0], 60.0, 0),
        # far less energy is not as good, whatever the light
        ([DECLARED, HOUR], [0.8, 0.6], [50.0, 0.0], 60.0, 0),
        # half an hour is rare where intervals are short
        ([DECLARED, HALF, HOUR], [0.5, 0.8, 0.8], [60.0, 2.0, 6.0], 15.0, 2),
        ([DECLARED, HALF, HOUR], [0.5, 0.8, 0.8], [60.0, 2.0, 6.0], 60.0, 1),
        ([DECLARED, HALF, HOUR], [0.5, 0.8, 0.8], [60.0, 2.0, 12.0], 15.0, 1),
    ],
)
def test_evidence_decides_between_clocks(hypotheses, shares, left, minutes, best):
    found = decide(hypotheses, np.array(shares), np.array(left), interval_minutes=minutes)
    assert found == best


@given(st.integers(-120, 120), st.sampled_from(list(DaylightSaving)), st.integers(0, 2**32 - 1))
def test_readings_are_moved_to_where_a_clock_puts_them(halves, kind, seed):
    rng = np.random.default_rng(seed)
    row, saving = rng.uniform(size=(1, 60)).astype(np.float32), np.arange(60) >= 30
    hypothesis = ClockHypothesis(30.0 * halves, kind)
    found = relaid(row, hypothesis, saving, 3600)
    expected = np.full(60, np.nan, dtype=np.float32)
    for place, shift in enumerate(hypothesis.ahead_seconds(saving) // 3600):
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


def test_the_right_clock_leaves_no_light_unexplained():
    noon = Daylight(np.full((1, 200), 12.0, np.float32), np.ones((1, 200), np.float32))
    saving = np.arange(200) >= 100
    ahead = ClockHypothesis(60.0, LEFT_IN).ahead_seconds(saving) / 3600.0
    stamped = Daylight((noon.middle + ahead).astype(np.float32), noon.energy)
    clocks = [DECLARED, ClockHypothesis(60.0), ClockHypothesis(60.0, LEFT_IN)]
    for clock, expected in zip(clocks, (120.0, 60.0, 0.0), strict=True):
        (left,) = unexplained(stamped, noon, [clock], saving=saving, minutes=60.0)
        assert left == pytest.approx(expected, abs=1e-3)


def test_right_clocks_stay_declared(prepared, rows):
    searched = search(rows, prepared)
    assert find_clocks(rows, searched, prepared, timezone="UTC") == (NOBODY, NOBODY)


def test_clocks_that_are_off_by_half_a_day_are_repaired(denver, powers):
    moved = [fast_clock(powers[0], 60 * hours) for hours in (-8, -10, 9, 11)]
    found = infer_block(rows_of(moved, denver.grid), denver)
    assert found.clock_offset_minutes.tolist() == [-480.0, -600.0, 540.0, 660.0]
    for place in range(4):
        assert plane_of(found, place).angle_to(Plane(*PLANES[0])) < 2.5


def test_hours_and_daylight_saving_are_repaired(denver, powers):
    moved = [
        fast_clock(powers[0], 60),
        fast_clock(powers[1], -60),
        fast_clock(powers[2], 60),
        fast_clock(powers[3], 60 * 5),
        fast_clock(powers[0], -60 * 7),
        daylight_saving_stamps(powers[2], "America/Denver"),
        taken_out_twice(powers[0]),
        powers[1],
    ]
    found = infer_block(rows_of(moved, denver.grid), denver)
    assert found.clock_offset_minutes.tolist() == [60, -60, 60, 300, -420, 0, 0, 0]
    kinds = [SAVINGS[place] for place in found.clock_saving]
    assert kinds == [DECLARED.saving] * 5 + [LEFT_IN, TWICE, DECLARED.saving]
    for place, own in enumerate((0, 1, 2, 3, 0, 2, 0, 1)):
        assert plane_of(found, place).angle_to(Plane(*PLANES[own])) < 2.5
        assert (Flag.CLOCK_REPAIRED in flags(found, place)) is (place < 7)
    assert found.clock_gain[7] == 0.0
    assert 0.0 < found.clock_gain[0] < 1.0


def test_half_an_hour_is_repaired_under_the_sky_between(denver, powers):
    early = make_sky_table(denver.site, denver.grid.moved(-1800))
    found = infer_block(rows_of([fast_clock(each, -30) for each in powers], early.grid), early)
    # where the plane can turn to explain as much, half an hour stays hidden
    repaired = np.flatnonzero(found.clock_offset_minutes)
    assert len(repaired) > 0
    for place in repaired:
        assert found.clock_offset_minutes[place] == -30.0
        assert plane_of(found, place).angle_to(Plane(*PLANES[place])) < 2.5


def test_short_intervals_have_clocks_too(denver, power_of):
    grid = TimeGrid(denver.grid.first, 900, 4 * 8760)
    sky = make_sky_table(denver.site, grid)
    power = power_of(200.0, 30.0, step_minutes=15)
    found = infer_block(rows_of([power, fast_clock(power, 60)], grid), sky)
    assert found.clock_offset_minutes.tolist() == [0.0, 60.0]
    for place in range(2):
        assert plane_of(found, place).angle_to(Plane(200.0, 30.0)) < 2.0


def test_a_clock_may_be_taken_as_given(denver, powers):
    row = row_of(fast_clock(powers[0], 60), denver.grid)[None]
    found = infer_block(row, denver, options=EngineOptions(clock="given"))
    assert found.clock_offset_minutes[0] == 0.0
    assert abs(found.surface_azimuth[0] - 180.0) > 8.0
    assert flags(found, 0) == ()


def test_a_record_too_short_for_light_keeps_its_clock(denver, powers):
    row = row_of(fast_clock(powers[0], 60), denver.grid)[None]
    row[:, 24 * 9 :] = np.nan
    assert infer_block(row, denver).clock_offset_minutes[0] == 0.0


def test_clocks_are_left_alone_where_intervals_do_not_divide_a_day(denver, prepared):
    sky = make_sky_table(denver.site, TimeGrid(denver.grid.first, 3000, 8760 * 3600 // 3000))
    point = point_of(200.0, 30.0, haze=-0.2, heat=1.25)
    row = np.zeros(sky.grid.count, dtype=np.float32)
    power = 5.0 * profiles_of(sky.sheet, point[None], prepared.numbers)[0]
    row[sky.slot[: sky.usable]] = power[: sky.usable]
    found = infer_block(np.stack([row, np.roll(row, 2)]), sky)
    assert found.clock_offset_minutes.tolist() == [0.0, 0.0]
    assert found.surface_azimuth[0] == pytest.approx(200.0, abs=0.5)
    assert found.surface_azimuth[1] > 210.0
