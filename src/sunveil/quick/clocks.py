"""The clocks of many systems, compiled: most are settled by first and last light alone.

The hypotheses, the evidence and the decision are those of :mod:`sunveil.fit.clocks`; what stands
for agreement is the share of energy that a fit to few readings explains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.fit.shared import AS_GOOD
from sunveil.jit import compiled
from sunveil.quick.ends import Calendar, fill_modelled
from sunveil.quick.evidence import (
    APPLIED_TWICE,
    AS_DECLARED,
    LEFT_IN,
    MOST_CLOCKS,
    decide,
    unexplained,
)
from sunveil.quick.groups import Matrix
from sunveil.quick.newton import FREE
from sunveil.quick.prepared import Prepared
from sunveil.quick.rows import best_start, start_room, thin_row
from sunveil.quick.starts import search, search_room
from sunveil.quick.suspicion import Suspects, Watch, watch_room
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
    doubted
        Whether other clocks were tried.
    half
        Whether half an interval is left after whole intervals are moved.
    """

    offset: Array
    saving: NDArray[np.int8]
    gain: Array
    doubted: NDArray[np.bool_]
    half: NDArray[np.bool_]

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which clocks are not as declared."""
        return np.asarray((self.offset != 0.0) | (self.saving != AS_DECLARED))


def find_clocks(
    rows: Matrix, prepared: Prepared, *, bright: Array, suspects: Suspects, watch: Watch
) -> Clocks:
    """Return the clocks of a block, as declared where they fit the sun.

    Parameters
    ----------
    rows
        Readings on the long axis, NaN where there is none, shape (systems, intervals). [kW]
    prepared
        What is known of the sky beforehand.
    bright
        Each system's bright power. [kW]
    suspects
        Whose clock is in doubt.
    watch
        What light was compared with.
    """
    count = len(rows)
    out = Clocks(
        np.zeros(count),
        np.zeros(count, dtype=np.int8),
        np.zeros(count),
        suspects.number > 1,
        np.zeros(count, dtype=bool),
    )
    chosen = np.flatnonzero(out.doubted)
    if not len(chosen):
        return out
    step = watch.calendar.step
    ahead = suspects.options[chosen, :, 0] * 60.0 % step != 0.0
    half = prepared.half if ahead.any() else prepared
    skies = (prepared.known, half.known)
    both = prepared.for_few, half.for_few
    settle_all(
        rows, chosen, bright, watch, suspects, (skies, both), (out.offset, out.saving, out.gain)
    )
    out.half[:] = out.offset * 60.0 % step != 0.0
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
def settle_all(rows, chosen, bright, watch, suspects, trying, found):  # type: ignore[no-untyped-def]
    """Fill the clocks of the chosen systems: fit each under each clock, and weigh the evidence."""
    skies, both = trying
    offset, saving, gain = found
    days, calendar = watch.days, watch.calendar
    rooms = (clock_room(skies[0]), clock_room(skies[1]))
    moved = np.empty(rows.shape[1], dtype=np.float32)
    left = np.empty(MOST_CLOCKS)
    points, shares = np.empty((MOST_CLOCKS, FREE)), np.empty(MOST_CLOCKS)
    medians, drawing, theirs = watch_room(days)
    for c in range(len(chosen)):
        s = chosen[c]
        clocks, number = suspects.options[s], suspects.number[s]
        left[0], shares[0] = suspects.left[s], suspects.share[s]
        for i in range(1, number):
            relay(rows[s], clocks[i, 0], clocks[i, 1], calendar, moved)
            side = 1 if clocks[i, 0] * 60.0 % calendar.step != 0.0 else 0
            case = (bright[s], suspects.limit[s], skies[side], both[side])
            shares[i] = explained(moved, case, rooms[side], points[i])
        ours = (suspects.middle[s], suspects.energy[s])
        for i in range(1, number):
            if shares[i] >= AS_GOOD * shares[:number].max():
                fill_modelled(points[i], days, watch.constants, drawing, theirs[0], theirs[1])
                clock = (clocks[i, 0], int(clocks[i, 1]))
                left[i] = unexplained(ours, theirs, calendar, clock, days.minutes, medians)
        best = decide(clocks, shares, left, number, days.minutes)
        offset[s], saving[s] = clocks[best, 0], int(clocks[best, 1])
        gain[s] = shares[best] - shares[0]


@compiled
def clock_room(known):  # type: ignore[no-untyped-def]
    """Return what a fit under a clock is worked in."""
    return search_room(known), start_room(known)


@compiled
def explained(row, case, room, point):  # type: ignore[no-untyped-def]
    """Fill ``point`` with the best plane of readings; return the share of energy it explains.

    ``case`` is the bright power, the limit's logarithm, the sky and the constants.
    """
    bright, limit, known, constants = case
    searching, choosing = room
    search(row, known, searching)
    thin_row(row, known, choosing)
    return best_start(searching, bright, limit, known, constants, choosing, point)
