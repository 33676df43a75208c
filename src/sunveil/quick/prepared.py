"""A cell's sky with all that is known beforehand under some options, each part made when needed."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.atlas import Grid
from sunveil.cells import CellSky
from sunveil.cells.sky import DAY
from sunveil.cells.tables import Sheet, take
from sunveil.fit.clocks import saving_days, saving_rule
from sunveil.fit.start import TOLERANCE
from sunveil.quick.constants import Constants, QuickOptions, constants_of
from sunveil.quick.ends import Days
from sunveil.quick.groups import (
    WINDOW_DAYS,
    Groups,
    Matrix,
    Patches,
    make_groups,
    make_patches,
    plane_profiles,
    points_of,
)
from sunveil.quick.mixture import mixture_grid, mixture_places
from sunveil.quick.model import NO_LIMIT
from sunveil.site import Array
from sunveil.tally import Bins, Capacities, Logs, log_profiles

# Relative to a record's bright power.
CAPACITIES = Capacities(low=0.6, high=6.0, step=0.02)
HALF_HOUR = 1800


@dataclass(frozen=True, slots=True, eq=False)
class Coarse:
    """Planes 20° apart at a few intervals, for clocks.

    Parameters
    ----------
    logs
        Logarithm of each plane's power per kW, infinite where it is dim; shape (planes, n).
    points
        The planes.
    bins
        Where agreement falls among capacities.
    """

    logs: Logs
    points: Array
    bins: Bins


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Planes that a system's bright power is compared with, at every second window."""

    places: NDArray[np.intp]
    probe: Sheet
    points: Array
    directions: Array


def clock_grid() -> Grid:
    """Return planes about 20° apart, with one flat plane."""
    azimuth, tilt = [np.array([0.0])], [np.array([0.0])]
    for one, count in ((12.0, 8), (28.0, 16), (45.0, 18), (68.0, 18)):
        azimuth.append(np.arange(count) * 360.0 / count)
        tilt.append(np.full(count, one))
    return Grid(np.concatenate(azimuth), np.concatenate(tilt))


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

    def thinned(self, every: int) -> Constants:
        """Return the constants for one reading in so many: fewer of them err alike."""
        return self.constants._replace(together=self.constants.together / every)

    @functools.cached_property
    def groups(self) -> Groups:
        """The groups of ten days and time of day."""
        return make_groups(self.sky, self.constants)

    @functools.cached_property
    def patches(self) -> Patches:
        """The patches of sky."""
        return make_patches(self.sky)

    @functools.cached_property
    def day(self) -> NDArray[np.int32]:
        """The solar day of each usable interval, from 0."""
        day = self.sky.day[: self.sky.usable]
        return np.asarray(day - day.min(initial=np.iinfo(np.int32).max), dtype=np.int32)

    @functools.cached_property
    def flat_light(self) -> tuple[Matrix, Matrix]:
        """The middles and sums of each day's light on a flat plane."""
        days = Days.of(self.sky)
        assert days is not None
        point = np.array([[0.0, 0.0, 0.0, 0.0, 1.0, 2.0 * NO_LIMIT]])
        return days.modelled(self.sky, point, self.constants)

    @functools.cached_property
    def mixture(self) -> Mixture:
        """The planes that a system which is not one plane may be made of."""
        places = mixture_places(self.groups, self.day, WINDOW_DAYS)
        grid = mixture_grid()
        return Mixture(places, take(self.groups.probe, places), points_of(grid), grid.normals)

    def saving(self, timezone: str) -> NDArray[np.bool_]:
        """Return which intervals of the long axis lie in daylight saving by a declared clock."""
        return _saving(self.sky, timezone)

    @functools.cached_property
    def few_slots(self) -> NDArray[np.int32]:
        """Place on the long axis of the intervals of coarse searches."""
        return self.sky.slot[: self.sky.usable : self.sky.every]

    @functools.cached_property
    def coarse(self) -> Coarse:
        """The planes that clocks are told by."""
        points = points_of(clock_grid())
        points[:, 3] = 0.0
        profiles = plane_profiles(self.sky.few, points, self.constants)[:, : len(self.few_slots)]
        logs = log_profiles(profiles, TOLERANCE.floor)
        return Coarse(logs, points, Bins.of(CAPACITIES, TOLERANCE))

    @functools.cached_property
    def half(self) -> Prepared:
        """The same half an hour earlier: what stamps half an interval late belong to."""
        sky = self.sky.again(self.sky.axis.moved(-HALF_HOUR), only="some")
        return Prepared(sky, self.options)

    @functools.cached_property
    def coarse_half(self) -> Prepared:
        """The same half an hour earlier, for coarse searches alone."""
        sky = self.sky.again(self.sky.axis.moved(-HALF_HOUR), only="few")
        return Prepared(sky, self.options)


@functools.lru_cache(maxsize=16)
def _saving(sky: CellSky, timezone: str) -> NDArray[np.bool_]:
    return saving_days(sky.axis.long.starts // DAY, saving_rule(sky.site, timezone))


@functools.lru_cache(maxsize=16)
def prepare(sky: CellSky, options: QuickOptions) -> Prepared:
    """Return a sky with what is known beforehand, made once while it is in use."""
    return Prepared(sky, options)
