"""From rows to a matrix of power: one row per system, one column per interval, NaN where empty."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.timegrid import TimeGrid
from sunveil.fleet.survey import Runs
from sunveil.jit import compiled_exactly

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
    _scatter(runs, values, row, first, axis.step, np.float32(factor), needs_review, power)


# How loggers write that there is no reading.
_BLANKS = (np.float32(-999.0), np.float32(-9999.0), np.float32(-99999.0))
_ENDLESS = np.float32(3.4e38)
_NAN = np.float32(np.nan)


@compiled_exactly
def _scatter(runs, values, row, first, step, factor, needs_review, power):  # type: ignore[no-untyped-def]
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
            line[done:place] = _NAN
            strange = _behind(source, factor, line[place : last + 1])
        else:
            line[done : last + 1] = _NAN
            strange = _among(source, factor, line[place:], stride)
        written[row[s]] = max(done, last + 1)
        if strange:
            needs_review[s] = 1
    for s in range(len(power)):
        power[s, written[s] :] = _NAN


@compiled_exactly
def _behind(source, factor, target):  # type: ignore[no-untyped-def]
    """Turn readings into kW; return whether one is infinite."""
    endless = False
    for k in range(len(source)):
        value = source[k]
        missing = (value == _BLANKS[0]) | (value == _BLANKS[1]) | (value == _BLANKS[2])
        endless |= abs(value) > _ENDLESS
        # adding zero turns -0.0 into 0.0
        target[k] = _NAN if missing else value * factor + np.float32(0.0)
    return endless


@compiled_exactly
def _among(source, factor, target, stride):  # type: ignore[no-untyped-def]
    """Add readings to others; return whether one is infinite, or stands where one was."""
    strange = False
    for k in range(len(source)):
        value = source[k]
        missing = (value == _BLANKS[0]) | (value == _BLANKS[1]) | (value == _BLANKS[2])
        if stride > 1 and (missing or value != value):
            continue  # what lies between may be a run of its own
        here = target[k * stride]
        strange |= (here == here) | (abs(value) > _ENDLESS)
        target[k * stride] = _NAN if missing else value * factor + np.float32(0.0)
    return strange
