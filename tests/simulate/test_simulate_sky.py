from __future__ import annotations

import numpy as np
import pandas as pd
import pvlib
import pytest

from sunveil.errors import ParameterError
from sunveil.simulate import SatelliteErrors, SimulatedSky, simulate_sky
from sunveil.simulate.simulated_sky import (
    CLEAR,
    OVERCAST,
    SolarCalendar,
    clear_sky,
    draw_day_types,
    interval_middles,
    smear_clouds,
    split_beam,
)
from sunveil.site import Site

GOLDEN = Site(39.742, -105.1727, 1795.0)

NONE_WRONG = SatelliteErrors(
    turbidity_bias=0.0,
    turbidity_drift=0.0,
    turbidity_noise=0.0,
    ghi_bias=0.0,
    dni_bias=0.0,
    cloud_depth=0.0,
    cloud_shift=0.0,
    lost_cloud=0.0,
    temperature=0.0,
)


def hourly(values: np.ndarray) -> np.ndarray:
    return values.reshape(8760, -1).mean(axis=1)


def test_the_same_seed_gives_the_same_sky_and_another_seed_another() -> None:
    first, same, other = (simulate_sky(GOLDEN, 2019, seed=s, step_minutes=60) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.true.ghi, same.true.ghi)
    np.testing.assert_array_equal(first.satellite.dni, same.satellite.dni)
    np.testing.assert_array_equal(first.true.temp_air, same.true.temp_air)
    assert not np.allclose(first.true.ghi, other.true.ghi)


@pytest.mark.parametrize("wrong", [{"step_minutes": 7}, {"satellite_minutes": 0}])
def test_a_step_that_does_not_divide_an_hour_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match="must divide an hour"):
        simulate_sky(GOLDEN, 2019, seed=1, **wrong)


def test_night_is_dark_and_irradiance_closes(mixed_sky: SimulatedSky) -> None:
    for weather in (mixed_sky.true, mixed_sky.satellite):
        zenith, _ = weather.sun()
        for part in (weather.ghi, weather.dni, weather.dhi):
            assert np.all(part[zenith >= 90.0] == 0.0)
            assert np.all(part >= 0.0)
        closed = weather.dhi + weather.dni * np.maximum(np.cos(np.radians(zenith)), 0.0)
        np.testing.assert_allclose(closed, weather.ghi, atol=1e-6)


def test_the_stored_sun_is_pvlibs(mixed_sky: SimulatedSky) -> None:
    some = slice(20_000, 20_200)
    sun = GOLDEN.sun(mixed_sky.true.times[some])
    np.testing.assert_allclose(mixed_sky.true.sun()[0][some], sun["apparent_zenith"], atol=1e-9)
    np.testing.assert_allclose(mixed_sky.true.sun()[1][some], sun["azimuth"], atol=1e-9)


def test_clear_instants_are_ineichens_own() -> None:
    times = interval_middles(2019, 60)[4000:4200]
    sky = clear_sky(GOLDEN, times, turbidity=np.full(len(times), 3.0))
    up = sky.zenith < 89.0
    oracle = pvlib.clearsky.ineichen(
        sky.zenith[up],
        pvlib.atmosphere.get_absolute_airmass(
            pvlib.atmosphere.get_relative_airmass(sky.zenith[up]),
            pvlib.atmosphere.alt2pres(1795.0),
        ),
        3.0,
        altitude=1795.0,
        dni_extra=sky.dni_extra[up],
    )
    ghi, dni, dhi = split_beam(sky, np.ones(len(times)))
    for got, name in ((ghi, "ghi"), (dni, "dni"), (dhi, "dhi")):
        np.testing.assert_allclose(got[up], oracle[name], rtol=1e-9, atol=1e-9)


