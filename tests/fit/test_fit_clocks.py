from __future__ import annotations

from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from sunveil.estimate import DaylightSaving
from sunveil.fit.clocks import (
    Hypothesis,
    find_clock,
    finding,
    propose,
    reading_saving,
    saving_days,
    saving_rule,
)
from sunveil.fit.light import Ends
from sunveil.meters import Label, Record, from_pandas
from sunveil.simulate import daylight_saving_stamps, fast_clock
from sunveil.site import Losses, Site

PLANES = [(90.0, 35.0), (180.0, 35.0), (270.0, 35.0), (160.0, 12.0)]
GOLDEN = Site(39.742, -105.1727, 1795.0)


def clock_of(power: pd.Series, clear) -> Hypothesis:
    return find_clock(from_pandas(power), clear, clear, losses=Losses(), albedo=0.2)[0]


def taken_out_twice(power: pd.Series) -> pd.Series:
    """Stamps an hour behind in summer: daylight saving subtracted from stamps without it."""
    saving = [bool(stamp.dst()) for stamp in power.index.tz_convert("America/Denver")]
    moved = power.set_axis(power.index - pd.to_timedelta(np.array(saving, dtype=int), unit="h"))
    return moved[~moved.index.duplicated()].sort_index()


@pytest.mark.parametrize(("azimuth", "tilt"), PLANES)
def test_a_clock_that_is_right_stays_declared(power_of, clear, azimuth, tilt):
    assert clock_of(power_of(azimuth, tilt), clear).declared


@pytest.mark.parametrize("azimuth", [90.0, 180.0, 270.0])
def test_a_right_clock_of_short_intervals_stays_declared(power_of, clear, azimuth):
    assert clock_of(power_of(azimuth, 35.0, step_minutes=15), clear).declared


@pytest.mark.parametrize(("azimuth", "tilt"), PLANES)
@pytest.mark.parametrize("minutes", [60, -60])
def test_a_clock_off_by_an_hour_is_found(power_of, clear, azimuth, tilt, minutes):
    found = clock_of(fast_clock(power_of(azimuth, tilt), minutes), clear)
    assert found == Hypothesis(float(minutes))


@pytest.mark.parametrize("hours", [-7, 5])
def test_a_clock_off_by_many_hours_is_found(power_of, clear, hours):
    found = clock_of(fast_clock(power_of(180.0, 30.0), 60 * hours), clear)
    assert found == Hypothesis(60.0 * hours)


@pytest.mark.parametrize(("azimuth", "tilt"), PLANES)
def test_daylight_saving_left_in_is_found(power_of, clear, azimuth, tilt):
    stamps = daylight_saving_stamps(power_of(azimuth, tilt), "America/Denver")
    assert clock_of(stamps, clear) == Hypothesis(0.0, DaylightSaving.LEFT_IN)


@pytest.mark.parametrize(("azimuth", "tilt"), PLANES)
def test_daylight_saving_applied_twice_is_found(power_of, clear, azimuth, tilt):
    stamps = taken_out_twice(power_of(azimuth, tilt))
    assert clock_of(stamps, clear) == Hypothesis(0.0, DaylightSaving.APPLIED_TWICE)


def test_a_repair_says_what_it_gained(power_of, clear):
    late = from_pandas(fast_clock(power_of(180.0, 30.0), 60))
    _, gain = find_clock(late, clear, clear, losses=Losses(), albedo=0.2)
    assert 0.0 < gain < 1.0
    right = from_pandas(power_of(180.0, 30.0))
    assert find_clock(right, clear, clear, losses=Losses(), albedo=0.2)[1] == 0.0


def test_the_repair_puts_every_reading_back(power_of):
    power = power_of(180.0, 30.0)
    record = from_pandas(daylight_saving_stamps(power, "America/Denver"))
    ahead = Hypothesis(0.0, DaylightSaving.LEFT_IN).ahead_seconds(reading_saving(record, GOLDEN))
    back = record.times - ahead.astype("timedelta64[s]")
    values = power.set_axis(power.index.tz_localize(None).to_numpy().astype("datetime64[s]"))
    known = np.isin(back, values.index.to_numpy())
    assert known.mean() > 0.999
    same = values.loc[back[known]].to_numpy() == record.power_kw[known]
    # but for the days of the change, on which the hour of the change is not told
    assert same.mean() > 0.99


def test_hypotheses_say_how_far_ahead_each_reading_is():
    saving = np.array([False, True])
    assert Hypothesis(30.0).ahead_seconds(saving).tolist() == [1800, 1800]
    assert Hypothesis(0.0, DaylightSaving.LEFT_IN).ahead_seconds(saving).tolist() == [0, 3600]
    twice = Hypothesis(60.0, DaylightSaving.APPLIED_TWICE)
    assert twice.ahead_seconds(saving).tolist() == [3600, 0]
    assert Hypothesis(0.0).declared
    assert not Hypothesis(0.0, DaylightSaving.LEFT_IN).declared


def test_the_dates_of_daylight_saving_are_the_declared_zones_or_the_places():
    assert saving_rule(GOLDEN, "America/Phoenix") == ZoneInfo("America/Phoenix")
    assert saving_rule(GOLDEN, "UTC") == ZoneInfo("America/Denver")
    assert saving_rule(GOLDEN, "UTC-07:00") == ZoneInfo("America/Denver")
    assert saving_rule(Site(52.5, 13.4, 30.0), "UTC") == ZoneInfo("Europe/Berlin")
    assert saving_rule(Site(-33.9, 151.2, 30.0), "UTC") == ZoneInfo("Australia/Sydney")
    assert saving_rule(Site(1.3, 103.8, 30.0), "UTC") is None


def test_summer_days_save_daylight_north_and_winter_days_south():
    days = np.array(["2019-01-15", "2019-07-15"], dtype="datetime64[D]").astype(np.int64)
    assert saving_days(days, ZoneInfo("America/Denver")).tolist() == [False, True]
    assert saving_days(days, ZoneInfo("Australia/Sydney")).tolist() == [True, False]
    assert saving_days(days, ZoneInfo("America/Phoenix")).tolist() == [False, False]
    assert saving_days(days, None).tolist() == [False, False]


def test_a_record_too_short_for_light_keeps_its_clock(south, clear):
    short = Record("short", south.times[:100], south.power_kw[:100], 60.0)
    found, gain = find_clock(short, clear, clear, losses=Losses(), albedo=0.2)
    assert found.declared
    assert gain == 0.0


@pytest.mark.parametrize(
    ("offset", "label", "said", "minutes"),
    [
        (30.0, Label.START, Label.MIDDLE, 0.0),
        (30.0, Label.MIDDLE, Label.END, 0.0),
        (-30.0, Label.END, Label.MIDDLE, 0.0),
        (-30.0, Label.START, Label.START, -30.0),
        (60.0, Label.START, Label.START, 60.0),
        (0.0, Label.END, Label.END, 0.0),
    ],
)
def test_half_an_interval_is_a_label_and_anything_else_an_offset(offset, label, said, minutes):
    times = np.datetime64("2019-01-01", "s") + np.arange(3) * np.timedelta64(3600, "s")
    record = Record("one", times, np.ones(3), 60.0, label=label)
    found = finding(Hypothesis(offset), record, gain=0.1)
    assert found.label is said
    assert found.offset_minutes == minutes
    assert found.gain == 0.1


def test_ends_of_no_days_propose_nothing():
    none = Ends(np.array([], dtype=np.int64), np.array([]), np.array([]))
    assert propose(none, np.array([], dtype=bool), 60.0) == [Hypothesis(0.0)]
