from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from engine_makers import PLANES, flags, plane_of, point_of, row_of, rows_of
from hypothesis import given
from hypothesis import strategies as st

from sunveil.engine import SAVINGS, infer_generation, make_sky_table
from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.clock_faults import decide, propose, relaid, unexplained
from sunveil.engine.first_and_last_light import ClockCalendar
from sunveil.estimates import Flag
from sunveil.estimates.flags_and_quality import flags_of
from sunveil.estimates.planes_and_intervals import (
    DECLARED,
    ClockHypothesis,
    ClockStep,
    DaylightSaving,
    FoundClock,
)
from sunveil.meters import Label
from sunveil.simulate import daylight_saving_stamps, fast_clock, western_horizon
from sunveil.site import Plane, TimeGrid

LEFT_IN, TWICE = DaylightSaving.LEFT_IN, DaylightSaving.APPLIED_TWICE
INF, NAN = float("inf"), float("nan")
HOUR, HALF = ClockHypothesis(60.0), ClockHypothesis(30.0)


def taken_out_twice(power):
    """Stamps an hour behind in summer: daylight saving subtracted from stamps without it."""
    saving = [bool(stamp.dst()) for stamp in power.index.tz_convert("America/Denver")]
    moved = power.set_axis(power.index - pd.to_timedelta(np.array(saving, dtype=int), unit="h"))
    return moved[~moved.index.duplicated()].sort_index()


@pytest.mark.parametrize(
    ("leads", "offsets", "saving"),
    [
        # the plane may hide half an hour, or make it up
        ((0.0, 0.0, 0.0), [0, -30, 30], []),
        ((NAN, NAN, NAN), [0], []),
        ((58.0, 57.0, 59.0), [0, 30, 60, 90], []),
        ((-62.0, -61.0, -63.0), [0, -90, -60, -30], []),
        ((-420.0, -420.0, -420.0), [0, -450, -420, -390], []),
        ((30.0, 0.0, 60.0), [0, 0, -30, 30], [LEFT_IN] * 3),
        ((-30.0, 0.0, -60.0), [0, 0, -30, 30], [TWICE] * 3),
        ((90.0, 60.0, 120.0), [0, 0, 30, 60, 90], [LEFT_IN] * 4),
        ((0.0, 0.0, 100.0), [0, -30, 30], []),
    ],
)
def test_light_proposes_clocks(leads, offsets, saving):
    found = propose(*leads)
    assert found[0] is DECLARED
    assert [each.offset_minutes for each in found] == offsets
    assert [each.saving for each in found if each.saving is not DECLARED.saving] == saving


def test_hours_and_daylight_saving_are_repaired(denver, powers):
    off = [(0, 1), (1, -1), (2, 1), (3, 5), (0, -7), (0, -8), (0, -10), (0, 9), (0, 11)]
    moved = [fast_clock(powers[own], 60 * hours) for own, hours in off]
    moved += [daylight_saving_stamps(powers[2], "America/Denver"), taken_out_twice(powers[0])]
    found = infer_generation(rows_of([*moved, powers[1]], denver.grid), denver)
    assert found.clock_offset_minutes.tolist() == [60 * hours for _, hours in off] + [0] * 3
    kinds = [SAVINGS[place] for place in found.clock_daylight_saving]
    assert kinds == [DECLARED.saving] * 9 + [LEFT_IN, TWICE, DECLARED.saving]
    for place, own in enumerate([own for own, _ in off] + [2, 0, 1]):
        assert plane_of(found, place).angle_to(Plane(*PLANES[own])) < 2.5
        assert (Flag.CLOCK_REPAIRED in flags(found, place)) is (place < 11)
    assert found.clock_gain[11] == 0.0
    assert 0.0 < found.clock_gain[0] < 1.0


@pytest.mark.parametrize("minutes", [-30, 30])
def test_half_an_hour_is_repaired_under_the_sky_between(denver, powers, minutes):
    sky = make_sky_table(denver.site, denver.grid.moved(60 * minutes))
    found = infer_generation(rows_of([fast_clock(each, minutes) for each in powers], sky.grid), sky)
    # where a plane can turn to explain nearly all of the light, half an hour stays hidden
    repaired = np.flatnonzero(found.clock_offset_minutes)
    assert len(repaired) >= 3
    for place in repaired:
        assert found.clock_offset_minutes[place] == minutes
        assert plane_of(found, place).angle_to(Plane(*PLANES[place])) < 2.5