def test_the_clear_index_is_often_exactly_one_and_never_beyond_enhancement(
    mixed_sky: SimulatedSky,
) -> None:
    up = mixed_sky.true.sun()[0] < 85.0
    index = mixed_sky.clear_index[up]
    assert index.min() > 0.0
    assert 1.05 < index.max() <= 1.2
    assert 0.2 < np.mean(index == 1.0) < 0.7
    assert np.mean(index < 0.5) > 0.1


@pytest.mark.parametrize("clear_days", [0.25, 0.5, 0.75])
def test_days_are_clear_as_often_as_asked_and_more_so_in_summer(clear_days: float) -> None:
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
def test_a_days_weather_changes_at_night_wherever_the_site_is(longitude: float) -> None:
    times = interval_middles(2019, 60)
    calendar = SolarCalendar.of(times, latitude=10.0, longitude=longitude)
    zenith = Site(10.0, longitude, 0.0).sun(times)["apparent_zenith"].to_numpy()
    changes = np.flatnonzero(np.diff(calendar.index))
    assert len(changes) in (364, 365)
    assert zenith[changes].min() > 120.0


def test_air_is_warmer_in_summer_and_in_the_afternoon(mixed_sky: SimulatedSky) -> None:
    times = mixed_sky.true.times
    temperature = pd.Series(mixed_sky.true.temp_air, index=times)
    months = temperature.groupby(times.month).mean()
    assert 12.0 < months[7] - months[1] < 28.0
    hours = temperature.groupby(times.hour).mean()
    assert hours.idxmax() in (21, 22)  # 15 h by the sun at 105 degrees west
    daily = temperature.groupby(times.date).mean()
    assert 1.0 < daily.diff().std() < 5.0
    assert 0.0 < mixed_sky.true.wind_speed.min() < mixed_sky.true.wind_speed.max() <= 20.0


def test_the_satellite_differs_from_the_truth_but_follows_it(mixed_sky: SimulatedSky) -> None:
    true, seen = mixed_sky.true, mixed_sky.satellite
    for name, at_least, off in (("ghi", 0.95, 0.06), ("dni", 0.9, 0.1)):
        ours, theirs = hourly(getattr(true, name)), hourly(getattr(seen, name))
        day = hourly(true.ghi) > 5.0
        assert np.corrcoef(ours[day], theirs[day])[0, 1] > at_least
        error = np.sqrt(np.mean((ours - theirs)[day] ** 2)) / ours[day].mean()
        assert off < error < 0.4
    gap = hourly(seen.temp_air) - hourly(true.temp_air)
    assert 0.3 < np.sqrt(np.mean(gap**2)) < 4.0


def test_a_satellite_without_errors_sees_clear_days_as_they_were() -> None:
    sky = simulate_sky(
        GOLDEN, 2019, seed=3, step_minutes=10, errors=NONE_WRONG, satellite_minutes=60
    )
    fine_clear = sky.clear_index.reshape(8760, -1)
    # three hours clear on either side keep smeared clouds out
    calm = np.convolve((fine_clear == 1.0).all(axis=1), np.ones(7), mode="same") > 6.5
    high = sky.satellite.sun()[0] < 60.0
    both = calm & high
    assert both.sum() > 200
    np.testing.assert_allclose(sky.satellite.ghi[both], hourly(sky.true.ghi)[both], rtol=0.02)
    np.testing.assert_allclose(sky.satellite.temp_air, hourly(sky.true.temp_air), atol=0.1)


def test_biases_of_the_satellite_are_of_the_size_documented() -> None:
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


def test_small_clouds_are_lost_and_large_ones_smeared() -> None:
    index = np.ones(2000)
    index[500] = 0.5
    index[1000:1100] = 0.4
    errors = SatelliteErrors(cloud_depth=0.0, cloud_shift=0.0)
    seen = smear_clouds(np.random.default_rng(1), index, step_minutes=5.0, errors=errors)
    assert np.count_nonzero(seen[450:550] < 0.99) <= 5
    assert seen[1050] == pytest.approx(0.4, abs=0.01)
    assert 0.5 < seen[1000] < 0.9
    assert np.all(seen[1200:] == 1.0)
