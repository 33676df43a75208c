"""The years of a record, each by itself, so that one bad year does not move all.

Snow, soiling, a dead string or a clock spoil a year and leave the next one alone. Each year of a
long record is fitted by itself, and the estimate is their weighted median; how far they lie apart is
the honest part of an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.model import PARAMETERS
from sunveil.site import Array
from sunveil.timegrid import DAY

YEAR = 365.25 * DAY
# What is left of a record after whole years is one of its own from this share of a year on, and
# belongs to the last one else.
LEAST_YEAR = 0.75
# A year with so few clear readings beside the clearest one has no say.
LEAST_SAY = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class YearFits:
    """Fits of single years, one entry each, system by system: private.

    Parameters
    ----------
    system
        Which system of the block each is of.
    first
        The first instant of each year. [s since 1970]
    points
        Where each fit ended, shape (years, PARAMETERS).
    say
        How many clear readings each had.
    """

    system: NDArray[np.intp]
    first: NDArray[np.int64]
    points: Array
    say: Array

    @classmethod
    def joined(cls, parts: Sequence[YearFits]) -> YearFits:
        """Return the years of several fits together, those of a system in their order."""
        if not parts:
            none = np.empty(0, dtype=np.int64)
            return cls(none.astype(np.intp), none, np.empty((0, PARAMETERS)), np.empty(0))
        system = np.concatenate([part.system for part in parts])
        first = np.concatenate([part.first for part in parts])
        order = np.lexsort((first, system))
        points = np.concatenate([part.points for part in parts])
        say = np.concatenate([part.say for part in parts])
        return cls(system[order], first[order], points[order], say[order])


def parts_of(seconds: NDArray[np.int64], have: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Return where the years of a record begin and end among the usable intervals.

    Parameters
    ----------
    seconds
        The instant of each usable interval. [s since 1970]
    have
        Above zero where the record has a reading.
    """
    if seconds[-1] - seconds[0] < (1.0 + LEAST_YEAR) * YEAR:
        return [(0, len(seconds))]
    there = np.flatnonzero(have[: len(seconds)] > 0.0)
    if not len(there):
        return []
    first, last = int(there[0]), int(there[-1])
    span = (seconds[last] - seconds[first]) / YEAR
    count = max(int(span + 1.0 - LEAST_YEAR), 1)
    edges = np.searchsorted(seconds, seconds[first] + YEAR * np.arange(1, count))
    bounds = [first, *(int(edge) for edge in edges), last + 1]
    return list(zip(bounds[:-1], bounds[1:], strict=True))


def weighted_median(points: Array, say: Array) -> Array:
    """Return the weighted median of each parameter, between the two middle ones.

    Parameters
    ----------
    points
        One row for each year.
    say
        The weight of each.
    """
    order = np.argsort(points, axis=0)
    values = np.take_along_axis(points, order, axis=0)
    weight = say[order]
    middle = (np.cumsum(weight, axis=0) - 0.5 * weight) / weight.sum(axis=0)
    return np.array([np.interp(0.5, middle[:, i], values[:, i]) for i in range(points.shape[1])])
