"""From rows to a matrix of power: one row per system, one column per interval, NaN where empty."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.fleet.survey import Runs
from sunveil.meters.quality import SENTINELS
from sunveil.timegrid import TimeGrid

Power = NDArray[np.float32]


def scatter(
    runs: Runs,
    values: NDArray[np.float32],
    axis: TimeGrid,
    row: NDArray[np.int32],
    *,
    shift: int,
    factor: float,
    needs_review: NDArray[np.uint8],
    power: Power,
) -> None:
    """Put the readings of some systems on an axis, and mark those that do not stand on it.

    Parameters
    ----------
    runs
        Runs of rows.
    values
        The reading of each row. [the unit of the source]
    axis
        The intervals.
    row
        The matrix's row of each system by its local number, -1 for none.
    shift
        From a stamp back to the start of its interval. [s]
    factor
        Turns a reading into kW.
    needs_review
        By local number; set where a reading is off the axis, twice there, or infinite.
    power
        What is written, whatever it held: one row per system, NaN where there is no reading. [kW]
    """
    first = axis.first + shift
    blanks = tuple(np.float32(each) for each in SENTINELS)
    _scatter(runs, values, row, first, axis.step, np.float32(factor), blanks, needs_review, power)


def compile_kernels() -> None:
    """Compile what lays rows out, for the types that it is called with."""
    nothing = np.empty((0, 5), dtype=np.int64)
    power, rows = np.empty((1, 1), dtype=np.float32), np.zeros(1, dtype=np.int32)
    review = np.zeros(1, dtype=np.uint8)
    axis = TimeGrid(0, 3600, 1)
    scatter(nothing, power[0], axis, rows, shift=0, factor=1.0, needs_review=review, power=power)


@njit(cache=True, nogil=True)
def _scatter(runs, values, row, first, step, factor, blanks, needs_review, power):  # type: ignore[no-untyped-def]
    """Lay runs (r, 5) of values (n,) onto the rows of power (systems, intervals). [s, kW]

    The other parameters are those of :func:`scatter`, with the start of the axis as its stamps
    have it [s since 1970], and what loggers write where there is no reading.
    """
    count = power.shape[1]
    # how far each row is written: what comes behind stands on nothing
    written = np.zeros(len(power), dtype=np.int64)
    for run in range(len(runs)):
        s = runs[run, 0]
        if row[s] < 0:
            continue
        length = runs[run, 4]
        away = runs[run, 1] - first
        place = away // step
        stride = 1 if length == 1 else runs[run, 2] // step
        even = length == 1 or stride * step == runs[run, 2]
        last = place + (length - 1) * stride
        if away < 0 or place * step != away or not even or last >= count:
            needs_review[s] = 1
            continue
        source = values[runs[run, 3] : runs[run, 3] + length]
        line = power[row[s]]
        done = written[row[s]]
        if stride == 1 and place >= done:
            line[done:place] = np.nan
            strange = _append(source, factor, blanks, line[place : last + 1])
        else:
            line[done : last + 1] = np.nan
            strange = _insert(source, factor, blanks, line[place:], stride)
        written[row[s]] = max(done, last + 1)
        if strange:
            needs_review[s] = 1
    for s in range(len(power)):
        power[s, written[s] :] = np.nan


@njit(cache=True, nogil=True)
def _append(source, factor, blanks, target):  # type: ignore[no-untyped-def]
    """Turn readings (n,) into kW in a target (n,); return whether one is infinite."""
    endless = False
    for k in range(len(source)):
        value = source[k]
        missing = False
        for blank in blanks:
            missing |= value == blank
        endless |= np.isinf(value)
        # adding zero turns -0.0 into 0.0
        target[k] = np.float32(np.nan) if missing else value * factor + np.float32(0.0)
    return endless


@njit(cache=True, nogil=True)
def _insert(source, factor, blanks, target, stride):  # type: ignore[no-untyped-def]
    """Put readings (n,) as kW at every so many places of a target.

    Return whether one is infinite, or stands where another was.
    """
    strange = False
    for k in range(len(source)):
        value = source[k]
        missing = False
        for blank in blanks:
            missing |= value == blank
        if stride > 1 and (missing or np.isnan(value)):
            continue  # what lies between may be a run of its own
        strange |= not np.isnan(target[k * stride]) or np.isinf(value)
        target[k * stride] = np.float32(np.nan) if missing else value * factor + np.float32(0.0)
    return strange