@pytest.mark.parametrize("side", ["east", "west"])
def test_a_hill_is_no_clock(denver, power_of, side):
    west = western_horizon(25.0)
    horizon = west if side == "west" else lambda azimuth: west(360.0 - azimuth)
    rows = [power_of(azimuth, 25.0, horizon=horizon) for azimuth in (110.0, 180.0, 250.0)]
    found = infer_generation(rows_of(rows, denver.grid), denver)
    assert found.clock_offset_minutes.tolist() == [0.0] * 3
    assert [flags_of(bits) for bits in found.flags.tolist()].count(()) == 3


def test_half_of_half_an_hour_is_told_where_nobody_said_what_stamps_name(denver, power_of):
    early = TimeGrid(denver.grid.first, 1800, 2 * 8760)
    late = early.moved(900)
    power = power_of(190.0, 30.0, step_minutes=30)
    right = rows_of([power], early)
    for grid, known, offset in ((early, False, 0.0), (late, False, 15.0), (late, True, 0.0)):
        # read as the starts of intervals, stamps that name their middles are a quarter late
        found = infer_generation(right, make_sky_table(denver.site, grid), label_known=known)
        assert found.clock_offset_minutes[0] == offset
        assert Flag.LABEL_UNKNOWN not in flags(found, 0)


def test_a_label_that_light_cannot_tell_is_said_to_be_unknown(denver, powers):
    # power of bright hours alone, as some loggers write it, shows neither first nor last light
    rows = rows_of(powers[:2], denver.grid)
    rows[0, rows[0] < 0.4 * np.nanmax(rows[0])] = np.nan
    declared, open_ = (infer_generation(rows, denver, label_known=known) for known in (True, False))
    assert Flag.LABEL_UNKNOWN in flags(open_, 0)
    assert flags(open_, 1) == ()
    assert flags(declared, 0) == (Flag.CLOCK_UNCHECKED,)
    widths = [(e.surface_azimuth_high - e.surface_azimuth_low) % 360.0 for e in (declared, open_)]
    assert widths[1][0] > 2.0 * widths[0][0]
    assert widths[1][1] == widths[0][1]


@pytest.mark.parametrize("plane", [(180.0, 35.0), (120.0, 15.0), (240.0, 50.0)])
def test_the_azimuths_interval_holds_the_answers_of_all_three_labels(denver, power_of, plane):
    grid = TimeGrid(denver.grid.first, 900, 4 * 8760)
    rows = rows_of([power_of(*plane, step_minutes=15)], grid)
    ours = [make_sky_table(denver.site, grid.moved(seconds)) for seconds in (-450, 0, 450)]
    found = infer_generation(rows, ours[1], label_known=False)
    assert flags(found, 0) == (Flag.LABEL_UNKNOWN,)
    width = (found.surface_azimuth_high[0] - found.surface_azimuth_low[0]) % 360.0
    answers = [infer_generation(rows, sky).surface_azimuth[0] for sky in ours]
    assert max(answers) - min(answers) > 4.0
    for answer in answers:
        assert (answer - found.surface_azimuth_low[0]) % 360.0 < width
    # not wider than it need be
    assert width < 2.5 * (max(answers) - min(answers)) + 6.0


def test_short_intervals_have_clocks_too(denver, power_of):
    grid = TimeGrid(denver.grid.first, 900, 4 * 8760)
    sky = make_sky_table(denver.site, grid)
    power = power_of(200.0, 30.0, step_minutes=15)
    moved = [fast_clock(power, minutes) for minutes in (0, 60, -30)]
    found = infer_generation(rows_of(moved, grid), sky)
    assert found.clock_offset_minutes.tolist() == [0.0, 60.0, -30.0]
    for place in range(3):
        assert plane_of(found, place).angle_to(Plane(200.0, 30.0)) < 2.0


def test_a_record_too_short_for_light_keeps_its_clock(denver, powers):
    row = row_of(fast_clock(powers[0], 60), denver.grid)[None]
    row[:, 24 * 9 :] = np.nan
    assert infer_generation(row, denver).clock_offset_minutes[0] == 0.0


