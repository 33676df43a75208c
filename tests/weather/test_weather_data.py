from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from weather_fakes import GOLDEN, Answer, psm_text, pvgis_json, sky_frame

from sunveil.errors import ParameterError, WeatherError
from sunveil.site import Site
from sunveil.weather import Weather, covering, get_weather
from sunveil.weather.climate_normals import climate_temperature
from sunveil.weather.decomposition import normal_beam, pvlib_name
from sunveil.weather.weather_data import is_typical, join_weather, to_stand_in_year


@pytest.fixture
def weather() -> Weather:
    return Weather.from_frame(sky_frame(2016, 60).iloc[:100], site=GOLDEN, source="made")


def test_the_sun_is_computed_once_and_kept_in_half_open_parts(weather):
    assert weather.zenith is None
    zenith, azimuth = weather.sun()
    position = GOLDEN.sun(weather.times)
    np.testing.assert_array_equal(zenith, position["apparent_zenith"])
    np.testing.assert_array_equal(azimuth, position["azimuth"])
    assert weather.sun()[0] is zenith
    part = weather.between(weather.times[10], weather.times[20])
    assert list(part.times) == list(weather.times[10:20])
    np.testing.assert_array_equal(part.zenith, zenith[10:20])
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


def test_a_frame_needs_a_zone_and_the_three_irradiances():
    frame = sky_frame(2016, 60).iloc[:10]
    with pytest.raises(WeatherError, match="no times with a time zone"):
        Weather.from_frame(frame.tz_localize(None), site=GOLDEN, source="made")
    with pytest.raises(WeatherError, match=r"lacks the column.s. dhi"):
        Weather.from_frame(frame.drop(columns="dhi"), site=GOLDEN, source="made")
    bare = Weather.from_frame(frame[["ghi", "dni", "dhi"]], site=GOLDEN, source="made")
    np.testing.assert_array_equal(bare.temp_air, climate_temperature(GOLDEN, bare.times))
    assert (bare.wind_speed == 1.0).all()


@pytest.fixture
def typical() -> Weather:
    frame = sky_frame(1990, 60, minute=30)
    return Weather.from_frame(frame, site=GOLDEN, source="typical", typical=True)


def test_every_hour_of_real_years_gets_the_same_hour_of_the_typical_one_and_its_own_sun(typical):
    laid = covering(typical, "2015-06-01", "2017-02-01")
    expected = pd.date_range("2015-06-01T00:30Z", "2017-01-31T23:30Z", freq="h")
    assert list(laid.times) == list(expected)
    assert not laid.typical
    np.testing.assert_array_equal(laid.sun()[0], GOLDEN.sun(laid.times)["apparent_zenith"])
    table, made = typical.to_frame(), laid.to_frame()
    for stamp in ("2015-06-01 18:30", "2016-02-28 18:30", "2016-03-01 18:30", "2016-12-31 20:30"):
        when = pd.Timestamp(stamp, tz="UTC")
        there = table.loc[when.replace(year=1990)]
        pd.testing.assert_series_equal(made.loc[when], there, check_names=False)
    np.testing.assert_array_equal(made.loc["2016-02-29"], made.loc["2016-02-28"])
    assert not np.array_equal(made.loc["2016-02-29"], made.loc["2016-03-01"])


def test_real_weather_is_only_sliced():
    real = Weather.from_frame(sky_frame(2016, 60), site=GOLDEN, source="real")
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


def test_the_beam_is_divided_by_the_cosine_of_the_zenith_and_never_absurd():
    cosine = np.array([0.2, 0.5, 1.0])
    normal = normal_beam(700.0 * cosine, cosine, np.array([100, 100, 100]))
    np.testing.assert_allclose(normal, 700.0)
    cosine = np.array([0.0001, 0.01, 0.04, -0.1])
    normal = normal_beam(np.array([5.0, 5.0, 50.0, 5.0]), cosine, np.array([1, 1, 1, 1]))
    lowest = np.cos(np.radians(87.0))
    np.testing.assert_allclose(normal, [5.0 / lowest, 5.0 / lowest, 50.0 / lowest, 0.0])
    assert normal_beam(np.array([900.0]), np.array([0.3]), np.array([1]))[0] < 1420.0


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("GHI", "ghi"),
        (" ghi ", "ghi"),
        ("GHI (W/m^2)", "ghi"),
        ("Gb(n)", "dni"),
        ("Diffuse_Horizontal-Irradiance [W/m2]", "dhi"),
        ("Dry-bulb (C)", "temp_air"),
        ("Wspd (m/s)", "wind_speed"),
        ("Clearsky GHI", None),
        ("ghi_clear", None),
        ("Temperature source", None),
        (3, None),
    ],
)
def test_headings_are_understood(heading, name):
    assert pvlib_name(heading) == name


def test_servers_are_asked_for_the_years_of_the_span(server):
    server.says(*(Answer(psm_text(sky_frame(year, 60))) for year in (2018, 2019)))
    asked = {"api_key": "k", "email": "e", "url": server.url, "step_minutes": 60}
    weather = get_weather("nsrdb", GOLDEN, "2018-11-01", "2019-02-01", **asked)
    assert [query["names"] for query in server.queries] == [["2018"], ["2019"]]
    assert weather.times[0] == pd.Timestamp("2018-11-01T00:00Z")
    assert weather.times[-1] == pd.Timestamp("2019-01-31T23:00Z")
    server.says(Answer(pvgis_json(sky_frame(2019, 60, minute=10))))
    weather = get_weather("pvgis", GOLDEN, "2019-11-01", "2020-01-01", url=server.url)
    assert server.queries[2]["startyear"] == ["2019"]
    assert weather.times[-1] == pd.Timestamp("2019-12-31T23:10Z")


@pytest.mark.parametrize(("start", "end"), [("2017", "2018"), ("2015", "2016")])
def test_a_year_without_weather_names_both_spans(tmp_path, start, end):
    path = tmp_path / "year.csv"
    path.write_text(psm_text(sky_frame(2016, 60)))
    with pytest.raises(
        WeatherError, match=f"2016-01-01 to 2016-12-31, .* {start}-01-01 to {end}-01-01"
    ):
        get_weather(path, GOLDEN, start, end)


def test_a_typical_year_is_laid_over_the_span(typical):
    weather = get_weather(typical, GOLDEN, "2015-12-01", "2016-03-10")
    assert len(weather.times) == 24 * (31 + 31 + 29 + 9)


def test_weather_of_another_place_is_refused(tmp_path):
    path = tmp_path / "far.csv"
    path.write_text(psm_text(sky_frame(2016, 60).iloc[:100]))
    near = Site(GOLDEN.latitude + 0.3, GOLDEN.longitude)
    assert len(get_weather(path, near, "2016", "2017").times) == 100
    far = Site(GOLDEN.latitude + 2.0, GOLDEN.longitude)
    with pytest.raises(WeatherError, match=r"far\.csv is for 39\.742, -105\.173, 222 km"):
        get_weather(path, far, "2016", "2017")


def test_what_is_no_weather_is_refused():
    with pytest.raises(WeatherError, match="no weather file cloudy"):
        get_weather("cloudy", GOLDEN, "2016", "2017")
    with pytest.raises(ParameterError, match="3 is none of them"):
        get_weather(3, GOLDEN, "2016", "2017")
    with pytest.raises(ParameterError, match="no option 'colour'"):
        get_weather("clearsky", GOLDEN, "2016", "2017", colour="blue")
