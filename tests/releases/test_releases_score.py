from __future__ import annotations

import datetime as dt
import importlib.resources
import itertools
import math
import re
from dataclasses import replace
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sunveil.errors import MeterError, ParameterError
from sunveil.fleet.blocks import time_grid_of
from sunveil.meters import Record, from_pandas, read_meters
from sunveil.meters.record import prepared
from sunveil.privacy import Days, Readings, System
from sunveil.privacy.guarantees import reach
from sunveil.releases import Choices
from sunveil.releases.candidate_frame import (
    MIDNIGHT_AFTER,
    MIDNIGHT_BEFORE,
    ReleaseFrame,
    frame_of,
    make_frame,
)
from sunveil.releases.score_kernels import Capacities, Tolerance
from sunveil.releases.scores import day_score, placement, reading_score, unit_score
from sunveil.site import DAY, Losses, Site, TimeGrid
from sunveil.weather import clearsky

# The frame and the record are made once: no example changes them.
ONCE = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_scores_carry_their_unit_which_chooses_them_and_their_sensitivity(frame, record):
    for k in (1, 3):
        readings, days = reading_score(frame, record, k), day_score(frame, record, k)
        assert (readings.unit, readings.sensitivity) == (Readings(k), k)
        assert (days.unit, days.sensitivity) == (Days(k), 4 * k)
        assert readings.proof == "docs/proofs/agreement.md"
        assert days.proof == "docs/proofs/day-votes.md"
        assert len(readings) == len(days) == len(frame)
        for score in (readings, days):
            chosen = unit_score(frame, record, score.unit)
            assert chosen.unit == score.unit
            np.testing.assert_array_equal(chosen.levels, score.levels)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_number_below_one_is_refused(frame, record, k):
    for score in (reading_score, day_score):
        with pytest.raises(ParameterError, match=r"1 or more|a whole number"):
            score(frame, record, k)


@pytest.mark.parametrize("score", [reading_score, day_score])
def test_a_level_is_the_highest_under_any_haze(frame, record, score):
    alone = [score(replace(frame, profiles=((sky,),)), record).levels for sky in frame.profiles[0]]
    assert len(alone) == 3
    assert all((one != other).any() for one, other in itertools.combinations(alone, 2))
    np.testing.assert_array_equal(score(frame, record).levels, np.max(alone, axis=0))


def test_a_placement_is_the_best_candidate_rounded_to_the_axes(frame, record):
    placed = placement(frame, record)
    best = int(reading_score(frame, record).levels.argmax())
    _, plane, capacity = np.unravel_index(best, frame.shape)
    azimuth, tilt, log_capacity = placed.axes
    assert placed.axes == frame.choices.axes()
    assert placed.place[0] * azimuth.step == frame.grid.surface_azimuth[plane]
    assert placed.place[1] * tilt.step == frame.grid.surface_tilt[plane]
    low = frame.choices.capacities.low
    found = low * np.exp(placed.place[2] * log_capacity.step)
    assert abs(np.log(found / frame.choices.capacities.values[capacity])) <= 0.05 + 1e-9


def test_a_record_that_agrees_with_nothing_is_placed_all_the_same(frame, changed):
    placed = placement(frame, changed(dict.fromkeys(range(1440), 0.0)))
    assert placed.place == (36, 0, 0)


def counts_of(record):
    """Return the counts of a register that measured a record, one more than it has intervals."""
    return np.concatenate([[0.0], np.cumsum(record.power_kw)])


def differenced(record, counts):
    """Return the differences of a register's neighbouring counts, none where a count is missing."""
    power = np.diff(counts)
    kept = np.isfinite(power)
    kept[[0, -1]] = True  # the frame spans rows, whether or not they have readings
    return replace(
        record, times=record.times[kept], power_kw=np.nan_to_num(power)[kept], differenced=True
    )


def test_a_count_of_a_register_is_two_readings_and_a_day_of_counts_three_days(frame, record):
    register = differenced(record, counts_of(record))
    for k in (1, 3):
        readings, days = (
            unit_score(frame, register, Readings(k)),
            unit_score(frame, register, Days(k)),
        )
        assert (readings.unit, readings.sensitivity) == (Readings(k), 2 * k)
        assert (days.unit, days.sensitivity) == (Days(k), 3 * 4 * k)
    assert reach(System(), differenced=True) == reach(Readings(1), differenced=False) == 1
    np.testing.assert_array_equal(placement(frame, register).place, placement(frame, record).place)


@ONCE
@given(
    replaced=st.dictionaries(
        st.integers(0, 1440), st.sampled_from([np.nan, 0.0, 50.0, 1e9]), min_size=1, max_size=5
    )
)
def test_k_replaced_counts_move_a_level_by_at_most_the_sensitivity(frame, record, replaced):
    counts, others = counts_of(record), counts_of(record)
    others[list(replaced)] = list(replaced.values())
    one, other = (
        reading_score(frame, differenced(record, each), len(replaced)) for each in (counts, others)
    )
    assert np.abs(one.levels - other.levels).max() <= one.sensitivity


def test_one_missing_count_moves_a_level_by_two(frame, record):
    counts, others = counts_of(record), counts_of(record)
    others[int(record.power_kw.argmax())] = np.nan
    one, other = (reading_score(frame, differenced(record, each)) for each in (counts, others))
    assert np.abs(one.levels - other.levels).max() == 2 == one.sensitivity


