"""Quick looks at whole records: which of them the rules for meters would change or refuse.

The rules themselves stand in :mod:`sunveil.meters.quality`. Here each has a cheap condition that
every record it would touch fulfils, and a record that fulfils none is as those rules leave it. Only
what a meter consumes at night, which most records have, is set to zero here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.cells import Axis
from sunveil.fleet.scatter import Power
from sunveil.jit import compiled_exactly

_STUCK_HOURS = 6.0
_STUCK_READINGS = 8
# Of so many stuck stretches the levels are kept; a record with more needs the rules.
_LEVELS = 8


def inspect(power: Power, axis: Axis) -> NDArray[np.uint8]:
    """Set small consumption to zero, and return which records need the rules for meters.

    Parameters
    ----------
    power
        One record per row, NaN where there is no reading; changed in place. [kW]
    axis
        Its columns.
    """
    odd = np.zeros(len(power), dtype=np.uint8)
    least = max(_STUCK_READINGS, int(np.ceil(_STUCK_HOURS * 3600 / axis.step)))
    counts = np.zeros((len(power), 2), dtype=np.int64)
    ends = np.zeros((len(power), 2), dtype=np.float32)
    levels = np.zeros((len(power), _LEVELS), dtype=np.float32)
    _course(power, axis.first, axis.step, least, counts, ends, levels, odd)
    _extremes(power, counts, ends, levels, odd)
    return odd


@compiled_exactly
def _course(power, first, step, least, counts, ends, levels, odd):  # type: ignore[no-untyped-def]
    """Look at how each record runs: its spacing, its days, its stuck stretches."""
    length = power.shape[1]
    most = levels.shape[1]
    lanes = 16
    tops = np.empty(lanes, dtype=np.float32)
    bottoms = np.empty(lanes, dtype=np.float32)
    for s in range(power.shape[0]):
        row = power[s]
        # loops without branches, which a processor does many readings of at once
        ups = 0
        downs = 0
        pairs = 0
        same = 0
        count = int(row[0] == row[0])
        for j in range(1, length):
            here = row[j]
            before = row[j - 1]
            count += here == here
            pairs += (here == here) & (before == before)
            ups += here > before
            downs += here < before
            same += (here == before) & (here > 0.0)
        tops[:] = 0.0
        bottoms[:] = 0.0
        for block in range(0, length - lanes + 1, lanes):
            part = row[block : block + lanes]
            for k in range(lanes):
                tops[k] = part[k] if part[k] > tops[k] else tops[k]
                bottoms[k] = part[k] if part[k] < bottoms[k] else bottoms[k]
        for j in range(length - length % lanes, length):
            tops[0] = row[j] if row[j] > tops[0] else tops[0]
            bottoms[0] = row[j] if row[j] < bottoms[0] else bottoms[0]
        top = tops.max()
        bottom = bottoms.min()
        # too short or empty; only zeros; mostly another spacing
        strange = count < 48 or (top == 0.0 and bottom == 0.0) or 2 * pairs < count
        # a register
        strange = strange or (downs < 0.006 * count and ups > 0.04 * count)
        if count - pairs > 40:
            # as many equal gaps in a row are another spacing on the way
            gap = 0
            alike = 0
            last = -1
            for j in range(length):
                if row[j] == row[j]:
                    width = j - last
                    alike = 0 if width == 1 else alike + 1 if width == gap else 1
                    gap = width
                    strange = strange or alike >= 40
                    last = j
        # a unit that changes: at least two days a five-hundredth of the highest
        dim = 0
        day = first // 86400
        begin = 0
        while begin < length:
            day += 1
            end = min((day * 86400 - first + step - 1) // step, length)
            peak = np.float32(0.0)
            for j in range(begin, end):
                peak = row[j] if row[j] > peak else peak
            dim += int(0.0 < peak * np.float32(490.0) <= top)
            begin = end
        runs = 0
        if same >= least - 1:
            run = 1
            for j in range(1, length):
                run = run + 1 if row[j] == row[j - 1] and row[j] > 0.0 else 1
                if run == least:
                    if runs < most:
                        levels[s, runs] = row[j]
                    runs += 1
        odd[s] = strange or dim >= 2 or runs > most
        counts[s, 0] = count
        counts[s, 1] = runs
        ends[s, 0] = bottom
        ends[s, 1] = top


@compiled_exactly
def _extremes(power, counts, ends, levels, odd):  # type: ignore[no-untyped-def]
    """Look for spikes, deep negatives and stuck stretches, erring towards finding them."""
    for s in range(power.shape[0]):
        if odd[s]:
            continue
        row = power[s]
        count = counts[s, 0]
        bottom = ends[s, 0]
        top = ends[s, 1]
        # a spike: hardly any other reading comes within a twentieth of it
        edge = max(top, -bottom) * np.float32(0.051)
        near = 0
        for j in range(len(row)):
            near += row[j] >= edge
        strange = near <= max(1, round(0.001 * count)) + 1
        most = 0.0101 * count + 2.0
        if bottom < 0.0:
            # far below zero: a tenth of what one reading in a hundred exceeds
            edge = np.float32(-10.1) * bottom
            near = 0
            for j in range(len(row)):
                near += row[j] >= edge
            strange = strange or near <= most
        for k in range(counts[s, 1]):
            level = levels[s, k]
            if level < np.float32(0.951) * top:  # above, an inverter clips
                edge = np.float32(20.1) * level
                near = 0
                for j in range(len(row)):
                    near += row[j] >= edge
                strange = strange or near <= most
        if strange:
            odd[s] = 1
        elif bottom < 0.0:
            for j in range(len(row)):
                if row[j] < 0.0:
                    row[j] = np.float32(0.0)
