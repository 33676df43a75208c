from __future__ import annotations

import datetime
import json
import math
from dataclasses import FrozenInstanceError, replace

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plot_makers import estimate_of, pair_of, tracker_of
from sunveil.errors import ParameterError
from sunveil.estimates import (
    Assumptions,
    ClockFinding,
    Estimate,
    Flag,
    HouseholdEstimate,
    Interval,
    Quality,
    YearEstimate,
)
from sunveil.estimates.flags_and_quality import FAIR_FLAGS, FLAG_MEANINGS, POOR_FLAGS, judge
from sunveil.estimates.planes_and_intervals import ClockStep, DaylightSaving
from sunveil.meters import Label
from sunveil.site import Plane

STEPS = (ClockStep(datetime.date(2019, 10, 27), 0.0), ClockStep(datetime.date(2020, 1, 1), -90.0))


DICTIONARY = {
    "system_id": "roof",
    "surface_azimuth": 182.35,
    "surface_azimuth_interval": [179.0, 186.0],
    "surface_tilt": 21.23,
    "surface_tilt_interval": [19.99, 22.5],
    "dc_capacity_kw": 5.4322,
    "dc_capacity_kw_interval": [5.1, 5.7654],
    "plane_error_degrees": 1.23,
    "ac_limit_kw": 4.4444,
    "dc_ac_ratio": 1.22,
    "agreement": 0.6543,
    "clock_offset_minutes": 60.0,
    "clock_label": "end",
    "clock_daylight_saving": "left_in",
    "clock_steps": ["2019-10-27 +0", "2020-01-01 -90"],
    "flags": ["clipping", "clock_repaired"],
    "notes": ["2% of the intervals have no reading."],
    "household_load": None,
    "tracker": None,
    "assumptions": {
        "system_losses": 0.05,
        "system_losses_parts": {
            "soiling": 0.02,
            "mismatch": 0.02,
            "wiring": 0.02,
            "connections": 0.005,
            "light-induced degradation": 0.015,
            "nameplate rating": 0.01,
            "calibration on real systems": -0.04,
        },
        "inverter_efficiency": 0.96,
        "gamma_pdc_per_degC": -0.004,
        "albedo": 0.2,
        "sky_model": "perez-driesse",
        "weather": "clearsky",
        "method": "default",
        "mount": "unknown",
    },
}


@pytest.fixture
def estimate() -> Estimate:
    return estimate_of(
        Plane(182.3456, 21.2345),
        dc_capacity_kw=5.4321987,
        azimuth_interval=Interval(179.001, 185.999),
        tilt_interval=Interval(19.994, 22.5),
        capacity_interval=Interval(5.1, 5.7654321),
        plane_error_degrees=1.23456,
        ac_limit_kw=4.4444444,
        clock=ClockFinding(60.0, Label.END, DaylightSaving.LEFT_IN, gain=0.1, steps=STEPS),
        agreement=0.654321,
        flags=(Flag.CLIPPING, Flag.CLOCK_REPAIRED),
        notes=("2% of the intervals have no reading.",),
    )


def test_an_estimate_becomes_a_plain_dictionary(estimate):
    plain = estimate.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert {**plain, **DICTIONARY} == plain
    assert estimate.replaced(ac_limit_kw=None).to_dict()["dc_ac_ratio"] is None
    assert estimate.dc_ac_ratio == pytest.approx(5.4321987 / 4.4444444)
    large = estimate.replaced(dc_capacity_kw=1153512.34, ac_limit_kw=None).to_dict()
    assert (large["dc_capacity_kw"], large["ac_limit_kw"]) == (1153500.0, None)
    small = estimate.replaced(dc_capacity_kw=0.00123456789)
    assert small.to_dict()["dc_capacity_kw"] == 0.0012346
    named = {**estimate.assumptions.to_dict(), "something": "else"}
    assert Assumptions.from_dict(named) == estimate.assumptions


def test_an_estimate_has_pvlibs_names_and_cannot_be_changed(estimate):
    assert (estimate.surface_azimuth, estimate.surface_tilt) == (182.3456, 21.2345)
    with pytest.raises(FrozenInstanceError):
        estimate.dc_capacity_kw = 1.0


def test_a_row_becomes_the_estimate_that_it_was_written_from(estimate):
    whole = estimate.replaced(
        haze_summer=0.51234,
        haze_winter=0.71234,
        heat=1.2,
        clear_hours=987.654,
        skyline=(0.0,) * 29 + (15.0,),
        years=(YearEstimate(datetime.date(2015, 3, 18), 161.234, 20.987, 5.123456),),
        trend_percent_per_year=-0.7349,
        notes=("a note",),
    )
    row = json.loads(json.dumps(whole.to_row()))
    back = Estimate.from_row(row, whole.assumptions, notes=whole.notes)
    assert back.to_row() == row
    assert back.to_dict() == whole.to_dict()
    assert (back.haze_summer, back.haze_winter, back.heat) == (0.5123, 0.7123, 1.2)
    assert (back.skyline, back.clear_hours) == (whole.skyline, 987.65)
    assert back.years == (YearEstimate(datetime.date(2015, 3, 18), 161.23, 20.99, 5.1235),)
    assert back.trend_percent_per_year == -0.73
    assert back.flags == whole.flags
    assert back.clock == replace(whole.clock, gain=0.0)
    rounded = back.replaced(notes=())
    assert Estimate.from_row(rounded.to_row(), rounded.assumptions) == rounded


