"""Quantiles of capacity and tilt by group: a value of a public grid, drawn by its rank.

A quantile is one of systems, and each has one value: its capacity, and the tilt of its largest
plane.

Proof: ``docs/proofs/quantiles.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.fleet.results import FleetRows
from sunveil.privacy.score import Score
from sunveil.privacy.units import System
from sunveil.publish.bins import FleetGroups, largest_planes
from sunveil.publish.clip import check_largest
from sunveil.publish.counts import key_columns
from sunveil.publish.publication import Column, PublishedTable
from sunveil.publish.spending import Spending

Array = NDArray[np.float64]

PROOF = "docs/proofs/quantiles.md"
QUANTITIES = ("dc_capacity_kw", "surface_tilt")
# The lowest capacity of the grid, and the least that each is above the last.
_SMALLEST_KW, _STEP_SHARE = 0.5, 0.02
_STEP_DEGREES = 0.5


@dataclass(frozen=True, slots=True)
class QuantileGrid:
    """Public values, evenly spaced or with even ratios.

    Parameters
    ----------
    low, high
        The first and the last.
    steps
        How many steps lie between them.
    geometric
        Whether ratios are even, rather than differences.
    """

    low: float
    high: float
    steps: int
    geometric: bool = False

    @property
    def values(self) -> Array:
        """The values, from the lowest to the highest."""
        return (np.geomspace if self.geometric else np.linspace)(
            self.low, self.high, self.steps + 1
        )

    def places(self, values: Array) -> NDArray[np.int64]:
        """Return the nearest place of each value; a missing one is at the first."""
        low, high = self.low, self.high
        held = np.clip(np.nan_to_num(values, nan=-np.inf), low, high)
        if self.geometric:
            held, low, high = np.log(held), math.log(low), math.log(high)
        return np.clip(np.rint((held - low) * self.steps / (high - low)), 0, self.steps).astype(
            np.int64
        )


def grids(largest_kw: float) -> dict[str, QuantileGrid]:
    """Return the public grid of each quantity: capacities up to the largest that there may be."""
    ratio = check_largest(largest_kw) / _SMALLEST_KW
    steps = math.ceil(math.log(ratio) / math.log1p(_STEP_SHARE))
    capacity = QuantileGrid(_SMALLEST_KW, float(largest_kw), steps, geometric=True)
    tilt = QuantileGrid(0.0, 90.0, round(90.0 / _STEP_DEGREES))
    return dict(zip(QUANTITIES, (capacity, tilt), strict=True))


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


def rank_error(grid: QuantileGrid, *, spending: Spending) -> float:
    """Return what the expected error in ranks is at most, whatever the data. [systems]"""
    return 2.0 * math.log(grid.steps + 1) / spending.selection.epsilon


def draw_quantiles(
    rows: FleetRows,
    groups: FleetGroups,
    *,
    largest_kw: float,
    probabilities: Sequence[float],
    spending: Spending,
) -> PublishedTable:
    """Draw every quantile of both quantities in every group.

    Parameters
    ----------
    rows
        The fleet: private.
    groups
        Public.
    largest_kw
        Where the public grid of capacities ends. [kW]
    probabilities
        Which quantiles.
    spending
        What all of them cost together; each is drawn with an equal part. Groups are disjoint, so
        that they cost no more than one.
    """
    ordered = check_quantiles(probabilities)
    each = part_of(spending, len(ordered))
    columns = (
        *key_columns(groups),
        Column(
            "quantity", "string", "dc_capacity_kw [kW], or the largest plane's surface_tilt [°]."
        ),
        Column("probability", "number", "Which quantile."),
        Column("value", "number", "The quantile, a value of a public grid; none in empty groups."),
        Column("rank_error", "number", "Expected error, at most, in ranks of the group [systems]."),
    )
    found = tuple(_rows(rows, groups, grids(largest_kw), ordered, each))
    return PublishedTable("quantiles", "Quantiles of capacity and tilt.", columns, found)


def part_of(spending: Spending, quantiles: int) -> Spending:
    """Return what one quantile of one quantity costs: together they stay within the whole."""
    return spending.part(Fraction(1, len(QUANTITIES) * quantiles))


def _rows(
    rows: FleetRows,
    groups: FleetGroups,
    public: dict[str, QuantileGrid],
    probabilities: tuple[float, ...],
    spending: Spending,
) -> Iterator[tuple[Any, ...]]:
    mechanism = spending.selection
    tilts = largest_planes(rows).surface_tilt
    known = dict(zip(QUANTITIES, (rows.dc_capacity_kw, tilts), strict=True))
    for group, name in enumerate(groups.names):
        head = () if groups.key is None else (name,)
        inside = groups.place == group
        for quantity, grid in public.items():
            values = known[quantity][inside]
            scores = [rank_score(values, grid, probability=p) for p in probabilities]
            # in order, as quantiles are: sorting what was drawn costs nothing
            places = sorted(mechanism.draw(score) for score in scores) if len(values) else None
            error = round(rank_error(grid, spending=spending), 4)
            for i, p in enumerate(probabilities):
                value = None if places is None else float(f"{grid.values[places[i]]:.6g}")
                yield (*head, quantity, p, value, error)
