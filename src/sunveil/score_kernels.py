"""Kernels: readings that agree with candidates, and votes of days, over planes and capacities.

They are what a release spends its time in, and that time must not tell what was read: they take no
branch and skip no work on a reading. What agrees with nothing is counted too, in a slot below or
above all capacities. Neighbouring additions go to different tallies, since a processor waits where
one number is added to twice in a row. See :mod:`sunveil.scores` for what is counted.
"""

from __future__ import annotations

import numpy as np
from numba import njit

kernel = njit(cache=True, nogil=True)

# Tallies that take readings in turn.
TURNS = 8
# Planes whose days are counted side by side.
LANES = 256
# Votes that are counted in one pass, unless there is one alone: fewer cost as much as all of them.
FOURS = 4


@kernel
def find_slots(power, profile, lowest, per_step, bins, out):  # type: ignore[no-untyped-def]
    """Find the slot of every reading under one plane.

    That is one more than its bin, 0 below all of them, bins + 1 above, and bins + 2 where the plane
    has no light.

    Parameters
    ----------
    power
        Logarithm of the readings, -inf where none can agree, shape (n,) float32. [log kW]
    profile
        Logarithm of the plane's profile, inf where none can agree, shape (n,) float32.
        [log kW/kW]
    lowest, per_step
        Logarithm at which the first bin begins, and bins to a unit of logarithm, float32.
    bins
        How many bins there are.
    out
        The slots, shape (n,) or longer, uint32; written to.
    """
    top, dark = np.float32(bins), np.int32(bins + 2)
    for k in range(len(profile)):
        place = (power[k] - profile[k] - lowest) * per_step
        # in this order, so that what is no number falls below
        place = place if place >= np.float32(0.0) else np.float32(-1.0)
        place = place if place < top else top
        slot = np.int32(place) + np.int32(1)
        out[k] = slot if profile[k] < np.float32(np.inf) else dark


