"""Counts of systems by what they stand on: one plane, two planes, or a tracker.

Output over the day differs most by that. A system is in one row of the table, whole, so that counts
are of systems and not of parts of them.

Proof: ``docs/proofs/counts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.fleet.fleet_planes import MOUNTS
from sunveil.fleet.results import FleetRows
from sunveil.privacy.counting import Counts, Sensitivity
from sunveil.privacy.units import System
from sunveil.publish.bins import UNKNOWN, FleetGroups
from sunveil.publish.consistent import consistent
from sunveil.publish.counts import PROOF, key_columns
from sunveil.publish.publication import Column, PublishedTable
from sunveil.publish.spending import Spending

# A replaced row leaves one cell and enters another.
SENSITIVITY = Sensitivity(absolute=2, squared=2)
LABELS = (*MOUNTS, UNKNOWN)
ABOUT = (
    "Systems by what they stand on. A system is in one row. Unknown are those that could not be"
    " inferred, and those on more than one plane of which nothing tells which. `noisy` was drawn by"
    " itself; `systems` was made from it alone, whole and non-negative with the public number of"
    " systems."
)


def mount_counts(rows: FleetRows, groups: FleetGroups) -> Counts:
    """Return how many systems stand on each of the mounts, in every group: private.

    Parameters
    ----------
    rows
        The fleet.
    groups
        Which public group each system is in.

    Privacy
    -------
    Neighbours replace what one row holds, its planes and its tracker among it, and leave its key.
    Sensitivity two, over all cells of all groups together: ``docs/proofs/counts.md``.
    """
    cells = groups.place * len(LABELS) + rows.mounts
    values = np.bincount(cells, minlength=len(LABELS) * len(groups.names))
    return Counts(values.astype(np.int64), SENSITIVITY, System(), PROOF)


def mount_deviation(spending: Spending) -> float:
    """Return the standard deviation of the noise of a cell. [systems]"""
    return spending.noise.deviation(SENSITIVITY)


def draw_mounts(rows: FleetRows, groups: FleetGroups, *, spending: Spending) -> PublishedTable:
    """Draw the table once.

    Parameters
    ----------
    rows
        The fleet: private.
    groups
        Public.
    spending
        What the draw costs.
    """
    drawn = spending.noise.draw(mount_counts(rows, groups))
    columns = (
        *key_columns(groups),
        Column("mount", "string", "What the modules stand on; a tracker has a single axis."),
        Column("systems", "integer", "Systems, whole and consistent with their public number."),
        Column("noisy", "integer", "Systems as drawn: unbiased, possibly below zero."),
        Column("sd", "number", "Standard deviation of the noise in `noisy`."),
    )
    made = tuple(_rows(drawn.reshape(-1, len(LABELS)), groups, mount_deviation(spending)))
    return PublishedTable("mounts", ABOUT, columns, made)


def _rows(
    drawn: NDArray[np.int64], groups: FleetGroups, deviation: float
) -> Iterator[tuple[Any, ...]]:
    systems = consistent(drawn, groups.sizes)
    for group, title in enumerate(groups.names):
        head = () if groups.key is None else (title,)
        for place, label in enumerate(LABELS):
            at = (group, place)
            yield (*head, label, int(systems[at]), int(drawn[at]), round(deviation, 4))
