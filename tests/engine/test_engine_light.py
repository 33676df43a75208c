from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from engine_makers import point_of, row_of

from sunveil.engine import infer_generation, make_sky_table
from sunveil.engine.bright_envelope import points_of, profiles_of
from sunveil.engine.first_and_last_light import (
    Season,
    measured_daylight,
    modelled_daylight,
    saving_days,
    saving_rule,
    typical_leads,
)
from sunveil.engine.shading import prepare
from sunveil.estimates.inference_options import InferOptions
from sunveil.grids import Grid
from sunveil.site import Site, TimeGrid
from sunveil.weather import Weather, clearsky


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
