"""``mechanism="paper-day"``: the paper's fit score with a sensitivity that holds in the worst case.

The paper scores every candidate by one day of each group, both brought to [0, 1]. A group's score
therefore lies between -1 and 0 whatever was read, and a day is the prototype of one group at most:
one day, however it is replaced, moves the sum over groups by at most 1. Neither Bayesian
optimisation nor a prior is needed for that, and the draw is the paper's exponential mechanism.

Which day stands for a group is chosen by the weather alone, among all days of the public calendar,
and each day is normalised alone. A day that cannot be used scores 0 for all candidates alike:
nothing is refused for what was read.

Proof: ``docs/proofs/paper-day.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.checked import checked
from sunveil.errors import MeterError, ParameterError
from sunveil.grids import Grid
from sunveil.meters.record import Record
from sunveil.paper import paper_grid
from sunveil.privacy.score import Score
from sunveil.privacy.units import Days
from sunveil.profiles import DayGroup, candidate_profiles, correlation, group_of, normalise
from sunveil.releases.frame import prepared, time_grid_of
from sunveil.releases.worth import reach
from sunveil.scores import fit_score
from sunveil.search.exhaustive import blocks
from sunveil.site import Array, SkyModel
from sunveil.sky import Sky, covered, sky_at
from sunveil.timegrid import DAY, TimeGrid
from sunveil.weather import Weather

PROOF = "docs/proofs/paper-day.md"
Levels = NDArray[np.int64]
# Levels to a misfit of 1, the largest that a day can have: public, the same for all releases.
SCALE = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class PrototypeDay:
    """The day that stands for a group: public.

    Parameters
    ----------
    day
        Number of the solar day since 1970.
    places
        Which intervals of the time grid it has.
    sky
        The sky over them.
    """

    day: int
    places: NDArray[np.intp]
    sky: Sky


@dataclass(frozen=True, slots=True, eq=False)
class PaperDayFrame:
    """What is public about a release by ``paper-day``: its candidates, its days, its clipping.

    Parameters
    ----------
    weather, time_grid
        The public weather, and the public calendar of intervals.
    grid
        The candidates.
    prototypes
        The day that stands for each group.
    group
        How days were put into groups.
    most
        The largest misfit that counts, at most 1: beyond it a day counts no more against a
        candidate.
    albedo
        Share of global irradiance that the ground sends back.
    to_the_letter
        Whether f(θ) falls on direct light alone, as the paper's eq. 2 has it.
    """

    weather: Weather
    time_grid: TimeGrid
    grid: Grid
    prototypes: tuple[PrototypeDay, ...]
    group: DayGroup
    most: float = 1.0
    albedo: float = 0.2
    to_the_letter: bool = False

    def __post_init__(self) -> None:
        if not 1.0 / SCALE <= self.most <= 1.0:
            raise ParameterError("the largest misfit that counts is above 0 and at most 1")

    @property
    def levels_of_a_day(self) -> int:
        """How many levels one day has at most: what it can move a candidate by."""
        return math.ceil(self.most * SCALE)

    def to_dict(self) -> dict[str, Any]:
        """Return what was chosen as plain JSON types."""
        return {"group": self.group.value, "most_misfit": self.most, "levels_of_misfit": SCALE}


@checked
def paper_day_frame(
    weather: Weather,
    time_grid: TimeGrid,
    *,
    group: DayGroup = DayGroup.MONTH,
    grid: Grid | None = None,
    most: float = 1.0,
    to_the_letter: bool = False,
) -> PaperDayFrame:
    """Return the public frame of a release: in each group the day whose DNI and GHI correlate best.

    Parameters
    ----------
    weather
        Public weather, which brings the place and chooses the days.
    time_grid
        The public calendar; no reading is looked at.
    group
        How days are put into groups.
    grid
        The candidates; the paper's 360 x 90 when left out.
    most
        The largest misfit of a day that counts.
    to_the_letter
        Whether f(θ) falls on direct light alone, as the paper's eq. 2 has it.
    """
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
            own = sky_at(weather, middles[places])
            prototypes.append(PrototypeDay(int(numbers[best]), places, own))
    if not prototypes:
        raise MeterError("the readings and the weather have no daylight in common")
    return PaperDayFrame(
        weather=weather,
        time_grid=time_grid,
        grid=grid or paper_grid(),
        prototypes=tuple(prototypes),
        group=group,
        most=most,
        to_the_letter=to_the_letter,
    )


def paper_day_frame_of(
    record: Record, weather: Weather, *, group: DayGroup = DayGroup.MONTH
) -> PaperDayFrame:
    """Return the public frame for the calendar of a record, whose readings are not looked at.

    Parameters
    ----------
    record
        Read with ``cleaning="each"``.
    weather
        Public weather, which brings the place.
    group
        How days are put into groups.
    """
    time_grid = time_grid_of(prepared(record), longitude=weather.site.longitude)
    return paper_day_frame(weather, time_grid, group=group)


@checked
def paper_day_score(frame: PaperDayFrame, record: Record, k: int = 1) -> Score:
    """Return the paper's fit score of every candidate, in whole levels.

    Parameters
    ----------
    frame
        The public frame.
    record
        The readings.
    k
        How many days neighbours differ in.

    Privacy
    -------
    Neighbours differ in all readings of ``k`` solar days. What a day adds to a level is a whole
    number from ``-frame.levels_of_a_day`` to 0 and a function of that day's readings alone, and a
    day stands for one group at most: the sensitivity is ``k`` times that number, and three times as
    much of a register. Proof: ``docs/proofs/paper-day.md``.
    """
    return clipped_score(frame, day_levels(frame, record), k, differenced=record.differenced)


def clipped_score(
    frame: PaperDayFrame, levels: Iterable[Levels], k: int = 1, *, differenced: bool = False
) -> Score:
    """Return the score that is the sum of what days add, each held to what it may add.

    Parameters
    ----------
    frame
        The public frame, whose clipping is taken.
    levels
        As :func:`day_levels` yields them.
    k
        How many days neighbours differ in.
    differenced
        Whether the record holds differences of a register.
    """
    unit, most = Days(k), frame.levels_of_a_day
    total = np.zeros(len(frame.grid), dtype=np.int64)
    for each in levels:
        total += np.clip(each, -most, 0)
    return Score(total, k * most * reach(unit, differenced=differenced), unit, PROOF)


def day_levels(frame: PaperDayFrame, record: Record) -> Iterator[Levels]:
    """Yield what each prototype adds to every level, not held to anything yet: private.

    A day that lacks a daylight reading, or has no power at all, adds nothing: it is left out.

    Parameters
    ----------
    frame, record
        The public frame, and the readings.
    """
    power = _readings(frame, record)
    for prototype in frame.prototypes:
        day = power[prototype.places]
        dark = prototype.sky.sun[:, 2] <= 0.0
        day = np.where(dark & np.isnan(day), 0.0, day)
        # a function of this day alone; scored 0 for all candidates, it says nothing
        if not np.isnan(day).any() and np.ptp(day) > 0.0:
            yield _day_levels(frame, prototype, normalise(day))


def _day_levels(frame: PaperDayFrame, prototype: PrototypeDay, day: Array) -> Levels:
    found = np.empty(len(frame.grid), dtype=np.int64)
    for piece, part in blocks(frame.grid):
        profiles = candidate_profiles(
            prototype.sky, part.normals, albedo=frame.albedo, to_the_letter=frame.to_the_letter
        )
        found[piece] = np.floor(fit_score(day, profiles) * SCALE).astype(np.int64)
    return found


def _readings(frame: PaperDayFrame, record: Record) -> Array:
    """Return a record's power on the frame's calendar, NaN where there is no reading. [kW]"""
    if record.net:
        raise MeterError(
            f"system {record.system_id} is declared a net meter, and the paper's score needs the"
            " generation alone"
        )
    held = prepared(record)
    seconds = held.times.astype("datetime64[s]").astype(np.int64)
    place, off = np.divmod(seconds - frame.time_grid.first, frame.time_grid.step)
    other = round(held.interval_minutes * 60.0) != frame.time_grid.step
    if other or (len(place) and (off.any() or place.min() < 0 or place.max() >= _count(frame))):
        raise MeterError(
            f"system {record.system_id} has other intervals than the release was framed for"
        )
    power: Array = np.full(_count(frame), np.nan)
    power[place] = held.power_kw
    return power


def _count(frame: PaperDayFrame) -> int:
    return frame.time_grid.count


def _clearness(sky: Sky, up: NDArray[np.bool_], of_day: NDArray[np.bool_]) -> float:
    """Return the correlation of DNI and GHI over a day, which is weather alone."""
    dni = np.where(up, sky.dni, 0.0)[of_day][np.newaxis]
    ghi = np.where(up, sky.ghi, 0.0)[of_day][np.newaxis]
    return float(correlation(dni, ghi)[0])
