"""How well a synthetic table keeps the counts and the correlations that it was made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.fleet.results import FleetRows
from sunveil.publish.bins import Bins
from sunveil.publish.publication import Column, PublishedTable

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

NAMES = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")
SINGLES = tuple(combinations(range(3), 1))
PAIRS = tuple(combinations(range(3), 2))


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """Noisy counts of systems along one or two axes: public.

    Parameters
    ----------
    axes
        Which of azimuth, tilt and capacity.
    counts
        In the shape of the axes' bins.
    deviation
        Standard deviation of the noise of one count.
    """

    axes: tuple[int, ...]
    counts: Array
    deviation: float

    @property
    def name(self) -> str:
        """The names of its columns."""
        return " x ".join(NAMES[axis] for axis in self.axes)


def survival(table: PublishedTable, marginals: list[Marginal], bins: Bins) -> PublishedTable:
    """Return how far a synthetic table is from the noisy counts that it was made of: public.

    Parameters
    ----------
    table
        The synthetic systems.
    marginals
        The noisy counts.
    bins
        The public bins.
    """
    places = places_of_table(table, bins)
    rows: list[tuple[Any, ...]] = []
    for marginal in marginals:
        made = tally(places, marginal.axes, bins)
        away = _distance(made, marginal.counts)
        # nobody can be further away than all systems together
        noise = min(noise_distance(marginal, len(table.rows)), 1.0)
        rows.append(("distance", marginal.name, None, None, round(away, 6), round(noise, 6)))
    for marginal in marginals[len(SINGLES) :]:
        made = tally(places, marginal.axes, bins)
        for name, scores in _scores(marginal.axes, bins):
            ours = _correlation(made, *scores)
            noisy = _correlation(marginal.counts, *scores)
            noise = _correlation_noise(marginal, noisy, *scores)
            numbers = (round(each, 6) for each in (noisy, ours, ours - noisy, noise))
            rows.append(("correlation", name, *numbers))
    return PublishedTable(
        "survival",
        "How well counts and correlations survive. An error of 1 says that only noise was"
        " measured.",
        _REPORT,
        tuple(rows),
    )


_REPORT = (
    Column("kind", "string", "distance, or correlation."),
    Column("of", "string", "Which columns."),
    Column("measured", "number", "Correlation in the noisy counts."),
    Column("synthetic", "number", "Correlation in the synthetic table."),
    Column("difference", "number", "Share of systems that would have to move, or the difference."),
    Column(
        "noise_error",
        "number",
        "What the noise of the counts alone would make of it; 1 at most: only noise.",
    ),
)


def cells_of(rows: FleetRows, bins: Bins) -> Whole:
    """Return the bin of every row along each axis: private.

    A row that lacks a value is in the first bin of every axis: that it could not be inferred is as
    private as its readings, so that it is neither refused nor left out.
    """
    if len(rows) == 0:
        raise ParameterError("a synthetic table needs at least one system")
    cells = bins.cells(rows)
    flat = np.where(cells < bins.size, cells, 0)
    return np.stack(np.unravel_index(flat, bins.shape)).astype(np.int64)


def places_of_table(table: PublishedTable, bins: Bins) -> Whole:
    """Return the bin of every published row along each axis."""
    azimuth, tilt, capacity = (np.array(table.column(name), float) for name in NAMES)
    names = tuple(str(number) for number in range(len(azimuth)))
    return cells_of(FleetRows(names, azimuth, tilt, capacity), bins)


def tally(places: Whole, axes: tuple[int, ...], bins: Bins) -> Array:
    """Return how many rows are in each bin along some axes; as private as the rows.

    Parameters
    ----------
    places
        The bin of every row along each axis.
    axes
        Which axes to count along.
    bins
        The public bins.
    """
    shape = tuple(bins.shape[axis] for axis in axes)
    flat = np.ravel_multi_index(tuple(places[axis] for axis in axes), shape)
    return np.bincount(flat, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def _distance(one: Array, other: Array) -> float:
    """Return the share of systems that would have to move to make one table the other."""
    return float(np.abs(one - other).sum() / 2.0 / one.sum())


def noise_distance(marginal: Marginal, systems: int) -> float:
    """Return the distance that the noise alone makes on average: mean |k| per cell, near σ/√2."""
    # σ = 1 / (√2 sinh(1/2b)), and the mean of |k| is 1 / sinh(1/b)
    half = math.asinh(1.0 / (math.sqrt(2.0) * marginal.deviation))
    return marginal.counts.size / (2.0 * systems * math.sinh(2.0 * half))


def _scores(axes: tuple[int, ...], bins: Bins) -> list[tuple[str, tuple[Array, Array]]]:
    """Return what correlations are computed of, for a pair of axes: numbers for their bins."""
    turns = 2.0 * np.pi * np.arange(bins.sectors) / bins.sectors
    tilts, classes = np.array(bins.tilt_edges), np.array(bins.capacity_edges_kw)
    tilt = ("surface_tilt", (tilts[1:] + tilts[:-1]) / 2.0)
    # the middle of a class in logarithm, also of one that begins at zero
    capacity = ("log dc_capacity_kw", np.log((classes[1:] + classes[:-1]) / 2.0))
    kinds: list[list[tuple[str, Array]]] = [
        [("north of surface_azimuth", np.cos(turns)), ("east of surface_azimuth", np.sin(turns))],
        [tilt],
        [capacity],
    ]
    one, other = (kinds[axis] for axis in axes)
    return [(f"{a} and {b}", (x, y)) for a, x in one for b, y in other]


def _standard(table: Array, rows: Array, columns: Array) -> tuple[Array, Array, Array]:
    # noise may leave nobody, or fewer than nobody: then nothing is known of how axes go together
    shares = table / table.sum() if table.sum() > 0.0 else np.zeros_like(table, dtype=np.float64)
    x = rows - (shares.sum(axis=1) @ rows)
    y = columns - (shares.sum(axis=0) @ columns)
    # noisy counts may leave no spread, or less than none
    x = x / math.sqrt(max(float(shares.sum(axis=1) @ x**2), 1e-9))
    y = y / math.sqrt(max(float(shares.sum(axis=0) @ y**2), 1e-9))
    return shares, x, y


def _correlation(table: Array, rows: Array, columns: Array) -> float:
    shares, x, y = _standard(table, rows, columns)
    return float(np.clip(x @ shares @ y, -1.0, 1.0))


def _correlation_noise(marginal: Marginal, found: float, rows: Array, columns: Array) -> float:
    """Return the standard error of a correlation, to first order in the noise of the counts.

    What lies between -1 and 1 has a standard error of at most 1. First order knows nothing of that
    where the noise leaves hardly any spread along an axis: then only noise was measured.
    """
    _, x, y = _standard(marginal.counts, rows, columns)
    moves = np.outer(x, y) - found * (x[:, None] ** 2 + y[None, :] ** 2) / 2.0
    people = max(abs(float(marginal.counts.sum())), 1.0)
    return min(float(marginal.deviation * np.sqrt((moves**2).sum()) / people), 1.0)
