"""From rows to a matrix of power: one row per system, one column per interval, NaN where empty."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sunveil.cells import Axis
from sunveil.fleet.survey import Runs
from sunveil.jit import compiled_exactly

Power = NDArray[np.float32]
Chunk = tuple[Runs, NDArray[np.float32]]


def scatter(
    chunks: Sequence[Chunk],
    axis: Axis,
    row: NDArray[np.int32],
    *,
    shift: int,
    factor: float,
    odd: NDArray[np.uint8],
) -> Power:
    """Return the readings of some systems on an axis, and mark those that do not stand on it.

    Parameters
    ----------
    chunks
        Runs of rows, and the reading of each row. [the unit of the source]
    axis
        The intervals.
    row
        The matrix's row of each system by its local number, -1 for none.
    shift
        From a stamp back to the start of its interval. [s]
    factor
        Turns a reading into kW.
    odd
        By local number; set where a reading is off the axis, twice there, or infinite.
    """
    power = np.full((int(row.max(initial=-1)) + 1, axis.count), np.nan, dtype=np.float32)
    for runs, values in chunks:
        first = axis.first + shift
        _scatter(runs, values, row, first, axis.step, np.float32(factor), odd, power)
    return power


@compiled_exactly
def _scatter(runs, values, row, first, step, factor, odd, power):  # type: ignore[no-untyped-def]
    count = power.shape[1]
    for run in range(len(runs)):
        s = runs[run, 0]
        if row[s] < 0:
            continue
        length = runs[run, 4]
        away = runs[run, 1] - first
        place = away // step
        stride = 1 if length == 1 else runs[run, 2] // step
        even = length == 1 or stride * step == runs[run, 2]
        if away < 0 or place * step != away or not even or place + (length - 1) * stride >= count:
            odd[s] = 1
            continue
        source = values[runs[run, 3] : runs[run, 3] + length]
        taken = 0
        endless = 0
        if stride == 1:
            target = power[row[s], place : place + length]
            for k in range(length):
                value = source[k]
                missing = (value == -999.0) | (value == -9999.0) | (value == -99999.0)
                taken += target[k] == target[k]
                endless += abs(value) > 3.4e38
                # adding zero turns -0.0 into 0.0
                target[k] = np.float32(np.nan) if missing else value * factor + np.float32(0.0)
        else:
            for k in range(length):
                value = source[k]
                if value != value or value == -999.0 or value == -9999.0 or value == -99999.0:
                    continue
                here = place + k * stride
                taken += power[row[s], here] == power[row[s], here]
                endless += abs(value) > 3.4e38
                power[row[s], here] = value * factor + np.float32(0.0)
        if taken + endless > 0:
            odd[s] = 1
