"""Neighbours that try to break ``paper-day``: whole days replaced by what moves its score most.

The score of a day moves furthest where the day fitted one candidate and is made to fit another, or
to be bright where that candidate is dark. Days that are no prototypes are replaced too: they must
move nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from sunveil.grids import plane_grid
from sunveil.meters.record import Record
from sunveil.profiles import DayGroup, candidate_profiles
from sunveil.releases.neighbours import ENORMOUS, Setting
from sunveil.releases.paper_day import PaperDayFrame, PrototypeDay, paper_day_frame
from sunveil.site import Array
from sunveil.timegrid import DAY

# Few candidates, so that a pair takes a millisecond. [degrees]
STEPS = (30.0, 15.0)
# Of the replaced days, every so many are any day, the others prototypes.
ANY_DAY = 5
# What a fitted record is scaled by. [kW]
KILOWATTS = 4.0

Rng = np.random.Generator


def audit_frame(
    setting: Setting, *, group: DayGroup = DayGroup.WEEK, most: float = 1.0
) -> PaperDayFrame:
    """Return a small public frame over a setting's calendar, whose records are short.

    Parameters
    ----------
    setting
        Weather and calendar.
    group
        How days are put into groups: weeks, so that a short record has some.
    most
        The largest misfit of a day that counts.
    """
    frame = setting.frame
    return paper_day_frame(
        frame.weather, frame.time_grid, group=group, grid=plane_grid(*STEPS), most=most
    )


def paper_day_pairs(
    setting: Setting, frame: PaperDayFrame, *, pairs: int, seed: int = 1
) -> Iterator[tuple[Record, Record]]:
    """Yield records with neighbours that differ in all readings of one solar day.

    Parameters
    ----------
    setting
        The records to begin from.
    frame
        The public frame, whose prototypes are replaced most often.
    pairs
        How many.
    seed
        The same seed gives the same pairs.
    """
    rng = np.random.default_rng(seed)
    candidates = rng.integers(len(frame.grid), size=3).tolist()
    bases = [*(_fitted(frame, each) for each in candidates), *setting.simulated, *setting.flat]
    turn = round(frame.weather.site.longitude * 240.0)
    day_of = (frame.time_grid.starts + turn) // DAY
    for number in range(pairs):
        power = bases[number % len(bases)]
        other = power.copy()
        if number % ANY_DAY:
            prototype = frame.prototypes[int(rng.integers(len(frame.prototypes)))]
            change = CHANGES[int(rng.integers(len(CHANGES)))]
            other[prototype.places] = change(frame, prototype, rng)
        else:
            other[day_of == rng.choice(day_of)] = rng.choice([math.nan, 0.0, 7.0, ENORMOUS])
        if np.isnan(other).all():
            continue
        yield setting.record(power), setting.record(other)


def _profile(frame: PaperDayFrame, prototype: PrototypeDay, candidate: int) -> Array:
    normal = frame.grid.normals[candidate : candidate + 1]
    return np.asarray(candidate_profiles(prototype.sky, normal, albedo=frame.albedo)[0])


def _fitted(frame: PaperDayFrame, candidate: int) -> Array:
    """Return readings that are one candidate's on every prototype, and nothing on other days."""
    power: Array = np.zeros(frame.time_grid.count)
    for prototype in frame.prototypes:
        power[prototype.places] = KILOWATTS * _profile(frame, prototype, candidate)
    return power


def _any_profile(frame: PaperDayFrame, prototype: PrototypeDay, rng: Rng) -> Array:
    return _profile(frame, prototype, int(rng.integers(len(frame.grid))))


def _partly_missing(frame: PaperDayFrame, prototype: PrototypeDay, rng: Rng) -> Array:
    day = _any_profile(frame, prototype, rng)
    day[rng.integers(len(day))] = math.nan
    return day


def _spike(frame: PaperDayFrame, prototype: PrototypeDay, rng: Rng) -> Array:
    day = np.zeros(len(prototype.places))
    day[rng.integers(len(day))] = 1.0
    return day


def _all(value: float) -> Callable[[PaperDayFrame, PrototypeDay, Rng], Array]:
    return lambda frame, prototype, rng: np.full(len(prototype.places), value)


# What a prototype's readings are replaced by.
CHANGES: tuple[Callable[[PaperDayFrame, PrototypeDay, Rng], Array], ...] = (
    _any_profile,
    # bright where a candidate is dark
    lambda frame, prototype, rng: 1.0 - _any_profile(frame, prototype, rng),
    lambda frame, prototype, rng: np.round(_any_profile(frame, prototype, rng)),
    lambda frame, prototype, rng: 1.0 - np.round(_any_profile(frame, prototype, rng)),
    lambda frame, prototype, rng: ENORMOUS * _any_profile(frame, prototype, rng),
    _partly_missing,
    _spike,
    _all(math.nan),
    _all(0.0),
    _all(ENORMOUS),
)
