from __future__ import annotations

import datetime as dt
import importlib.resources
import math
import re
from dataclasses import replace
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import MeterError
from sunveil.fleet.blocks import time_grid_of
from sunveil.meters import Record, from_pandas
from sunveil.meters.record import prepared
from sunveil.releases import Choices
from sunveil.releases.candidate_frame import MIDNIGHT_AFTER, MIDNIGHT_BEFORE, frame_of, make_frame
from sunveil.releases.scores import day_score, reading_score
from sunveil.site import DAY, Losses, Site, TimeGrid
from sunveil.weather import clearsky

PLANTED = 1234.5678


def made(start: int, minutes: float, places: list[int]) -> Record:
    seconds = start + np.array(sorted(set(places)), dtype=np.int64) * round(minutes * 60)
    return Record("a", seconds.astype("datetime64[s]"), np.ones(len(seconds)), minutes)


@given(
    start=st.integers(10**9, 10**9 + 10**6),
    minutes=st.sampled_from([1.0, 5.0, 7.0, 15.0, 30.0, 60.0]),
    places=st.lists(st.integers(0, 5000), min_size=1, max_size=5),
    longitude=st.floats(-180.0, 180.0),
)
def test_a_time_grid_is_whole_solar_days_that_hold_every_stamp(start, minutes, places, longitude):
    record = made(start, minutes, places)
    grid = time_grid_of(record, longitude=longitude)
    step = round(minutes * 60)
    assert np.isin(record.times, grid.times).all()
    solar = grid.times.astype(np.int64) + round(longitude * 240.0)
    seen = (record.times.astype(np.int64) + round(longitude * 240.0)) // DAY
    assert solar[0] // DAY == seen[0]
    assert solar[0] % DAY < step
    assert seen[-1] <= solar[-1] // DAY <= seen[-1] + (DAY % step != 0)
    assert (np.diff(grid.times.astype(np.int64)) == step).all()
    assert seen[-1] - seen[0] + 1 <= grid.days <= seen[-1] - seen[0] + 2


def test_the_fingerprint_changes_with_every_public_input(frame, record, weather):
    choices, later = frame.choices, record.times + np.timedelta64(5, "m")
    others = [
        frame_of(record, weather, replace(choices, heat=1.0)),
        frame_of(record, replace(weather, ghi=weather.ghi * 0.99), choices),
        frame_of(record, replace(weather, temp_air=weather.temp_air + 1.0), choices),
        frame_of(replace(record, times=later, rows_span=None), weather, choices),
    ]
    (one, *rest) = frame.profiles[0]
    rest[1] = rest[1] + np.float32(0.01)
    others.append(replace(frame, profiles=((one, *rest),)))  # any haze
    assert len({each.fingerprint() for each in (frame, *others)}) == 6


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize(
    "cut", [slice(24, None), slice(None, -24), slice(23, None), slice(7 * 24, -7 * 24)]
)
def test_a_missing_first_or_last_day_leaves_every_score_as_it_was(
    record, weather, choices, changed, measured, cut
):
    """Another grid of times, the same scores: to the last bit, whatever the span of the frame."""
    sky = replace(weather, clear=False) if measured else weather
    short = replace(changed(keep=cut), rows_span=None)
    # the same record with its missing readings there, and agreeing with nothing
    blank = np.ones(len(record.times), dtype=bool)
    blank[cut] = False
    whole = replace(record, power_kw=np.where(blank, 0.0, record.power_kw))
    one, other = frame_of(short, sky, choices), frame_of(whole, sky, choices)
    assert one.time_grid != other.time_grid
    for score in (reading_score, day_score):
        np.testing.assert_array_equal(score(one, short).levels, score(other, whole).levels)
        assert score(one, short).levels.max() > 20


def test_every_day_is_one_solar_day(frame):
    times = frame.time_grid.times[frame.daylight].astype(np.int64)
    solar = (times + round(frame.weather.site.longitude * 240.0)) // DAY
    assert frame.days[0] == 0
    assert frame.days[-1] == len(times)
    for begin, end in zip(frame.days[:-1], frame.days[1:], strict=True):
        assert len(set(solar[begin:end])) == 1
        assert 8 <= end - begin <= 15
    assert len(frame.days) - 1 == len(set(solar)) == 61


def test_a_civil_day_of_every_time_zone_begins_while_readings_count_for_nothing():
    """At the places of the tz database, in winter and in summer; all but a station on the ice."""
    listed = (importlib.resources.files("tzdata.zoneinfo") / "zone.tab").read_text("utf-8")
    lines = [line.split("\t") for line in listed.splitlines() if line[:1] not in ("#", "")]
    aside, days = set(), {}
    for _, place, zone, *_ in lines:
        degrees = re.search(r"[+-]\d+([+-])(\d{3})(\d\d)", place)
        longitude = float(f"{degrees[1]}1") * (int(degrees[2]) + int(degrees[3]) / 60.0)
        for month in (1, 7):
            local = dt.datetime(2024, month, 15, tzinfo=ZoneInfo(zone))
            since = (local.timestamp() + longitude * 240.0) % DAY
            days[zone] = longitude
            if MIDNIGHT_AFTER < since < DAY - MIDNIGHT_BEFORE + 900:
                aside.add(zone)
    assert len(days) > 400
    assert aside == {"Antarctica/Vostok"}


