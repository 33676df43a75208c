"""Public irradiance and temperature, one type out of every source, cached by place and year."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil.ondemand import on_demand

if TYPE_CHECKING:
    from sunveil.weather.base import Weather
    from sunveil.weather.cache import WeatherCache
    from sunveil.weather.clearsky import clearsky
    from sunveil.weather.files import read_weather
    from sunveil.weather.load import get_weather
    from sunveil.weather.nsrdb import get_nsrdb
    from sunveil.weather.pvgis import get_pvgis
    from sunveil.weather.typical import covering

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

on_demand(
    __name__,
    {
        "sunveil.weather.base": ("Weather",),
        "sunveil.weather.cache": ("WeatherCache",),
        "sunveil.weather.clearsky": ("clearsky",),
        "sunveil.weather.files": ("read_weather",),
        "sunveil.weather.load": ("get_weather",),
        "sunveil.weather.nsrdb": ("get_nsrdb",),
        "sunveil.weather.pvgis": ("get_pvgis",),
        "sunveil.weather.typical": ("covering",),
    },
)
