"""The clocks of many systems, compiled: most are settled by first and last light alone.

The hypotheses, the evidence and the decision are those of :mod:`sunveil.fit.clocks`; what stands
for agreement is the share of energy that a fit to few readings explains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.fit.clocks import AS_GOOD, EXPLAINED_MINUTES
from sunveil.fit.light import THRESHOLD
from sunveil.jit import compiled
from sunveil.quick.ends import (
    Calendar,
    fill_middles,
    fill_modelled,
    modelled_room,
    typical,
    typical_room,
)
from sunveil.quick.evidence import (
    APPLIED_TWICE,
    AS_DECLARED,
    LEFT_IN,
    MOST_CLOCKS,
    decide,
    propose,
    suspicious,
    unexplained,
)
from sunveil.quick.groups import Matrix
from sunveil.quick.model import NO_LIMIT
from sunveil.quick.newton import FREE
from sunveil.quick.prepared import Prepared
from sunveil.quick.rows import best_start, start_room, thin_row
from sunveil.quick.starts import search, search_room
from sunveil.site import Array

_HOUR = 3600


@dataclass(frozen=True, slots=True, eq=False)
class Clocks:
    """What the sun says of the clocks of a block, one entry for each system.

    Parameters
    ----------
    offset
        How far stamps run ahead. [minutes]
    saving
        How they save daylight, as a place in :class:`~sunveil.estimate.DaylightSaving`.
    gain
        The agreement that a repair gains.
    half
        Whether half an interval is left after whole intervals are moved.
    """

    offset: Array
    saving: NDArray[np.int8]
    gain: Array
    half: NDArray[np.bool_]

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which clocks are not as declared."""
        return np.asarray((self.offset != 0.0) | (self.saving != AS_DECLARED))


def find_clocks(
    rows: Matrix, bright: Array, points: Array, prepared: Prepared, *, timezone: str
) -> Clocks:
    """Return the clocks of a block, as declared where they fit the sun.

    Parameters
    ----------
    rows
        Readings on the long axis, NaN where there is none, shape (systems, intervals). [kW]
    bright
        Each system's bright power. [kW]
    points
        What was fitted to each under the declared clock.
    prepared
        What is known of the sky beforehand.
    timezone
        The clock that the stamps were declared to be on.
    """
    count = len(rows)
    out = Clocks(
        np.zeros(count),
        np.zeros(count, dtype=np.int8),
        np.zeros(count),
        np.zeros(count, dtype=bool),
    )
    days = prepared.days
    if days is None:
        return out
    calendar = prepared.calendar(timezone)
    shape = (count, days.number)
    light = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
    options, left = np.zeros((count, MOST_CLOCKS, 2)), np.zeros(count)
    case = (days, prepared.flat_light, calendar, prepared.constants)
    number = propose_all(rows, bright, points, case, light, options, left)
    chosen = np.flatnonzero(number > 1)
    if not len(chosen):
        return out
    ahead = options[chosen, :, 0] * 60.0 % calendar.step != 0.0
    half = prepared.half if ahead.any() else prepared
    skies = (prepared.known, half.known)
    both = prepared.thinned(prepared.sky.every), half.thinned(half.sky.every)
    settle_all(
        rows,
        bright,
        (chosen, number, options, left),
        case,
        light,
        (skies, both),
        (out.offset, out.saving, out.gain),
    )
    out.half[:] = out.offset * 60.0 % calendar.step != 0.0
    return out


def relaid(rows: Matrix, clocks: Clocks, chosen: NDArray[np.intp], calendar: Calendar) -> Matrix:
    """Return the readings of some systems where they belong; what leaves the axis is lost."""
    out = np.empty((len(chosen), rows.shape[1]), dtype=np.float32)
    relay_all(rows, chosen, clocks.offset, clocks.saving, calendar, out)
    return out


