from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from engine_makers import PLANES, flags, plane_of, point_of, row_of, rows_of

from sunveil.engine import SAVINGS, InferOptions, infer_generation, make_sky_table
from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.clock_faults import find_clocks, propose
from sunveil.engine.coarse_search import search
from sunveil.estimates import Flag
from sunveil.estimates.flags_and_quality import flags_of
from sunveil.estimates.planes_and_intervals import DECLARED, DaylightSaving
from sunveil.simulate import daylight_saving_stamps, fast_clock, western_horizon
from sunveil.site import Plane, TimeGrid

LEFT_IN, TWICE = DaylightSaving.LEFT_IN, DaylightSaving.APPLIED_TWICE
NAN = float("nan")


def taken_out_twice(power: pd.Series) -> pd.Series:
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


def test_more_offsets_can_be_plausible():
    found = propose(10.0, 10.0, 10.0, more=(15.0, 300.0))
    assert [each.offset_minutes for each in found] == [0, -30, 30, 15]


def test_right_clocks_stay_declared(prepared, rows):
    searched = search(rows, prepared)
    found = find_clocks(rows, searched, prepared, timezone="UTC")
    assert (found.repaired, found.doubtful) == ({}, {})
    assert not found.off_label.any()
    assert not found.unchecked.any()


def test_clocks_that_are_off_by_half_a_day_are_repaired(denver, powers):
    moved = [fast_clock(powers[0], 60 * hours) for hours in (-8, -10, 9, 11)]
    found = infer_generation(rows_of(moved, denver.grid), denver)
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
    found = infer_generation(rows_of(moved, denver.grid), denver)
    assert found.clock_offset_minutes.tolist() == [60, -60, 60, 300, -420, 0, 0, 0]
    kinds = [SAVINGS[place] for place in found.clock_daylight_saving]
    assert kinds == [DECLARED.saving] * 5 + [LEFT_IN, TWICE, DECLARED.saving]
    for place, own in enumerate((0, 1, 2, 3, 0, 2, 0, 1)):
        assert plane_of(found, place).angle_to(Plane(*PLANES[own])) < 2.5
        assert (Flag.CLOCK_REPAIRED in flags(found, place)) is (place < 7)
    assert found.clock_gain[7] == 0.0
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
    for grid, known, offset in (
        (early, False, 0.0),
        (late, False, 15.0),
        (late, True, 0.0),
    ):
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


def test_a_clock_may_be_taken_as_given(denver, powers):
    row = row_of(fast_clock(powers[0], 60), denver.grid)[None]
    found = infer_generation(row, denver, options=InferOptions(clock="given"))
    assert found.clock_offset_minutes[0] == 0.0
    assert abs(found.surface_azimuth[0] - 180.0) > 8.0
    assert flags(found, 0) == ()


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
