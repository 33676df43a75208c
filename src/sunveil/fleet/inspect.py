"""Quick looks at whole records: which of them the rules for meters would change or refuse.

The rules themselves stand in :mod:`sunveil.meters.quality`. Here each has a cheap condition that
every record it would touch fulfils, and a record that fulfils none is as those rules leave it. Only
what a meter consumes at night, which most records have, is set to zero here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.timegrid import TimeGrid
from sunveil.fleet.scatter import Power
from sunveil.jit import compiled, compiled_exactly
from sunveil.meters.switches import may_switch

_STUCK_HOURS = 6.0
_STUCK_READINGS = 8
# Of so many stuck stretches the levels are kept; a record with more needs the rules.
_LEVELS = 8
# Loops without branches over so many readings at a time, which wide registers take at once.
_LANES = 64


def inspect(power: Power, axis: TimeGrid) -> NDArray[np.uint8]:
    """Set small consumption to zero, and return which records need the rules for meters.

    Parameters
    ----------
    power
        One record per row, NaN where there is no reading; changed in place. [kW]
    axis
        Its columns.
    """
    needs_review = np.zeros(len(power), dtype=np.uint8)
    least = max(_STUCK_READINGS, int(np.ceil(_STUCK_HOURS * 3600 / axis.step)))
    counts = np.zeros((len(power), 2), dtype=np.int64)
    ends = np.zeros((len(power), 2), dtype=np.float32)
    levels = np.zeros((len(power), _LEVELS), dtype=np.float32)
    dim = np.zeros(len(power), dtype=np.uint8)
    _course(power, axis.first, axis.step, least, counts, ends, levels, (needs_review, dim))
    for row in np.flatnonzero(dim):
        # most that look so have dark days in winter: what tells these apart stands with the rule
        needs_review[row] |= may_switch(_peaks(power[row], axis))
    _extremes(power, counts, ends, levels, needs_review)
    return needs_review


def _peaks(row: Power, axis: TimeGrid) -> NDArray[np.float64]:
    """Return the highest reading of every day that has one."""
    there = np.flatnonzero(~np.isnan(row))
    days = (axis.first + axis.step * there) // 86400
    heads = np.flatnonzero(np.diff(days, prepend=days[0] - 1))
    return np.maximum.reduceat(row[there].astype(np.float64), heads)


@compiled_exactly
def _course(power, first, step, least, counts, ends, levels, found):  # type: ignore[no-untyped-def]
    """Look at how each record runs: its spacing, its days, its stuck stretches.

    ``found`` is filled with which records need the rules, and which of the others have dim days.
    """
    needs_review, dim = found
    most = levels.shape[1]
    tops = np.empty(_LANES, dtype=np.float32)
    bottoms = np.empty(_LANES, dtype=np.float32)
    for s in range(power.shape[0]):
        row = power[s]
        count, pairs, ups, downs, same = _tallied(row)
        bottom, top = _reached(row, tops, bottoms)
        # too short or empty; only zeros; mostly another spacing
        strange = count < 48 or (top == 0.0 and bottom == 0.0) or 2 * pairs < count
        # a register
        strange = strange or (downs < 0.006 * count and ups > 0.04 * count)
        # as many equal gaps in a row are another spacing on the way
        strange = strange or (count - pairs > 40 and _equal_gaps(row) >= 40)
        runs = _stuck(row, least, levels[s]) if same >= least - 1 else 0
        needs_review[s] = strange or runs > most
        # a unit that changes: at least two days a five-hundredth of the highest
        dim[s] = not needs_review[s] and _dim_days(row, first, step, top) >= 2
        counts[s, 0] = count
        counts[s, 1] = runs
        ends[s, 0] = bottom
        ends[s, 1] = top


@compiled
def _tallied(row):  # type: ignore[no-untyped-def]
    """Return how many readings there are, and of neighbours: pairs, ups, downs, equal ones.

    Counted in 32-bit floats, of which wide registers add many at once, and which hold whole
    numbers up to 16 million.
    """
    count = np.float32(row[0] == row[0])
    none = np.float32(0.0)
    pairs, ups, downs, same = none, none, none, none
    for j in range(1, len(row)):
        here = row[j]
        before = row[j - 1]
        count += np.float32(here == here)
        pairs += np.float32((here == here) & (before == before))
        ups += np.float32(here > before)
        downs += np.float32(here < before)
        same += np.float32((here == before) & (here > none))
    return int(count), int(pairs), int(ups), int(downs), int(same)


@compiled_exactly
def _reached(row, tops, bottoms):  # type: ignore[no-untyped-def]
    """Return the lowest reading, no more than zero, and the highest, no less. [kW]"""
    length = len(row)
    tops[:] = 0.0
    bottoms[:] = 0.0
    for start in range(0, length - _LANES + 1, _LANES):
        part = row[start : start + _LANES]
        for k in range(_LANES):
            tops[k] = part[k] if part[k] > tops[k] else tops[k]
            bottoms[k] = part[k] if part[k] < bottoms[k] else bottoms[k]
    for j in range(length - length % _LANES, length):
        tops[0] = row[j] if row[j] > tops[0] else tops[0]
        bottoms[0] = row[j] if row[j] < bottoms[0] else bottoms[0]
    return bottoms.min(), tops.max()


@compiled_exactly
def _equal_gaps(row):  # type: ignore[no-untyped-def]
    """Return how many equal gaps follow each other at most."""
    longest = 0
    gap = 0
    alike = 0
    last = -1
    for j in range(len(row)):
        if row[j] == row[j]:
            width = j - last
            alike = 0 if width == 1 else alike + 1 if width == gap else 1
            gap = width
            longest = max(longest, alike)
            last = j
    return longest


@compiled_exactly
def _stuck(row, least, levels):  # type: ignore[no-untyped-def]
    """Return how many stretches are as long as the least that is stuck, and note their levels."""
    length = len(row)
    runs = 0
    j = least - 1
    while j < length:
        # every such stretch has an equal pair at one of these places
        end = j
        if row[j] == row[j - 1] and row[j] > 0.0:
            start = j - 1
            while start > 0 and row[start - 1] == row[j]:
                start -= 1
            while end + 1 < length and row[end + 1] == row[j]:
                end += 1
            if end - start + 1 >= least:
                if runs < len(levels):
                    levels[runs] = row[j]
                runs += 1
        j = (end // (least - 1) + 1) * (least - 1)
    return runs


@compiled_exactly
def _dim_days(row, first, step, top):  # type: ignore[no-untyped-def]
    """Return how many days have power, and nowhere a five-hundredth of the highest."""
    length = len(row)
    dim = 0
    day = first // 86400
    begin = 0
    bright = 0
    while begin < length:
        day += 1
        end = min((day * 86400 - first + step - 1) // step, length)
        # mostly the hour that was bright yesterday is bright again
        at = begin + bright
        if not (at < end and row[at] * np.float32(490.0) > top):
            peak = np.float32(0.0)
            for j in range(begin, end):
                if row[j] > peak:
                    peak = row[j]
                    bright = j - begin
            dim += int(0.0 < peak * np.float32(490.0) <= top)
        begin = end
    return dim


@compiled_exactly
def _extremes(power, counts, ends, levels, needs_review):  # type: ignore[no-untyped-def]
    """Look for spikes, deep negatives and stuck stretches, erring towards finding them."""
    for s in range(power.shape[0]):
        if needs_review[s]:
            continue
        row = power[s]
        count = counts[s, 0]
        bottom = ends[s, 0]
        top = ends[s, 1]
        # a spike: hardly any other reading comes within a twentieth of it
        edge = max(top, -bottom) * np.float32(0.051)
        strange = _few(row, edge, max(1, round(0.001 * count)) + 1)
        most = int(0.0101 * count + 2.0)
        if bottom < 0.0:
            # far below zero: a tenth of what one reading in a hundred exceeds
            strange = strange or _few(row, np.float32(-10.1) * bottom, most)
        for k in range(counts[s, 1]):
            level = levels[s, k]
            if level < np.float32(0.951) * top:  # above, an inverter clips
                strange = strange or _few(row, np.float32(20.1) * level, most)
        if strange:
            needs_review[s] = 1
        elif bottom < 0.0:
            for j in range(len(row)):
                row[j] = np.float32(0.0) if row[j] < np.float32(0.0) else row[j]


@compiled_exactly
def _few(row, edge, most):  # type: ignore[no-untyped-def]
    """Whether no more than so many readings come up to an edge."""
    near = 0
    for start in range(0, len(row), _LANES):
        for value in row[start : start + _LANES]:
            near += value >= edge
        if near > most:
            return False
    return True
