"""First and last light of many systems, compiled: see :mod:`sunveil.fit.light`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.cells import CellSky
from sunveil.cells.sky import DAY
from sunveil.cells.tables import LANES, Sheet
from sunveil.fit.shared import LIGHT_FEWEST_DAYS as FEWEST_DAYS
from sunveil.fit.shared import LIGHT_THRESHOLD as THRESHOLD
from sunveil.jit import compiled
from sunveil.quick.layout import count_above
from sunveil.quick.model import HAZE, HEAT, LIMIT, NO_LIMIT, unit_profile
from sunveil.quick.newton import FREE

# Of a day's intervals, so many must have a reading for its light to be told.
WHOLE = 0.9
# Halvings after which a median is known to a millionth of the values' range.
_HALVINGS = 20


class Days(NamedTuple):
    """The solar days of a cell's axis, and the sky that a plane's light in them is told by.

    Parameters
    ----------
    first
        Number of the first day since 1970.
    lead
        Intervals of the first day that lie before the axis.
    per_day, number, intervals
        Intervals of a day, how many days, and how many intervals on the axis.
    minutes
        Length of an interval. [minutes]
    high, low
        The sky at intervals with the sun well up, and at those with the sun low.
    high_slot, low_slot
        Where these stand on the axis.
    """

    first: int
    lead: int
    per_day: int
    number: int
    intervals: int
    minutes: float
    high: Sheet
    low: Sheet
    high_slot: NDArray[np.int32]
    low_slot: NDArray[np.int32]


class Calendar(NamedTuple):
    """When daylight is saved by a declared clock.

    Parameters
    ----------
    days, intervals
        Which solar days, and which intervals of the long axis, lie in daylight saving.
    step
        Length of an interval. [s]
    """

    days: NDArray[np.bool_]
    intervals: NDArray[np.bool_]
    step: int


def days_of(sky: CellSky) -> Days:
    """Return the days of a cell's sky; none of them when intervals do not divide a day."""
    long = sky.axis.long
    local = long.first + sky.turn
    lead = local % DAY // long.step
    per_day = DAY // long.step
    whole = DAY % long.step == 0
    return Days(
        first=local // DAY,
        lead=lead,
        per_day=per_day,
        number=-(-(lead + long.count) // per_day) if whole else 0,
        intervals=long.count,
        minutes=long.step / 60.0,
        high=sky.sheet,
        low=sky.low,
        high_slot=sky.slot[: sky.usable],
        low_slot=sky.slot[sky.usable :],
    )


@compiled
def fill_middles(row, threshold, days, middle, energy):  # type: ignore[no-untyped-def]
    """Fill the middle of each day's light, in intervals, NaN where none is told, and its sum."""
    least = WHOLE * days.per_day
    for d in range(days.number):
        start = d * days.per_day - days.lead
        low, high = max(start, 0), min(start + days.per_day, len(row))
        there, total = np.float32(high - low), np.float32(0.0)
        for k in range(low, high):
            total += row[k]
        if total != total:
            # a reading is missing: only then are they counted
            there, total = np.float32(0.0), np.float32(0.0)
            for k in range(low, high):
                value = row[k]
                there += np.float32(1.0) if value == value else np.float32(0.0)
                total += value if value == value else np.float32(0.0)
        energy[d] = total
        middle[d] = np.nan
        first, last = low, high - 1
        while first < high and not row[first] > threshold:
            first += 1
        while last > first and not row[last] > threshold:
            last -= 1
        if there < least or last <= first or first <= low or last >= high - 1:
            continue
        before, after = row[first - 1], row[last + 1]
        before = before if before == before else np.float32(0.0)
        after = after if after == after else np.float32(0.0)
        rise = (threshold - before) / (row[first] - before)
        fall = (row[last] - threshold) / (row[last] - after)
        middle[d] = 0.5 * ((first - 1 - start) + rise + (last - start) + fall)


@compiled
def median(values, count):  # type: ignore[no-untyped-def]
    """Return the lower median of the first values, or one within a millionth of their range."""
    low, high = values[0], values[0]
    for i in range(count):
        low, high = min(low, values[i]), max(high, values[i])
    half = (count + 1) // 2
    for _ in range(_HALVINGS):
        middle = np.float32(0.5) * (low + high)
        below = np.int32(0)
        for i in range(count):
            below += np.int32(values[i] <= middle)
        if below >= half:
            high = middle
        else:
            low = middle
    found = np.float32(-np.inf)
    for i in range(count):
        found = max(found, values[i] if values[i] <= high else np.float32(-np.inf))
    return found


@compiled
def typical(ours, theirs, saving, part, minutes, room):  # type: ignore[no-untyped-def]
    """Return how far light runs ahead on the brighter half of days. [minutes]

    ``ours`` and ``theirs`` are the middles and sums of days. ``part`` is 0 for all days, 1 for
    those outside daylight saving, 2 for those within. NaN where there are too few.
    """
    ahead, bright, _ = room
    count = 0
    for d in range(len(saving)):
        here = (ours[0][d] - theirs[0][d]) * np.float32(minutes)
        if here == here and (part == 0 or (part == 2) == saving[d]):
            ahead[count] = here
            bright[count] = ours[1][d] / max(theirs[1][d], np.float32(1e-9))
            count += 1
    if count < FEWEST_DAYS:
        return np.nan
    edge = median(bright, count)
    kept = 0
    for i in range(count):
        if bright[i] >= edge:
            ahead[kept] = ahead[i]
            kept += 1
    return median(ahead, kept)


@compiled
def light_room(days):  # type: ignore[no-untyped-def]
    """Return what the middles and sums of days are filled into."""
    return np.empty(days.number, dtype=np.float32), np.empty(days.number, dtype=np.float32)


@compiled
def typical_room(days):  # type: ignore[no-untyped-def]
    """Return what medians over days are worked in."""
    return (
        np.empty(days.number, dtype=np.float32),
        np.empty(days.number, dtype=np.float32),
        np.empty(days.number, dtype=np.float32),
    )


@compiled
def modelled_room(days):  # type: ignore[no-untyped-def]
    """Return what a plane's light is worked out in."""
    return (
        np.empty(days.intervals, dtype=np.float32),
        np.empty(days.high.shape[0] * LANES, dtype=np.float32),
        np.empty(days.low.shape[0] * LANES, dtype=np.float32),
        np.empty(FREE),
    )


@compiled
def fill_modelled(point, days, constants, room, middle, energy):  # type: ignore[no-untyped-def]
    """Fill the middles and sums of a plane's light, under the maps' own haze on an open rack."""
    row, high, low, sharp = room
    sharp[:] = point
    sharp[HAZE], sharp[HEAT] = 0.0, 1.0
    unit_profile(days.high, sharp, constants, high)
    unit_profile(days.low, sharp, constants, low)
    row[:] = 0.0
    for k in range(len(days.high_slot)):
        row[days.high_slot[k]] = high[k]
    for k in range(len(days.low_slot)):
        row[days.low_slot[k]] = low[k]
    # of all intervals, night included, one in a hundred is brighter
    rank = max(days.intervals // 100, 1)
    lowest, highest = np.float32(0.0), np.float32(2.0)
    for _ in range(12):
        level = np.float32(0.5) * (lowest + highest)
        if count_above(high, level) >= rank:
            lowest = level
        else:
            highest = level
    fill_middles(row, np.float32(THRESHOLD) * lowest, days, middle, energy)


@compiled
def fill_flat(days, constants, middle, energy):  # type: ignore[no-untyped-def]
    """Fill the middles and sums of each day's light on a flat plane."""
    point = np.zeros(FREE)
    point[LIMIT] = 2.0 * NO_LIMIT
    fill_modelled(point, days, constants, modelled_room(days), middle, energy)