@pytest.mark.parametrize("minutes", [15, 60])
def test_readings_of_times_of_civil_midnights_count_for_nothing(choices, minutes):
    site = Site(68.0, 20.0)
    rows = made(
        int(np.datetime64("2019-06-19", "s").astype(int)), minutes, [0, 3 * 1440 // minutes]
    )
    rows = replace(rows, cleaning="each")
    frame = frame_of(rows, clearsky(site, "2019-06-15", "2019-06-25"), choices)
    hours = (frame.time_grid.starts + 20 * 240) % DAY / 3600.0
    step = minutes / 60.0
    near = (hours < 1.0 + step) | (hours + step > 24.0 - 3.5)
    assert not (frame.daylight | frame.night)[near].any()
    assert frame.daylight[~near].all()


def test_missing_readings_agree_with_nothing(frame, changed):
    found = frame.readings(changed(keep=slice(100, 200)))
    assert len(found) == frame.daylight.sum()
    assert np.isneginf(found).sum() > 0.8 * len(found)
    assert np.isfinite(found).any()
    # candidates are clocks, planes and capacities
    assert frame.shape == (1, len(frame.grid), len(frame.choices.capacities))
    assert len(frame) == math.prod(frame.shape)


def test_short_intervals_are_averaged_to_a_quarter_of_an_hour():
    index = pd.date_range("2019-06-01", periods=24 * 12, freq="5min", tz="UTC")
    values = np.random.default_rng(3).uniform(0.0, 5.0, len(index))
    record = from_pandas(
        pd.Series(values, index=index), label="start", cleaning="each", power_unit="kW"
    )
    found = prepared(record)
    assert found.interval_minutes == 15.0
    np.testing.assert_allclose(found.power_kw, values.reshape(-1, 3).mean(axis=1))
    lost = prepared(replace(record, times=record.times[1:], power_kw=record.power_kw[1:]))
    np.testing.assert_array_equal(lost.power_kw, found.power_kw[1:])


@given(
    place=st.integers(0, 285),
    many=st.integers(1, 2),
    value=st.sampled_from([0.0, 3.0, 1e300, 1.7e308, -1.7e308, -1.0]),
)
def test_k_short_readings_change_k_averages_and_nothing_else(place, many, value):
    values = np.full(288, 2.0)
    times = np.datetime64("2019-06-01T00:05", "s") + np.arange(288) * np.timedelta64(300, "s")
    one = prepared(Record("a", times, values, 5.0))
    values = values.copy()
    values[place : place + many] = value
    other = prepared(Record("a", times, values, 5.0))
    np.testing.assert_array_equal(one.times, other.times)
    assert (one.power_kw != other.power_kw).sum() <= many


def test_a_record_at_other_times_is_refused_without_telling_a_reading(frame, record):
    late = replace(record, times=record.times + np.timedelta64(40, "D"), rows_span=None)
    off = replace(record, times=record.times + np.timedelta64(20, "m"), rows_span=None)
    short = Record("a", record.times[:10], np.full(10, PLANTED), 30.0)
    for bad, words in (
        (late, "stamps outside the times"),
        (off, "stamps outside the times"),
        (short, "intervals of 30 minutes"),
    ):
        planted = replace(bad, power_kw=np.full(len(bad.power_kw), PLANTED))
        with pytest.raises(MeterError, match=words) as refused:
            frame.readings(planted)
        assert "1234" not in str(refused.value)


def test_times_without_daylight_or_weather_is_refused(weather, choices):
    night, other_year = TimeGrid(1552282200, 3600, 5), TimeGrid(1483228800, 3600, 48)
    for grid in (night, other_year):
        with pytest.raises(MeterError, match="no daylight in common"):
            make_frame(weather, grid, choices)


def test_the_declared_clock_alone_scores_as_it_does_among_others(frame, record, weather):
    wide = frame_of(record, weather, replace(frame.choices, clocks=(30.0, 0.0)))
    levels = reading_score(wide, record).levels.reshape(wide.shape)
    np.testing.assert_array_equal(levels[1].ravel(), reading_score(frame, record).levels)
    assert (levels[0] != levels[1]).any()


def test_candidates_lose_what_running_systems_lose(frame, record, weather):
    dusty = replace(frame.choices, losses=Losses(system=0.14))
    ours, theirs = frame.profiles[0][0], frame_of(record, weather, dusty).profiles[0][0]
    both = np.isfinite(ours) & np.isfinite(theirs)
    gained = np.exp(ours[both] - theirs[both])
    assert frame.choices.losses == Losses()
    assert np.median(gained) == pytest.approx((1.0 - Losses().system) / 0.86, rel=0.01)


def test_candidates_under_a_clear_sky_have_the_winter_of_their_place():
    # in Vermont it is -7 °C in January, where others of its latitude have 6 °C
    weather = clearsky(Site(44.4665, -73.1014, 109.0), "2019-01-05", "2019-01-20")
    grid = TimeGrid(int(pd.Timestamp("2019-01-08 05:00").timestamp()), 3600, 7 * 24)
    choices = Choices(step=30.0)
    warm = replace(weather, temp_air=np.full_like(weather.temp_air, 6.0))
    ours, theirs = (make_frame(sky, grid, choices).profiles[0][0] for sky in (weather, warm))
    both = np.isfinite(ours) & np.isfinite(theirs)
    assert np.median(ours[both] - theirs[both]) > 0.03


def test_hazier_candidates_have_less_of_a_low_sun_and_measured_weather_its_own_haze(
    frame, record, weather, choices
):
    usual, clearer, hazier = (np.where(np.isfinite(sky), sky, np.nan) for sky in frame.profiles[0])
    assert np.nanmedian(clearer - usual) > 0.005
    assert np.nanmedian(hazier - usual) < -0.005
    measured = frame_of(record, replace(weather, clear=False, source="nsrdb"), choices)
    assert [len(hazes) for hazes in measured.profiles] == [1]
