"""Clocks as tables of their changes, for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

import numpy as np
from numpy.typing import NDArray

from sunveil.meters.options import parse_timezone

_DAY = 86_400


@dataclass(frozen=True, slots=True, eq=False)
class ZoneTable:
    """Changes of clocks: those of clock ``z`` stand at ``first[z]`` to ``first[z + 1] - 1``.

    A clock that never changes has one entry, long ago, with equal offsets.

    Parameters
    ----------
    first
        Where the changes of each clock begin, and the end of all.
    utc
        When. [s since 1970]
    before, after
        How far the clock is ahead of UTC. [s]
    """

    first: NDArray[np.int64]
    utc: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]

    @classmethod
    def of(cls, names: Sequence[str], span: tuple[int, int]) -> ZoneTable:
        """Return the changes of some clocks over a span, a year to each side. [s since 1970]"""
        first, rows = [0], []
        for name in names:
            rows += _changes(parse_timezone(name)[0], span[0] - 366 * _DAY, span[1] + 366 * _DAY)
            first.append(len(rows))
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return cls(np.array(first, dtype=np.int64), *(np.ascontiguousarray(c) for c in table.T))


def _changes(zone: tzinfo, start: int, end: int) -> list[tuple[int, int, int]]:
    fixed = zone.utcoffset(None)
    if fixed is not None:
        offset = int(fixed.total_seconds())
        return [(-(2**60), offset, offset)]
    opening = _ahead(zone, start)
    found = [(-(2**60), opening, opening)]
    for day in range(start, end, _DAY):
        a, b = day, day + _DAY
        old, new = _ahead(zone, a), _ahead(zone, b)
        if old == new:
            continue
        while b - a > 1:
            middle = (a + b) // 2
            a, b = (middle, b) if _ahead(zone, middle) == old else (a, middle)
        found.append((b, old, new))
    return found if len(found) > 1 else [(-(2**60), opening, opening)]


def _ahead(zone: tzinfo, second: int) -> int:
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    offset = when.astimezone(zone).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())
