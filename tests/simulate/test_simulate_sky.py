from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pvlib
import pytest

from sunveil.errors import ParameterError, WeatherError
from sunveil.simulate import (
    CLEAN_FLEET,
    FleetSpec,
    Place,
    SatelliteErrors,
    SystemTruth,
    real_sky,
    simulate_power,
    simulate_sky,
    write_fleet,
)
from sunveil.simulate.simulated_sky import (
    CLEAR,
    OVERCAST,
    SkyTraits,
    SolarCalendar,
    clear_sky,
    draw_day_types,
    interval_middles,
    simulate_true_sky,
    sky_from_weather,
    smear_clouds,
    split_beam,
    weather_year,
)
from sunveil.site import Plane, Site
from sunveil.weather import clearsky, read_weather

GOLDEN = Site(39.742, -105.1727, 1795.0)


def hourly(values):
    return values.reshape(8760, -1).mean(axis=1)


@pytest.mark.parametrize("wrong", [{"step_minutes": 7}, {"satellite_minutes": 0}])
def test_a_step_that_does_not_divide_an_hour_is_refused(wrong):
    with pytest.raises(ParameterError, match="must divide an hour"):
        simulate_sky(GOLDEN, 2019, seed=1, **wrong)


def test_night_is_dark_and_irradiance_closes(mixed_sky):
    for weather in (mixed_sky.true, mixed_sky.satellite):
        zenith, _ = weather.sun()
        for part in (weather.ghi, weather.dni, weather.dhi):
            assert np.all(part[zenith >= 90.0] == 0.0)
            assert np.all(part >= 0.0)
        closed = weather.dhi + weather.dni * np.maximum(np.cos(np.radians(zenith)), 0.0)
        np.testing.assert_allclose(closed, weather.ghi, atol=1e-6)


def test_clear_instants_are_ineichens_own():
    times = interval_middles(2019, 60)[4000:4200]
    sky = clear_sky(GOLDEN, times, turbidity=np.full(len(times), 3.0))
    up = sky.zenith < 89.0
    oracle = pvlib.clearsky.ineichen(
        sky.zenith[up],
        pvlib.atmosphere.get_absolute_airmass(
            pvlib.atmosphere.get_relative_airmass(sky.zenith[up]), pvlib.atmosphere.alt2pres(1795.0)
        ),
        3.0,
        altitude=1795.0,
        dni_extra=sky.dni_extra[up],
    )
    ghi, dni, dhi = split_beam(sky, np.ones(len(times)))
    for got, name in ((ghi, "ghi"), (dni, "dni"), (dhi, "dhi")):
        np.testing.assert_allclose(got[up], oracle[name], rtol=1e-9, atol=1e-9)


def test_the_clear_index_is_often_exactly_one_and_never_beyond_enhancement(mixed_sky):
    up = mixed_sky.true.sun()[0] < 85.0
    index = mixed_sky.clear_index[up]
    assert index.min() > 0.0
    assert 1.05 < index.max() <= 1.2
    assert 0.2 < np.mean(index == 1.0) < 0.7
    assert np.mean(index < 0.5) > 0.1


@pytest.mark.parametrize("clear_days", [0.25, 0.5, 0.75])
def test_days_are_clear_as_often_as_asked_and_more_so_in_summer(clear_days):
    times = interval_middles(2019, 60)
    calendar = SolarCalendar.of(times, latitude=45.0, longitude=0.0)
    rng = np.random.default_rng(5)
    years = np.array([draw_day_types(rng, calendar, clear_days=clear_days) for _ in range(60)])
    assert np.mean(years == CLEAR) == pytest.approx(clear_days, abs=0.02)
    summer = calendar.summer > 0.0
    assert np.mean(years[:, summer] == CLEAR) > np.mean(years[:, ~summer] == CLEAR) + 0.08
    assert np.mean(years[:, summer] == OVERCAST) < np.mean(years[:, ~summer] == OVERCAST)
    alike = np.mean(years[:, 1:] == years[:, :-1])
    shuffled = np.mean(years[1:, 1:] == years[:-1, :-1])
    assert alike > shuffled + 0.15


@pytest.mark.parametrize("longitude", [-150.0, -75.0, 0.0, 75.0, 150.0])
def test_a_days_weather_changes_at_night_wherever_the_site_is(longitude):
    times = interval_middles(2019, 60)
    calendar = SolarCalendar.of(times, latitude=10.0, longitude=longitude)
    zenith = Site(10.0, longitude, 0.0).sun(times)["apparent_zenith"].to_numpy()
    changes = np.flatnonzero(np.diff(calendar.index))
    assert len(changes) in (364, 365)
    assert zenith[changes].min() > 120.0