@given(st.dates(), st.sampled_from([-90.0, -60.0, 0.0, 30.0, 7.5]))
def test_a_step_of_a_clock_is_read_as_it_is_written(date, minutes):
    step = ClockStep(date, minutes)
    assert ClockStep.parse(str(step)) == step
    assert ClockStep.on(step.day, minutes) == step


def test_what_is_not_there_stays_away_in_a_row(estimate):
    bare = estimate.replaced(
        ac_limit_kw=None, tilt_interval=Interval(math.nan, math.nan), haze_summer=None
    )
    row = bare.to_row()
    assert [row[name] for name in ("ac_limit_kw", "surface_tilt_low", "haze_summer")] == [None] * 3
    back = Estimate.from_row(row, bare.assumptions)
    assert back.ac_limit_kw is None
    assert math.isnan(back.tilt_interval.low)
    assert back.haze is None


@pytest.mark.parametrize("name", ["haze_summer", "heat", "years", "planes", "clock_steps"])
def test_a_row_of_another_version_is_refused(estimate, name):
    row = {**estimate.to_row(), "haze": 0.3}
    del row[name]
    with pytest.raises(ParameterError, match=f"the row has no {name}"):
        Estimate.from_row(row, estimate.assumptions)


@pytest.mark.parametrize(
    ("flags", "radius", "quality", "reason"),
    [
        ((), 6.9, Quality.GOOD, "within 7 degrees"),
        ((), 7.1, Quality.FAIR, "within 7 degrees"),
        ((), 12.5, Quality.POOR, "within 12 degrees"),
        ((Flag.CLIPPING, Flag.CLOCK_REPAIRED), 2.0, Quality.GOOD, "within 2 degrees"),
        ((Flag.LABEL_UNKNOWN,), 2.0, Quality.FAIR, "start, middle or end"),
        ((Flag.LABEL_UNKNOWN,), 20.0, Quality.POOR, "within 20 degrees"),
        ((Flag.CLOCK_UNCHECKED,), 2.0, Quality.FAIR, "a wrong clock would not be noticed"),
        ((Flag.CLOCK_DOUBTFUL,), 2.0, Quality.POOR, "neither the declared clock nor any other"),
        ((Flag.TWO_PLANES,), 2.0, Quality.GOOD, "each of the two planes is known to within 2"),
        ((Flag.TRACKER,), 9.0, Quality.FAIR, "the axis of the tracker is known to within 9"),
        (
            (Flag.TWO_PLANES, Flag.NOT_ONE_PLANE),
            2.0,
            Quality.POOR,
            "the planes cannot be separated",
        ),
        ((Flag.UNLIKELY_UNIT, Flag.SEASONAL_HAZE), 2.0, Quality.POOR, "winter days are hazy"),
    ],
)
def test_quality_is_judged_by_flags_and_by_the_radius(estimate, flags, radius, quality, reason):
    judged = estimate.replaced(flags=flags, plane_error_degrees=radius)
    assert judged.quality is quality
    assert reason in judged.quality_reason
    assert judged.to_dict()["quality"] == quality


def test_a_flag_makes_an_estimate_poor_or_fair_or_neither_and_the_worst_is_the_reason():
    assert set(FLAG_MEANINGS) == set(Flag)
    assert not set(POOR_FLAGS) & set(FAIR_FLAGS)
    # what was cut off, repaired or separated is known as well as anything else
    known = {Flag.CLIPPING, Flag.CLOCK_REPAIRED, Flag.TWO_PLANES, Flag.TRACKER}
    known |= {Flag.NET_METER, Flag.EXPORTED_ONLY}
    assert set(Flag) - set(POOR_FLAGS) - set(FAIR_FLAGS) == known
    flags = (Flag.LOW_AGREEMENT, Flag.NOT_GENERATION, Flag.LABEL_UNKNOWN)
    assert judge(flags, 3.0) == (Quality.POOR, FLAG_MEANINGS[Flag.NOT_GENERATION])


def test_haze_over_the_year_is_that_between_its_seasons(estimate):
    hazy = estimate.replaced(haze_summer=-0.2, haze_winter=0.8)
    assert hazy.haze == pytest.approx(0.3)
    assert hazy.replaced(haze_winter=None).haze is None


EAST, WEST = pair_of().planes
TRACKER = tracker_of().tracker


