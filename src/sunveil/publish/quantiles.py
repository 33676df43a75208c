"""Quantiles of capacity and tilt by group: a value of a public grid, drawn by its rank.

Proof: ``docs/proofs/quantiles.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.fleet.results import FleetRows
from sunveil.privacy.mechanisms import PermuteAndFlip
from sunveil.privacy.score import Score
from sunveil.privacy.units import System
from sunveil.publish.bins import FleetGroups
from sunveil.publish.counts import key_columns
from sunveil.publish.publication import Column, PublishedTable
from sunveil.publish.totals import check_clip

Array = NDArray[np.float64]

PROOF = "docs/proofs/quantiles.md"
QUANTITIES = ("dc_capacity_kw", "surface_tilt")
_STEP_KW, _STEP_DEGREES, _MOST_STEPS = 0.1, 0.5, 20_000


@dataclass(frozen=True, slots=True)
class QuantileGrid:
    """Evenly spaced public values.

    Parameters
    ----------
    low, high
        The first and the last.
    steps
        How many steps lie between them.
    """

    low: float
    high: float
    steps: int

    @property
    def values(self) -> Array:
        """The values, from the lowest to the highest."""
        return np.linspace(self.low, self.high, self.steps + 1)

    def places(self, values: Array) -> NDArray[np.int64]:
        """Return the nearest place of each value; a missing one is at the first."""
        width = (self.high - self.low) / self.steps
        held = np.clip(np.nan_to_num(values, nan=-np.inf), self.low, self.high)
        return np.rint((held - self.low) / width).astype(np.int64)


def grids(clip_kw: tuple[float, float]) -> dict[str, QuantileGrid]:
    """Return the public grid of each quantity."""
    low, high = (bound / 1e3 for bound in check_clip(clip_kw))
    steps = min(max(round((high - low) / _STEP_KW), 1), _MOST_STEPS)
    tilt = QuantileGrid(0.0, 90.0, round(90.0 / _STEP_DEGREES))
    return dict(zip(QUANTITIES, (QuantileGrid(low, high, steps), tilt), strict=True))


def check_quantiles(quantiles: Sequence[float]) -> tuple[float, ...]:
    """Return the probabilities in order, or refuse them."""
    if any(not 0.0 < each < 1.0 for each in quantiles) or len(set(quantiles)) != len(quantiles):
        raise ParameterError("quantiles are distinct probabilities above 0 and below 1")
    return tuple(sorted(float(each) for each in quantiles))


def rank_score(values: Array, grid: QuantileGrid, *, probability: float) -> Score:
    """Return how many ranks each grid value misses the quantile by, as a score: private.

    Parameters
    ----------
    values
        What the quantile is of.
    grid
        The public values that it may be said to be.
    probability
        Which quantile, as a fraction.

    Privacy
    -------
    Neighbours replace one value. Sensitivity 1: ``docs/proofs/quantiles.md``.
    """
    tally = np.bincount(grid.places(values), minlength=grid.steps + 1)
    up_to = np.cumsum(tally)
    rank = math.ceil(probability * len(values))
    missed = np.maximum(np.maximum(up_to - tally - rank + 1, rank - up_to), 0)
    return Score(-missed.astype(np.int64), 1, System(), PROOF)


def rank_error(grid: QuantileGrid, *, epsilon: float) -> float:
    """Return what the expected error in ranks is at most, whatever the data. [systems]"""
    return 2.0 * math.log(grid.steps + 1) / epsilon


def draw_quantiles(
    rows: FleetRows,
    groups: FleetGroups,
    *,
    clip_kw: tuple[float, float],
    probabilities: Sequence[float],
    epsilon: float,
) -> PublishedTable:
    """Draw every quantile of both quantities in every group.

    Parameters
    ----------
    rows
        The fleet: private.
    groups
        Public.
    clip_kw
        Public bounds of the capacities' grid. [kW]
    probabilities
        Which quantiles.
    epsilon
        What all of them cost together; each is drawn with an equal part. Groups are disjoint, so
        that they cost no more than one.
    """
    ordered = check_quantiles(probabilities)
    each = part_of(epsilon, len(ordered))
    columns = (
        *key_columns(groups),
        Column("quantity", "string", "dc_capacity_kw [kW] or surface_tilt [degrees]."),
        Column("probability", "number", "Which quantile."),
        Column("value", "number", "The quantile, a value of a public grid; none in empty groups."),
        Column("rank_error", "number", "Expected error, at most, in ranks of the group [systems]."),
    )
    found = tuple(_rows(rows, groups, grids(clip_kw), ordered, each))
    return PublishedTable("quantiles", "Quantiles of capacity and tilt.", columns, found)


def part_of(epsilon: float, quantiles: int) -> float:
    """Return the ε of one quantile of one quantity: together they stay within the whole."""
    parts = len(QUANTITIES) * quantiles
    each = epsilon / parts
    # by the exact sum, not the rounded one
    return each if _fits(each, parts, epsilon) else math.nextafter(each, 0.0)


def _fits(each: float, parts: int, epsilon: float) -> bool:
    (up, down), (most, over) = each.as_integer_ratio(), epsilon.as_integer_ratio()
    return parts * up * over <= most * down


def _rows(
    rows: FleetRows,
    groups: FleetGroups,
    public: dict[str, QuantileGrid],
    probabilities: tuple[float, ...],
    epsilon: float,
) -> Iterator[tuple[Any, ...]]:
    mechanism = PermuteAndFlip(epsilon)
    for group, name in enumerate(groups.names):
        head = () if groups.key is None else (name,)
        inside = groups.place == group
        for quantity, grid in public.items():
            values: Array = getattr(rows, quantity)[inside]
            scores = [rank_score(values, grid, probability=p) for p in probabilities]
            # in order, as quantiles are: sorting what was drawn costs nothing
            places = sorted(mechanism.draw(score) for score in scores) if len(values) else None
            error = round(rank_error(grid, epsilon=epsilon), 4)
            for i, p in enumerate(probabilities):
                value = None if places is None else round(float(grid.values[places[i]]), 6)
                yield (*head, quantity, p, value, error)
