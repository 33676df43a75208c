"""How well candidates explain readings: agreement counts, votes of days, the paper's fit score.

A reading p agrees with a capacity c under a profile m when ``|p - c m| <= τ c m`` and m reaches a
floor. The tolerance is relative and the capacities are geometric, so all capacities of a plane are
one histogram of ``log(p / m)`` and a window that slides over it. A day votes for a candidate once
for every threshold that the share of its lit intervals which agree reaches.

Counts and votes are whole numbers, and each reading, or each day, adds to them alone: what one of
them adds depends on no other, which is why private releases stand on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import check_fields, whole
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.site import Array

Counts = NDArray[np.int64]
Logs = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What counts as agreement, chosen in public.

    Parameters
    ----------
    relative
        Largest distance between reading and model, as a fraction of the model.
    floor
        Readings count only where the model gives at least this. [kW/kW]
    """

    relative: float = 0.15
    floor: float = 0.1

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0.0 < self.relative < 1.0:
            raise ParameterError(
                f"the relative tolerance must be between 0 and 1, and {self.relative:g} is not"
            )
        if not 0.0 < self.floor < 1.0:
            raise ParameterError(
                f"the floor of modelled power must be between 0 and 1, and {self.floor:g} is not"
            )


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
        check_fields(self)
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
class RatioBins:
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

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    @checked
    def of(cls, capacities: Capacities, tolerance: Tolerance) -> RatioBins:
        """Return the bins of a grid of capacities under a tolerance."""
        below = round(-math.log1p(-tolerance.relative) / capacities.step)
        above = round(math.log1p(tolerance.relative) / capacities.step)
        lowest = math.log(capacities.low) - (below + 0.5) * capacities.step
        return cls(lowest, capacities.step, below + above + 1, len(capacities))

    @property
    def numbers(self) -> tuple[np.float32, np.float32, int, int]:
        """What the kernels take: lowest, bins per logarithm, width, capacities."""
        return np.float32(self.lowest), np.float32(1.0 / self.step), self.width, self.capacities


@checked
def log_power(power: Array) -> Logs:
    """Return the logarithm of readings; what is not above zero, or missing, agrees with nothing."""
    lit = power > 0.0
    # all of them, so that the time tells nothing of how many are above zero
    return np.where(lit, np.log(np.where(lit, power, 1.0)), -np.inf).astype(np.float32)


@checked
def log_profiles(profiles: NDArray[np.floating], floor: float) -> Logs:
    """Return the logarithm of profiles; below the floor no reading agrees."""
    if not 0.0 < floor < math.inf:
        raise ParameterError("floor must be a finite number above 0")
    out = np.log(np.maximum(profiles, floor), dtype=np.float32, casting="same_kind")
    out[~(profiles >= floor)] = np.inf
    return np.asarray(out)


@checked
def count_readings(
    power: Logs, profiles: Logs, bins: RatioBins, *, highest: Counts | None = None
) -> Counts:
    """Return how many readings agree with every plane and capacity, shape (planes, capacities).

    Parameters
    ----------
    power, profiles
        Logarithms of the readings, shape (n,), and of the planes' profiles, shape (planes, n).
    bins
        The capacities and their tolerance.
    highest
        Counts that were made before with other profiles: they are raised, where these are higher,
        and returned.
    """
    from sunveil.score_kernels import count_agreeing  # numba takes a second to load

    _check_logs(power, profiles)
    out = _begun(highest, profiles, bins)
    count_agreeing(power, profiles, *bins.numbers, out)
    return out


def _begun(highest: Counts | None, profiles: Logs, bins: RatioBins) -> Counts:
    shape = len(profiles), bins.capacities
    if highest is None:
        return np.zeros(shape, dtype=np.int64)
    if highest.shape != shape:
        raise ParameterError("highest must have a row for each plane, a column for each capacity")
    return highest


@checked
def count_days(
    power: Logs,
    profiles: Logs,
    bins: RatioBins,
    *,
    days: NDArray[np.int64],
    thresholds: tuple[float, ...],
    fewest: int,
    least: NDArray[np.int64] | None = None,
    highest: Counts | None = None,
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
    least
        How many intervals of each day count as lit at least, however few a plane has light in: else
        a plane that is dark for half of the day has its votes for half of the readings.
    highest
        As for :func:`count_readings`.
    """
    from sunveil.score_kernels import count_votes

    _check_logs(power, profiles)
    _check_days(days, least, len(power))
    whole("fewest", fewest, low=0, high=2**31)
    lit = np.zeros(len(days) - 1, dtype=np.int64) if least is None else least
    asked = asked_readings(int(np.diff(days).max()), thresholds, fewest)
    out = _begun(highest, profiles, bins)
    count_votes(power, profiles, days, lit, asked, *bins.numbers, out)
    return out


def _check_logs(power: Logs, profiles: Logs) -> None:
    """Refuse readings and profiles of other shapes, which the kernels would read beyond."""
    if power.ndim != 1 or profiles.ndim != 2 or profiles.shape[1] != len(power):
        raise ParameterError("profiles must have a row for each plane, as long as power")


def _check_days(days: NDArray[np.int64], least: NDArray[np.int64] | None, readings: int) -> None:
    """Refuse days that lie outside the readings, which the kernels would read beyond."""
    if days.ndim != 1 or len(days) < 2 or (np.diff(days) < 0).any():
        raise ParameterError("days must be where each day begins and the last ends, in order")
    if days[0] < 0 or days[-1] > readings:
        raise ParameterError("days must lie within the readings")
    if least is not None and least.shape != (len(days) - 1,):
        raise ParameterError("least must have one number for each day")


def asked_readings(
    longest: int, thresholds: tuple[float, ...], fewest: int
) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Return how many readings of a day must agree for each vote, by how many intervals are lit.

    Parameters
    ----------
    longest
        Intervals of the longest day.
    thresholds, fewest
        As for :func:`count_days`.

    Returns
    -------
    numpy.ndarray
        Shape (votes, longest + 1): one vote, or whole passes of the kernel, which has rows that ask
        for more than the day has.
    """
    from sunveil.score_kernels import FOURS

    if len(thresholds) > 63 or longest > 65_534:
        raise ParameterError("days have at most 63 thresholds and 65,534 readings")
    lit, never = np.arange(longest + 1), longest + 1
    votes = 1 if len(thresholds) == 1 else -(-len(thresholds) // FOURS) * FOURS
    asked = np.full((votes, never), never)
    needed = np.ceil(np.multiply.outer(np.asarray(thresholds, dtype=np.float64), lit))
    asked[: len(thresholds)] = np.clip(needed, fewest, never)
    return asked.astype(np.uint8) if never < 256 else asked.astype(np.uint16)


@checked
def fit_score(measured: Array, profiles: NDArray[np.floating]) -> Array:
    """Return the paper's score of each candidate for one group: ``-(1/N) ||p̂ - p||²``.

    Parameters
    ----------
    measured
        The group's prototypical day, normalised to [0, 1], shape (N,).
    profiles
        The candidates' normalised profiles of the same day, shape (candidates, N).
    """
    if measured.ndim != 1 or profiles.ndim != 2 or profiles.shape[1] != len(measured):
        raise ParameterError("profiles must have a row for each candidate, as long as measured")
    return np.asarray(-np.mean((profiles - measured) ** 2, axis=1))
