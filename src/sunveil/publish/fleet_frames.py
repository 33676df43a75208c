"""The public frames of a fleet: one for all systems of a cell and its years, few at a time."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from sunveil.cell import Cell
from sunveil.errors import SourceError, SunveilError
from sunveil.publish.fleet_roster import FrameKey, ReleaseRoster
from sunveil.publish.system_rows import mean_errors
from sunveil.publish.terms import ReleaseTerms
from sunveil.releases.answer import ExpectedErrors
from sunveil.releases.choices import Choices
from sunveil.releases.frame import Frame, check_daylight, make_frame
from sunveil.releases.typical import typical_errors
from sunveil.timegrid import TimeGrid
from sunveil.weather import Weather, WeatherCache, get_weather

# Frames are kept up to so much; the latest one is kept however large it is. [bytes]
KEPT = 256 * 2**20
_MARGIN = pd.Timedelta(days=2)


@dataclass(frozen=True, slots=True)
class FleetWeather:
    """Where the public weather of a fleet comes from.

    Parameters
    ----------
    cells
        The weather cells.
    weather
        ``"clearsky"``, ``"nsrdb"`` or ``"pvgis"``.
    server
        What a server of weather must be told.
    cache
        Where weather is kept.
    """

    cells: tuple[Cell, ...]
    weather: str = "clearsky"
    server: Mapping[str, Any] = field(default_factory=dict)
    cache: WeatherCache | None = None

    def over(self, cell: int, time_grid: TimeGrid) -> Weather:
        """Return the weather of a cell over a grid of times."""
        first, last = (pd.Timestamp(end, tz="UTC") for end in time_grid.times[[0, -1]])
        site = self.cells[cell].site
        span = first - _MARGIN, last + _MARGIN
        return get_weather(self.weather, site, *span, cache=self.cache, **self.server)

    def check(self, key: FrameKey, time_grid: TimeGrid) -> None:
        """Refuse a frame that cannot be made."""
        with self._named(key):
            check_daylight(self.over(key.cell, time_grid), time_grid, cache=self.cache)

    def frame(self, key: FrameKey, time_grid: TimeGrid, choices: Choices) -> Frame:
        """Return a frame, or say in one sentence where none can be had.

        Parameters
        ----------
        key, time_grid
            What its systems have in common, and its times.
        choices
            The public choices.
        """
        with self._named(key):
            return make_frame(self.over(key.cell, time_grid), time_grid, choices, cache=self.cache)

    @contextmanager
    def _named(self, key: FrameKey) -> Iterator[None]:
        """Say of which systems it is that a frame cannot be had."""
        try:
            yield
        except SunveilError as error:
            site = self.cells[key.cell].site
            raise SourceError(
                f"systems near {site.latitude:g}, {site.longitude:g} cannot be released: {error};"
                " leave them out of the table of systems, or try again"
            ) from None


class FrameCache:
    """The frames of a roster, made when they are asked for; the latest used ones are kept.

    Parameters
    ----------
    roster, weather
        Who is released, under which weather.
    terms
        What is asked of every system, with the public choices.
    kept
        How much to keep. [bytes]
    """

    def __init__(
        self,
        roster: ReleaseRoster,
        weather: FleetWeather,
        terms: ReleaseTerms,
        *,
        kept: int = KEPT,
    ) -> None:
        self._roster, self._weather, self._terms, self._most = roster, weather, terms, kept
        self._kept: OrderedDict[FrameKey, Frame] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, key: FrameKey) -> Frame:
        """Return the frame of some systems."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        # room is made first, so that the new frame does not come on top of all that is kept
        while self._kept and self._size() > self._most // 2:
            self._kept.popitem(last=False)
        time_grid, terms = self._roster.time_grids[key], self._terms
        choices = terms.choices_for(net=key.net)
        choices = choices.affordable(terms.unit, terms.epsilon, time_grid)
        frame = self._weather.frame(key, time_grid, choices)
        self._kept[key] = frame
        while len(self._kept) > 1 and self._size() > self._most:
            self._kept.popitem(last=False)
        return frame

    def _size(self) -> int:
        return sum(frame.nbytes for frame in self._kept.values())


def check_frames(roster: ReleaseRoster, weather: FleetWeather) -> None:
    """Refuse a roster of which a frame cannot be made.

    Parameters
    ----------
    roster, weather
        Who is released, under which weather.
    """
    for key, time_grid in roster.time_grids.items():
        weather.check(key, time_grid)


def expected_errors(
    roster: ReleaseRoster, weather: FleetWeather, terms: ReleaseTerms
) -> ExpectedErrors:
    """Return the errors to expect, averaged over the systems.

    Parameters
    ----------
    roster, weather
        Who is released, under which weather.
    terms
        What is asked of every system.
    """
    # they depend on a record's days, on the length of its intervals, on whether it is a
    # register's or a net meter's, and on what its stamps name
    alike = Counter(
        (
            each.time_grid,
            each.differenced,
            each.frame.net,
            each.shifts,
            round(weather.cells[each.frame.cell].site.latitude),
        )
        for each in roster.members.values()
    )
    found: Counter[ExpectedErrors] = Counter()
    for (time_grid, differenced, net, shifts, latitude), count in alike.items():
        errors = typical_errors(
            time_grid,
            terms.choices_for(net=net),
            clear=weather.weather == "clearsky",
            protect=terms.unit,
            epsilon=terms.epsilon,
            differenced=differenced,
            shifts=shifts,
            latitude=latitude,
        )
        found[errors] += count
    return mean_errors(found)
