"""Several noisy tables of one fleet, made into one set that agrees with itself.

Every table is a sum of effects: the mean, what each axis does alone, and what pairs and all three
do beyond that. Tables that hold an effect each say something of it; the inverse-variance mean of
what they say is the weighted least-squares estimate, exactly, since the effects of independent
noise of one variance are independent. Then come non-negative numbers, and whole ones, from the
margins down.

All of it sees noisy and public numbers only, so that it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from sunveil.publish.consistent import consistent, nearest_table, rounded_table

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Axes = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTable:
    """A drawn table of counts: public.

    Parameters
    ----------
    noisy
        Drawn counts by group, and then by the table's axes: parts of systems too. [systems]
    unknown
        Drawn counts of planes that lack a value, by group. [systems]
    deviation
        Standard deviation of the noise of each. [systems]
    """

    noisy: Array
    unknown: Array
    deviation: float


@dataclass(frozen=True, slots=True, eq=False)
class AgreedTables:
    """Tables that agree: whole, non-negative, each with the public size of every group.

    Parameters
    ----------
    systems
        By axes: counts by group, and then by these axes.
    unknown
        Counts of rows that lack a value, by group.
    """

    systems: Mapping[Axes, Whole]
    unknown: Whole


def agreed(drawn: Mapping[Axes, DrawnTable], shape: Sequence[int], sizes: Whole) -> AgreedTables:
    """Return all margins of drawn tables of sectors, bands and classes, made to agree.

    Parameters
    ----------
    drawn
        Tables by the axes that they keep.
    shape
        How many sectors, bands and classes there are.
    sizes
        How many systems each group has.
    """
    effects, unknown = least_squares(drawn, shape, sizes)
    whole = np.column_stack([math.prod(shape) * effects[()].ravel(), unknown])
    known, lacking = consistent(whole, sizes).T
    systems: dict[Axes, Whole] = {}
    for axis in (axis for axis in range(3) if (axis,) in effects):
        values = _margin(effects, (axis,), shape)
        systems[axis,] = consistent(values.reshape(len(sizes), -1), known)
    for pair, last in (((0,), (1,)), ((0, 1), (2,))):
        both = (*pair, *last)
        if both in effects:
            rows, columns = systems[pair].reshape(len(sizes), -1), systems[last]
            values = _margin(effects, both, shape).reshape(*rows.shape, -1)
            table = rounded_table(nearest_table(values, rows, columns), rows, columns)
            systems[both] = table.reshape(len(sizes), *(shape[axis] for axis in both))
    return AgreedTables(systems, lacking)


def least_squares(
    drawn: Mapping[Axes, DrawnTable], shape: Sequence[int], sizes: Whole
) -> tuple[dict[Axes, Array], Array]:
    """Return the estimated effects on a joint cell, and the estimated unknown rows.

    Those of the mean and the unknown rows add up to the sizes of the groups.

    Parameters
    ----------
    drawn, shape, sizes
        As for :func:`agreed`.
    """
    cells = math.prod(shape)
    sums: dict[Axes, Array] = {}
    weights: dict[Axes, float] = {}
    unknown, sure = np.zeros(len(sizes)), 0.0
    for axes, table in drawn.items():
        own = math.prod(shape[axis] for axis in axes)
        weight = 1.0 / (own * table.deviation**2)
        for kept in _subsets(axes):
            effect = _effect(table.noisy, axes, kept, shape) * own / cells
            sums[kept] = sums.get(kept, 0.0) + weight * effect
            weights[kept] = weights.get(kept, 0.0) + weight
        unknown += table.unknown / table.deviation**2
        sure += 1.0 / table.deviation**2
    effects = {kept: total / weights[kept] for kept, total in sums.items()}
    unknown = unknown / sure
    # the public size is shared out by how unsure the two parts of it are
    missing = sizes - cells * effects[()].ravel() - unknown
    loose = (1.0 / weights[()]) / (1.0 / weights[()] + 1.0 / sure)
    effects[()] = effects[()] + (loose * missing / cells).reshape(effects[()].shape)
    return effects, unknown + (1.0 - loose) * missing


def _subsets(axes: Axes) -> list[Axes]:
    return list(chain.from_iterable(combinations(axes, many) for many in range(len(axes) + 1)))


def _effect(noisy: Array, axes: Axes, kept: Axes, shape: Sequence[int]) -> Array:
    """Return a table's effect of some axes, with one place along the others."""
    spread = [len(noisy)] + [shape[axis] if axis in axes else 1 for axis in range(3)]
    added = tuple(axis + 1 for axis in axes if axis not in kept)
    effect = noisy.reshape(spread).mean(axis=added, keepdims=True)
    for axis in kept:
        effect = effect - effect.mean(axis=axis + 1, keepdims=True)
    return np.asarray(effect)


def _margin(effects: Mapping[Axes, Array], axes: Axes, shape: Sequence[int]) -> Array:
    """Return the estimated table along some axes."""
    added = math.prod(size for axis, size in enumerate(shape) if axis not in axes)
    return np.asarray(added * sum((effects[kept] for kept in _subsets(axes)), np.zeros(())))
