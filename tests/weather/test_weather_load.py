from __future__ import annotations

import pandas as pd
import pytest

from sunveil.errors import ParameterError, WeatherError
from sunveil.site import Site
from sunveil.weather import Weather, get_weather


def test_the_nsrdb_is_asked_for_the_years_of_the_span(server, answer, golden, sky_frame, psm_text):
    server.says(*(answer(psm_text(sky_frame(year, 60))) for year in (2018, 2019)))
    weather = get_weather(
        "nsrdb", golden, "2018-11-01", "2019-02-01",
        api_key="k", email="e", url=server.url, step_minutes=60,
    )  # fmt: skip
    assert [query["names"] for query in server.queries] == [["2018"], ["2019"]]
    assert weather.times[0] == pd.Timestamp("2018-11-01T00:00Z")
    assert weather.times[-1] == pd.Timestamp("2019-01-31T23:00Z")


def test_pvgis_is_asked_for_the_years_of_the_span(server, answer, golden, sky_frame, pvgis_json):
    server.says(answer(pvgis_json(sky_frame(2019, 60, minute=10))))
    weather = get_weather("pvgis", golden, "2019-11-01", "2020-01-01", url=server.url)
    assert [query["startyear"] for query in server.queries] == [["2019"]]
    assert weather.times[-1] == pd.Timestamp("2019-12-31T23:10Z")


@pytest.mark.parametrize(("start", "end"), [("2017", "2018"), ("2015", "2016")])
def test_a_year_without_weather_names_both_spans(tmp_path, golden, sky_frame, psm_text, start, end):
    path = tmp_path / "year.csv"
    path.write_text(psm_text(sky_frame(2016, 60)))
    with pytest.raises(
        WeatherError, match=f"2016-01-01 to 2016-12-31, .* {start}-01-01 to {end}-01-01"
    ):
        get_weather(path, golden, start, end)


def test_a_typical_year_is_laid_over_the_span(golden, sky_frame):
    typical = Weather.from_frame(sky_frame(1990, 60), site=golden, source="tmy", typical=True)
    weather = get_weather(typical, golden, "2015-12-01", "2016-03-10")
    assert len(weather.times) == 24 * (31 + 31 + 29 + 9)


def test_weather_of_another_place_is_refused(tmp_path, golden, sky_frame, psm_text):
    path = tmp_path / "far.csv"
    path.write_text(psm_text(sky_frame(2016, 60).iloc[:100]))
    near = Site(golden.latitude + 0.3, golden.longitude)
    assert len(get_weather(path, near, "2016", "2017").times) == 100
    far = Site(golden.latitude + 2.0, golden.longitude)
    with pytest.raises(WeatherError, match=r"far\.csv is for 39\.742, -105\.173, 222 km"):
        get_weather(path, far, "2016", "2017")


def test_what_is_no_weather_is_refused(golden):
    with pytest.raises(WeatherError, match="no weather file cloudy"):
        get_weather("cloudy", golden, "2016", "2017")
    with pytest.raises(ParameterError, match="3 is none of them"):
        get_weather(3, golden, "2016", "2017")
    with pytest.raises(ParameterError, match="no option 'colour'"):
        get_weather("clearsky", golden, "2016", "2017", colour="blue")
