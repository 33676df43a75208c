from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sunveil.fleet.duckdb_reader import NO_TIME
from sunveil.fleet.survey import Survey, SystemIndex, ZoneTable
from sunveil.meters import Label
from sunveil.meters.time_steps import Stamps, to_utc

YEAR = pd.date_range("2019-01-01", "2020-01-01", freq="h", tz="UTC", inclusive="left")


def survey_of(wall, zone="UTC", names=None, batches=1):
    """Return what the first pass makes of stamps: the survey, and each row's UTC second."""
    wall = np.asarray(wall, dtype=np.int64)
    names = np.full(len(wall), 5, dtype=np.uint64) if names is None else names
    index = SystemIndex.of(np.array([9, 5], dtype=np.uint64))
    zones = ZoneTable.of([zone], (1_546_300_800, 1_577_836_800))
    survey = Survey(2)
    zone = np.zeros(2, dtype=np.int32)
    for rows in np.array_split(np.arange(len(wall)), batches):
        survey.note(names[rows], wall[rows], index=index, zones=zones, zone=zone)
    seconds = np.zeros(len(wall), dtype=np.int64)
    for _, first, step, start, length in survey.runs.tolist():
        seconds[start : start + length] = first + step * np.arange(length)
    return survey, seconds


def micros(index):
    return index.tz_localize(None).to_numpy().astype("M8[us]").view(np.int64)


@pytest.mark.parametrize(
    "zone", ["UTC", "UTC-07:00", "America/Denver", "Europe/London", "Australia/Lord_Howe"]
)
@pytest.mark.parametrize("minutes", [15, 60])
def test_walls_are_read_as_the_reader_of_single_files_reads_them(zone, minutes):
    known = "Etc/GMT+7" if zone == "UTC-07:00" else zone
    index = pd.date_range(YEAR[0], YEAR[-1], freq=f"{minutes}min").tz_convert(known)
    wall = micros(index)
    survey, seconds = survey_of(wall, zone)
    rows = np.arange(1, len(wall) + 1)
    stamps = Stamps(wall, np.full(len(wall), np.nan))
    told = to_utc(stamps, rows, timezone=zone, label=Label.START, where="it")
    np.testing.assert_array_equal(seconds, told.utc // 1_000_000)
    assert survey.needs_review[0] == 0
    # half an hour of daylight saving makes hourly stamps half an hour apart, once
    assert survey.step[0] == (1800 if zone.endswith("Howe") and minutes == 60 else minutes * 60)
    assert survey.count[0] == len(wall)


def test_gaps_and_missing_hours_leave_the_step_as_it_is():
    wall = micros(YEAR)[np.random.default_rng(1).random(len(YEAR)) < 0.7]
    survey, seconds = survey_of(wall)
    np.testing.assert_array_equal(seconds, wall // 1_000_000)
    assert (survey.step[0], survey.needs_review[0]) == (3600, 0)


@pytest.mark.parametrize("zone", ["UTC", "America/Denver"])
def test_rows_that_come_in_batches_are_surveyed_as_if_they_came_at_once(zone):
    wall = micros(YEAR.tz_convert(zone))[np.random.default_rng(3).random(len(YEAR)) < 0.999]
    whole, seconds = survey_of(wall, zone)
    parted, again = survey_of(wall, zone, batches=7)
    np.testing.assert_array_equal(seconds, again)
    for told in ("count", "low", "high", "step", "needs_review"):
        assert getattr(parted, told)[0] == getattr(whole, told)[0], told
    assert parted.rows == whole.rows == len(wall)


@pytest.mark.parametrize("place", [1, 63, 128, 129, 300, 498])
@pytest.mark.parametrize("what", ["name", "stamp"])
def test_one_row_that_differs_ends_an_even_run_wherever_it_stands(what, place):
    wall = micros(YEAR[:500])
    names = np.full(500, 5, dtype=np.uint64)
    if what == "name":
        names[place] = 9
    else:
        wall[place] += 60_000_000
    survey, seconds = survey_of(wall, names=names)
    np.testing.assert_array_equal(seconds, wall // 1_000_000)
    assert survey.count[: len(survey)].tolist() == ([499, 1] if what == "name" else [500])


@pytest.mark.parametrize(
    "what", ["no time", "twice", "skipped", "backwards", "long ago", "far ahead"]
)
def test_stamps_that_need_a_second_look_are_marked(what):
    zone = "UTC" if what in ("no time", "twice", "long ago") else "America/Denver"
    wall = micros(YEAR[:500] if what != "skipped" else YEAR[:2000])
    if what == "no time":
        wall[100] = NO_TIME
    elif what == "twice":
        wall[100] = wall[99]
    elif what == "backwards":
        wall[100:200] = wall[100:200][::-1]
    elif what == "long ago":
        wall[100] = 1
    elif what == "far ahead":
        wall[100] = 5_000_000_000_000_000
    survey, _ = survey_of(wall, zone)
    assert survey.needs_review[0] == 1


def test_rows_of_several_systems_may_be_mixed_and_unknown_ones_are_counted():
    wall = np.repeat(micros(YEAR[:300]), 3)
    names = np.tile(np.array([9, 5, 1234], dtype=np.uint64), 300)
    survey, seconds = survey_of(wall, names=names)
    assert len(survey) == 2
    assert survey.unknown_rows == 300
    assert survey.found[:2].tolist() == [0, 1]
    assert survey.count[:2].tolist() == [300, 300]
    assert survey.step[:2].tolist() == [3600, 3600]
    assert (seconds[2::3] == 0).all()


def test_an_index_knows_every_name_and_no_other():
    names = np.random.default_rng(2).integers(1, 2**63, 5000, dtype=np.uint64)
    survey = Survey(5000)
    zones = ZoneTable.of(["UTC"], (0, 1))
    both = np.r_[names, names + np.uint64(1)]
    stamps = np.full(len(both), 1_546_300_800_000_000)
    zone = np.zeros(5000, dtype=np.int32)
    survey.note(both, stamps, index=SystemIndex.of(names), zones=zones, zone=zone)
    assert len(survey) == 5000
    assert survey.unknown_rows == 5000
    np.testing.assert_array_equal(survey.found, np.arange(5000))