def test_planes_stay_what_they_are_and_come_back_to_one(estimate):
    (only,) = estimate.planes
    assert (only.plane, only.share, only.dc_capacity_kw) == (estimate.plane, 1.0, 5.4321987)
    assert only.azimuth_interval == estimate.azimuth_interval
    assert only.tilt_interval == estimate.tilt_interval
    # and the one that another plane was put in place of
    moved = estimate.replaced(plane=Plane(90.0, 10.0), dc_capacity_kw=2.0)
    assert [(each.plane, each.dc_capacity_kw) for each in moved.planes] == [(moved.plane, 2.0)]
    assert moved.replaced(tracker=TRACKER).planes == ()
    assert moved.replaced(tracker=TRACKER).replaced(tracker=None).planes == moved.planes
    pair = estimate.replaced(planes=(EAST, WEST))
    assert pair.replaced(system_id="other").planes == (EAST, WEST)
    assert pair.replaced(planes=()).planes == estimate.planes


def test_planes_and_trackers_become_json_with_intervals_as_pairs(estimate):
    plain = estimate.replaced(planes=(EAST, WEST)).to_dict()
    assert plain["planes"][1] == {
        "surface_azimuth": 271.0,
        "surface_azimuth_interval": [266.0, 276.0],
        "surface_tilt": 30.0,
        "surface_tilt_interval": [27.0, 33.0],
        "share": 0.4,
        "share_interval": [0.35, 0.45],
        "dc_capacity_kw": 2.0,
        "dc_capacity_kw_interval": [1.84, 2.16],
    }
    turned = estimate.replaced(tracker=TRACKER).to_dict()
    assert turned["planes"] == []
    assert turned["tracker"] == {
        "axis_azimuth": 178.0,
        "axis_azimuth_interval": [176.5, 179.5],
        "backtrack": True,
        "backtrack_probability": 0.97,
        "gcr": 0.38,
        "gcr_interval": [0.33, 0.43],
        "max_angle": 55.0,
        "max_angle_interval": [45.0, 60.0],
    }
    assert json.loads(json.dumps(turned)) == turned


LOADS = ((0.5,) * 23 + (float("nan"),), (0.25,) * 24, (1.0,) * 24, (0.75,) * 24)
HOME = HouseholdEstimate(0.6123, 0.4, 0.5, LOADS)


def test_a_household_is_told_in_json_and_never_in_a_repr(estimate):
    told = estimate.replaced(household=HOME).to_dict()["household_load"]
    assert (told["mean_load_kw"], told["self_consumption"], told["exporting"]) == (0.6123, 0.4, 0.5)
    assert [len(season) for season in told["load_kw"]] == [24] * 4
    assert told["load_kw"][0][-1] is None
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert "0.6123" not in repr(estimate.replaced(household=HOME))


@pytest.mark.parametrize("reader", ["pyarrow", "pandas", "duckdb"])
def test_planes_and_trackers_come_back_from_whoever_reads_the_table(estimate, tmp_path, reader):
    several = [
        estimate.replaced(planes=(EAST, WEST), skyline=(10.0, 20.0)),
        estimate.replaced(tracker=TRACKER),
        estimate.replaced(household=HOME),
        estimate.replaced(years=(YearEstimate(datetime.date(2019, 1, 1), 180.0, 20.0, 5.0),)),
    ]
    path = tmp_path / "estimates.parquet"
    pq.write_table(pa.Table.from_pylist([each.to_row() for each in several]), path)
    if reader == "pyarrow":
        rows = pq.read_table(path).to_pylist()
    elif reader == "pandas":
        rows = pd.read_parquet(path).to_dict("records")
    else:
        with duckdb.connect() as base:
            rows = base.execute(f"FROM '{path}'").df().to_dict("records")
    for row, made in zip(rows, several, strict=True):
        back = Estimate.from_row(row, estimate.assumptions)
        assert back.to_row() == made.to_row()
        assert back.tracker == made.tracker
        assert back.household == made.household
    pair = Estimate.from_row(rows[0], estimate.assumptions)
    assert [each.plane for each in pair.planes] == [EAST.plane, WEST.plane]


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        (Interval(170.0, 190.0), (170.0, 180, 190.0), (169.9, 190.1, 0.0, math.nan)),
        (Interval(350.0, 20.0), (350.0, 359.0, 0, 20.0), (349.0, 21.0, 180.0)),
        (Interval(0.0, 360.0), (0.0, 123.0, 360.0), (-1.0, 361.0)),
    ],
)
def test_an_interval_says_what_it_holds_and_may_pass_north(interval, inside, outside):
    assert all(each in interval for each in inside)
    assert not any(each in interval for each in outside)
    assert Interval(19.5, 22.0).width == 2.5
    with pytest.raises(ParameterError, match="ask it for one"):
        "180" in interval  # noqa: B015