@kernel
def count_agreeing(power, profiles, lowest, per_step, width, capacities, out):  # type: ignore[no-untyped-def]
    """Count the readings that agree with every plane and capacity, and raise what is less to that.

    Parameters
    ----------
    power, lowest, per_step
        As for :func:`find_slots`.
    profiles
        Logarithm of the planes' profiles, inf where none can agree, shape (planes, n) float32.
        [log kW/kW]
    width
        How many bins a capacity's tolerance spans.
    capacities
        How many capacities there are: capacity c has bins c to c + width - 1.
    out
        The highest counts so far, shape (planes, capacities) int64; written to.
    """
    planes, readings = profiles.shape
    bins = capacities + width - 1
    slots = np.zeros((-(-readings // TURNS), TURNS), dtype=np.uint32)
    # each counts readings of one record: 32 bits hold four thousand years of minutes
    tallies = np.empty((TURNS, bins + 3), dtype=np.int32)
    tally = np.empty(bins + 3, dtype=np.int32)
    for plane in range(planes):
        find_slots(power, profiles[plane], lowest, per_step, bins, slots.reshape(-1))
        tallies[:] = 0
        for k in range(len(slots)):
            for turn in range(TURNS):
                tallies[turn, slots[k, turn]] += 1
        tally[:] = tallies[0]
        for turn in range(1, TURNS):
            tally += tallies[turn]
        running = 0
        for b in range(1, width):
            running += tally[b]
        for c in range(capacities):
            running += tally[c + width]
            out[plane, c] = max(out[plane, c], running)
            running -= tally[c + 1]


@kernel
def count_votes(  # type: ignore[no-untyped-def]
    power, profiles, days, least, asked, lowest, per_step, width, capacities, out
):
    """Count the votes of every plane and capacity from the days, and raise what is less to that.

    Parameters
    ----------
    power, profiles, lowest, per_step, width, capacities, out
        As for :func:`count_agreeing`.
    days
        Where each day begins among the readings, and where the last ends, shape (days + 1,) int64.
    least
        How many intervals of each day are taken to be lit at least, shape (days,) int64.
    asked
        How many readings must agree for each vote of a day, by vote and by how many of its
        intervals are lit, shape (votes, longest day + 1): one vote, or FOURS of them up to 64. The
        type is unsigned and can count the longest day and one more.
    """
    planes = profiles.shape[0]
    bins = capacities + width - 1
    slots = np.zeros((LANES, len(power)), dtype=np.uint32)
    # A tally counts readings of one day, and the type of asked holds one more than the longest
    # day (scores.asked_readings): 1,440 at the shortest interval.
    tally = np.empty((bins + 3, LANES), dtype=asked.dtype)
    needed = np.zeros((len(asked), LANES), dtype=asked.dtype)
    # A day adds at most len(asked) <= 64 votes: few is emptied into votes before it reaches 256,
    # and votes holds those of 33 million days.
    few = np.empty((capacities, LANES), dtype=np.uint8)
    votes = np.empty((capacities, LANES), dtype=np.int32)
    for first in range(0, planes, LANES):
        strip = profiles[first : first + LANES]
        for lane in range(len(strip)):
            find_slots(power, strip[lane], lowest, per_step, bins, slots[lane])
        votes[:] = 0
        few[:] = 0
        for d in range(len(days) - 1):
            tally[:] = 0
            for k in range(days[d], days[d + 1]):
                for lane in range(LANES):
                    tally[slots[lane, k], lane] += 1
            for lane in range(LANES):
                lit = max(days[d + 1] - days[d] - tally[bins + 2, lane], least[d])
                for vote in range(len(asked)):
                    needed[vote, lane] = asked[vote, lit]
            if len(asked) == 1:
                _vote_once(tally, needed[0], width, few)
            else:
                _vote(tally, needed, width, few)
            if (d + 1) % (255 // len(asked)) == 0:
                votes += few
                few[:] = 0
        votes += few
        for lane in range(len(strip)):
            for c in range(capacities):
                out[first + lane, c] = max(out[first + lane, c], votes[c, lane])


@kernel
def _vote(tally, needed, width, votes):  # type: ignore[no-untyped-def]
    """Add the votes of one day.

    Parameters
    ----------
    tally
        The day's readings by slot and plane, shape (bins + 3, LANES).
    needed
        How many must agree for each vote, shape (votes, LANES).
    width
        How many bins a capacity's tolerance spans.
    votes
        By capacity and plane, shape (capacities, LANES) uint8; added to.
    """
    for vote in range(0, len(needed), FOURS):
        agreeing = np.zeros(LANES, dtype=tally.dtype)
        for b in range(width):
            agreeing += tally[b]
        for c in range(len(votes)):
            for lane in range(LANES):
                # the window moves up by one slot; the first of all is below every capacity
                n = tally.dtype.type(agreeing[lane] + tally[c + width, lane] - tally[c, lane])
                agreeing[lane] = n
                votes[c, lane] += (
                    (n >= needed[vote, lane])
                    + (n >= needed[vote + 1, lane])
                    + (n >= needed[vote + 2, lane])
                    + (n >= needed[vote + 3, lane])
                )


@kernel
def _vote_once(tally, needed, width, votes):  # type: ignore[no-untyped-def]
    """Add the votes of one day that has one vote at most.

    Parameters
    ----------
    tally, width, votes
        As for :func:`_vote`.
    needed
        How many must agree for the vote, shape (LANES,).
    """
    agreeing = np.zeros(LANES, dtype=tally.dtype)
    for b in range(width):
        agreeing += tally[b]
    for c in range(len(votes)):
        for lane in range(LANES):
            n = tally.dtype.type(agreeing[lane] + tally[c + width, lane] - tally[c, lane])
            agreeing[lane] = n
            votes[c, lane] += n >= needed[lane]
