"""A cell's sky with all that is known beforehand under some options, each part made when needed."""

from __future__ import annotations

import functools
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from sunveil.cells import CellSky
from sunveil.timegrid import TimeGrid
from sunveil.cells.sky import DAY
from sunveil.fit.saving import saving_days, saving_rule
from sunveil.jit import compiled
from sunveil.quick.constants import Constants, QuickOptions, constants_of
from sunveil.quick.ends import Calendar, Days, days_of, fill_flat
from sunveil.quick.groups import (
    WINDOW_DAYS,
    Groups,
    Matrix,
    make_groups,
    patch_labels,
    starting_grid,
    starting_points,
)
from sunveil.quick.known import Known
from sunveil.quick.mixture import make_mixture
from sunveil.quick.spread import neighbours_of
from sunveil.quick.starts import APART, bright_ranks
from sunveil.quick.suspicion import Watch

HALF_HOUR = 1800


class Prepared:
    """A cell's sky, and what is known of it before any reading is looked at.

    Parameters
    ----------
    sky
        The sky.
    options
        What is assumed.
    """

    def __init__(self, sky: CellSky, options: QuickOptions) -> None:
        self.sky = sky
        self.options = options
        self.constants: Constants = constants_of(options, clear=sky.clear)

    def thinned(self, count: int) -> Constants:
        """Return the constants for so many readings of all: fewer of them err alike."""
        share = count / max(self.sky.usable, 1)
        return self.constants._replace(together=self.constants.together * share)

    @property
    def for_some(self) -> Constants:
        """The constants for some readings."""
        return self.thinned(len(self.sky.some_at))

    @property
    def for_few(self) -> Constants:
        """The constants for few readings."""
        return self.thinned(len(self.sky.few_at))

    @functools.cached_property
    def groups(self) -> Groups:
        """The groups of ten days and time of day."""
        return make_groups(self.sky, self.constants)

    @functools.cached_property
    def day(self) -> NDArray[np.int32]:
        """The solar day of each usable interval, from 0."""
        return self._by_day[0]

    @functools.cached_property
    def _by_day(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The solar day of each usable interval, and where days begin among these."""
        sky, long = self.sky, self.sky.axis.long
        day = np.empty(sky.usable, dtype=np.int32)
        begins = np.empty(sky.usable + 1, dtype=np.int32)
        number = _fill_days(sky.slot[: sky.usable], long.first + sky.turn, long.step, day, begins)
        return day, begins[: number + 1].copy()

    @functools.cached_property
    def days(self) -> Days:
        """The solar days of the axis."""
        return days_of(self.sky)

    @functools.cached_property
    def flat_light(self) -> tuple[Matrix, Matrix]:
        """The middles and sums of each day's light on a flat plane."""
        days = self.days
        middle, energy = (np.empty(days.number, dtype=np.float32) for _ in range(2))
        fill_flat(days, self.constants, middle, energy)
        return middle, energy

    @functools.cached_property
    def known(self) -> Known:
        """All of it, as compiled loops take it."""
        sky, groups, day = self.sky, self.groups, self.day
        slot, minutes = sky.slot[: sky.usable], sky.axis.long.step / 60.0
        return Known(
            slot=slot,
            day=day,
            begins=self._by_day[1],
            hours=minutes / 60.0,
            sheet=sky.sheet,
            some=sky.some,
            few=sky.few,
            some_at=sky.some_at,
            few_at=sky.few_at,
            patch=patch_labels(sky.sun),
            neighbours=neighbours_of(slot, sky.some_at, minutes=minutes),
            places=groups.places,
            scale=groups.scale,
            ranks=bright_ranks(len(groups.places)),
            profiles=groups.profiles,
            starts=starting_points(),
            near=_near(),
            mixture=make_mixture(groups, day, self.constants, window=WINDOW_DAYS),
        )

    def watch(self, timezone: str) -> Watch:
        """Return what light is compared with under a declared clock."""
        return Watch(self.days, _calendar(self.sky, timezone), *self.flat_light, self.constants)

    @functools.cached_property
    def half(self) -> Prepared:
        """The same a little earlier: what stamps half an hour late belong to, in part."""
        rest = HALF_HOUR % self.sky.axis.long.step
        sky = self.sky.again(self.sky.axis.moved(-rest), only_some=True)
        return Prepared(sky, self.options)


@compiled
def _fill_days(slot, start, step, day, begins):  # type: ignore[no-untyped-def]
    """Fill the day of each interval, from the first one's on, and where days begin.

    ``start`` is the solar time of the axis' start [s]. Returns how many days there are.
    """
    first = (start + step * slot[0]) // DAY if len(slot) else 0
    number = 0
    for i in range(len(slot)):
        day[i] = (start + step * slot[i]) // DAY - first
        if i == 0 or day[i] != day[i - 1]:
            begins[number] = i
            number += 1
    begins[number] = len(slot)
    return number


@functools.lru_cache(maxsize=1)
def _near() -> NDArray[np.bool_]:
    """Return which of the planes to start from are near each other."""
    normals = starting_grid().normals
    return np.asarray(normals @ normals.T > APART)


@functools.lru_cache(maxsize=16)
def _calendar(sky: CellSky, timezone: str) -> Calendar:
    days = days_of(sky)
    rule, long = saving_rule(sky.site, timezone), sky.axis.long
    return Calendar(
        saving_days(days.first + np.arange(days.number, dtype=np.int64), rule),
        _saved(long, rule),
        long.step,
    )


@functools.lru_cache(maxsize=16)
def _saved(axis: TimeGrid, rule: ZoneInfo | None) -> NDArray[np.bool_]:
    """Return which intervals of an axis lie in daylight saving: the same for many cells."""
    return saving_days(axis.starts // DAY, rule)


@functools.lru_cache(maxsize=16)
def prepare(sky: CellSky, options: QuickOptions) -> Prepared:
    """Return a sky with what is known beforehand, made once while it is in use."""
    return Prepared(sky, options)
