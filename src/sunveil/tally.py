"""Whole-number scores over planes and capacities: readings that agree, and days that vote.

A reading p agrees with a capacity c under a profile m when p lies within a relative tolerance of
c m and m reaches a floor. With geometric capacities, all capacities of a plane are one histogram of
log(p / m) and a window that slides over it. A day votes for a candidate once for every threshold
that the share of its lit intervals which agree reaches.

Both act on each reading, or each day, alone: what one of them adds depends on no other. The loops
are compiled, since they are what a release and a fleet spend their time in.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.scores import Tolerance
from sunveil.site import Array

Counts = NDArray[np.int32]
Logs = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Capacities:
    """A public, geometric grid of capacities.

    Parameters
    ----------
    low, high
        The first capacity, and the least that the last may be. [kW]
    step
        Natural logarithm of the ratio of neighbours.
    """

    low: float = 0.5
    high: float = 2000.0
    step: float = 0.025

    def __post_init__(self) -> None:
        if not (0.0 < self.low < self.high < math.inf):
            raise ParameterError("capacities need 0 < low < high, in kW")
        if not 0.001 <= self.step <= 0.7:
            raise ParameterError("the step of capacities is a logarithm between 0.001 and 0.7")

    def __len__(self) -> int:
        return math.ceil(math.log(self.high / self.low) / self.step - 1e-9) + 1

    @property
    def values(self) -> Array:
        """The capacities. [kW]"""
        return np.asarray(self.low * np.exp(self.step * np.arange(len(self))))


@dataclass(frozen=True, slots=True)
class Bins:
    """Where log(p / m) falls among the capacities that it agrees with.

    Parameters
    ----------
    lowest
        Logarithm at which the first bin begins.
    step
        Width of a bin.
    width
        How many bins a capacity's tolerance spans; capacity c has bins c to c + width - 1.
    capacities
        How many capacities there are.
    """

    lowest: float
    step: float
    width: int
    capacities: int

    @classmethod
    def of(cls, capacities: Capacities, tolerance: Tolerance) -> Bins:
        """Return the bins of a grid of capacities under a tolerance."""
        below = round(-math.log1p(-tolerance.relative) / capacities.step)
        above = round(math.log1p(tolerance.relative) / capacities.step)
        lowest = math.log(capacities.low) - (below + 0.5) * capacities.step
        return cls(lowest, capacities.step, below + above + 1, len(capacities))

    @property
    def numbers(self) -> tuple[Any, ...]:
        """What compiled loops take: lowest, bins per logarithm, width, capacities."""
        return np.float32(self.lowest), np.float32(1.0 / self.step), self.width, self.capacities


def log_power(power: Array) -> Logs:
    """Return the logarithm of readings; what is not above zero, or missing, agrees with nothing."""
    lit = power > 0.0
    return np.log(power, where=lit, out=np.full(len(power), -np.inf)).astype(np.float32)


def log_profiles(profiles: NDArray[np.floating], floor: float) -> Logs:
    """Return the logarithm of profiles; below the floor no reading agrees."""
    lit = profiles >= floor
    out = np.full(profiles.shape, np.inf, dtype=np.float32)
    return np.asarray(np.log(profiles, where=lit, out=out, casting="same_kind"))


def count_readings(power: Logs, profiles: Logs, bins: Bins) -> Counts:
    """Return how many readings agree with every plane and capacity, shape (planes, capacities).

    Parameters
    ----------
    power, profiles
        Logarithms of the readings, shape (n,), and of the planes' profiles, shape (planes, n).
    bins
        The capacities and their tolerance.
    """
    return np.asarray(_compiled(_count)(power, profiles, *bins.numbers))


def count_days(
    power: Logs,
    profiles: Logs,
    bins: Bins,
    *,
    days: NDArray[np.int64],
    thresholds: tuple[float, ...],
    fewest: int,
) -> Counts:
    """Return the votes of days for every plane and capacity, shape (planes, capacities).

    Parameters
    ----------
    power, profiles, bins
        As for :func:`count_readings`.
    days
        Where each day begins among the readings, and where the last ends.
    thresholds
        Shares of a day's lit intervals; each that is reached is one vote.
    fewest
        Readings that must agree for any vote.
    """
    shares = np.asarray(thresholds, dtype=np.float64)
    return np.asarray(_compiled(_vote)(power, profiles, days, shares, fewest, *bins.numbers))


@functools.cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    import numba

    compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    return compiled


def _count(power, profiles, lowest, per_step, width, capacities):  # type: ignore[no-untyped-def]
    planes, readings = profiles.shape
    bins = capacities + width - 1
    out = np.empty((planes, capacities), dtype=np.int32)
    tally = np.empty(bins, dtype=np.int32)
    for plane in range(planes):
        tally[:] = 0
        for k in range(readings):
            place = (power[k] - profiles[plane, k] - lowest) * per_step
            if 0.0 <= place < bins:
                tally[int(place)] += 1
        running = 0
        for b in range(width - 1):
            running += tally[b]
        for c in range(capacities):
            running += tally[c + width - 1]
            out[plane, c] = running
            running -= tally[c]
    return out


def _vote(  # type: ignore[no-untyped-def]
    power, profiles, days, shares, fewest, lowest, per_step, width, capacities
):
    planes = profiles.shape[0]
    bins = capacities + width - 1
    most = 0
    for d in range(len(days) - 1):
        most = max(most, days[d + 1] - days[d])
    out = np.empty((planes, capacities), dtype=np.int32)
    change = np.empty(capacities + 1, dtype=np.int32)
    places = np.empty(most, dtype=np.int64)
    for plane in range(planes):
        change[:] = 0
        for d in range(len(days) - 1):
            lit = 0
            seen = 0
            for k in range(days[d], days[d + 1]):
                if profiles[plane, k] < np.inf:
                    lit += 1
                    place = (power[k] - profiles[plane, k] - lowest) * per_step
                    if 0.0 <= place < bins:
                        value = int(place)
                        j = seen
                        while j > 0 and places[j - 1] > value:
                            places[j] = places[j - 1]
                            j -= 1
                        places[j] = value
                        seen += 1
            for share in shares:
                needed = max(int(np.ceil(share * lit)), fewest)
                # capacities whose window holds the i-th to the (i + needed - 1)-th place; these
                # ranges move up with i, and each capacity is counted once
                end = -1
                for i in range(seen - needed + 1):
                    first = max(places[i + needed - 1] - width + 1, end + 1)
                    last = min(places[i], capacities - 1)
                    if first <= last:
                        change[first] += 1
                        change[last + 1] -= 1
                    end = max(end, last)
        running = 0
        for c in range(capacities):
            running += change[c]
            out[plane, c] = running
    return out
