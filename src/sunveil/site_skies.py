"""The skies of one site, and the spans of time that they are asked for."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from sunveil.arguments import instance
from sunveil.engine import SkyTable, make_sky_table
from sunveil.meters.record import Record
from sunveil.site import Site
from sunveil.timegrid import TimeGrid

if TYPE_CHECKING:
    import pandas as pd

    from sunveil.weather import Weather, WeatherCache

MARGIN = dt.timedelta(days=2)
# Skies of a site that are kept, a few megabytes each.
KEPT = 8

Span = tuple["pd.Timestamp", "pd.Timestamp"]


def record_span(record: Record) -> Span:
    """Return the span of a record with a margin for wrong clocks, in UTC."""
    import pandas as pd

    first, last = (pd.Timestamp(t, tz="UTC") for t in record.extent)
    return first - MARGIN, last + MARGIN


class SiteSkies:
    """The skies of one site: made once for each grid of times, whatever the number of systems.

    Parameters
    ----------
    latitude, longitude
        The place; north and east are positive. [degrees]
    altitude
        Height above the sea; looked up when None. [m]
    weather
        As for :func:`~sunveil.weather.get_weather`.
    cache
        Where weather is kept.
    load
        Gets the weather over a span, where the caller has its own way.
    """

    def __init__(
        self,
        latitude: float,
        longitude: float,
        altitude: float | None = None,
        *,
        weather: str | os.PathLike[str] | Weather | pd.DataFrame = "clearsky",
        cache: WeatherCache | None = None,
        load: Callable[[Span], Weather] | None = None,
    ) -> None:
        from sunveil.weather.load import check_cache, check_weather

        self.site = Site(latitude, longitude, altitude)
        self._given, self._cache, self._load = check_weather(weather), check_cache(cache), load
        self._made: dict[TimeGrid, SkyTable] = {}

    @classmethod
    def at(
        cls,
        site: Site,
        *,
        weather: str | os.PathLike[str] | Weather | pd.DataFrame = "clearsky",
        cache: WeatherCache | None = None,
    ) -> SiteSkies:
        """Return the skies of a site.

        Parameters
        ----------
        site
            The place.
        weather, cache
            As for the class.
        """
        return cls(site.latitude, site.longitude, site.altitude, weather=weather, cache=cache)

    @classmethod
    def under(cls, weather: Weather, *, cache: WeatherCache | None = None) -> SiteSkies:
        """Return the skies of the place that some weather is of."""
        from sunveil.weather import Weather

        instance("weather", weather, Weather, give="Weather, as sunveil.get_weather returns it")
        site = weather.site
        return cls(site.latitude, site.longitude, site.height, weather=weather, cache=cache)

    @property
    def clear(self) -> bool:
        """Whether they are the embedded clear sky."""
        from sunveil.weather import Weather

        given = self._given
        if isinstance(given, Weather):
            return given.clear
        return isinstance(given, str) and given == "clearsky"

    def over(self, grid: TimeGrid) -> SkyTable:
        """Return the sky over a grid of times."""
        if grid not in self._made:
            while len(self._made) >= KEPT:
                del self._made[next(iter(self._made))]
            if self.clear:
                self._check(grid)
                self._made[grid] = make_sky_table(self.site, grid)
            else:
                self._made[grid] = make_sky_table(self.site, grid, self.weather(_span(grid)))
        return self._made[grid]

    def _check(self, grid: TimeGrid) -> None:
        """Refuse weather of other dates, though a clear sky could be made for any."""
        if not isinstance(self._given, str):
            self.weather(_span(grid))

    def weather(self, span: Span) -> Weather:
        """Return the weather itself over a span, as the paper's method needs it."""
        from sunveil.weather import get_weather

        if self._load is not None:
            return self._load(span)
        return get_weather(self._given, self.site, *span, cache=self._cache)


def _span(grid: TimeGrid) -> Span:
    """Return the span of a grid with a margin for wrong clocks, in UTC."""
    import pandas as pd

    first, last = (pd.Timestamp(t, unit="s", tz="UTC") for t in (grid.first, grid.starts[-1]))
    return first - MARGIN, last + MARGIN
