"""A publication, its tables, columns and errors; bins and names of tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields
from sunveil.errors import ParameterError
from sunveil.privacy.guarantees import Guaranteed

if TYPE_CHECKING:
    from sunveil.estimates.read_write import FleetPlanes, FleetRows
    from sunveil.ledger.promises import Question

Array = NDArray[np.float64]


Whole = NDArray[np.int64]


UNKNOWN = "unknown"


# A system is so many equal parts, which its planes share by capacity: public, and the same for all.
PARTS = 10


_POINTS = {
    4: ("N", "E", "S", "W"),
    8: ("N", "NE", "E", "SE", "S", "SW", "W", "NW"),
}


_MOST_CELLS = 100_000


@dataclass(frozen=True, slots=True)
class Bins:
    """Sectors of azimuth, bands of tilt and classes of capacity: public, and chosen in advance.

    A value beyond the outermost edges falls into the outermost bin. A plane that lacks a value
    falls into one cell of its own, ``unknown``, so that every plane is in exactly one cell. A
    tracker is one plane, its modules at rest: level, in the sector of its axis's southern end. The
    class is that of the whole system, however many planes it has.

    Parameters
    ----------
    sectors
        How many sectors the compass is cut into; the first is centred on north.
    tilt_edges
        Edges of the bands, increasing; a band holds its lower edge. [degrees]
    capacity_edges_kw
        Edges of the classes, increasing; a class holds its lower edge. [kW]
    """

    sectors: int = 8
    tilt_edges: tuple[float, ...] = (0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 90.0)
    capacity_edges_kw: tuple[float, ...] = (0.0, 3.0, 5.0, 7.0, 10.0, 20.0, 1000.0)

    def __post_init__(self) -> None:
        check_fields(self)
        if isinstance(self.sectors, bool) or not isinstance(self.sectors, int) or self.sectors < 1:
            raise ParameterError("the compass is cut into a whole number of sectors, 1 or more")
        _check_edges("tilt_edges", self.tilt_edges)
        _check_edges("capacity_edges_kw", self.capacity_edges_kw)
        if self.size > _MOST_CELLS:
            raise ParameterError(
                f"the bins make {self.size:,} cells, more than {_MOST_CELLS:,}; take wider ones"
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many sectors, bands and classes there are."""
        return self.sectors, len(self.tilt_edges) - 1, len(self.capacity_edges_kw) - 1

    @property
    def size(self) -> int:
        """How many cells there are, without the one for unknown values."""
        return int(np.prod(self.shape))

    @property
    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Names of the sectors, bands and classes."""
        return self._sector_names(), _spans(self.tilt_edges), _spans(self.capacity_edges_kw)

    def cells(self, rows: FleetRows) -> Whole:
        """Return the cell of every row's largest plane: private. The last is the unknown one."""
        planes = largest_planes(rows)
        return self._cells(planes.surface_azimuth, planes.surface_tilt, rows.dc_capacity_kw)

    def parts(self, rows: FleetRows) -> tuple[Whole, Whole, Whole]:
        """Return the row, the cell and the parts of every plane: private.

        The parts of a row are whole numbers of 0 or more that add up to :data:`PARTS`, whatever
        its planes hold. The last cell, ``size``, is the unknown one.
        """
        planes = rows.planes
        capacity = rows.dc_capacity_kw[planes.row]
        cells = self._cells(planes.surface_azimuth, planes.surface_tilt, capacity)
        return planes.row, cells, whole_parts(planes)

    def _cells(self, azimuth: Array, tilt: Array, capacity: Array) -> Whole:
        unknown = ~np.isfinite(azimuth) | np.isnan(tilt) | np.isnan(capacity)
        width = 360.0 / self.sectors
        turned = np.mod(np.where(unknown, 0.0, azimuth) + width / 2.0, 360.0)
        # a tiny negative angle comes back from mod as 360 itself
        sector = np.floor(turned / width).astype(np.int64) % self.sectors
        place = (sector, _band(tilt, self.tilt_edges), _band(capacity, self.capacity_edges_kw))
        flat = np.ravel_multi_index(place, self.shape)
        return np.where(unknown, self.size, flat).astype(np.int64)

    def _sector_names(self) -> tuple[str, ...]:
        if self.sectors in _POINTS:
            return _POINTS[self.sectors]
        width = 360.0 / self.sectors
        starts = [(i - 0.5) * width % 360.0 for i in range(self.sectors)]
        return tuple(f"{start:g} to {(start + width) % 360.0:g}" for start in starts)


def whole_parts(planes: FleetPlanes) -> Whole:
    """Return how many parts of its system every plane gets: private."""
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
    """Disjoint groups of a fleet by a public key: which group a system is in is no secret."""

    key: str | None  # name of the key, or None for the whole fleet as one group
    names: tuple[str, ...]  # the groups, given in advance
    place: Whole  # the group of every row

    @property
    def sizes(self) -> Whole:
        """How many systems each group has: public, as the key is."""
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
    found = [str(name) for name in rows.keys[key]]
    strange = sorted(set(found) - set(names))
    if strange:
        listed = ", ".join(map(repr, strange[:3])) + (" and others" if len(strange) > 3 else "")
        raise ParameterError(
            f"the data have {key} {listed}, not among the groups listed; list all of them or leave"
            " their systems out"
        )
    index = {name: i for i, name in enumerate(names)}
    return FleetGroups(key, names, np.array([index[name] for name in found], dtype=np.int64))


