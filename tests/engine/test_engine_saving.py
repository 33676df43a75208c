from __future__ import annotations

from zoneinfo import ZoneInfo

import numpy as np
import pytest

from sunveil.engine.first_and_last_light import saving_days, saving_rule
from sunveil.site import Site

GOLDEN = Site(39.742, -105.1727, 1795.0)


@pytest.mark.parametrize(
    ("site", "timezone", "zone"),
    [
        (GOLDEN, "America/Phoenix", "America/Phoenix"),
        (GOLDEN, "UTC", "America/Denver"),
        (GOLDEN, "UTC-07:00", "America/Denver"),
        (GOLDEN, "Etc/GMT+7", "America/Denver"),
        (GOLDEN, "no such zone", "America/Denver"),
        (Site(52.5, 13.4, 30.0), "UTC", "Europe/Berlin"),
        (Site(-33.9, 151.2, 30.0), "UTC", "Australia/Sydney"),
    ],
)
def test_the_dates_of_daylight_saving_are_the_declared_zones_or_the_places(site, timezone, zone):
    assert saving_rule(site, timezone) == ZoneInfo(zone)


def test_near_the_equator_nobody_saves_daylight():
    assert saving_rule(Site(1.3, 103.8, 30.0), "UTC") is None


def test_summer_days_save_daylight_north_and_winter_days_south():
    days = np.array(["2019-01-15", "2019-07-15"], dtype="datetime64[D]").astype(np.int64)
    assert saving_days(days, ZoneInfo("America/Denver")).tolist() == [False, True]
    assert saving_days(days, ZoneInfo("Australia/Sydney")).tolist() == [True, False]
    assert saving_days(days, ZoneInfo("America/Phoenix")).tolist() == [False, False]
    assert saving_days(days, None).tolist() == [False, False]
    assert saving_days(days[:0], ZoneInfo("America/Denver")).tolist() == []


def test_every_day_of_some_years_is_as_the_zone_says():
    zone = ZoneInfo("America/Denver")
    days = np.arange(np.datetime64("2016-01-01"), np.datetime64("2020-01-01"))
    noons = (days + np.timedelta64(12, "h")).astype("datetime64[s]").astype(object)
    expected = [bool(zone.dst(noon)) for noon in noons]
    shuffled = np.random.default_rng(0).permutation(len(days))
    found = saving_days(days.astype(np.int64)[shuffled], zone)
    assert found.tolist() == [expected[place] for place in shuffled]
