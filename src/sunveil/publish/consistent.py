"""From noisy counts to tables of whole systems: non-negative, with the public totals.

Everything here sees noisy numbers and public ones only, so that it costs no privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def consistent(noisy: Whole, totals: Whole) -> Whole:
    """Return whole numbers of 0 or more near noisy ones, each row with its total.

    Parameters
    ----------
    noisy
        One row per group of cells.
    totals
        What each row must add up to, 0 or more.
    """
    return rounded(nearest(noisy.astype(np.float64), totals), totals)


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
