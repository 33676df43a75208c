"""The paper's fit score with its sensitivity for any solar day: a step on the way, not a release.

The paper scores every candidate by one day of each group, both brought to [0, 1]. A group's score
lies between -1 and 0 whatever was read, every interval belongs to one solar day, and a solar day is
the prototype of one group at most. So one solar day, however it is replaced, moves the sum over
groups by at most 1, without a prior and without δ.

It is no release of Sunveil. At ε = 1 its azimuth error is 87°, where chance is 90°. And it holds
for solar days alone: a civil day, from midnight to midnight by the clock, can touch the prototypes
of two groups, and moves then twice as much (20,972 levels where 10,486 belong to a day, with each
day a group and misfits held to 0.01).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.estimates.inference_options import DayGroup
from sunveil.grids import Grid
from sunveil.meters.record import Record, prepared
from sunveil.paper.daily_profiles import candidate_profiles, correlation, group_of, normalise
from sunveil.paper.fit import fit_score
from sunveil.paper.grid_and_bayesian_search import blocks
from sunveil.privacy.guarantees import Days
from sunveil.privacy.mechanisms import Score
from sunveil.pv_model import Sky, covered, sky_at
from sunveil.site import DAY, Array, SkyModel, TimeGrid
from sunveil.weather import Weather

PROOF = "reproduction/paper_day.py"
Levels = NDArray[np.int64]
# Levels to a misfit of 1, the largest that a day can have.
SCALE = 2**20
ALBEDO = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class PrototypeDay:
    """The day that stands for a group: its solar day since 1970, its intervals, their sky."""

    day: int
    places: NDArray[np.intp]
    sky: Sky


@dataclass(frozen=True, slots=True, eq=False)
class PaperDayFrame:
    """What is public about the score: candidates, calendar, prototypes, clipping.

    Parameters
    ----------
    time_grid
        The public calendar of intervals.
    grid
        The candidates.
    prototypes
        The day that stands for each group.
    most
        The largest misfit that counts, at most 1.
    """

    time_grid: TimeGrid
    grid: Grid
    prototypes: tuple[PrototypeDay, ...]
    most: float = 1.0

    @property
    def levels_of_a_day(self) -> int:
        """How many levels one solar day has at most."""
        return math.ceil(self.most * SCALE)


def paper_day_frame(
    weather: Weather, time_grid: TimeGrid, *, group: DayGroup, grid: Grid
) -> PaperDayFrame:
    """Return the frame in which the day whose DNI and GHI correlate best stands for each group."""
    middles = time_grid.times + np.timedelta64(time_grid.step // 2, "s")
    turn = round(weather.site.longitude * 240.0)
    numbers, day = np.unique((time_grid.starts + turn) // DAY, return_inverse=True)
    sky = sky_at(weather, middles, sky_model=SkyModel.ISOTROPIC)
    up = sky.sun[:, 2] > 0.0
    known = np.bincount(day, up & ~covered(weather, middles), minlength=len(numbers)) == 0.0
    clear = np.array([_clearness(sky, up, day == number) for number in range(len(numbers))])
    clear[~known] = -2.0
    groups = group_of(numbers, group)
    prototypes = []
    for number in np.unique(groups):
        members = np.flatnonzero(groups == number)
        best = int(members[clear[members].argmax()])
        if clear[best] > -1.0:
            places = np.flatnonzero(day == best)
            prototypes.append(
                PrototypeDay(int(numbers[best]), places, sky_at(weather, middles[places]))
            )
    return PaperDayFrame(time_grid, grid, tuple(prototypes))


def paper_day_score(frame: PaperDayFrame, record: Record) -> Score:
    """Return the paper's fit score of every candidate, in whole levels, for any one solar day."""
    return clipped_score(frame, day_levels(frame, record))


def clipped_score(frame: PaperDayFrame, levels: Iterable[Levels]) -> Score:
    """Return the sum of what days add, each held to what a day may add."""
    most = frame.levels_of_a_day
    total = np.zeros(len(frame.grid), dtype=np.int64)
    for each in levels:
        total += np.clip(each, -most, 0)
    return Score(total, most, Days(1), PROOF)


def day_levels(frame: PaperDayFrame, record: Record) -> Iterator[Levels]:
    """Yield what each prototype adds to every level, before it is clipped.

    A day that lacks a daylight reading, or has no power at all, adds nothing.
    """
    power = _readings(frame.time_grid, record)
    for prototype in frame.prototypes:
        day = power[prototype.places]
        dark = prototype.sky.sun[:, 2] <= 0.0
        day = np.where(dark & np.isnan(day), 0.0, day)
        # a function of this day alone
        if not np.isnan(day).any() and np.ptp(day) > 0.0:
            yield _of_day(frame, prototype, normalise(day))


def _of_day(frame: PaperDayFrame, prototype: PrototypeDay, day: Array) -> Levels:
    found = np.empty(len(frame.grid), dtype=np.int64)
    for piece, part in blocks(frame.grid):
        profiles = candidate_profiles(
            prototype.sky, part.normals, albedo=ALBEDO, to_the_letter=True
        )
        found[piece] = np.floor(fit_score(day, profiles) * SCALE).astype(np.int64)
    return found


def _readings(time_grid: TimeGrid, record: Record) -> Array:
    """Return a record's power on the calendar, NaN where there is no reading. [kW]"""
    held = prepared(record)
    seconds = held.times.astype("datetime64[s]").astype(np.int64)
    power: Array = np.full(time_grid.count, np.nan)
    power[(seconds - time_grid.first) // time_grid.step] = held.power_kw
    return power


def _clearness(sky: Sky, up: NDArray[np.bool_], of_day: NDArray[np.bool_]) -> float:
    """Return the correlation of DNI and GHI over a day, which is weather alone."""
    dni = np.where(up, sky.dni, 0.0)[of_day][np.newaxis]
    ghi = np.where(up, sky.ghi, 0.0)[of_day][np.newaxis]
    return float(correlation(dni, ghi)[0])