def _check_edges(name: str, edges: tuple[float, ...]) -> None:
    if (
        len(edges) < 2
        or not all(map(math.isfinite, edges))
        or any(b <= a for a, b in pairwise(edges))
    ):
        raise ParameterError(f"{name} must be two or more finite numbers, each above the last")


def _band(values: Array, edges: tuple[float, ...]) -> Whole:
    # inner edges only: whatever is beyond the outer ones is in the outermost bins
    return np.searchsorted(np.array(edges[1:-1]), values, side="right").astype(np.int64)


def _spans(edges: tuple[float, ...]) -> tuple[str, ...]:
    return tuple(f"{low:g} to {high:g}" for low, high in pairwise(edges))


# What no system is taken to be larger than, unless the curator knows better. [kW]
LARGEST_KW = 2000.0


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a published table."""

    name: str  # its name
    kind: str
    about: str  # what it holds, with its unit


@dataclass(frozen=True, slots=True, eq=False)
class PublishedTable:
    """One table, every value of which may be published."""

    name: str  # stem of its files
    about: str  # what it is, in a sentence
    columns: tuple[Column, ...]  # its columns, in order
    rows: tuple[tuple[Any, ...], ...]  # its rows, plain JSON types

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain JSON types."""
        return {
            "name": self.name,
            "about": self.about,
            "columns": [[each.name, each.kind, each.about] for each in self.columns],
            "rows": [list(row) for row in self.rows],
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> PublishedTable:
        """Return the table that :meth:`to_dict` gave."""
        return cls(
            name=fields["name"],
            about=fields["about"],
            columns=tuple(Column(*each) for each in fields["columns"]),
            rows=tuple(tuple(row) for row in fields["rows"]),
        )

    def column(self, name: str) -> list[Any]:
        """Return the values of one column."""
        place = [column.name for column in self.columns].index(name)
        return [row[place] for row in self.rows]


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """Published tables with their guarantee. Everything in it is public.

    Parameters
    ----------
    title
        What it is.
    tables
        Its tables.
    guarantee
        Guarantee of all tables together.
    mechanism
        Mechanisms, in words.
    public
        The public choices it was made with.
    question
        What the ledger was asked for it; None where there was no ledger.
    """

    title: str
    tables: tuple[PublishedTable, ...]
    guarantee: Guaranteed
    mechanism: str
    public: dict[str, Any] = field(default_factory=dict)
    question: Question | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)


# Name of each table, and which axes it keeps.
MARGINS = {
    "counts": (0, 1, 2),
    "planes": (0, 1),
    "sectors": (0,),
    "tilts": (1,),
    "capacities": (2,),
}


NAME = "noisy-counts"


AXES = ("sector", "tilt_band", "capacity_class")


BINS = Bins(
    sectors=16,
    tilt_edges=(0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 60.0, 90.0),
    capacity_edges_kw=(0.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 30.0, 100.0),
)


class ErrorVerdict(StrEnum):
    """What an answer would be good for."""

    USEFUL = "useful"
    ROUGH = "rough"
    NOISE = "only noise"


@dataclass(frozen=True, slots=True)
class Rule:
    """Up to which share of what is told an error is useful, and up to which it is rough."""

    useful: float  # the largest error of each, as a share of what it is compared with
    rough: float  # the largest error of each, as a share of what it is compared with
    words: str  # the rule as a sentence


# By the unit of the error. A count is told from an empty cell at three standard deviations.
RULES = {
    "systems": Rule(
        1.0 / 3.0,
        1.0,
        "Counts: useful where an average cell is at least three times its error, rough where it is"
        " at least as large as its error.",
    ),
    "%": Rule(0.2, 0.5, "Shares and totals: useful up to 20% error, rough up to 50%."),
    "places": Rule(
        0.1,
        0.25,
        "Quantiles: useful where they are off by at most a tenth of the systems of a group, rough"
        " up to a quarter.",
    ),
    "kW": Rule(
        0.2,
        0.5,
        "Totals with a given limit: useful up to 20% of what average homes of 5 kW would add up to,"
        " rough up to 50%.",
    ),
    "°": Rule(
        0.2,
        0.5,
        "Angles of single systems: useful up to a fifth of what a blind guess is off by (90° of"
        " azimuth, 25° of tilt), rough up to a half.",
    ),
}


_ORDER = tuple(ErrorVerdict)


def verdict_on(error: float, *, unit: str, of: float | None) -> ErrorVerdict | None:
    """Return the verdict on an error, or None where there is nothing to compare it with."""
    rule = rule_of(unit)
    if rule is None or of is None:
        return None
    if error <= rule.useful * of:
        return ErrorVerdict.USEFUL
    return ErrorVerdict.ROUGH if error <= rule.rough * of else ErrorVerdict.NOISE


def rule_of(unit: str) -> Rule | None:
    """Return the rule for errors in a unit; shares of anything have one."""
    return RULES["%"] if unit.startswith("%") else RULES.get(unit)


def worst(verdicts: Iterable[ErrorVerdict | None]) -> ErrorVerdict | None:
    """Return the worst of several verdicts, None where there is none."""
    found = [each for each in verdicts if each is not None]
    return max(found, key=_ORDER.index) if found else None


def better(one: ErrorVerdict, other: ErrorVerdict) -> bool:
    """Return whether one verdict is better than another."""
    return _ORDER.index(one) < _ORDER.index(other)
