"""Kernels: agreement counts, day votes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil._options import check_fields, checked, whole
from sunveil.errors import ParameterError
from sunveil.site import Array

kernel = njit(cache=True, nogil=True)

# Tallies that take readings in turn.
TURNS = 8

# Planes counted together.
LANES = 256

# Votes that are counted in one pass, unless there is one alone: fewer cost as much as all of them.
FOURS = 4


@kernel
def find_slots(power, profile, lowest, per_step, bins, out):  # type: ignore[no-untyped-def]
    """Find the slot of every reading under one plane."""
    # That is one more than its bin, 0 below all of them, bins + 1 above, and bins + 2 where the
    # plane has no light.
    top, dark = np.float32(bins), np.int32(bins + 2)
    for k in range(len(profile)):
        place = (power[k] - profile[k] - lowest) * per_step
        # in this order, so that what is no number falls below
        place = place if place >= np.float32(0.0) else np.float32(-1.0)
        place = place if place < top else top
        slot = np.int32(place) + np.int32(1)
        out[k] = slot if profile[k] < np.float32(np.inf) else dark


@kernel
def count_agreeing(power, profiles, lowest, per_step, width, capacities, out):  # type: ignore[no-untyped-def]
    planes, readings = profiles.shape
    bins = capacities + width - 1
    slots = np.zeros((-(-readings // TURNS), TURNS), dtype=np.uint32)
    # each counts readings of one record: 32 bits hold four thousand years of minutes
    tallies = np.empty((TURNS, bins + 3), dtype=np.int32)
    tally = np.empty(bins + 3, dtype=np.int32)
    for plane in range(planes):
        find_slots(power, profiles[plane], lowest, per_step, bins, slots.reshape(-1))
        tallies[:] = 0
        for k in range(len(slots)):
            for turn in range(TURNS):
                tallies[turn, slots[k, turn]] += 1
        tally[:] = tallies[0]
        for turn in range(1, TURNS):
            tally += tallies[turn]
        running = 0
        for b in range(1, width):
            running += tally[b]
        for c in range(capacities):
            running += tally[c + width]
            out[plane, c] = max(out[plane, c], running)
            running -= tally[c + 1]


@kernel
def count_votes(  # type: ignore[no-untyped-def]
    power, profiles, days, least, asked, lowest, per_step, width, capacities, out
):
    """Count the votes of every plane and capacity from the days, and raise what is less to that."""
    planes = profiles.shape[0]
    bins = capacities + width - 1
    slots = np.zeros((LANES, len(power)), dtype=np.uint32)
    # A tally counts readings of one day, and the type of asked holds one more than the longest
    # day (scores.asked_readings): 1,440 at the shortest interval.
    tally = np.empty((bins + 3, LANES), dtype=asked.dtype)
    needed = np.zeros((len(asked), LANES), dtype=asked.dtype)
    # A day adds at most len(asked) <= 64 votes: few is emptied into votes before it reaches 256,
    # and votes holds those of 33 million days.
    few = np.empty((capacities, LANES), dtype=np.uint8)
    votes = np.empty((capacities, LANES), dtype=np.int32)
    for first in range(0, planes, LANES):
        strip = profiles[first : first + LANES]
        for lane in range(len(strip)):
            find_slots(power, strip[lane], lowest, per_step, bins, slots[lane])
        votes[:] = 0
        few[:] = 0
        for d in range(len(days) - 1):
            tally[:] = 0
            for k in range(days[d], days[d + 1]):
                for lane in range(LANES):
                    tally[slots[lane, k], lane] += 1
            for lane in range(LANES):
                daylight = max(days[d + 1] - days[d] - tally[bins + 2, lane], least[d])
                for vote in range(len(asked)):
                    needed[vote, lane] = asked[vote, daylight]
            if len(asked) == 1:
                _vote_once(tally, needed[0], width, few)
            else:
                _vote(tally, needed, width, few)
            if (d + 1) % (255 // len(asked)) == 0:
                votes += few
                few[:] = 0
        votes += few
        for lane in range(len(strip)):
            for c in range(capacities):
                out[first + lane, c] = max(out[first + lane, c], votes[c, lane])


@kernel
def _vote(tally, needed, width, votes):  # type: ignore[no-untyped-def]
    """Add the votes of one day."""
    for vote in range(0, len(needed), FOURS):
        agreeing = np.zeros(LANES, dtype=tally.dtype)
        for b in range(width):
            agreeing += tally[b]
        for c in range(len(votes)):
            for lane in range(LANES):
                # the window moves up by one slot; the first of all is below every capacity
                n = tally.dtype.type(agreeing[lane] + tally[c + width, lane] - tally[c, lane])
                agreeing[lane] = n
                votes[c, lane] += (
                    (n >= needed[vote, lane])
                    + (n >= needed[vote + 1, lane])
                    + (n >= needed[vote + 2, lane])
                    + (n >= needed[vote + 3, lane])
                )


@kernel
def _vote_once(tally, needed, width, votes):  # type: ignore[no-untyped-def]
    """Add the votes of one day that has one vote at most."""
    agreeing = np.zeros(LANES, dtype=tally.dtype)
    for b in range(width):
        agreeing += tally[b]
    for c in range(len(votes)):
        for lane in range(LANES):
            n = tally.dtype.type(agreeing[lane] + tally[c + width, lane] - tally[c, lane])
            agreeing[lane] = n
            votes[c, lane] += n >= needed[lane]


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
    """A public, geometric grid of capacities."""

    low: float = 0.5  # the first capacity, and the least that the last may be. [kW]
    high: float = 2000.0
    step: float = 0.025  # natural logarithm of the ratio of neighbours

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
    """Where log(p / m) falls among the capacities that it agrees with."""

    lowest: float  # logarithm at which the first bin begins
    step: float  # width of a bin
    width: int  # how many bins a capacity's tolerance spans; capacity c has bins c to c + width - 1
    capacities: int  # how many capacities there are

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
    daylight = power > 0.0
    # all of them, so that the time tells nothing of how many are above zero
    return np.where(daylight, np.log(np.where(daylight, power, 1.0)), -np.inf).astype(np.float32)


@checked
def log_profiles(profiles: NDArray[np.floating], floor: float, *, out: Logs | None = None) -> Logs:
    """Return the logarithm of profiles; below the floor no reading agrees."""
    if not 0.0 < floor < math.inf:
        raise ParameterError("floor must be a finite number above 0")
    logs = np.log(np.maximum(profiles, floor), out=out, dtype=np.float32, casting="same_kind")
    np.copyto(logs, np.inf, where=~(profiles >= floor))
    return np.asarray(logs)


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
        Shares of a day's daylight intervals; each that is reached is one vote.
    fewest
        Readings that must agree for any vote.
    least
        Fewest intervals of each day that count as daylight, however few a plane has light in: else
        a plane in the dark for half of the day has its votes for half of the readings.
    highest
        As for :func:`count_readings`.
    """
    _check_logs(power, profiles)
    _check_days(days, least, len(power))
    whole("fewest", fewest, low=0, high=2**31)
    daylight = np.zeros(len(days) - 1, dtype=np.int64) if least is None else least
    asked = asked_readings(int(np.diff(days).max()), thresholds, fewest)
    out = _begun(highest, profiles, bins)
    count_votes(power, profiles, days, daylight, asked, *bins.numbers, out)
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
    """Return the readings of a day that must agree for each vote, by its daylight intervals."""
    if len(thresholds) > 63 or longest > 65_534:
        raise ParameterError("days have at most 63 thresholds and 65,534 readings")
    daylight, never = np.arange(longest + 1), longest + 1
    votes = 1 if len(thresholds) == 1 else -(-len(thresholds) // FOURS) * FOURS
    asked = np.full((votes, never), never)
    needed = np.ceil(np.multiply.outer(np.asarray(thresholds, dtype=np.float64), daylight))
    asked[: len(thresholds)] = np.clip(needed, fewest, never)
    return asked.astype(np.uint8) if never < 256 else asked.astype(np.uint16)