def test_air_is_warmer_in_summer_and_in_the_afternoon(mixed_sky):
    times = mixed_sky.true.times
    temperature = pd.Series(mixed_sky.true.temp_air, index=times)
    months = temperature.groupby(times.month).mean()
    assert 12.0 < months[7] - months[1] < 28.0
    hours = temperature.groupby(times.hour).mean()
    assert hours.idxmax() in (21, 22)  # 15 h by the sun at 105 degrees west
    daily = temperature.groupby(times.date).mean()
    assert 1.0 < daily.diff().std() < 5.0
    assert 0.0 < mixed_sky.true.wind_speed.min() < mixed_sky.true.wind_speed.max() <= 20.0


def test_the_satellite_differs_from_the_truth_but_follows_it(mixed_sky):
    true, seen = mixed_sky.true, mixed_sky.satellite
    for name, at_least, off in (("ghi", 0.95, 0.06), ("dni", 0.9, 0.1)):
        ours, theirs = hourly(getattr(true, name)), hourly(getattr(seen, name))
        day = hourly(true.ghi) > 5.0
        assert np.corrcoef(ours[day], theirs[day])[0, 1] > at_least
        error = np.sqrt(np.mean((ours - theirs)[day] ** 2)) / ours[day].mean()
        assert off < error < 0.4
    gap = hourly(seen.temp_air) - hourly(true.temp_air)
    assert 0.3 < np.sqrt(np.mean(gap**2)) < 4.0


def test_a_satellite_without_errors_sees_clear_days_as_they_were():
    none = SatelliteErrors(**{each.name: 0.0 for each in fields(SatelliteErrors)})
    sky = simulate_sky(GOLDEN, 2019, seed=3, step_minutes=10, errors=none, satellite_minutes=60)
    fine_clear = sky.clear_index.reshape(8760, -1)
    # three hours clear on either side keep smeared clouds out
    calm = np.convolve((fine_clear == 1.0).all(axis=1), np.ones(7), mode="same") > 6.5
    both = calm & (sky.satellite.sun()[0] < 60.0)
    assert both.sum() > 200
    np.testing.assert_allclose(sky.satellite.ghi[both], hourly(sky.true.ghi)[both], rtol=0.02)
    np.testing.assert_allclose(sky.satellite.temp_air, hourly(sky.true.temp_air), atol=0.1)


def test_small_clouds_are_lost_and_large_ones_smeared():
    index = np.ones(2000)
    index[500] = 0.5
    index[1000:1100] = 0.4
    errors = SatelliteErrors(cloud_depth=0.0, cloud_shift=0.0)
    seen = smear_clouds(np.random.default_rng(1), index, step_minutes=5.0, errors=errors)
    assert np.count_nonzero(seen[450:550] < 0.99) <= 5
    assert seen[1050] == pytest.approx(0.4, abs=0.01)
    assert 0.5 < seen[1000] < 0.9
    assert np.all(seen[1200:] == 1.0)


def test_biases_of_the_satellite_are_of_the_size_documented():
    times, ratios = interval_middles(2019, 60), []
    high = GOLDEN.sun(times)["apparent_zenith"].to_numpy() < 60.0
    for seed in range(12):
        sky = simulate_sky(
            GOLDEN, 2019, seed=seed, step_minutes=60, satellite_minutes=60, clear_days=0.95
        )
        clear = high & (sky.clear_index == 1.0)
        ratios.append(
            [
                sky.satellite.ghi[clear].sum() / sky.true.ghi[clear].sum(),
                sky.satellite.dni[clear].sum() / sky.true.dni[clear].sum(),
            ]
        )
    spread = np.log(ratios).std(axis=0)
    assert 0.015 < spread[0] < 0.05
    assert 0.04 < spread[1] < 0.12


HEBEI = Site(38.18, 117.46, 5.0)


def test_a_smoggy_sky_is_dim_in_winter_and_cold_by_its_swing():
    usual = simulate_true_sky(HEBEI, 2019, seed=1, step_minutes=60, clear_days=0.9)
    traits = SkyTraits(smog=0.5, swing=6.0)
    smoggy = simulate_true_sky(HEBEI, 2019, seed=1, step_minutes=60, clear_days=0.9, traits=traits)
    january, july = slice(0, 30 * 24), slice(181 * 24, 211 * 24)
    for name, dimmest, brightest in (("ghi", 0.4, 0.7), ("dni", 0.05, 0.5)):
        before, after = getattr(usual.weather, name), getattr(smoggy.weather, name)
        assert dimmest < after[january].sum() / before[january].sum() < brightest
        assert np.array_equal(after[july], before[july])
    colder = usual.weather.temp_air - smoggy.weather.temp_air
    assert np.mean(colder[january]) == pytest.approx(6.0, abs=0.5)
    assert np.mean(colder[july]) == pytest.approx(-6.0, abs=0.5)
    # smog is no cloud: it does not rain more often under it
    assert np.array_equal(usual.clear_index, smoggy.clear_index)


GREENSBORO = Path(pvlib.__file__).parent / "data" / "723170TYA.CSV"


@pytest.fixture(scope="module")
def typical():
    return read_weather(GREENSBORO)


@pytest.fixture(scope="module")
def clear():
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
