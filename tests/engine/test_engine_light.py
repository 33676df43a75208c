from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from engine_makers import point_of, row_of
from hypothesis import given, settings
from hypothesis import strategies as st

from sunveil.engine import infer_generation, make_sky_table
from sunveil.engine.bright_envelope import points_of, profiles_of
from sunveil.engine.first_and_last_light import (
    OFFSETS,
    OPEN_SHARE,
    PRICE,
    Daylight,
    Season,
    SolarDays,
    light_against,
    measured_daylight,
    modelled_daylight,
    moved_together,
    offsets_by_day,
    saving_days,
    saving_rule,
    typical_leads,
)
from sunveil.engine.shading import prepare
from sunveil.estimates.inference_options import InferOptions
from sunveil.grids import Grid
from sunveil.simulate import fast_clock
from sunveil.site import Site, TimeGrid
from sunveil.weather import Weather, clearsky

DAYS = SolarDays(first=0, lead=0, per_day=24, count=1)


def plain_bounds(day, threshold):
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


@pytest.mark.parametrize("minutes", [-120, -60, 0, 60, 180])
def test_a_clock_ahead_shows_as_that_many_minutes_on_a_south_plane(power_of, prepared, minutes):
    row = row_of(fast_clock(power_of(180.0, 30.0), minutes), prepared.sky.grid)[None]
    measured = measured_daylight(row, np.array([4.5]), prepared.days)
    nothing = np.zeros(prepared.days.count, dtype=bool)
    leads = typical_leads(measured, prepared.flat, nothing, Season.ALL, minutes=60.0)[:, 0]
    assert leads.mean() == pytest.approx(minutes, abs=8.0)


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


RECORD = 300


def leads_of(offsets, *, seed=1, noise=12.0):
    """First and last light of a clock, as they scatter on real days. [minutes]"""
    rng = np.random.default_rng(seed)
    leads = offsets + rng.normal(0.0, noise, (2, len(offsets)))
    leads[:, rng.random(len(offsets)) < 0.2] = np.nan
    return leads


def stepped(day, minutes, until=RECORD):
    offsets = np.zeros(RECORD)
    offsets[day:until] = minutes
    return offsets


@pytest.mark.parametrize(
    "offsets",
    [stepped(100, 60.0), stepped(40, -30.0), stepped(230, -60.0), stepped(100, 60.0, 160)],
)
def test_the_days_of_steps_are_found(offsets):
    (found,) = offsets_by_day(leads_of(offsets), step=1800)
    assert np.count_nonzero(found != offsets) <= 3


HILL = np.array([[70.0], [0.0]]) * (np.arange(RECORD) >= 200)


@pytest.mark.parametrize(
    "leads",
    [
        *(leads_of(stepped(0, 0.0), seed=seed, noise=25.0) for seed in range(5)),
        leads_of(stepped(100, 60.0, 107)),
        leads_of(stepped(0, 0.0)) + HILL,
    ],
    ids=[*("scatter" for _ in range(5)), "a week", "a hill in winter"],
)
def test_what_is_no_step_of_a_clock_is_taken_for_none(leads):
    (found,) = offsets_by_day(leads, step=1800)
    assert (found == 0.0).all()


def test_of_long_intervals_half_ones_are_tried_apart():
    found = offsets_by_day(leads_of(stepped(100, 60.0) - 30.0), step=3600)
    assert len(found) == 2
    whole, half = found
    assert set(whole % 60.0) == {0.0}
    assert set(half) == {-30.0, 30.0}


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_the_path_is_the_cheapest(seed):
    rng = np.random.default_rng(seed)
    leads = leads_of(stepped(int(rng.integers(10, 290)), float(rng.choice(OFFSETS))), seed=seed)
    (found,) = offsets_by_day(leads, step=1800)
    against = light_against(leads, OFFSETS) + OPEN_SHARE * np.abs(OFFSETS)

    def cost(path: np.ndarray) -> float:
        own = against[np.arange(RECORD), np.searchsorted(OFFSETS, path)]
        return float(own.sum() + PRICE * np.count_nonzero(np.diff(path)))

    # no constant, and no single step, is cheaper
    for offset in OFFSETS:
        assert cost(found) <= cost(np.full(RECORD, offset)) + 1e-6
        day = int(rng.integers(1, RECORD))
        assert cost(found) <= cost(np.where(np.arange(RECORD) < day, found[0], offset)) + 1e-6


def test_a_step_of_ninety_minutes_is_found_where_the_grid_starts_at_solar_midnight():
    """Half an interval earlier, such a record has one solar day more."""
    site, first = Site(53.5, -2.2, 40.0), 1546300800  # 2019
    fine = make_sky_table(site, TimeGrid(first, 1800, 2 * 8760))
    plane = points_of(Grid(np.array([180.0]), np.array([30.0])))
    power = np.zeros(fine.grid.count, dtype=np.float32)
    numbers = prepare(fine, InferOptions()).numbers
    lit = fine.slot[: fine.usable]
    power[lit] = profiles_of(fine.sheet, plane, numbers)[0, : fine.usable]
    day = 120 * 48
    power[day:] = np.roll(power[day:], 3)
    hourly = np.float32(5.0) * power.reshape(-1, 2).mean(axis=1)
    found = infer_generation(hourly[None], make_sky_table(site, TimeGrid(first, 3600, 8760)))
    step = found[0].clock_steps[-1]
    assert abs((step.date - dt.date(2019, 5, 1)).days) <= 3
    assert step.offset_minutes == 90.0


GOLDEN = Site(39.742, -105.1727, 1795.0)


@pytest.mark.parametrize(
    ("site", "timezone", "zone"),
    [
        (GOLDEN, "America/Phoenix", "America/Phoenix"),
        (GOLDEN, "UTC", "America/Denver"),
        (GOLDEN, "UTC-07:00", "America/Denver"),
        (GOLDEN, "Etc/GMT+7", "America/Denver"),
        (GOLDEN, "no such zone", "America/Denver"),
        (Site(1.3, 103.8, 30.0), "UTC", None),
        (Site(52.5, 13.4, 30.0), "UTC", "Europe/Berlin"),
        (Site(-33.9, 151.2, 30.0), "UTC", "Australia/Sydney"),
    ],
)
def test_the_dates_of_daylight_saving_are_the_declared_zones_or_the_places(site, timezone, zone):
    assert saving_rule(site, timezone) == (zone and ZoneInfo(zone))


@pytest.mark.parametrize("name", ["America/Denver", "Australia/Sydney", "America/Phoenix"])
def test_every_day_of_some_years_is_as_the_zone_says(name):
    zone = ZoneInfo(name)
    days = np.arange(np.datetime64("2016-01-01"), np.datetime64("2020-01-01"))
    noons = (days + np.timedelta64(12, "h")).astype("datetime64[s]").astype(object)
    expected = np.array([bool(zone.dst(noon)) for noon in noons])
    shuffled = np.random.default_rng(0).permutation(len(days))
    found = saving_days(days.astype(np.int64)[shuffled], zone)
    assert found.tolist() == expected[shuffled].tolist()
