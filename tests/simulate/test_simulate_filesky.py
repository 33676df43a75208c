from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pvlib
import pytest

from sunveil.errors import WeatherError
from sunveil.simulate import (
    CLEAN_FLEET,
    FleetSpec,
    Place,
    SystemTruth,
    real_sky,
    simulate_power,
    write_fleet,
)
from sunveil.simulate.simulated_sky import sky_from_weather, weather_year
from sunveil.site import Plane, Site
from sunveil.weather import Weather, clearsky, read_weather

GREENSBORO = Path(pvlib.__file__).parent / "data" / "723170TYA.CSV"
GOLDEN = Site(39.742, -105.1727, 1795.0)


@pytest.fixture(scope="module")
def typical() -> Weather:
    return read_weather(GREENSBORO)


@pytest.fixture(scope="module")
def clear() -> Weather:
    """A clear year on a local clock, which ends some hours before that of UTC."""
    year = clearsky(GOLDEN, "2016-01-01T07:00Z", "2017-01-01T07:00Z", cache=None)
    hours = year.times.minute == year.times[0].minute
    values = {
        name: getattr(year, name)[hours] for name in ("ghi", "dni", "dhi", "temp_air", "wind_speed")
    }
    return replace(year, times=year.times[hours], zenith=None, azimuth=None, **values)


def test_a_typical_year_is_laid_over_the_year_asked_for(typical):
    sky = sky_from_weather(typical, 2020, step_minutes=15)
    assert len(sky.weather.times) == 366 * 96
    assert sky.weather.source == "723170TYA.CSV"
    monthly = pd.Series(sky.weather.ghi, sky.weather.times).resample("MS").mean()
    there = typical.to_frame()["ghi"].groupby(typical.times.month).mean()
    assert monthly.to_numpy() == pytest.approx(there.to_numpy(), rel=0.05)


def test_light_keeps_its_parts_together(typical):
    weather = sky_from_weather(typical, 2019, step_minutes=15).weather
    cosine = np.maximum(np.cos(np.radians(weather.zenith)), 0.0)
    assert np.all(weather.dhi >= -1e-9)
    assert np.all(weather.dni[cosine == 0.0] == 0.0)
    assert np.max(np.abs(weather.ghi - weather.dhi - weather.dni * cosine)) < 1e-6


def test_the_sun_is_that_of_the_site_asked_for(clear):
    near = Site(39.9, -105.0, 1600.0)
    sky = sky_from_weather(clear, 2016, site=near, step_minutes=60)
    expected = near.sun(sky.weather.times)["apparent_zenith"]
    assert sky.weather.zenith == pytest.approx(expected.to_numpy(), abs=1e-6)


def test_one_system_too_can_stand_under_real_weather(typical):
    system = SystemTruth("one", typical.site, ((Plane(180.0, 30.0), 1.0),), 5.0)
    sky = real_sky(typical, 2019, step_minutes=15)
    power = simulate_power(system, sky, seed=1)
    assert len(power) == 8760
    assert 1000 < power.sum() / 5.0 < 1700
    assert np.array_equal(np.sort(sky.satellite.ghi), np.sort(typical.ghi))


def test_the_year_of_a_file_is_its_own(typical, clear):
    assert (weather_year(typical), weather_year(clear)) == (None, 2016)
    assert FleetSpec.of(2, weather=clear).year == 2016
    assert FleetSpec.of(2, weather=typical).year == 2019


@pytest.mark.parametrize("year", [2015, 2017])
def test_a_year_that_the_file_does_not_cover_is_refused(clear, year):
    with pytest.raises(WeatherError, match=f"not of all {year}"):
        FleetSpec.of(2, weather=clear, year=year)


def test_sites_far_from_the_weather_are_refused(clear):
    far = [Place("far", Site(51.5, 0.0, 10.0), "Europe/London")]
    with pytest.raises(WeatherError, match="more than 100 km"):
        FleetSpec.of(2, weather=clear, places=far)


def test_a_fleet_under_real_weather_gives_what_its_light_says(typical, tmp_path):
    spec = FleetSpec.of(2, weather=typical, rates=CLEAN_FLEET)
    list(write_fleet(tmp_path / "fleet", spec))
    readings = pd.read_parquet(tmp_path / "fleet" / "readings")
    truth = pd.read_parquet(tmp_path / "fleet" / "truth.parquet").set_index("system_id")
    light = pd.Series(sky_from_weather(typical, 2019, step_minutes=60).weather.ghi)
    for system, rows in readings.groupby("system_id"):
        capacity = truth.loc[system, "dc_capacity_kw"]
        assert np.corrcoef(rows["power_kw"], light)[0, 1] > 0.9
        assert 900 < rows["power_kw"].sum() / capacity < 1700
    assert '"weather": "723170TYA.CSV"' in (tmp_path / "fleet" / "fleet.json").read_text()
