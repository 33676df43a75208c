"""Counts by sector, tilt band and capacity class."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.estimates.read_write import FleetRows
from sunveil.privacy.discrete_noise import Counts, Sensitivity, Spending
from sunveil.privacy.guarantees import System
from sunveil.publication.published_tables import (
    MARGINS,
    PARTS,
    UNKNOWN,
    Bins,
    Column,
    FleetGroups,
    PublishedTable,
)
from sunveil.publish.consistent_tables import DrawnTable, agreed

Whole = NDArray[np.int64]


# Of parts: a replaced row takes all of its own away and brings as many.
SENSITIVITY = Sensitivity(absolute=2 * PARTS, squared=2 * PARTS**2)


PROOF = "docs/proofs/counts.md"


_AXES = (
    ("sector", "Sector of the compass that the modules face; of trackers, that of the axis."),
    ("tilt_band", "Band of tilts; trackers are level [degrees]."),
    ("capacity_class", "Class of DC capacities [kW]."),
)


@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    """One table of counts as it is published: drawn, and made to agree with the others."""

    drawn: DrawnTable  # as drawn, or added up from what was
    systems: Whole  # the same, non-negative, whole and in agreement with all tables
    unknown: Whole  # the same, non-negative, whole and in agreement with all tables
    source: str  # the table that was drawn


def cell_counts(
    rows: FleetRows, bins: Bins, groups: FleetGroups, *, table: str = "counts"
) -> Counts:
    """Return how many parts of systems are in every cell of a table, in every group: private."""
    # Neighbours replace the values of one row, all its planes among them, and leave its key.
    # Sensitivity two systems, over all cells of all groups together: `docs/proofs/counts.md`.
    shape = [bins.shape[axis] for axis in MARGINS[table]]
    size = math.prod(shape)
    row, cells, parts = bins.parts(rows)
    known = np.unravel_index(np.minimum(cells, bins.size - 1), bins.shape)
    place = np.ravel_multi_index([known[axis] for axis in MARGINS[table]], shape)
    flat = groups.place[row] * (size + 1) + np.where(cells == bins.size, size, place)
    values = np.zeros((size + 1) * len(groups.names), dtype=np.int64)
    np.add.at(values, flat, parts)
    return Counts(values, SENSITIVITY, System(), PROOF)


def draw_counts(
    rows: FleetRows, bins: Bins, groups: FleetGroups, *, spending: Spending, table: str = "counts"
) -> DrawnTable:
    """Draw a table of counts once."""
    shape = [bins.shape[axis] for axis in MARGINS[table]]
    counts = cell_counts(rows, bins, groups, table=table)
    drawn = spending.noise.draw(counts).reshape(len(groups.names), -1) / PARTS
    cells = drawn[:, :-1].reshape(-1, *shape)
    return DrawnTable(cells, drawn[:, -1], drawn_deviation(spending))


def drawn_deviation(spending: Spending) -> float:
    """Return the standard deviation of the noise of a drawn cell. [systems]"""
    return spending.noise.deviation(SENSITIVITY) / PARTS


def sources(bought: Mapping[str, float], bins: Bins) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, axes in MARGINS.items():
        finer = [each for each in bought if set(axes) <= set(MARGINS[each])]
        if finer:
            noise = {each: count_deviation(name, bins, bought[each], source=each) for each in finer}
            found[name] = name if name in bought else min(finer, key=noise.__getitem__)
    return found


def count_deviation(name: str, bins: Bins, deviation: float, *, source: str = "counts") -> float:
    """Return the standard deviation of a cell of a table before it was made to agree."""
    added = math.prod(bins.shape[i] for i in MARGINS[source] if i not in MARGINS[name])
    return deviation * math.sqrt(added)


def agreed_counts(
    drawn: Mapping[str, DrawnTable], bins: Bins, groups: FleetGroups
) -> dict[str, CountTable]:
    """Return all tables that drawn ones give, made to agree to the last system."""
    together = agreed({MARGINS[name]: table for name, table in drawn.items()}, bins.shape,
                      groups.sizes)  # fmt: skip
    found: dict[str, CountTable] = {}
    noise = {name: table.deviation for name, table in drawn.items()}
    for name, source in sources(noise, bins).items():
        finer, axes = drawn[source], MARGINS[source]
        added = tuple(1 + axes.index(axis) for axis in axes if axis not in MARGINS[name])
        error = count_deviation(name, bins, finer.deviation, source=source)
        cells = DrawnTable(finer.noisy.sum(axis=added), finer.unknown, error)
        found[name] = CountTable(cells, together.systems[MARGINS[name]], together.unknown, source)
    return found


def count_tables(
    drawn: Mapping[str, DrawnTable], bins: Bins, groups: FleetGroups
) -> tuple[PublishedTable, ...]:
    """Return all tables that drawn ones give, each cell with its error."""
    found = agreed_counts(drawn, bins, groups)
    return tuple(
        _table(name, table, drawn[table.source].deviation, bins, groups)
        for name, table in found.items()
    )


def key_columns(groups: FleetGroups) -> tuple[Column, ...]:
    """Return the column of the public key, if there is one."""
    if groups.key is None:
        return ()
    return (Column(groups.key, "string", "Public group of the systems."),)


def _table(
    name: str, found: CountTable, deviation: float, bins: Bins, groups: FleetGroups
) -> PublishedTable:
    kept = MARGINS[name]
    columns = (
        *key_columns(groups),
        *(Column(_AXES[i][0], "string", _AXES[i][1]) for i in kept),
        Column("systems", "integer", "Systems, consistent with all other tables of counts."),
        Column("noisy", "number", "Systems as drawn, in tenths: unbiased, possibly below zero."),
        Column("sd", "number", "Standard deviation of the noise in `noisy`."),
    )
    words = ", ".join(_AXES[i][0].replace("_", " ") for i in kept)
    how = "drawn by itself" if found.source == name else f"added up from `{found.source}`"
    about = (
        f"Systems by {words}. {_shared(kept)}`noisy` was {how}; `systems` was made from all drawn"
        " tables of counts by weighted least squares, then made whole and non-negative so that all"
        " tables agree."
    )
    rows = tuple(_rows(kept, found, deviation, bins, groups))
    return PublishedTable(name, about, columns, rows)


def _shared(kept: tuple[int, ...]) -> str:
    """Return how systems on two planes count in a table; a class is that of a whole system."""
    places = " and ".join(("sector", "band")[axis] for axis in kept if axis < 2)
    if not places:
        return ""
    return (
        f"A system on two planes counts in the {places} of each with the share of its capacity,"
        " rounded to tenths. "
    )


def _rows(
    kept: tuple[int, ...], found: CountTable, deviation: float, bins: Bins, groups: FleetGroups
) -> Iterator[tuple[Any, ...]]:
    error, labels = round(found.drawn.deviation, 4), bins.labels
    for group, title in enumerate(groups.names):
        head = () if groups.key is None else (title,)
        for place in np.ndindex(found.systems.shape[1:]):
            names = tuple(labels[axis][i] for axis, i in zip(kept, place, strict=True))
            at = (group, *place)
            yield (*head, *names, int(found.systems[at]), _tenths(found.drawn.noisy[at]), error)
        last = int(found.unknown[group]), _tenths(found.drawn.unknown[group])
        yield (*head, *(UNKNOWN,) * len(kept), *last, round(deviation, 4))


def _tenths(systems: float) -> float:
    """Return a number of parts in systems as it is written, without what adding up left behind."""
    return round(float(systems), 1)
