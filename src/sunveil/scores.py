"""How well candidates explain readings: the paper's fit score, and the agreement count.

Both are pure functions of readings and profiles. The agreement count is an integer that one
reading moves by at most one, which is why private releases stand on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.site import Array


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
        if not 0.0 < self.relative < 1.0:
            raise ParameterError(
                f"the relative tolerance must be between 0 and 1, and {self.relative:g} is not"
            )
        if not 0.0 < self.floor < 1.0:
            raise ParameterError(
                f"the floor of modelled power must be between 0 and 1, and {self.floor:g} is not"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """Agreement counts over planes and capacities.

    Parameters
    ----------
    counts
        Readings that agree, shape (planes, capacities).
    possible
        Readings that could have agreed, one per plane.
    capacities
        DC capacities, geometric. [kW]
    """

    counts: NDArray[np.int64]
    possible: NDArray[np.int64]
    capacities: Array

    def best(self) -> tuple[int, int]:
        """Return the plane and the capacity with the highest count, the first of equals."""
        plane, capacity = np.unravel_index(int(self.counts.argmax()), self.counts.shape)
        return int(plane), int(capacity)


def capacity_grid(low: float, high: float, *, step: float = 0.02) -> Array:
    """Return capacities from ``low`` to at least ``high``, each ``exp(step)`` times the last."""
    if not (0.0 < low < high and step > 0.0):
        raise ParameterError("a capacity grid needs 0 < low < high and a positive step")
    count = int(np.ceil(np.log(high / low) / step)) + 1
    return np.asarray(low * np.exp(step * np.arange(count)))


def agreement_counts(
    power: Array,
    profiles: NDArray[np.floating],
    *,
    capacities: Array,
    tolerance: Tolerance | None = None,
) -> Agreement:
    """Count, for every plane and capacity, the readings that agree with the model.

    A reading p agrees with a capacity c under a profile m when ``|p - c m| <= τ c m`` and m
    reaches the floor. The tolerance is relative and the capacities are geometric, so all
    capacities of a plane are one histogram of ``log(p / m)`` and a sliding window over it.

    Parameters
    ----------
    power
        Readings. [kW]
    profiles
        Power of each plane per kW, shape (planes, readings). [kW/kW]
    capacities
        Geometric grid of capacities. [kW]
    tolerance
        What counts as agreement.
    """
    tolerance = tolerance or Tolerance()
    if len(capacities) < 2:
        raise ParameterError("agreement needs a grid of at least two capacities")
    step = float(np.log(capacities[1] / capacities[0]))
    # c agrees when log(p/m) - log(c) lies in [log(1-τ), log(1+τ)], in whole steps of the grid
    below = round(-np.log1p(-tolerance.relative) / step)
    above = round(np.log1p(tolerance.relative) / step)
    bins = len(capacities) + below + above
    lowest = np.log(capacities[0]) - (below + 0.5) * step
    with np.errstate(divide="ignore"):
        logs = np.where(power > 0.0, np.log(np.maximum(power, 1e-300)), -np.inf)
    counts = np.empty((len(profiles), len(capacities)), dtype=np.int64)
    possible = np.empty(len(profiles), dtype=np.int64)
    for plane, profile in enumerate(profiles):
        lit = profile >= tolerance.floor
        possible[plane] = np.count_nonzero(lit)
        place = (logs[lit] - np.log(profile[lit]) - lowest) / step
        inside = place[(place >= 0.0) & (place < bins)].astype(np.intp)
        total = np.concatenate([[0], np.cumsum(np.bincount(inside, minlength=bins))])
        width = below + above + 1
        counts[plane] = total[width:] - total[: len(total) - width]
    return Agreement(counts, possible, capacities)


def fit_score(measured: Array, profiles: NDArray[np.floating]) -> Array:
    """Return the paper's score of each candidate for one group: ``-(1/N) ||p̂ - p||²``.

    Parameters
    ----------
    measured
        The group's prototypical day, normalised to [0, 1], shape (N,).
    profiles
        The candidates' normalised profiles of the same day, shape (candidates, N).
    """
    return np.asarray(-np.mean((profiles - measured) ** 2, axis=1))
