"""Noisy tables adjusted so that their sums agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

# Sums of tables are met this well before they are rounded. [systems]
_NEAR, _MOST_TURNS = 0.02, 500


def consistent(noisy: Whole | Array, totals: Whole) -> Whole:
    """Return whole numbers of 0 or more near noisy ones, each row with its total."""
    return rounded(nearest(np.asarray(noisy, dtype=np.float64), totals), totals)


def nearest(noisy: Array, totals: Whole) -> Array:
    """Return the least-squares nearest rows of non-negative numbers with the totals."""
    # Taking one number off every cell and cutting at zero gives it; the number is the one at which
    # the row adds up.
    down = -np.sort(-noisy, axis=1)
    excess = np.cumsum(down, axis=1) - totals[:, None]
    many = np.arange(1, noisy.shape[1] + 1)
    kept = np.maximum((down - excess / many > 0.0).sum(axis=1), 1)
    level = excess[np.arange(len(noisy)), kept - 1] / kept
    return np.asarray(np.maximum(noisy - level[:, None], 0.0))


def rounded(values: Array, totals: Whole) -> Whole:
    """Return whole numbers, each within one of its value, that keep the totals of the rows."""
    # Parts of a system go to the cells with the largest ones.
    whole = np.floor(values)
    missing = totals - whole.sum(axis=1).astype(np.int64)
    order = np.argsort(-(values - whole), axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(values.shape[1])[None, :], axis=1)
    return np.asarray(whole.astype(np.int64) + (rank < missing[:, None]))


def nearest_table(values: Array, rows: Whole, columns: Whole) -> Array:
    """Return tables of non-negative numbers, near others, that do not exceed the sums they get."""
    # Dykstra's projections onto the tables with the sums and onto the non-negative ones, which come
    # as near to the least-squares table as is asked of them; what is still too much is scaled down.
    _, height, width = values.shape
    found, left = values.astype(np.float64), np.zeros(values.shape)
    for _ in range(_MOST_TURNS):
        down, across = rows - found.sum(axis=2), columns - found.sum(axis=1)
        if max(np.abs(down).max(initial=0.0), np.abs(across).max(initial=0.0)) < _NEAR and (
            found.min(initial=0.0) >= 0.0
        ):
            break
        whole = down.sum(axis=1)[:, None, None] / (height * width)
        fitted = found + down[:, :, None] / width + across[:, None, :] / height - whole + left
        found = np.maximum(fitted, 0.0)
        left = fitted - found
    found = found * _at_most_one(rows, found.sum(axis=2))[:, :, None]
    return np.asarray(found * _at_most_one(columns, found.sum(axis=1))[:, None, :])


def rounded_table(values: Array, rows: Whole, columns: Whole) -> Whole:
    """Return tables of whole numbers near those of :func:`nearest_table`, with all their sums."""
    # Parts of a system go to the cells with the largest ones, as long as row and column lack some;
    # what rows and columns still lack then goes where they cross.
    found = np.floor(values + 1e-6).astype(np.int64)
    for table, value, lacks, needs in zip(
        found, values, rows - found.sum(axis=2), columns - found.sum(axis=1), strict=True
    ):
        parts = value - table
        for most, order in ((1, -parts), (None, -value)):
            for cell in np.argsort(order, axis=None, kind="stable"):
                row, column = divmod(int(cell), value.shape[1])
                added = min(lacks[row], needs[column])
                added = added if most is None else min(added, most)
                table[row, column] += added
                lacks[row] -= added
                needs[column] -= added
    return found


def _at_most_one(wanted: Whole, found: Array) -> Array:
    return np.minimum(wanted / np.where(found > 0.0, found, 1.0), 1.0)


Array = NDArray[np.float64]

Whole = NDArray[np.int64]

Axes = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTable:
    """A drawn table of counts: public."""

    noisy: Array  # [systems]
    unknown: Array  # [systems] drawn counts of planes that lack a value, by group
    deviation: float  # [systems] standard deviation of the noise of each


@dataclass(frozen=True, slots=True, eq=False)
class AgreedTables:
    """Tables that agree: whole, non-negative, each with the public size of every group."""

    systems: Mapping[Axes, Whole]  # by axes: counts by group, and then by these axes
    unknown: Whole  # counts of rows that lack a value, by group


def agreed(drawn: Mapping[Axes, DrawnTable], shape: Sequence[int], sizes: Whole) -> AgreedTables:
    """Return all margins of drawn tables of sectors, bands and classes, made to agree."""
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
    """Return the estimated effects on a joint cell, and the estimated unknown rows."""
    # Those of the mean and the unknown rows add up to the sizes of the groups.
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
