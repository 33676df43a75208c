"""The noisy counts that a synthetic table was made of, as a table beside it.

They were drawn and paid for already. A table of rows alone does not say how far it is from the
fleet: a model that holds no negative count fills what noise left empty. The counts themselves are
unbiased, and their noise is known, so that errors can be told of what is made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sunveil.publish.bins import Bins
from sunveil.publish.publication import Column, PublishedTable
from sunveil.publish.survival import Marginal

NAME = "noisy-counts"
AXES = ("sector", "tilt_band", "capacity_class")
_COLUMNS = (
    Column("sector", "string", "Sector of azimuth; empty where all are counted together."),
    Column("tilt_band", "string", "Band of tilt; empty likewise. [degrees]"),
    Column("capacity_class", "string", "Class of capacity; empty likewise. [kW]"),
    Column("noisy", "integer", "Systems that were counted, with noise; it may be below zero."),
    Column("sd", "number", "Standard deviation of the noise."),
)


def noisy_counts(marginals: Sequence[Marginal], bins: Bins) -> PublishedTable:
    """Return the counts that a synthetic table was made of: public.

    Parameters
    ----------
    marginals
        The noisy counts along axes and pairs of axes.
    bins
        The public bins.
    """
    rows: list[tuple[Any, ...]] = []
    for each in marginals:
        for place in np.ndindex(each.counts.shape):
            labels: list[str | None] = [None, None, None]
            for axis, at in zip(each.axes, place, strict=True):
                labels[axis] = bins.labels[axis][at]
            rows.append((*labels, round(float(each.counts[place])), round(each.deviation, 4)))
    return PublishedTable(
        NAME,
        "Noisy counts of the systems along each axis and each pair of axes, which the synthetic"
        " systems were made of.",
        _COLUMNS,
        tuple(rows),
    )
