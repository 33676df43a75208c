"""Public irradiance and temperature: one type out of every source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.weather.cache import WeatherCache
    from sunveil.weather.clear_sky import clearsky
    from sunveil.weather.nsrdb_and_pvgis import get_nsrdb, get_pvgis
    from sunveil.weather.sources import get_weather
    from sunveil.weather.weather_data import Weather, covering
    from sunveil.weather.weather_files import read_weather

__all__ = [
    "Weather",
    "WeatherCache",
    "clearsky",
    "covering",
    "get_nsrdb",
    "get_pvgis",
    "get_weather",
    "read_weather",
]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.weather.cache": ("WeatherCache",),
        "sunveil.weather.clear_sky": ("clearsky",),
        "sunveil.weather.nsrdb_and_pvgis": ("get_nsrdb", "get_pvgis"),
        "sunveil.weather.sources": ("get_weather",),
        "sunveil.weather.weather_data": ("Weather", "covering"),
        "sunveil.weather.weather_files": ("read_weather",),
    },
)
