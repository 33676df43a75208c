"""Units that change on the way: a sustained thousandfold step in the level of a record."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sunveil.meters.wording import Rows

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
_DAY = 86_400
_LEAST_DAYS = 3
# What a change of unit by a thousand is taken to be, with the season's share in it.
FACTORS = (500.0, 2000.0)


@dataclass(frozen=True, slots=True, eq=False)
class UnitSwitches:
    """Where a record is a thousand times lower than elsewhere.

    Parameters
    ----------
    low
        Which readings are in the larger unit, and so a thousand times lower.
    starts
        The first reading after each change.
    """

    low: Mask
    starts: Rows


def find_switches(
    seconds: NDArray[np.int64], power: Array, *, interval: int
) -> UnitSwitches | None:
    """Return where the unit of a record changes, or None where it does not.

    Days are told apart by their peaks. An outage also lowers them, but does not then follow the
    course of the sun: the mean day of both parts must have the same shape.

    Parameters
    ----------
    seconds
        Interval starts, increasing. [s since 1970, UTC]
    power
        The readings. [kW]
    interval
        Length of an interval. [s]
    """
    days = seconds // _DAY
    heads = np.flatnonzero(np.r_[True, np.diff(days) > 0])
    if len(heads) < 2 * _LEAST_DAYS:
        return None
    peaks = np.maximum.reduceat(power, heads)
    low_days = _low_days(peaks)
    if low_days is None:
        return None
    low = np.repeat(low_days, np.diff(np.r_[heads, len(power)]))
    slots = ((seconds % _DAY) // interval).astype(np.int64)
    high_shape, low_shape = (_mean_day(power[part], slots[part]) for part in (~low, low))
    if not _same_shape(high_shape, low_shape):
        return None
    low = _sharpen(low, heads, power=power, shape=high_shape[slots])
    return UnitSwitches(low, np.flatnonzero(np.diff(low)) + 1)


def may_switch(peaks: Array) -> bool:
    """Return whether the peaks of days alone would let a unit change on the way."""
    return _low_days(peaks) is not None


def repair_switches(power: Array, switches: UnitSwitches) -> Array:
    """Return the record in the unit of its longer part."""
    if switches.low.mean() > 0.5:
        return np.where(switches.low, power, power / 1000.0)
    return np.where(switches.low, power * 1000.0, power)


def _low_days(peaks: Array) -> Mask | None:
    """Return which days belong to stretches a thousand times lower, or None without any."""
    bright = peaks > 0.0
    if bright.sum() < 2 * _LEAST_DAYS:
        return None
    levels = np.log10(np.where(bright, peaks, 1.0))
    ordered = np.sort(levels[bright])
    if ordered[-1] - ordered[0] < np.log10(FACTORS[0]):
        return None
    gaps = np.diff(ordered)
    cut = float(ordered[gaps.argmax()] + gaps.max() / 2)
    low = _smoothed(np.where(bright, levels < cut, False), bright)
    counted = [(low & bright).sum(), (~low & bright).sum()]
    if min(counted) < _LEAST_DAYS:
        return None
    ratio = 10.0 ** (np.median(levels[~low & bright]) - np.median(levels[low & bright]))
    return low if FACTORS[0] <= ratio <= FACTORS[1] else None


def _smoothed(low: Mask, bright: Mask) -> Mask:
    """Give days without light, and stretches of a day or two, to the stretch before them."""
    position = np.flatnonzero(bright)
    known = low[position]
    edges = np.flatnonzero(np.r_[True, known[1:] != known[:-1], True])
    for start, end in pairwise(edges):
        if end - start < _LEAST_DAYS and end < len(known):
            known[start:end] = known[start - 1] if start else known[end]
        elif end - start < _LEAST_DAYS and start:
            known[start:end] = known[start - 1]
    before = np.searchsorted(position, np.arange(len(low)), side="right") - 1
    return np.asarray(known[np.maximum(before, 0)])


def _mean_day(power: Array, slots: NDArray[np.int64]) -> Array:
    size = int(slots.max()) + 1
    sums = np.bincount(slots, weights=np.maximum(power, 0.0), minlength=size)
    return np.asarray(sums / np.maximum(np.bincount(slots, minlength=size), 1))


def _same_shape(first: Array, second: Array) -> bool:
    size = max(len(first), len(second))
    ours, theirs = (np.pad(each, (0, size - len(each))) for each in (first, second))
    if ours.std() == 0.0 or theirs.std() == 0.0:
        return False
    return bool(np.corrcoef(ours, theirs)[0, 1] > 0.8)


def _sharpen(low: Mask, heads: Rows, *, power: Array, shape: Array) -> Mask:
    """Move each change from midnight to the reading where it happened.

    Around a change, every place to cut costs the readings it leaves on the wrong side of the
    geometric middle between the two units; the cheapest is taken.
    """
    sharp = low.copy()
    wrong = np.where(
        (power > 0.0) & (shape > 0.01 * shape.max()), np.sign(power - shape / 31.6), 0.0
    )
    for change in np.flatnonzero(np.diff(low)) + 1:
        place = int(np.searchsorted(heads, change))
        start = int(heads[place - 1])
        end = int(heads[place + 1]) if place + 1 < len(heads) else len(low)
        # +1 speaks for the high unit: with a high part after, the cut is where the sum turns.
        to_high = bool(low[change - 1])
        course = np.r_[0.0, np.cumsum(wrong[start:end])] * (1.0 if to_high else -1.0)
        tied = start + np.flatnonzero(course == course.min())
        # In the dark every place is as good: midnight then, or the middle of the night.
        cut = int(change if change in tied else tied[len(tied) // 2])
        sharp[start:cut], sharp[cut:end] = to_high, not to_high
    return sharp