def test_clocks_are_left_alone_where_intervals_do_not_divide_a_day(denver, prepared):
    sky = make_sky_table(denver.site, TimeGrid(denver.grid.first, 3000, 8760 * 3600 // 3000))
    point = point_of(200.0, 30.0, haze=-0.2, heat=1.25)
    row = np.zeros(sky.grid.count, dtype=np.float32)
    power = 5.0 * profiles_of(sky.sheet, point[None], prepared.numbers)[0]
    row[sky.slot[: sky.usable]] = power[: sky.usable]
    found = infer_generation(np.stack([row, np.roll(row, 2)]), sky)
    assert found.clock_offset_minutes.tolist() == [0.0, 0.0]
    assert found.surface_azimuth[0] == pytest.approx(200.0, abs=0.5)
    assert found.surface_azimuth[1] > 210.0


def set_on(power, day, minutes, until="2020-01-01"):
    """Stamps of a clock that somebody set on a day."""
    late = (power.index >= pd.Timestamp(day, tz="UTC")) & (
        power.index < pd.Timestamp(until, tz="UTC")
    )
    moved = power.set_axis(power.index + pd.to_timedelta(late * minutes, unit="min"))
    return moved[~moved.index.duplicated()].sort_index()


def test_a_clock_that_was_set_is_repaired_on_both_sides(denver, powers):
    moved = [
        set_on(powers[0], "2019-05-20", 60),
        set_on(powers[1], "2019-03-25", -60),
        set_on(powers[2], "2019-08-20", 60),
        set_on(powers[3], "2019-04-10", -60, "2019-08-01"),
    ]
    found = infer_generation(rows_of(moved, denver.grid), denver)
    days = [[str(step.date) for step in steps] for steps in found.clock_steps]
    expected = [["2019-05-20"], ["2019-03-25"], ["2019-08-20"], ["2019-04-10", "2019-08-01"]]
    for mine, theirs in zip(days, expected, strict=True):
        assert len(mine) == len(theirs)
        apart = np.abs(np.subtract(np.array(mine, "M8[D]"), np.array(theirs, "M8[D]")).astype(int))
        assert apart.max() <= 4
    offsets = [[step.offset_minutes for step in steps] for steps in found.clock_steps]
    assert offsets == [[60.0], [-60.0], [60.0], [-60.0, 0.0]]
    assert found.clock_offset_minutes.tolist() == [0.0] * 4
    assert found.clock_daylight_saving.tolist() == [0] * 4
    for place, plane in enumerate(PLANES):
        assert plane_of(found, place).angle_to(Plane(*plane)) < 2.5
        assert flags(found, place) == (Flag.CLOCK_REPAIRED,)


def test_half_an_hour_shows_in_short_intervals(denver, power_of):
    grid = TimeGrid(denver.grid.first, 1800, 2 * 8760)
    power = set_on(power_of(200.0, 30.0, step_minutes=30), "2019-07-10", 30)
    found = infer_generation(rows_of([power], grid), make_sky_table(denver.site, grid))
    (step,) = found.clock_steps[0]
    assert step.offset_minutes == 30.0
    assert abs((step.date - pd.Timestamp("2019-07-10").date()).days) <= 4


def test_right_clocks_and_saved_daylight_have_no_steps(denver, rows, powers):
    saved = rows_of([daylight_saving_stamps(powers[2], "America/Denver")], denver.grid)
    found = infer_generation(np.concatenate([rows, saved]), denver)
    assert found.clock_steps.tolist() == [()] * 5
    assert found.clock_daylight_saving[4] == list(DaylightSaving).index(DaylightSaving.LEFT_IN)


@pytest.mark.parametrize("days", [10, 30])
def test_a_short_record_has_no_steps(denver, powers, days):
    rows = rows_of([set_on(powers[0], "2019-01-15", 60)], denver.grid)
    rows[:, 24 * days :] = np.nan
    assert infer_generation(rows, denver).clock_steps[0] == ()


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
    ("offset", "label", "interval", "steps", "said", "minutes"),
    [
        (30.0, Label.START, 60.0, (), Label.MIDDLE, 0.0),
        (30.0, Label.MIDDLE, 60.0, (), Label.END, 0.0),
        (-30.0, Label.END, 60.0, (), Label.MIDDLE, 0.0),
        (-30.0, Label.START, 60.0, (), Label.START, -30.0),
        (30.0, Label.END, 60.0, (), Label.END, 30.0),
        (60.0, Label.START, 60.0, (), Label.START, 60.0),
        (0.0, Label.END, 60.0, (), Label.END, 0.0),
        (30.0, Label.START, 15.0, (), Label.START, 30.0),
        (30.0, Label.START, 60.0, (ClockStep.on(9, 90.0),), Label.START, 30.0),
    ],
)
def test_half_an_interval_is_a_label_and_anything_else_an_offset(
    offset, label, interval, steps, said, minutes
):
    found = FoundClock(ClockHypothesis(offset, LEFT_IN, steps), 0.1).finding(label, interval)
    assert (found.label, found.offset_minutes, found.steps) == (said, minutes, steps)
    assert (found.daylight_saving, found.gain) == (LEFT_IN, 0.1)


@pytest.mark.parametrize(
    ("hypotheses", "shares", "left", "short", "best"),
    [
        # explains more, and the light
        ([DECLARED, HOUR], [0.5, 0.8], [60.0, 3.0], False, 1),
        # explains somewhat less energy, but the light: planes turn to fit a wrong clock
        ([DECLARED, HOUR], [0.8, 0.7], [60.0, 3.0], False, 1),
        # far less energy is not as good, whatever the light
        ([DECLARED, HOUR], [0.8, 0.6], [50.0, 0.0], False, 0),
        # hardly more light than the declared one
        ([DECLARED, HOUR], [0.5, 0.8], [8.0, 4.5], False, 0),
        # a quarter of an hour off to one side or the other
        ([DECLARED, HALF], [0.5, 0.5], [15.0, 9.8], False, 0),
        # the declared one explains the light
        ([DECLARED, HOUR], [0.8, 0.8], [5.0, 60.0], False, 0),
        # half an hour is rare where intervals are short
        ([DECLARED, HALF, HOUR], [0.8, 0.8, 0.8], [23.0, 7.0, 40.0], True, 0),
        ([DECLARED, HALF, HOUR], [0.8, 0.8, 0.8], [23.0, 7.0, 40.0], False, 1),
        ([DECLARED, HALF, HOUR], [0.8, 0.8, 0.8], [40.0, 3.0, 30.0], True, 1),
        ([DECLARED, HALF, HOUR], [0.8, 0.8, 0.8], [60.0, 40.0, 9.0], True, 2),
        # whole hours are common faults, and half ones must explain far more
        ([DECLARED, HOUR, HALF], [0.8, 0.8, 0.8], [70.0, 9.0, 6.0], True, 1),
        ([DECLARED, HOUR, HALF], [0.8, 0.8, 0.8], [70.0, 9.0, 6.0], False, 1),
        ([DECLARED, HOUR, HALF], [0.8, 0.8, 0.8], [70.0, 9.0, 4.0], False, 2),
        # a repair that does not explain the light is none
        ([DECLARED, HOUR, HALF], [0.8, 0.8, 0.8], [70.0, 12.0, 11.0], False, 0),
        ([DECLARED, HOUR, HALF], [0.8, 0.8, 0.8], [70.0, 12.0, 5.0], False, 2),
        # nothing is known of the light under the other
        ([DECLARED, HOUR], [0.5, 0.8], [INF, INF], False, 0),
    ],
)
def test_evidence_decides_between_clocks(hypotheses, shares, left, short, best):
    assert decide(hypotheses, np.array(shares), np.array(left), short=short) == best


def test_the_worst_season_counts_and_too_few_days_leave_all_unexplained():
    right, fast, saved, hill, none = [0.0] * 2, [60.0] * 2, [30.0] * 2, [40.0, 0.0], [NAN] * 2
    one, two = [right, fast, right, hill, none], [right, fast, saved, hill, none]
    left = unexplained(np.array([one, one, two]).transpose(0, 2, 1))
    assert left.tolist() == [0.0, 90.0, 45.0, 10.0, INF]
