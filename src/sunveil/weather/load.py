"""The weather of a place and a span, from any source."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pandas as pd

from sunveil.errors import ParameterError, WeatherError
from sunveil.site import Site
from sunveil.weather.base import TimeLike, Weather, span, years_of
from sunveil.weather.cache import WeatherCache
from sunveil.weather.clearsky import clearsky
from sunveil.weather.files import read_weather
from sunveil.weather.light import to_weather
from sunveil.weather.nsrdb import get_nsrdb
from sunveil.weather.pvgis import get_pvgis
from sunveil.weather.typical import covering

FARTHEST = 100.0  # km from a system at which a file's weather is taken for a mistake


def get_weather(
    what: str | os.PathLike[str] | Weather | pd.DataFrame,
    site: Site,
    start: TimeLike,
    end: TimeLike,
    *,
    cache: WeatherCache | None = None,
    **options: Any,
) -> Weather:
    """Return the weather at a site over a span, from wherever it is to come.

    Parameters
    ----------
    what
        ``"clearsky"``, ``"nsrdb"``, ``"pvgis"``, the path of a file, weather, or a frame in
        pvlib's names indexed by times with a time zone.
    site
        Where the system is.
    start, end
        Half-open span of instants; naive ones are in UTC. Weather that covers a part of it gives
        that part; a typical year is laid over all of it.
    cache
        Where fetched and computed years are kept; the user's cache folder when left out.
    **options
        Handed to the source: :func:`clearsky`, :func:`get_nsrdb`, :func:`get_pvgis` or
        :func:`read_weather`.
    """
    first, last = span(start, end)
    try:
        weather = _from(what, site, first, last, cache=cache, **options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        name = str(error).rpartition("argument ")[2]
        raise ParameterError(f"the weather from {what} has no option {name}") from error
    if weather.typical:
        return covering(weather, first, last)
    if weather.times[-1] < first or weather.times[0] >= last:
        raise WeatherError(
            f"the weather from {weather.source} runs from {weather.times[0]:%Y-%m-%d} to"
            f" {weather.times[-1]:%Y-%m-%d}, and the readings from {first:%Y-%m-%d} to"
            f" {last:%Y-%m-%d}: not a day in common; give weather of those years, or the clear sky"
        )
    return weather.between(first, last)


def _from(
    what: str | os.PathLike[str] | Weather | pd.DataFrame,
    site: Site,
    first: pd.Timestamp,
    last: pd.Timestamp,
    *,
    cache: WeatherCache | None,
    **options: Any,
) -> Weather:
    if isinstance(what, Weather):
        return what
    if isinstance(what, pd.DataFrame):
        return _from_frame(what, site)
    if what == "clearsky":
        return clearsky(site, first, last, cache=cache, **options)
    if what == "nsrdb":
        return get_nsrdb(site, years_of(first, last), cache=cache, **options)
    if what == "pvgis":
        return get_pvgis(site, years_of(first, last), cache=cache, **options)
    if not isinstance(what, (str, os.PathLike)):
        raise ParameterError(
            "weather must be clearsky, nsrdb, pvgis, a file, a Weather or a frame, and a"
            f" {type(what).__name__} is none of them"
        )
    return _from_file(Path(what), site, **options)


def _from_frame(frame: pd.DataFrame, site: Site) -> Weather:
    if not isinstance(frame.index, pd.DatetimeIndex) or frame.index.tz is None:
        raise WeatherError(
            "the frame of weather has no times with a time zone in its index; localise it first"
        )
    utc = frame.set_axis(frame.index.tz_convert("UTC"))
    return to_weather(utc, site=site, source="the frame")


def _from_file(path: Path, site: Site, **options: Any) -> Weather:
    if not path.exists():
        raise WeatherError(
            f"there is no weather file {path}; give clearsky, nsrdb, pvgis, or a file that exists"
        )
    weather = read_weather(path, site=site, **options)
    distance = _kilometres(site, weather.site)
    if distance > FARTHEST:
        raise WeatherError(
            f"the weather in {path.name} is for {weather.site.latitude:g},"
            f" {weather.site.longitude:g}, {distance:.0f} km from the site; give weather of the"
            " site itself"
        )
    return weather


def _kilometres(one: Site, other: Site) -> float:
    """Return the great-circle distance [km]."""
    a, b = math.radians(one.latitude), math.radians(other.latitude)
    turn = math.radians(one.longitude - other.longitude)
    half = math.sin((a - b) / 2.0) ** 2 + math.cos(a) * math.cos(b) * math.sin(turn / 2.0) ** 2
    return 2.0 * 6371.0 * math.asin(math.sqrt(min(1.0, half)))
