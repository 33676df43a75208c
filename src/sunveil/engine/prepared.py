"""A sky with all that can be computed before any reading is looked at, made when needed."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.assumed import ERRORS, EngineOptions, numbers_of
from sunveil.engine.envelope import Groups, make_groups
from sunveil.engine.light import Daylight, SolarDays, flat_daylight
from sunveil.engine.model import BLOCK, Numbers, Sheet
from sunveil.engine.saving import ClockCalendar, saving_days, saving_rule
from sunveil.engine.shade import sky_patches
from sunveil.engine.skytable import SHARES, SkyTable, in_blocks, make_sky_table
from sunveil.engine.tracker_model import tracked_sky, tracker_grid, tracker_profiles
from sunveil.site import Array
from sunveil.timegrid import DAY

Index = NDArray[np.int32]

HALF_HOUR = 1800


class PreparedSky:
    """A sky, and what follows from it and the options alone: public.

    Parameters
    ----------
    sky
        The sky.
    options
        What is assumed.
    """

    def __init__(self, sky: SkyTable, options: EngineOptions) -> None:
        self.sky = sky
        self.options = options
        self.numbers: Numbers = numbers_of(options, clear=sky.clear)
        self._parts: dict[float, tuple[Index, Sheet]] = {}

    @property
    def minutes(self) -> float:
        """Length of an interval that is compared with the sky. [minutes]"""
        return self.sky.grid.long.step / 60.0

    @functools.cached_property
    def slot(self) -> Index:
        """Where the usable intervals stand on the long grid."""
        return self.sky.slot[: self.sky.usable]

    @functools.cached_property
    def day(self) -> Index:
        """The solar day of each usable interval since 1970."""
        long = self.sky.grid.long
        local = long.first + self.sky.turn + long.step * self.slot.astype(np.int64)
        return (local // DAY).astype(np.int32)

    @functools.cached_property
    def seconds(self) -> NDArray[np.int64]:
        """The start of each usable interval. [s since 1970, UTC]"""
        long = self.sky.grid.long
        return np.asarray(long.first + long.step * self.slot.astype(np.int64))

    @functools.cached_property
    def begins(self) -> NDArray[np.intp]:
        """Where each solar day begins among the usable intervals."""
        return np.flatnonzero(np.diff(self.day, prepend=-1))

    @functools.cached_property
    def spans(self) -> NDArray[np.intp]:
        """Where spans of some days begin among the usable intervals, and where the last one ends.

        Of the intervals of a span about a block's are usable; which span one is of depends on its
        own time alone, so that a longer grid parts a record at the same times.
        """
        long = self.sky.grid.long
        span = (long.first // long.step + self.slot.astype(np.int64)) // (2 * BLOCK)
        return np.append(np.flatnonzero(np.diff(span, prepend=-1)), len(span))

    @functools.cached_property
    def patch(self) -> Index:
        """In which patch of sky the sun stands at each usable interval."""
        return sky_patches(self.sky.sun)

    @functools.cached_property
    def groups(self) -> Groups:
        """The groups of ten days and time of day."""
        return make_groups(self.sky, self.numbers)

    @functools.cached_property
    def probe(self) -> tuple[NDArray[np.intp], Sheet]:
        """Groups of every second ten days, to look at starts and mixtures on, and their sky."""
        places = np.flatnonzero(self.groups.window % 2 == 0)
        return places, in_blocks(self.sky.rows[:, self.groups.middle[places]])

    @functools.cached_property
    def tracked(self) -> NDArray[np.float32]:
        """The sky at the usable intervals as trackers' kernel takes it."""
        return tracked_sky(self.sky.rows[:, : self.sky.usable])

    @functools.cached_property
    def trackers(self) -> NDArray[np.float32]:
        """Power per kW of the trackers that fits start from at the probe's groups. [kW/kW]"""
        sky = tracked_sky(self.sky.rows[:, self.groups.middle[self.probe[0]]])
        return tracker_profiles(sky, tracker_grid(), self.numbers)

    @functools.cached_property
    def days(self) -> SolarDays:
        """The solar days of the grid."""
        return SolarDays.of(self.sky)

    @functools.cached_property
    def flat(self) -> Daylight:
        """The daylight of a flat plane."""
        return flat_daylight(self.sky, self.numbers, self.days)

    def part(self, share: float) -> tuple[Index, Sheet]:
        """Return the places of a share of the usable intervals, and their sheet, made once."""
        if share not in self._parts:
            self._parts[share] = self.sky.part(share)
        return self._parts[share]

    @functools.cached_property
    def neighbours(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
        """The usable intervals before and after each, or itself, and the minutes between these."""
        close = np.diff(self.slot.astype(np.int64)) == 1
        place = np.arange(len(self.slot))
        before, after = place - np.r_[False, close], place + np.r_[close, False]
        return before, after, (np.maximum(after - before, 1) * self.minutes).astype(np.float32)

    @functools.cached_property
    def half(self) -> PreparedSky:
        """The same half an interval earlier: what stamps half an interval late belong to."""
        sky, step = self.sky, self.sky.grid.long.step
        rest = HALF_HOUR % step or step // 2
        earlier = make_sky_table(sky.site, sky.grid.moved(-rest), sky.weather)
        return PreparedSky(earlier, self.options)

    def calendars(self, timezone: str) -> tuple[ClockCalendar, ClockCalendar]:
        """Return the calendar of a declared clock by solar days, and by intervals."""
        days = self.days.first + np.arange(self.days.count, dtype=np.int64)
        saved = saving_days(days, saving_rule(self.sky.site, timezone))
        stamps = ClockCalendar.of(self.sky.grid.long.starts, self.sky.site, timezone)
        return ClockCalendar(days, saved), stamps


@functools.lru_cache(maxsize=16)
def prepare(sky: SkyTable, options: EngineOptions) -> PreparedSky:
    """Return a sky with what follows from it, made once while it is in use."""
    return PreparedSky(sky, options)


def shares_for(readings: int, available: NDArray[np.int64]) -> Array:
    """Return the smallest shares that leave at least so many of each system's readings."""
    rising = np.array(SHARES[::-1])
    place = np.searchsorted(rising, readings / np.maximum(available, 1))
    return np.asarray(rising[np.minimum(place, len(rising) - 1)])


def correlated_in(share: float) -> float:
    """Return how many readings of a share err alike: fewer than of all."""
    return ERRORS.correlated * share
