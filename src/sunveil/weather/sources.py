"""Weather of a place and span from any source, through the cache."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from sunveil._options import instance, shown
from sunveil.errors import ParameterError, SunveilError, WeatherError
from sunveil.site import Site
from sunveil.weather.cache import WeatherCache
from sunveil.weather.clear_sky import clearsky
from sunveil.weather.decomposition import to_weather
from sunveil.weather.nsrdb_and_pvgis import get_nsrdb, get_pvgis
from sunveil.weather.weather_data import TimeLike, Weather, covering, span, years_of
from sunveil.weather.weather_files import is_there, read_weather

Span = tuple[pd.Timestamp, pd.Timestamp]


class SiteWeather:
    """The weather of a site over all the spans that its systems need."""

    # Spans that meet are loaded together, once; years between them that no system needs are not.

    def __init__(
        self, what: str | Weather, site: Site, spans: Sequence[Span], **options: Any
    ) -> None:
        self._what, self._site, self._options = what, site, options
        self._union = merged(spans)
        self._loaded: dict[Span, Weather | SunveilError] = {}

    def over(self, needed: Span) -> Weather:
        """Return the weather over one of the spans, or as much of it as is known."""
        # A record on the clock that was found is some hours off its span, and well within its
        # margin.
        whole = next(span for span in self._union if span[0] < needed[1] and needed[0] < span[1])
        needed = max(needed[0], whole[0]), min(needed[1], whole[1])
        if whole not in self._loaded:
            self._loaded[whole] = self._load(whole)
        found = self._loaded[whole]
        if isinstance(found, SunveilError):
            raise found
        return get_weather(found, self._site, *needed)

    def _load(self, whole: Span) -> Weather | SunveilError:
        try:
            return get_weather(self._what, self._site, *whole, **self._options)
        except SunveilError as error:
            # Kept, so that a server that refused is not asked again for each system.
            return error


def merged(spans: Sequence[Span]) -> list[Span]:
    """Return the union of spans as spans that do not meet."""
    union: list[Span] = []
    for start, end in sorted(spans):
        if union and start <= union[-1][1]:
            union[-1] = union[-1][0], max(end, union[-1][1])
        else:
            union.append((start, end))
    return union


Source = TypeVar("Source", bound="str | os.PathLike[str] | Weather | pd.DataFrame")
LONGEST_PATH = 200  # letters of a path that a message repeats
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
    """Return the weather at a site over a span, from any source.

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
        Where fetched and computed years are kept. Default: the user's cache folder.
    **options
        Handed to the source: :func:`clearsky`, :func:`get_nsrdb`, :func:`get_pvgis` or
        :func:`read_weather`.
    """
    first, last = span(start, end)
    check_weather(what)
    check_cache(cache)
    instance("site", site, Site, give="a Site")
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


def check_weather(what: Source) -> Source:
    """Return what was given as weather, which must be of a type that weather can come from."""
    if isinstance(what, (str, os.PathLike, Weather, pd.DataFrame)):
        return what
    raise ParameterError(
        "weather must be clearsky, nsrdb, pvgis, a file, a Weather or a frame, and"
        f" {shown(what)} is none of them"
    )


def check_cache(cache: WeatherCache | None) -> WeatherCache | None:
    """Return what was given as the cache of weather, which may be none."""
    if cache is not None:
        instance("cache", cache, WeatherCache, give="a WeatherCache, or None for the user's own")
    return cache


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
    return _from_file(Path(what), site, **options)


def _from_frame(frame: pd.DataFrame, site: Site) -> Weather:
    if not isinstance(frame.index, pd.DatetimeIndex) or frame.index.tz is None:
        raise WeatherError(
            "the frame of weather has no times with a time zone in its index; localise it first"
        )
    utc = frame.set_axis(frame.index.tz_convert("UTC"))
    return to_weather(utc, site=site, source="the frame")


def _from_file(path: Path, site: Site, **options: Any) -> Weather:
    if not is_there(path):
        raise WeatherError(
            f"there is no weather file {str(path)[:LONGEST_PATH]}; give clearsky, nsrdb, pvgis, or"
            " a file that exists"
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
