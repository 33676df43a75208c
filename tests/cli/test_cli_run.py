from __future__ import annotations

import pandas as pd
import pytest

from sunveil.errors import WeatherError
from sunveil.weather.sources import SiteWeather, merged


def span(start: str, end: str) -> tuple[pd.Timestamp, pd.Timestamp]:
    return pd.Timestamp(start, tz="UTC"), pd.Timestamp(end, tz="UTC")


def test_spans_that_meet_are_joined_and_others_are_not():
    early, inside = span("2012-01-01", "2012-06-01"), span("2012-02-01", "2012-03-01")
    next_, late = span("2012-06-01", "2012-09-01"), span("2019-01-01", "2019-02-01")
    assert merged([late, next_, inside, early]) == [span("2012-01-01", "2012-09-01"), late]
    assert merged([]) == []


def test_weather_of_one_site_is_loaded_once(golden_site, weather_file, tmp_path):
    path = tmp_path / "sky.csv"
    path.write_bytes(weather_file(2019).read_bytes())
    june, july = span("2019-06-01", "2019-07-02"), span("2019-07-01", "2019-08-01")
    weather = SiteWeather(str(path), golden_site, [june, july])
    assert weather.over(june).times[-1] < june[1]
    path.unlink()
    assert weather.over(july).times[0] >= july[0]


def test_weather_that_failed_is_not_asked_for_again(golden_site, weather_file, tmp_path):
    path = tmp_path / "sky.csv"
    june = span("2019-06-01", "2019-07-01")
    weather = SiteWeather(str(path), golden_site, [june])
    with pytest.raises(WeatherError):
        weather.over(june)
    path.write_bytes(weather_file(2019).read_bytes())
    with pytest.raises(WeatherError):
        weather.over(june)
