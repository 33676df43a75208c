"""The skyline that hides the sun; what is computed of a sky beforehand."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.engine.bright_envelope import Groups, make_groups
from sunveil.engine.constants import ERRORS, Numbers, numbers_of
from sunveil.engine.first_and_last_light import (
    ClockCalendar,
    Daylight,
    SolarDays,
    flat_daylight,
    saving_days,
    saving_rule,
)
from sunveil.engine.power_model import BLOCK, Sheet
from sunveil.engine.sky_tables import SHARES, SkyTable, in_blocks, make_sky_table
from sunveil.engine.tracker_model import tracked_sky, tracker_grid, tracker_profiles
from sunveil.estimates.inference_options import InferOptions
from sunveil.estimates.planes_and_intervals import AZIMUTH_STEP, COLUMNS
from sunveil.site import DAY, Array

Matrix = NDArray[np.float32]

ELEVATION_STEP = 5.0

LAYERS = round(90.0 / ELEVATION_STEP) + 1

# The sun is hidden in a patch of at least FEWEST readings when this share of them stays below
# that share of the model.
FEWEST = 8

DARK_SHARE = 0.9

HIDDEN_BELOW = 0.72

# A smaller share of hidden readings is not worth another fit.
WORTH_LEAVING_OUT = 0.01

kernel = njit(cache=True, nogil=True, error_model="numpy")


def sky_patches(sun: Array) -> NDArray[np.int32]:
    """Return the patch of sky that each of the sun's vectors (n, 3) lies in."""
    azimuth = np.degrees(np.arctan2(sun[:, 0], sun[:, 1])) % 360.0
    elevation = np.degrees(np.arcsin(np.clip(sun[:, 2], 0.0, 1.0)))
    row = (elevation / ELEVATION_STEP).astype(np.int32)
    return row * np.int32(COLUMNS) + (azimuth / AZIMUTH_STEP).astype(np.int32) % COLUMNS


class Shade(NamedTuple):
    """What hides the sun from a block of systems: private."""

    kept: Matrix
    share: Array  # the hidden share of each system's readings
    skyline: Matrix  # [degrees]


def find_shade(
    power: Matrix, have: Matrix, model: Matrix, *, dimmest: Array, patch: NDArray[np.int32]
) -> Shade:
    """Return which readings are left without those with a hidden sun, and what hides it."""
    out = Shade(
        np.zeros_like(have), np.empty(len(have)), np.zeros((len(have), COLUMNS), dtype=np.float32)
    )
    rules = np.array([HIDDEN_BELOW, FEWEST, DARK_SHARE, ELEVATION_STEP])
    shape = (LAYERS, COLUMNS)
    _leave_out(power, have, model, dimmest.astype(np.float32), patch, shape, rules, *out)
    return out


@kernel
def _leave_out(power, have, model, dimmest, patch, shape, rules, kept, share, skyline):  # type: ignore[no-untyped-def]
    """Fill ``kept`` (systems, padded), ``share`` (systems,) and ``skyline`` (systems, columns)."""
    # `rules` are the share of the model that is dark, the fewest readings of a patch, the share of
    # them that must be dark, and how high a patch is [degrees].
    below, fewest, dark_share = np.float32(rules[0]), rules[1], rules[2]
    layers, columns = shape
    patches = layers * columns
    seen, dark = np.empty(patches, dtype=np.int32), np.empty(patches, dtype=np.int32)
    hidden = np.empty(patches, dtype=np.bool_)
    for s in range(len(share)):
        seen[:] = 0
        dark[:] = 0
        there = np.float32(0.0)
        for k in range(len(patch)):
            there += have[s, k]
            if have[s, k] > 0.0 and model[s, k] > dimmest[s]:
                seen[patch[k]] += 1
                dark[patch[k]] += power[s, k] < below * model[s, k]
        lost = 0
        for p in range(patches):
            # the reading that is brighter than the dark share of its patch must be dark too
            hidden[p] = seen[p] >= fewest and dark[p] >= int(dark_share * (seen[p] - 1) + 0.5) + 1
            lost += seen[p] if hidden[p] else 0
        for k in range(len(patch)):
            out = model[s, k] > dimmest[s] and hidden[patch[k]]
            kept[s, k] = np.float32(0.0) if out else have[s, k]
        share[s] = lost / max(there, np.float32(1.0))
        for c in range(columns):
            skyline[s, c] = 0.0
            for layer in range(layers):
                p = layer * columns + c
                if hidden[p]:
                    skyline[s, c] = np.float32((layer + 1) * rules[3])
                elif seen[p] >= fewest:
                    break


Index = NDArray[np.int32]

HALF_HOUR = 1800


class PreparedSky:
    """A sky, and what follows from it and the options alone: public."""

    def __init__(self, sky: SkyTable, options: InferOptions) -> None:
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
        # Of the intervals of a span about a block's are usable; which span one is of depends on its
        # own time alone, so that a longer grid parts a record at the same times.
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
def prepare(sky: SkyTable, options: InferOptions) -> PreparedSky:
    """Return a sky with what follows from it, made once while it is in use."""
    return PreparedSky(sky, options)


def shares_for(readings: int, available: NDArray[np.int64]) -> Array:
    """Return the smallest shares that leave at least ``readings`` of each system."""
    rising = np.array(SHARES[::-1])
    place = np.searchsorted(rising, readings / np.maximum(available, 1))
    return np.asarray(rising[np.minimum(place, len(rising) - 1)])


def correlated_in(share: float) -> float:
    """Return how many readings of a share err alike: fewer than of all."""
    return ERRORS.correlated * share