@compiled
def relay(row, offset, kind, calendar, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with readings moved to where a clock puts them, by whole intervals."""
    ahead = round(offset * 60.0)
    summer = ahead + (_HOUR if kind == LEFT_IN else -_HOUR if kind == APPLIED_TWICE else 0)
    winter_shift, summer_shift = ahead // calendar.step, summer // calendar.step
    out[:] = np.nan
    for i in range(len(row)):
        place = i - (summer_shift if calendar.intervals[i] else winter_shift)
        if place >= 0 and place < len(row):
            out[place] = row[i]


@compiled
def relay_all(rows, chosen, offset, kind, calendar, out):  # type: ignore[no-untyped-def]
    """Move the readings of the chosen systems."""
    for i in range(len(chosen)):
        s = chosen[i]
        relay(rows[s], offset[s], kind[s], calendar, out[i])


@compiled
def propose_all(rows, bright, points, case, light, options, left):  # type: ignore[no-untyped-def]
    """Fill the plausible clocks of each system; return how many each has.

    ``light`` is filled with the middles and sums of each system's days, ``left`` with the minutes
    that the declared clock leaves unexplained where it is in doubt.
    """
    days, flat, calendar, constants = case
    number = np.ones(len(rows), dtype=np.int64)
    middle, energy = (
        np.empty(days.number, dtype=np.float32),
        np.empty(days.number, dtype=np.float32),
    )
    room = typical_room(days)
    drawing = modelled_room(days)
    declared = (0.0, AS_DECLARED)
    for s in range(len(rows)):
        if bright[s] <= 0.0:
            continue
        ours = (light[0][s], light[1][s])
        fill_middles(rows[s], np.float32(THRESHOLD * bright[s]), days, ours[0], ours[1])
        base = typical(ours, flat, calendar.days, 0, days.minutes, room)
        winter = typical(ours, flat, calendar.days, 1, days.minutes, room)
        summer = typical(ours, flat, calendar.days, 2, days.minutes, room)
        if not suspicious(base, winter, summer):
            continue
        # most suspicions are only a plane that faces the rising or the setting sun
        fill_modelled(points[s], days, constants, drawing, middle, energy)
        left[s] = unexplained(ours, (middle, energy), calendar, declared, days.minutes, room)
        if left[s] >= EXPLAINED_MINUTES:
            number[s] = propose(base, winter, summer, days.minutes, options[s])
    return number


@compiled
def settle_all(rows, bright, doubts, case, light, under, found):  # type: ignore[no-untyped-def]
    """Fill the clocks of the chosen systems: fit each under each clock, and weigh the evidence."""
    chosen, number, options, declared_left = doubts
    days, _, calendar, constants = case
    skies, both = under
    offset, saving, gain = found
    rooms = (clock_room(skies[0]), clock_room(skies[1]))
    moved = np.empty(rows.shape[1], dtype=np.float32)
    points, shares = np.empty((MOST_CLOCKS, FREE)), np.empty(MOST_CLOCKS)
    left = np.empty(MOST_CLOCKS)
    middle, energy = (
        np.empty(days.number, dtype=np.float32),
        np.empty(days.number, dtype=np.float32),
    )
    room, drawing = typical_room(days), modelled_room(days)
    for c in range(len(chosen)):
        s = chosen[c]
        clocks = options[s]
        for i in range(number[s]):
            relay(rows[s], clocks[i, 0], clocks[i, 1], calendar, moved)
            side = 1 if clocks[i, 0] * 60.0 % calendar.step != 0.0 else 0
            shares[i] = explained(moved, bright[s], skies[side], both[side], rooms[side], points[i])
        ours = (light[0][s], light[1][s])
        left[0] = declared_left[s]
        for i in range(1, number[s]):
            if shares[i] >= AS_GOOD * shares[: number[s]].max():
                fill_modelled(points[i], days, constants, drawing, middle, energy)
                clock = (clocks[i, 0], int(clocks[i, 1]))
                left[i] = unexplained(ours, (middle, energy), calendar, clock, days.minutes, room)
        best = decide(clocks, shares, left, number[s], days.minutes)
        offset[s], saving[s] = clocks[best, 0], int(clocks[best, 1])
        gain[s] = shares[best] - shares[0]


@compiled
def clock_room(known):  # type: ignore[no-untyped-def]
    """Return what a fit under a clock is worked in."""
    return search_room(known), start_room(known)


@compiled
def explained(row, bright, known, constants, room, point):  # type: ignore[no-untyped-def]
    """Fill ``point`` with the best plane of readings; return the share of energy it explains."""
    searching, choosing = room
    search(row, known, searching)
    thin_row(row, known, choosing)
    return best_start(searching, bright, 2.0 * NO_LIMIT, known, constants, choosing, point)
