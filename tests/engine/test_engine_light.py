from __future__ import annotations

import numpy as np
import pytest
from engine_makers import point_of, row_of
from hypothesis import given
from hypothesis import strategies as st

from sunveil.engine import SkyTable, make_sky_table
from sunveil.engine.first_and_last_light import (
    Daylight,
    Season,
    SolarDays,
    lower_median,
    measured_daylight,
    modelled_daylight,
    moved_together,
    typical_leads,
)
from sunveil.simulate import fast_clock
from sunveil.site import Site, TimeGrid
from sunveil.weather import Weather, clearsky

DAYS = SolarDays(first=0, lead=0, per_day=24, count=1)


def plain_bounds(day: np.ndarray, threshold: float) -> tuple[float, float]:
    """Where a day's readings rise and fall through a threshold. [intervals]"""
    above = np.flatnonzero(day > threshold)
    first, last = above[0], above[-1]
    values = np.nan_to_num(day)
    before = np.interp(threshold, values[[first - 1, first]], [first - 1, first])
    after = np.interp(-threshold, -values[[last, last + 1]], [last, last + 1])
    return float(before), float(after)


@given(st.integers(0, 2**32 - 1))
def test_the_bounds_of_the_day_are_those_of_a_plain_statement(seed):
    rng = np.random.default_rng(seed)
    day = np.zeros(24, dtype=np.float32)
    first, last = rng.integers(2, 9), rng.integers(14, 22)
    day[first:last] = rng.uniform(0.1, 5.0, last - first)
    found = measured_daylight(day[None], np.array([3.0]), DAYS)
    assert found.bounds[:, 0, 0] == pytest.approx(plain_bounds(day, 0.03), abs=1e-4)
    assert found.energy[0, 0] == pytest.approx(day.sum(), rel=1e-5)


def test_days_are_told_from_solar_midnight_on():
    days = SolarDays(first=5, lead=7, per_day=24, count=3)
    row = np.zeros((1, 24 * 2 + 17), dtype=np.float32)
    for day in range(3):
        row[0, max(24 * day - 7 + 8, 0) : 24 * day - 7 + 17] = 1.0
    found = measured_daylight(row, np.array([1.0]), days)
    # a first day that lacks seven of its hours is not told
    np.testing.assert_allclose(found.bounds[:, 0].mean(axis=0), [np.nan, 12.0, 12.0], atol=0.01)


@pytest.mark.parametrize(
    "change",
    [
        lambda day: day.fill(0.0),
        lambda day: day.fill(np.nan),
        lambda day: day.fill(1.0),  # light at midnight is no bound of a day
        lambda day: day.__setitem__(slice(0, 4), np.nan),  # too many are missing
        lambda day: day.__setitem__(slice(9, None), 0.0),  # one interval of light
    ],
)
def test_a_day_that_does_not_show_its_bounds_has_none(change):
    day = np.zeros(24, dtype=np.float32)
    day[8:17] = 1.0
    assert np.isfinite(measured_daylight(day[None], np.array([1.0]), DAYS).bounds).all()
    change(day)
    assert np.isnan(measured_daylight(day[None], np.array([1.0]), DAYS).bounds).all()


