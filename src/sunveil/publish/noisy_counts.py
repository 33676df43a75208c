"""Counts by sector, tilt band and capacity class."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.estimates.read_write import FleetPlanes, FleetRows
from sunveil.privacy.discrete_noise import Counts, Sensitivity, Spending
from sunveil.privacy.guarantees import System
from sunveil.publication.published_tables import (
    AXES,
    MARGINS,
    PARTS,
    UNKNOWN,
    Bins,
    Column,
    PublishedTable,
)
from sunveil.publish.consistent_tables import DrawnTable, agreed

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# Of parts: a replaced row takes all of its own away and brings as many.
SENSITIVITY = Sensitivity(absolute=2 * PARTS, squared=2 * PARTS**2)

PROOF = "docs/proofs/counts.md"

_ABOUT_AXES = (
    "Sector of the compass that the modules face; of trackers, that of the axis.",
    "Band of tilts; trackers are level [degrees].",
    "Class of DC capacities [kW].",
)


def bins_of_systems(rows: FleetRows, bins: Bins) -> Whole:
    """Return the bin of every row's largest plane: private. The last bin is the unknown one."""
    planes = largest_planes(rows)
    return _bins_of(bins, planes.surface_azimuth, planes.surface_tilt, rows.dc_capacity_kw)


def bins_of_planes(rows: FleetRows, bins: Bins) -> tuple[Whole, Whole, Whole]:
    """Return the row, the bin and the parts of every plane: private.

    The parts of a row are whole numbers of 0 or more that add up to PARTS, whatever its planes
    hold. The last bin is the unknown one.
    """
    planes = rows.planes
    capacity = rows.dc_capacity_kw[planes.row]
    numbers = _bins_of(bins, planes.surface_azimuth, planes.surface_tilt, capacity)
    return planes.row, numbers, whole_parts(planes)


def _bins_of(bins: Bins, azimuth: Array, tilt: Array, capacity: Array) -> Whole:
    unknown = ~np.isfinite(azimuth) | np.isnan(tilt) | np.isnan(capacity)
    width = 360.0 / bins.sectors
    from_edge = np.mod(np.where(unknown, 0.0, azimuth) + width / 2.0, 360.0)
    # mod returns 360 itself for a tiny negative angle
    sector = np.floor(from_edge / width).astype(np.int64) % bins.sectors
    place = (sector, _band(tilt, bins.tilt_edges), _band(capacity, bins.capacity_edges_kw))
    flat = np.ravel_multi_index(place, bins.shape)
    return np.where(unknown, bins.size, flat).astype(np.int64)


def _band(values: Array, edges: tuple[float, ...]) -> Whole:
    # inner edges only: values beyond the outer ones are in the outermost bins
    return np.searchsorted(np.array(edges[1:-1]), values, side="right").astype(np.int64)


def whole_parts(planes: FleetPlanes) -> Whole:
    """Return the parts of its system that every plane gets: private."""
    # Shares are rounded to whole parts, those with the largest remainders upwards, so that the
    # parts of a system add up to PARTS as its shares add up to 1.
    # A system's parts depend on its own planes alone: `docs/proofs/counts.md`.
    row, exact = planes.row, PARTS * planes.share
    whole = np.floor(exact).astype(np.int64)
    lacking = PARTS - np.bincount(row, weights=whole).astype(np.int64)
    order = np.lexsort((whole - exact, row))
    rank = np.empty(len(row), dtype=np.int64)
    rank[order] = np.arange(len(row)) - np.searchsorted(row[order], row[order])
    return np.asarray(whole + (rank < lacking[row]))


def largest_planes(rows: FleetRows) -> FleetPlanes:
    """Return the plane with the largest share of every row, in the rows' order: private."""
    planes = rows.planes
    order = np.lexsort((-planes.share, planes.row))
    _, first = np.unique(planes.row[order], return_index=True)
    return planes.take(order[first])


