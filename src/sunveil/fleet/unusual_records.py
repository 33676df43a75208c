"""Compiled screening of unusual records."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.errors import MeterError
from sunveil.meters import quality_rules, registers
from sunveil.meters.quality_rules import FACTORS, may_switch
from sunveil.meters.time_steps import SUSTAINED, RawReadings
from sunveil.site import TimeGrid

Power = NDArray[np.float32]

# Records of fewer readings go to the rules in any case.
_FEWEST = 48

# How many stuck stretches keep their levels; a record with more goes to the rules.
_LEVELS = 8

# The rules count in 64 bits, and looks in 32: what is this close to a limit goes to the rules.
_MARGIN = 1.01


def inspect(
    power: Power, axis: TimeGrid, *, net: bool = False, sign_known: bool = False
) -> NDArray[np.bool_]:
    """Set small consumption to zero, and return which records need the rules for meters."""
    # Of net meters nothing is changed: what is below zero is a household's.
    levels = np.empty(_LEVELS, dtype=np.float32)
    found = np.zeros(len(power), dtype=np.bool_)
    for number, row in enumerate(power):
        count, pairs, ups, downs, same = _tally(row)
        if _is_uneven(row, count, pairs) or _may_be_register(count, pairs, ups, downs):
            found[number] = True
            continue
        level = _net_level(row, axis, sign_known=sign_known) if net else row
        if level is None:
            found[number] = True
            continue
        bottom, top = _range(level)
        found[number] = (
            (top == 0.0 and bottom == 0.0)
            or _may_have_spikes(level, count, bottom, top)
            or (bottom < 0.0 and _may_be_far_below(level, count, bottom))
            or _may_be_stuck(row, count, same, _range(row)[1], axis.step, levels)
            or _may_change_unit(level, top, axis)
        )
        if bottom < 0.0 and not found[number]:
            np.maximum(row, np.float32(0.0), out=row)
    return found


def compile_kernels() -> None:
    """Compile what looks at records, for the types that it is called with."""
    row = np.zeros(2 * _FEWEST, dtype=np.float32)
    _tally(row)
    _range(row)
    _longest_equal_gaps(row)
    _stuck_levels(row, 8, np.empty(_LEVELS, dtype=np.float32))
    _count_dim_days(row, 0, 3600, np.float32(1.0), np.float32(1.0))
    _few_reach(row, np.float32(1.0), 1)


def _is_uneven(row: Power, count: int, pairs: int) -> bool:
    """Whether a record is short, or has mostly, or for a while, another spacing than its axis."""
    if count < _FEWEST or 2 * pairs < count:
        return True
    return count - pairs >= SUSTAINED and _longest_equal_gaps(row) >= SUSTAINED - 1


def _may_be_register(count: int, pairs: int, ups: int, downs: int) -> bool:
    """Whether a record may count up without end, however it goes on behind its gaps."""
    steps = count - 1
    falls = downs < registers.REGISTER_FALLS * steps
    return falls and ups + steps - pairs > registers.REGISTER_RISES * steps


def _may_have_spikes(row: Power, count: int, bottom: float, top: float) -> bool:
    """Whether hardly any other reading comes near the largest."""
    near = np.float32(_MARGIN * max(top, -bottom) / quality_rules.SPIKE_FACTOR)
    return bool(_few_reach(row, near, max(1, round(quality_rules.SPIKE_SHARE * count)) + 1))


def _may_be_far_below(row: Power, count: int, bottom: float) -> bool:
    """Whether the lowest reading may be far below zero beside what the record reaches."""
    near = np.float32(_MARGIN * -bottom / quality_rules.FAR_BELOW)
    return bool(_few_reach(row, near, _above_usual_top(count)))


def _net_level(row: Power, axis: TimeGrid, *, sign_known: bool) -> Power | None:
    """Return how much power flows either way, by which a net meter is looked at; None to review."""
    there = np.flatnonzero(~np.isnan(row))
    readings = RawReadings(
        axis.starts[there], row[there].astype(np.float64), there, "a record", net=True
    )
    try:
        signed = quality_rules.tell_net(readings, turnable=not sign_known, interval=axis.step)
    except MeterError:
        return None
    return np.abs(row) if signed is readings else None


def _may_be_stuck(
    row: Power, count: int, same: int, top: float, step: int, levels: NDArray[np.float32]
) -> bool:
    """Whether the record may stand still for hours, neither near zero nor where inverters clip."""
    least = quality_rules.stuck_readings(step)
    if same < least - 1:
        return False
    stretches = _stuck_levels(row, least, levels)
    if stretches > len(levels):
        return True
    for level in levels[:stretches]:
        near = np.float32(_MARGIN * level / quality_rules.STUCK_FLOOR)
        if level < _MARGIN * quality_rules.STUCK_CEILING * top and _few_reach(
            row, near, _above_usual_top(count)
        ):
            return True
    return False


def _may_change_unit(row: Power, top: float, axis: TimeGrid) -> bool:
    """Whether days are so dim that another unit may explain them."""
    factor = np.float32(FACTORS[0] / _MARGIN)
    if _count_dim_days(row, axis.first, axis.step, np.float32(top), factor) < 2:
        return False
    # most that look so have dark days in winter: what tells these apart stands with the rule
    there = np.flatnonzero(~np.isnan(row))
    days = (axis.first + axis.step * there) // 86400
    heads = np.flatnonzero(np.diff(days, prepend=days[0] - 1))
    return may_switch(np.maximum.reduceat(row[there].astype(np.float64), heads))


def _above_usual_top(count: int) -> int:
    """Return how many readings of a record may lie above the level that the rules call top."""
    return int(_MARGIN * (1.0 - quality_rules.TOP_QUANTILE) * count + 2.0)


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _tally(row):  # type: ignore[no-untyped-def]
    # Counted in 32-bit floats, of which wide registers add many at once in any order, and which
    # hold whole numbers up to 16 million.
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


@njit(cache=True, nogil=True)
def _range(row):  # type: ignore[no-untyped-def]
    """Return the lowest reading of (n,), no more than zero, and the highest, no less. [kW]"""
    # loops without branches over as many readings as wide registers take at once
    lanes = 64
    length = len(row)
    tops = np.zeros(lanes, dtype=np.float32)
    bottoms = np.zeros(lanes, dtype=np.float32)
    for start in range(0, length - lanes + 1, lanes):
        part = row[start : start + lanes]
        for k in range(lanes):
            tops[k] = part[k] if part[k] > tops[k] else tops[k]
            bottoms[k] = part[k] if part[k] < bottoms[k] else bottoms[k]
    for j in range(length - length % lanes, length):
        tops[0] = row[j] if row[j] > tops[0] else tops[0]
        bottoms[0] = row[j] if row[j] < bottoms[0] else bottoms[0]
    low, high = bottoms[0], tops[0]
    for k in range(1, lanes):
        low, high = min(low, bottoms[k]), max(high, tops[k])
    return low, high


@njit(cache=True, nogil=True)
def _longest_equal_gaps(row):  # type: ignore[no-untyped-def]
    """Return how many equal gaps between the readings of (n,) follow each other at most."""
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


@njit(cache=True, nogil=True)
def _stuck_levels(row, least, levels):  # type: ignore[no-untyped-def]
    """Return how many stretches of one positive value a record has, and note the values."""
    length = len(row)
    stretches = 0
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
                if stretches < len(levels):
                    levels[stretches] = row[j]
                stretches += 1
        j = (end // (least - 1) + 1) * (least - 1)
    return stretches


@njit(cache=True, nogil=True)
def _count_dim_days(row, first, step, top, factor):  # type: ignore[no-untyped-def]
    """Return how many days have power, but nowhere as much as the top divided by a factor."""
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
        if not (at < end and row[at] * factor > top):
            peak = np.float32(0.0)
            for j in range(begin, end):
                if row[j] > peak:
                    peak = row[j]
                    bright = j - begin
            dim += int(0.0 < peak * factor <= top)
        begin = end
    return dim


@njit(cache=True, nogil=True)
def _few_reach(row, level, most):  # type: ignore[no-untyped-def]
    """Return whether no more than a number of readings of (n,) come up to a level. [kW]"""
    block = 64
    near = 0
    for start in range(0, len(row), block):
        for value in row[start : start + block]:
            near += value >= level
        if near > most:
            return False
    return True
