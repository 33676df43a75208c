"""Readings of a block, laid onto the intervals that the sky is known at."""

from __future__ import annotations

import numpy as np

from sunveil.timegrid import TimeGrid
from sunveil.cells.tables import MASK
from sunveil.fit.clipping import BIN, FEWEST_DAYS, LEAST_HOURS, LOWEST_SHARE
from sunveil.jit import compiled
from sunveil.quick.groups import Matrix

BRIGHT, TOP = 0.98, 0.999
_HALVINGS = 8
_EDGES = np.arange(LOWEST_SHARE, 1.1, BIN)


@compiled
def fill_long(power, lead, per_long, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with means over long intervals, NaN where a reading is missing."""
    for s in range(out.shape[0]):
        for k in range(out.shape[1]):
            first = k * per_long - lead
            total = np.float32(0.0)
            if first < 0 or first + per_long > power.shape[1]:
                total = np.float32(np.nan)
            else:
                for i in range(first, first + per_long):
                    total += power[s, i]
            out[s, k] = total / per_long


def on_long_axis(power: Matrix, axis: TimeGrid) -> Matrix:
    """Return readings averaged to 30 minutes where they are shorter, as they are otherwise."""
    if axis.per_long == 1:
        return power
    out = np.empty((len(power), axis.long.count), dtype=np.float32)
    fill_long(power, axis.lead, axis.per_long, out)
    return out


@compiled
def lay_out(row, slot, begins, power, have, room):  # type: ignore[no-untyped-def]
    """Fill a system's readings at the usable intervals, and which of them there are, padded.

    ``row`` is on the long axis, ``slot`` where usable intervals stand on it, ``begins`` where days
    begin among these. Returns the powers that 2% and 0.1% of the readings exceed, how many there
    are, how many have power, and of how many days.
    """
    usable = len(slot)
    count, lit, highest = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for k in range(usable):
        value = row[slot[k] & MASK]
        known = np.float32(1.0) if value == value else np.float32(0.0)
        value = value if value == value else np.float32(0.0)
        power[k], have[k] = value, known
        count += known
        lit += np.float32(1.0) if value > 0.0 else np.float32(0.0)
        highest = max(highest, value)
    power[usable:] = 0.0
    have[usable:] = 0.0
    days = 0
    for d in range(len(begins) - 1):
        k, end = begins[d], begins[d + 1]
        while k < end and have[k] == 0.0:
            k += 1
        days += k < end
    bright, top = 0.0, 0.0
    if highest > 0.0:
        bright, top = highest_quantiles(power, have, (int(count), highest), room)
    return bright, top, int(count), int(lit), days


@compiled
def count_above(power, level):  # type: ignore[no-untyped-def]
    """Return how many readings exceed a level."""
    count = np.int32(0)
    for k in range(len(power)):
        count += np.int32(power[k] > level)
    return count


@compiled
def highest_quantiles(power, have, found, room):  # type: ignore[no-untyped-def]
    """Return the powers that 2% and 0.1% of the readings exceed; ``room`` is what is worked in."""
    count, highest = found
    fewest = count - int(BRIGHT * (count - 1))
    kept = 0
    if count_above(power, np.float32(0.0)) >= fewest:
        # a level that few but enough exceed: only these need an order
        low, high = np.float32(0.0), highest
        for _ in range(_HALVINGS):
            middle = np.float32(0.5) * (low + high)
            if count_above(power, middle) >= fewest:
                low = middle
            else:
                high = middle
        for k in range(len(power)):
            if power[k] > low:
                room[kept] = power[k]
                kept += 1
    else:
        for k in range(len(power)):
            if have[k] > 0.0:
                room[kept] = power[k]
                kept += 1
    ordered = room[:kept]
    ordered.sort()
    missing = count - kept
    return _quantile(ordered, BRIGHT, count, missing), _quantile(ordered, TOP, count, missing)


@compiled
def _quantile(ordered, share, count, missing):  # type: ignore[no-untyped-def]
    rank = share * (count - 1)
    low = int(rank)
    before, after = ordered[low - missing], ordered[min(low + 1, count - 1) - missing]
    return before + (rank - low) * (after - before)


@compiled
def find_limit(power, have, top, day, hours):  # type: ignore[no-untyped-def]
    """Return the logarithm of an inverter's limit, infinite for none: see ``fit.clipping``."""
    bins, usable = len(_EDGES) - 1, len(day)
    if top <= 0.0:
        return np.inf
    counts = np.zeros(bins, dtype=np.int32)
    lowest, width = _EDGES[0], _EDGES[1] - _EDGES[0]
    for k in range(usable):
        # readings that are not there have no power, and fall below
        place = (power[k] / top - lowest) / width
        if place >= 0.0 and place < bins:
            counts[int(place)] += 1
    smooth = counts.copy()
    smooth[1:] += counts[:-1]
    smooth[:-1] += counts[1:]
    pile = smooth.argmax()
    usual = np.median(smooth[: max(pile - 5, 5)])
    above = counts[pile + 5 :].sum()
    if smooth[pile] <= 2.5 * max(usual, 3.0) or above >= 0.25 * smooth[pile]:
        return np.inf
    level = (lowest + width * pile + 0.5 * width) * top
    # whole days at the limit, each for hours
    lasting, held, today = 0, 0, -1
    for k in range(usable):
        if day[k] != today:
            lasting += held * hours >= LEAST_HOURS
            held, today = 0, day[k]
        if have[k] > 0.0 and abs(power[k] / level - 1.0) < 0.02:
            held += 1
    lasting += held * hours >= LEAST_HOURS
    return np.log(level) if lasting >= FEWEST_DAYS else np.inf
