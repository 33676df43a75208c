"""The public frames of a fleet: one for all systems of a cell and calendar, few at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from sunveil.cell import Cell
from sunveil.errors import SourceError, SunveilError
from sunveil.privacy.units import Unit
from sunveil.publish.fleet_roster import FrameKey, Member, Roster
from sunveil.releases.answer import ExpectedErrors
from sunveil.releases.choices import Choices
from sunveil.releases.frame import Calendar, Frame, make_frame
from sunveil.releases.typical import typical_errors
from sunveil.weather import Weather, WeatherCache, get_weather

# Frames are kept up to so much; the latest one is kept however large it is. [bytes]
KEPT = 256 * 2**20
# Planes of a frame that is only made to see whether it can be made. [degrees]
COARSE = 30.0
_MARGIN = pd.Timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Skies:
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

    def over(self, cell: int, calendar: Calendar) -> Weather:
        """Return the weather of a cell over a calendar."""
        first, last = (pd.Timestamp(end, tz="UTC") for end in calendar.times[[0, -1]])
        site = self.cells[cell].site
        span = first - _MARGIN, last + _MARGIN
        return get_weather(self.weather, site, *span, cache=self.cache, **self.server)

    def frame(self, key: FrameKey, calendar: Calendar, choices: Choices) -> Frame:
        """Return a frame, or say in one sentence where none can be had."""
        try:
            return make_frame(self.over(key.cell, calendar), calendar, choices, cache=self.cache)
        except SunveilError as error:
            site = self.cells[key.cell].site
            raise SourceError(
                f"systems near {site.latitude:g}, {site.longitude:g} cannot be released: {error};"
                " leave them out of the table of systems, or try again"
            ) from None


class Frames:
    """The frames of a roster, made when they are asked for; the latest used ones are kept.

    Parameters
    ----------
    roster
        Who is released.
    skies
        The weather.
    choices
        The public choices.
    kept
        How much to keep. [bytes]
    """

    def __init__(self, roster: Roster, skies: Skies, choices: Choices, *, kept: int = KEPT) -> None:
        self._roster, self._skies, self._choices, self._most = roster, skies, choices, kept
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
        frame = self._skies.frame(key, self._roster.calendars[key], self._choices)
        self._kept[key] = frame
        while len(self._kept) > 1 and self._size() > self._most:
            self._kept.popitem(last=False)
        return frame

    def _size(self) -> int:
        return sum(each.nbytes for frame in self._kept.values() for each in frame.profiles)


@dataclass(frozen=True, slots=True, eq=False)
class Expectations:
    """The errors to expect of every system, from public things alone.

    Parameters
    ----------
    of
        By the systems' calendars.
    """

    of: Mapping[tuple[FrameKey, Calendar], ExpectedErrors]

    def __getitem__(self, member: Member) -> ExpectedErrors:
        return self.of[member.frame, member.calendar]


def expect(
    roster: Roster, skies: Skies, choices: Choices, *, unit: Unit, epsilon: float
) -> Expectations:
    """Return the errors to expect, and see on the way that every frame can be made.

    Parameters
    ----------
    roster, skies, choices
        Who is released, under which weather, with which choices.
    unit, epsilon
        Of the releases.
    """
    coarse = replace(choices, step=COARSE, clocks=choices.clocks[:1])
    needed: dict[FrameKey, set[Calendar]] = {}
    for member in roster.members.values():
        needed.setdefault(member.frame, set()).add(member.calendar)
    found: dict[tuple[FrameKey, Calendar], ExpectedErrors] = {}
    # the errors depend on how long a record is and on how long its intervals are
    known: dict[tuple[int, float], ExpectedErrors] = {}
    for key, calendars in needed.items():
        frame = replace(skies.frame(key, roster.calendars[key], coarse), choices=choices)
        for calendar in calendars:
            alike = calendar.days, calendar.interval_minutes
            if alike not in known:
                own = replace(frame, calendar=calendar)
                known[alike] = typical_errors(own, unit=unit, epsilon=epsilon)
            found[key, calendar] = known[alike]
    return Expectations(found)
