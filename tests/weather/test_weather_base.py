from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.errors import WeatherError
from sunveil.weather import Weather
from sunveil.weather.climate_normals import climate_temperature
from sunveil.weather.weather_data import join_weather


@pytest.fixture
def weather(golden, sky_frame) -> Weather:
    return Weather.from_frame(sky_frame(2016, 60).iloc[:100], site=golden, source="made")


def test_the_sun_is_computed_once_and_kept(golden, weather):
    assert weather.zenith is None
    zenith, azimuth = weather.sun()
    position = golden.sun(weather.times)
    np.testing.assert_array_equal(zenith, position["apparent_zenith"])
    np.testing.assert_array_equal(azimuth, position["azimuth"])
    assert weather.sun()[0] is zenith


def test_a_part_keeps_its_sun_and_is_half_open(weather):
    weather.sun()
    part = weather.between(weather.times[10], weather.times[20])
    assert list(part.times) == list(weather.times[10:20])
    assert part.zenith is not None
    np.testing.assert_array_equal(part.zenith, weather.sun()[0][10:20])
    np.testing.assert_array_equal(part.dni, weather.dni[10:20])


@pytest.mark.parametrize("known", [True, False])
def test_joined_parts_are_the_whole(weather, known):
    if known:
        weather.sun()
    parts = [weather.between("2016", "2016-01-03"), weather.between("2016-01-03", "2017")]
    whole = join_weather(parts)
    assert list(whole.times) == list(weather.times)
    np.testing.assert_array_equal(whole.to_frame(), weather.to_frame())
    assert (whole.zenith is not None) is known
    np.testing.assert_array_equal(whole.sun()[1], weather.sun()[1])


def test_values_and_times_must_be_of_one_length(weather):
    for name in ("ghi", "zenith"):
        with pytest.raises(WeatherError, match=f"{name} of made does not have one value per time"):
            replace(weather, **{name: np.zeros(3)})


def test_a_frame_needs_a_zone_and_the_three_irradiances(golden, sky_frame):
    frame = sky_frame(2016, 60).iloc[:10]
    with pytest.raises(WeatherError, match="no times with a time zone"):
        Weather.from_frame(frame.tz_localize(None), site=golden, source="made")
    with pytest.raises(WeatherError, match=r"lacks the column.s. dhi"):
        Weather.from_frame(frame.drop(columns="dhi"), site=golden, source="made")
    bare = Weather.from_frame(frame[["ghi", "dni", "dhi"]], site=golden, source="made")
    np.testing.assert_array_equal(bare.temp_air, climate_temperature(golden, bare.times))
    assert (bare.wind_speed == 1.0).all()
