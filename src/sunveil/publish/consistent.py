"""From noisy counts to tables of whole systems: non-negative, with the totals that they must have.

Everything here sees noisy numbers and public ones only, so that it costs no privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# Sums of tables are met this well before they are rounded. [systems]
_NEAR, _MOST_TURNS = 0.02, 500


def consistent(noisy: Whole | Array, totals: Whole) -> Whole:
    """Return whole numbers of 0 or more near noisy ones, each row with its total.

    Parameters
    ----------
    noisy
        One row per group of cells.
    totals
        What each row must add up to, 0 or more.
    """
    return rounded(nearest(np.asarray(noisy, dtype=np.float64), totals), totals)


def nearest(noisy: Array, totals: Whole) -> Array:
    """Return the least-squares nearest rows of non-negative numbers with the totals.

    Taking one number off every cell and cutting at zero gives it; the number is the one at which
    the row adds up.
    """
    down = -np.sort(-noisy, axis=1)
    excess = np.cumsum(down, axis=1) - totals[:, None]
    many = np.arange(1, noisy.shape[1] + 1)
    kept = np.maximum((down - excess / many > 0.0).sum(axis=1), 1)
    level = excess[np.arange(len(noisy)), kept - 1] / kept
    return np.asarray(np.maximum(noisy - level[:, None], 0.0))


def rounded(values: Array, totals: Whole) -> Whole:
    """Return whole numbers, each within one of its value, that keep the totals of the rows.

    Parts of a system go to the cells with the largest ones.
    """
    whole = np.floor(values)
    missing = totals - whole.sum(axis=1).astype(np.int64)
    order = np.argsort(-(values - whole), axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(values.shape[1])[None, :], axis=1)
    return np.asarray(whole.astype(np.int64) + (rank < missing[:, None]))


def nearest_table(values: Array, rows: Whole, columns: Whole) -> Array:
    """Return tables of non-negative numbers, near others, that do not exceed the sums they get.

    Dykstra's projections onto the tables with the sums and onto the non-negative ones, which come
    as near to the least-squares table as is asked of them; what is still too much is scaled down.

    Parameters
    ----------
    values
        One table per group.
    rows, columns
        What the rows and the columns of each table must add up to; both with one total.
    """
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
    """Return tables of whole numbers near those of :func:`nearest_table`, with all their sums.

    Parts of a system go to the cells with the largest ones, as long as row and column lack some;
    what rows and columns still lack then goes where they cross.

    Parameters
    ----------
    values
        One table per group.
    rows, columns
        As for :func:`nearest_table`.
    """
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