@given(st.integers(0, 2**32 - 1), st.integers(5, 60), st.sampled_from(list(Season)))
def test_typical_leads_are_medians_over_the_brighter_half_of_days(seed, count, season):
    rng = np.random.default_rng(seed)
    ours, theirs = (
        Daylight(
            rng.uniform(0.5, 20.0, (2, rows, count)).astype(np.float32),
            rng.uniform(0.5, 20.0, (rows, count)).astype(np.float32),
        )
        for rows in (3, 1)
    )
    ours.bounds[:, rng.random((3, count)) < 0.2] = np.nan
    saving = rng.random(count) < 0.5
    found = typical_leads(ours, theirs, saving, season, minutes=30.0)
    chosen = {Season.ALL: saving | True, Season.WINTER: ~saving, Season.SUMMER: saving}[season]
    for system in range(3):
        there = chosen & np.isfinite(ours.bounds[0, system])
        if there.sum() < 10:
            assert np.isnan(found[:, system]).all()
            continue
        bright = (ours.energy[system] / theirs.energy[0])[there]
        for end in range(2):
            ahead = (ours.bounds[end, system] - theirs.bounds[end, 0])[there]
            kept = np.sort(ahead[bright >= np.sort(bright)[(len(bright) - 1) // 2]])
            expected = 30.0 * kept[(len(kept) - 1) // 2]
            assert found[end, system] == pytest.approx(expected, abs=1e-3)


@given(st.floats(-90, 90), st.floats(0, 90), st.floats(0, 90), st.floats(-90, 90))
def test_only_a_clock_moves_both_ends_of_the_day_together(clock, east, west, other):
    # hills make first light later and last light earlier, and cannot make up a clock
    found = float(moved_together(np.array([clock + east, clock - west])))
    assert abs(found) <= abs(clock) + 1e-9
    assert moved_together(np.array([east, -west])) == 0.0
    assert moved_together(np.array([clock, clock])) == pytest.approx(clock)
    pair = np.array([clock, other])
    assert moved_together(-pair) == -moved_together(pair)


def test_the_lower_median_looks_at_the_chosen():
    values = np.array([[4.0, 1.0, 3.0, 2.0], [9.0, 8.0, 7.0, 6.0]])
    chosen = np.array([[True, True, True, True], [False, True, False, False]])
    assert lower_median(values, chosen).tolist() == [2.0, 8.0]
    assert lower_median(values, chosen & False).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("minutes", [-120, -60, 0, 60, 180])
def test_a_clock_ahead_shows_as_that_many_minutes_on_a_south_plane(power_of, prepared, minutes):
    row = row_of(fast_clock(power_of(180.0, 30.0), minutes), prepared.sky.grid)[None]
    measured = measured_daylight(row, np.array([4.5]), prepared.days)
    nothing = np.zeros(prepared.days.count, dtype=bool)
    leads = typical_leads(measured, prepared.flat, nothing, Season.ALL, minutes=60.0)[:, 0]
    assert leads.mean() == pytest.approx(minutes, abs=8.0)


@pytest.mark.parametrize("azimuth", [90.0, 270.0])
def test_a_known_plane_makes_the_bounds_of_its_days_fit(power_of, prepared, azimuth):
    row = row_of(power_of(azimuth, 35.0), prepared.sky.grid)[None]
    bright = np.array([4.5])
    measured = measured_daylight(row, bright, prepared.days)
    own = modelled_daylight(
        point_of(azimuth, 35.0, 6.0)[None], bright, prepared.sky, prepared.numbers, prepared.days
    )
    nothing = np.zeros(prepared.days.count, dtype=bool)
    blind, seeing = (
        np.abs(typical_leads(measured, each, nothing, Season.ALL, minutes=60.0)).max()
        for each in (prepared.flat, own)
    )
    assert seeing < 10.0
    assert seeing < blind


def test_the_light_of_a_plane_begins_at_the_power_that_readings_begin_at(prepared):
    point = point_of(180.0, 30.0, 6.0)[None]
    bounds = [
        modelled_daylight(
            point, np.array([bright]), prepared.sky, prepared.numbers, prepared.days
        ).bounds[:, 0]
        for bright in (2.0, 8.0)
    ]
    assert (bounds[1][0] > bounds[0][0])[5:-5].all()
    assert (bounds[1][1] < bounds[0][1])[5:-5].all()


def test_modelled_days_are_symmetric_about_solar_noon(prepared, denver: SkyTable):
    middle = prepared.flat.bounds[:, 0].mean(axis=0)
    assert np.isfinite(middle[2:-2]).all()
    # solar noon at 105° W is noon of the zone, up to the equation of time
    minutes = (middle[2:-2] + 0.5 - 12.0) * 60.0
    assert np.abs(minutes).max() < 30.0
    assert abs(np.median(minutes)) < 8.0


def test_some_systems_of_a_daylight_are_taken():
    light = Daylight(np.arange(12.0).reshape(2, 3, 2), np.arange(6.0).reshape(3, 2))
    found = light.take(np.array([2, 0]))
    assert found.bounds.tolist() == [[[4.0, 5.0], [0.0, 1.0]], [[10.0, 11.0], [6.0, 7.0]]]
    assert found.energy.tolist() == [[4.0, 5.0], [0.0, 1.0]]


def test_intervals_that_do_not_divide_a_day_say_nothing():
    sky = make_sky_table(Site(39.7, -105.0, 1600.0), TimeGrid(1_546_300_800, 3000, 400))
    assert SolarDays.of(sky).count == 0


def test_days_that_are_dull_in_measured_weather_say_nothing_of_a_clock(power_of, prepared, denver):
    """Two days of three are foggy until 10 o'clock, and dull in the weather that is measured."""
    grid = prepared.sky.grid
    sky = clearsky(denver.site, grid.times[0], grid.times[-1] + np.timedelta64(1, "h"))
    frame = sky.to_frame()
    dull = frame.index.day_of_year % 3 != 0
    frame.loc[dull, "ghi"] *= 0.3
    frame.loc[dull, "dni"] = 0.0
    frame.loc[dull, "dhi"] = frame.loc[dull, "ghi"]
    power = power_of(180.0, 30.0).copy()
    foggy = power.index.day_of_year % 3 != 0
    power[foggy] *= 0.4
    power[foggy & (power.index.tz_convert("Etc/GMT+7").hour < 10)] = 0.0
    row = row_of(power, grid)[None]
    measured = measured_daylight(row, np.array([4.5]), prepared.days)
    weather = Weather.from_frame(frame, site=denver.site, source="measured")
    modelled = modelled_daylight(
        point_of(180.0, 30.0, 6.0)[None],
        np.array([4.5]),
        make_sky_table(denver.site, grid, weather),
        prepared.numbers,
        prepared.days,
    )
    nothing = np.zeros(prepared.days.count, dtype=bool)
    leads = typical_leads(measured, modelled, nothing, Season.ALL, minutes=60.0)
    assert np.abs(leads).max() < 20.0
