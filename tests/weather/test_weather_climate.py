from __future__ import annotations

from importlib.resources import files

import numpy as np
import pandas as pd
import pvlib
import pytest

from sunveil.site import LAPSE, Site
from sunveil.weather import read_weather
from sunveil.weather.climate_normals import (
    SPACING,
    WARMEST_HOUR,
    _between_normals,
    _normals,
    climate_of,
    climate_temperature,
)

YEAR = pd.date_range("2015", "2016", freq="h", tz="UTC", inclusive="left")
PVLIB_DATA = files("pvlib") / "data"


def test_the_normals_cover_the_globe():
    normals = _normals()
    assert normals.shape == (6, 180 / SPACING + 1, 360 / SPACING)
    mean, terrain = normals[0], normals[5]
    assert mean.min() > -60.0
    assert mean.max() < 35.0
    # the warmest zone is at the equator; land is where it is: Tibet, the Pacific
    assert abs(mean.mean(axis=1).argmax() * SPACING - 90.0) < 15.0
    assert _between_normals(32.5, 87.5)[5] > 4000.0
    assert _between_normals(0.0, -150.0)[5] == 0.0
    assert terrain.min() == 0.0


@pytest.mark.parametrize(("row", "column"), [(0, 0), (53, 29), (72, 143), (36, 143)])
def test_a_normal_is_returned_where_it_stands(row, column):
    place = SPACING * row - 90.0, SPACING * (column + 1) - 180.0
    np.testing.assert_allclose(_between_normals(*place), _normals()[:, row, column])


def test_it_cools_with_height_alone():
    low, high = climate_of(Site(46.8, 9.8, 500.0)), climate_of(Site(46.8, 9.8, 2500.0))
    assert low.mean - high.mean == pytest.approx(2.0 * LAPSE)
    assert low.season == high.season
    assert low.warmest_day == high.warmest_day


def test_the_southern_summer_is_in_january_and_afternoons_are_warmest():
    values = pd.Series(climate_temperature(Site(-35.0, 150.0, 0.0), YEAR), index=YEAR)
    by_month = values.groupby(values.index.month).mean()
    assert by_month.idxmax() in (1, 2)
    assert by_month.idxmin() == 7
    # 150° east: solar time is UTC and 10 hours
    assert values.groupby(values.index.hour).mean().idxmax() == WARMEST_HOUR - 10


def test_summer_days_swing_more_than_winter_days_but_not_at_the_equator():
    def swings(site: Site) -> pd.Series:
        values = pd.Series(climate_temperature(site, YEAR))
        days = values.groupby(YEAR.day_of_year)
        return (days.max() - days.min()).groupby(pd.date_range("2015", "2016")[:-1].month).mean()

    assert swings(Site(40.0, -90.0, 200.0))[7] > 1.4 * swings(Site(40.0, -90.0, 200.0))[1]
    tropics = swings(Site(0.0, 20.0, 400.0))
    assert tropics.max() < 1.2 * tropics.min()


def typical_years():
    for name in ("703165TY.csv", "723170TYA.CSV"):
        weather = read_weather(str(PVLIB_DATA / name))
        yield weather.site, pd.Series(weather.temp_air, index=weather.times)
    table, about = pvlib.iotools.read_tmy2(str(PVLIB_DATA / "12839.tm2"))
    site = Site(about["latitude"], about["longitude"], float(about["altitude"]))
    yield site, (table["DryBulb"] / 10.0).tz_convert("UTC")


def test_months_of_the_typical_years_inside_pvlib_are_met():
    for site, measured in typical_years():
        error = climate_temperature(site, pd.DatetimeIndex(measured.index)) - measured
        months = error.groupby(measured.index.month).mean()
        # 0.5 to 1.7 K, where the climate by latitude was 4.6 K off at two of three
        assert np.sqrt((months**2).mean()) < 2.0