@dataclass(frozen=True, slots=True, eq=False)
class FleetGroups:
    """Disjoint groups of a fleet by a public key: the group of a system is no secret."""

    key: str | None  # name of the key, or None for the whole fleet as one group
    names: tuple[str, ...]  # the groups, given in advance
    place: Whole  # the group of every row

    @property
    def sizes(self) -> Whole:
        """Systems of each group: public, as the key is."""
        return np.bincount(self.place, minlength=len(self.names)).astype(np.int64)


def check_keys(key: str | None, keys: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the groups, or refuse a list that was not given in advance."""
    if key is None:
        if keys is not None:
            raise ParameterError("keys are given without the name of the column they are in: key")
        return ("all",)
    names = tuple(str(name) for name in keys or ())
    if not names:
        raise ParameterError(
            f"the groups of {key} must be listed in advance, so that an empty one is no secret;"
            " give keys"
        )
    if len(set(names)) != len(names):
        raise ParameterError(f"the list of the groups of {key} names one twice")
    return names


def groups_of(rows: FleetRows, *, key: str | None, keys: Sequence[str] | None) -> FleetGroups:
    """Return the groups of a fleet."""
    names = check_keys(key, keys)
    if key is None:
        return FleetGroups(None, names, np.zeros(len(rows), dtype=np.int64))
    if key not in rows.keys:
        raise ParameterError(f"the fleet has no public column {key!r}")
    given = [str(name) for name in rows.keys[key]]
    unlisted = sorted(set(given) - set(names))
    if unlisted:
        listed = ", ".join(map(repr, unlisted[:3])) + (" and others" if len(unlisted) > 3 else "")
        raise ParameterError(
            f"the data have {key} {listed}, not among the groups listed; list all of them or leave"
            " their systems out"
        )
    index = {name: i for i, name in enumerate(names)}
    return FleetGroups(key, names, np.array([index[name] for name in given], dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    """One table of counts as it is published: drawn, and made to agree with the others."""

    drawn: DrawnTable  # as drawn, or added up from what was
    systems: Whole  # the same, non-negative, whole and in agreement with all tables
    unknown: Whole  # the same, non-negative, whole and in agreement with all tables
    source: str  # the table that was drawn


def bin_counts(
    rows: FleetRows, bins: Bins, groups: FleetGroups, *, table: str = "counts"
) -> Counts:
    """Return how many parts of systems are in every bin of a table, in every group: private."""
    # Neighbours replace the values of one row, all its planes among them, and leave its key.
    # Sensitivity two systems, over all bins of all groups together: `docs/proofs/counts.md`.
    shape = [bins.shape[axis] for axis in MARGINS[table]]
    size = math.prod(shape)
    row, numbers, parts = bins_of_planes(rows, bins)
    known = np.unravel_index(np.minimum(numbers, bins.size - 1), bins.shape)
    place = np.ravel_multi_index([known[axis] for axis in MARGINS[table]], shape)
    flat = groups.place[row] * (size + 1) + np.where(numbers == bins.size, size, place)
    values = np.zeros((size + 1) * len(groups.names), dtype=np.int64)
    np.add.at(values, flat, parts)
    return Counts(values, SENSITIVITY, System(), PROOF)


def draw_counts(
    rows: FleetRows, bins: Bins, groups: FleetGroups, *, spending: Spending, table: str = "counts"
) -> DrawnTable:
    """Draw a table of counts once."""
    shape = [bins.shape[axis] for axis in MARGINS[table]]
    counts = bin_counts(rows, bins, groups, table=table)
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
        *(Column(AXES[i], "string", _ABOUT_AXES[i]) for i in kept),
        Column("systems", "integer", "Systems, consistent with all other tables of counts."),
        Column("noisy", "number", "Systems as drawn, in tenths: unbiased, possibly below zero."),
        Column("sd", "number", "Standard deviation of the noise in `noisy`."),
    )
    words = ", ".join(AXES[i].replace("_", " ") for i in kept)
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
