from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sunveil.weather import Weather, covering
from sunveil.weather.weather_data import is_typical, to_stand_in_year


@pytest.fixture
def typical(golden, sky_frame) -> Weather:
    frame = sky_frame(1990, 60, minute=30)
    return Weather.from_frame(frame, site=golden, source="typical", typical=True)


def test_every_hour_of_real_years_gets_the_same_hour_of_the_typical_one(typical):
    laid = covering(typical, "2015-06-01", "2017-02-01")
    expected = pd.date_range("2015-06-01T00:30Z", "2017-01-31T23:30Z", freq="h")
    assert list(laid.times) == list(expected)
    assert not laid.typical
    table = typical.to_frame()
    for when in (
        "2015-06-01T18:30Z",
        "2016-02-28T18:30Z",
        "2016-03-01T18:30Z",
        "2016-12-31T20:30Z",
    ):
        there = table.loc[pd.Timestamp(when).replace(year=1990)]
        pd.testing.assert_series_equal(
            laid.to_frame().loc[pd.Timestamp(when)], there, check_names=False
        )


def test_the_leap_day_repeats_the_day_before(typical):
    laid = covering(typical, "2016-02-28", "2016-03-02").to_frame()
    assert len(laid) == 72
    np.testing.assert_array_equal(laid.loc["2016-02-29"], laid.loc["2016-02-28"])
    assert not np.array_equal(laid.loc["2016-02-29"], laid.loc["2016-03-01"])


def test_the_sun_is_that_of_the_real_year(typical, golden):
    typical.sun()
    laid = covering(typical, "2016-03-01", "2016-03-03")
    np.testing.assert_array_equal(laid.sun()[0], golden.sun(laid.times)["apparent_zenith"])


def test_real_weather_is_only_sliced(golden, sky_frame):
    real = Weather.from_frame(sky_frame(2016, 60), site=golden, source="real")
    part = covering(real, "2016-05-01", "2018-01-01")
    assert part.times[0] == pd.Timestamp("2016-05-01T00:00Z")
    assert part.times[-1] == real.times[-1]


def test_leap_days_have_no_place_in_the_stand_in_year():
    times = pd.DatetimeIndex(["2016-02-28T12:00Z", "2016-02-29T12:00Z", "2016-03-01T12:00Z"])
    moved = to_stand_in_year(times)
    assert list(moved.isna()) == [False, True, False]
    assert moved[0] == pd.Timestamp("1990-02-28T12:00Z")
    assert moved[2] == pd.Timestamp("1990-03-01T12:00Z")


def test_a_typical_year_is_told_from_real_ones():
    months = [pd.Timestamp(2000 + (7 * m) % 12, m, 1) for m in range(1, 13)]
    assert is_typical(pd.DatetimeIndex(months))
    assert not is_typical(pd.date_range("2015-01-01", "2017-12-31", freq="D"))
    assert not is_typical(pd.date_range("2015-11-01", "2016-02-01", freq="D"))
    assert not is_typical(pd.date_range("2015-01-01", "2015-12-31", freq="D"))
    assert not is_typical(pd.DatetimeIndex(["2015-02-01", "2015-02-02", "2016-02-01"]))