@ONCE
@given(
    days=st.sets(st.integers(1, 58), min_size=1, max_size=3),
    value=st.sampled_from([np.nan, 0.0, 1e9]),
)
def test_k_replaced_days_of_counts_move_a_level_by_at_most_the_sensitivity(
    frame, record, days, value
):
    counts, others = counts_of(record), counts_of(record)
    ends = record.times.astype(np.int64) + round(record.interval_minutes * 60.0)
    solar = (ends + round(frame.weather.site.longitude * 240.0)) // 86400
    others[1:][np.isin(solar - solar[0], list(days))] = value
    one, other = (
        day_score(frame, differenced(record, each), len(days)) for each in (counts, others)
    )
    assert np.abs(one.levels - other.levels).max() <= one.sensitivity


def test_short_intervals_of_a_register_stay_differences(record):
    short = replace(record, interval_minutes=5.0, times=record.times[0] + 300 * np.arange(1440))
    assert prepared(replace(short, differenced=True)).differenced
    assert prepared(replace(short, differenced=True)).interval_minutes == 15.0
    assert not prepared(short).differenced


@pytest.fixture(scope="module")
def bright_night() -> ReleaseFrame:
    """Hours under a sun that never sets, whose civil day begins three hours before midnight."""
    times = np.arange("2019-06-18", "2019-06-25", dtype="datetime64[h]").astype("datetime64[s]")
    choices = Choices(
        step=30.0,
        capacities=Capacities(1.0, 30.0, 0.05),
        tolerance=Tolerance(0.15, 0.01),
        thresholds=(0.3, 0.5, 0.7, 0.9),
        fewest=4,
    )
    weather = clearsky(Site(80.0, 0.0, 0.0), "2019-06-12", "2019-06-30")
    return frame_of(Record("a", times, np.zeros(len(times)), 60.0), weather, choices)


@pytest.mark.parametrize("ahead", [-1, 0, 3])
@pytest.mark.parametrize("hours", [23, 24, 25])
@pytest.mark.parametrize("stamped", [0, 1])
@pytest.mark.parametrize("counts", [False, True])
def test_where_the_sun_shines_at_midnight_a_civil_day_moves_no_votes_but_its_own(
    bright_night, ahead, hours, stamped, counts
):
    """Clocks ahead of the sun and behind it, as they change, and stamps taken for the start."""
    frame = bright_night
    if (ahead == -1 and hours == 25) or (ahead == 3 and hours == 23):
        ahead += 1 if hours == 25 else -1  # no clock is set beyond
    flat = int(np.argmin(frame.grid.surface_tilt))
    full = 5.0 * np.exp(np.where(frame.daylight, 0.0, -np.inf))
    full[frame.daylight] *= np.exp(frame.profiles[0][0][flat].astype(np.float64))
    base = Record("a", frame.time_grid.times, full, 60.0)
    begin = 3 * 24 - ahead + stamped
    moves = []
    for value in (np.nan, 0.0, 1e9):
        # the day before holds as many readings as a threshold asks for
        for kept in range(4, 25, 3):
            ours = counts_of(base) if counts else full.copy()
            ours[2 * 24 + kept : 3 * 24 - 3] = np.nan
            theirs = ours.copy()
            theirs[begin : begin + hours] = value
            one, other = (
                day_score(
                    frame,
                    differenced(base, each)
                    if counts
                    else replace(base, power_kw=np.nan_to_num(each)),
                )
                for each in (ours, theirs)
            )
            moves.append(int(np.abs(one.levels - other.levels).max()))
    assert max(moves) == frame.choices.votes


CELLS = ["", "x", "nan", "-inf", "1e308", "-5", "0", "900", '"', "1,2,3", "00:00"]


@pytest.fixture(scope="module")
def register_frame(record, weather, choices):
    """The frame of counts at the record's stamps, the first of which ends an interval before."""
    hour = np.timedelta64(1, "h")
    early = replace(record, rows_span=(record.times[0] - hour, record.times[-1]))
    return frame_of(early, weather, choices)


@pytest.mark.parametrize("register", ["cumulative", "daily"])
@settings(ONCE, max_examples=10)
@given(replaced=st.dictionaries(st.integers(0, 1439), st.sampled_from(CELLS), max_size=4))
def test_k_cells_of_a_register_s_file_move_a_level_by_at_most_the_sensitivity(
    tmp_path_factory, register_frame, record, register, replaced
):
    # counted anew every day, as a daily register does; another takes that as a fault of the count
    counts = np.cumsum(record.power_kw.reshape(60, 24), axis=1).ravel()
    if register == "cumulative":
        counts = counts_of(record)[1:]
    cells = [f"{count:.3f}" for count in counts]
    others = [replaced.get(place, cell) for place, cell in enumerate(cells)]
    folder = tmp_path_factory.mktemp("register")
    scores = []
    for written in (cells, others):
        lines = [f"{when}Z,{cell}" for when, cell in zip(record.times, written, strict=True)]
        path = folder / "meter.csv"
        path.write_text("\n".join(["time,count_kwh", *lines]))
        (read,) = read_meters(path, register=register, cleaning="each")
        assert read.differenced
        scores.append(reading_score(register_frame, read, max(len(replaced), 1)))
    one, other = scores
    assert np.abs(one.levels - other.levels).max() <= 2 * len(replaced) <= one.sensitivity
    assert one.levels.max() > 300


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
