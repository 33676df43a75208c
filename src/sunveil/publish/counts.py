"""Counts of systems by sector, band and class, optionally by a public key.

One joint table is drawn. Its margins are added up from it, which costs nothing: measured apart, at
half the ε each, the sector x tilt table would be a quarter less noisy with six classes and every
joint cell twice as noisy.

Proof: ``docs/proofs/counts.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.fleet.results import FleetRows
from sunveil.privacy.counting import Counts, DiscreteLaplace, Sensitivity
from sunveil.privacy.units import System
from sunveil.publish.bins import UNKNOWN, Bins, FleetGroups
from sunveil.publish.consistent import consistent
from sunveil.publish.publication import Column, PublishedTable

Whole = NDArray[np.int64]

# A replaced row leaves one cell and enters another.
SENSITIVITY = Sensitivity(absolute=2, squared=2)
PROOF = "docs/proofs/counts.md"
_AXES = (
    ("sector", "Sector of the compass that the modules face."),
    ("tilt_band", "Band of tilts [degrees]."),
    ("capacity_class", "Class of DC capacities [kW]."),
)
# Name of each table, and which axes it keeps.
MARGINS = {
    "counts": (0, 1, 2),
    "planes": (0, 1),
    "sectors": (0,),
    "tilts": (1,),
    "capacities": (2,),
}


@dataclass(frozen=True, slots=True, eq=False)
class NoisyCounts:
    """Drawn counts, and the consistent table made of them: public.

    Parameters
    ----------
    noisy
        Drawn counts by group, sector, band and class.
    noisy_unknown
        Drawn counts of rows that lack a value, by group.
    systems, systems_unknown
        The same, non-negative and with the public size of every group.
    deviation
        Standard deviation of the noise of one drawn count.
    """

    noisy: Whole
    noisy_unknown: Whole
    systems: Whole
    systems_unknown: Whole
    deviation: float


def cell_counts(rows: FleetRows, bins: Bins, groups: FleetGroups) -> Counts:
    """Return how many systems are in every cell of every group: private.

    Parameters
    ----------
    rows
        The fleet.
    bins, groups
        The public bins, and which group each system is in.

    Privacy
    -------
    Neighbours replace the values of one row and leave its key. Sensitivity 2, over all cells of all
    groups together: ``docs/proofs/counts.md``.
    """
    cells = bins.size + 1
    flat = groups.place * cells + bins.cells(rows)
    values = np.bincount(flat, minlength=cells * len(groups.names)).astype(np.int64)
    return Counts(values, SENSITIVITY, System(), PROOF)


def draw_counts(rows: FleetRows, bins: Bins, groups: FleetGroups, *, epsilon: float) -> NoisyCounts:
    """Draw the joint table once, and make it consistent.

    Parameters
    ----------
    rows
        The fleet: private.
    bins, groups
        Public.
    epsilon
        What the draw costs.
    """
    mechanism = DiscreteLaplace(epsilon)
    drawn = mechanism.draw(cell_counts(rows, bins, groups))
    by_group = drawn.reshape(len(groups.names), bins.size + 1)
    noisy = by_group[:, :-1].reshape(-1, *bins.shape)
    unknown = by_group[:, -1]
    systems, systems_unknown = consistent_counts(noisy, unknown, groups.sizes)
    return NoisyCounts(noisy, unknown, systems, systems_unknown, mechanism.deviation(SENSITIVITY))


def consistent_counts(noisy: Whole, unknown: Whole, sizes: Whole) -> tuple[Whole, Whole]:
    """Return non-negative whole counts that add up to the public sizes of the groups.

    From the top down: the planes first, each the unbiased sum of its classes, then the classes
    within each plane. All cells at once would move systems from full cells into the many empty
    ones, since cutting noise at zero only ever adds.

    Parameters
    ----------
    noisy
        By group, sector, band and class.
    unknown
        By group.
    sizes
        How many systems each group has.
    """
    groups, sectors, bands, classes = noisy.shape
    planes = noisy.sum(axis=3).reshape(groups, -1)
    top = consistent(np.column_stack([planes, unknown]), sizes)
    within = consistent(noisy.reshape(-1, classes), top[:, :-1].ravel())
    return within.reshape(groups, sectors, bands, classes), top[:, -1]


def count_deviation(name: str, bins: Bins, deviation: float) -> float:
    """Return the standard deviation of a cell of a margin before it was made consistent.

    Parameters
    ----------
    name
        Which table.
    bins
        The bins.
    deviation
        That of a cell of the joint table.
    """
    added = math.prod(size for i, size in enumerate(bins.shape) if i not in MARGINS[name])
    return deviation * math.sqrt(added)


def count_tables(found: NoisyCounts, bins: Bins, groups: FleetGroups) -> tuple[PublishedTable, ...]:
    """Return the joint table and its margins, each cell with its error.

    Parameters
    ----------
    found
        What :func:`draw_counts` drew.
    bins, groups
        What it was drawn in.
    """
    return tuple(_table(name, found, bins, groups) for name in MARGINS)


def key_columns(groups: FleetGroups) -> tuple[Column, ...]:
    """Return the column of the public key, if there is one."""
    if groups.key is None:
        return ()
    return (Column(groups.key, "string", "Public group of the systems."),)


def _table(name: str, found: NoisyCounts, bins: Bins, groups: FleetGroups) -> PublishedTable:
    kept = MARGINS[name]
    columns = (
        *key_columns(groups),
        *(Column(_AXES[i][0], "string", _AXES[i][1]) for i in kept),
        Column("systems", "integer", "Systems, consistent with all other tables of counts."),
        Column("noisy", "integer", "Systems as drawn: unbiased, and possibly below zero."),
        Column("sd", "number", "Standard deviation of the noise in `noisy`."),
    )
    words = ", ".join(_AXES[i][0].replace("_", " ") for i in kept)
    return PublishedTable(
        name, f"Systems by {words}.", columns, tuple(_rows(kept, found, bins, groups, name))
    )


def _rows(
    kept: tuple[int, ...], found: NoisyCounts, bins: Bins, groups: FleetGroups, name: str
) -> Iterator[tuple[Any, ...]]:
    added = tuple(i + 1 for i in range(3) if i not in kept)
    systems, noisy = found.systems.sum(axis=added), found.noisy.sum(axis=added)
    error = round(count_deviation(name, bins, found.deviation), 4)
    labels = bins.labels
    for group, title in enumerate(groups.names):
        head = () if groups.key is None else (title,)
        for place in np.ndindex(systems.shape[1:]):
            names = tuple(labels[axis][i] for axis, i in zip(kept, place, strict=True))
            at = (group, *place)
            yield (*head, *names, int(systems[at]), int(noisy[at]), error)
        last = int(found.systems_unknown[group]), int(found.noisy_unknown[group])
        yield (*head, *(UNKNOWN,) * len(kept), *last, round(found.deviation, 4))
