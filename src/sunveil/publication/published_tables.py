"""A publication, its tables, columns and errors; bins and names of tables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any

import numpy as np

from sunveil._options import check_fields
from sunveil.errors import ParameterError
from sunveil.privacy.guarantees import Guaranteed

UNKNOWN = "unknown"

# Equal parts that a system is counted in; its planes share them by capacity. Public.
PARTS = 10

_POINTS = {4: ("N", "E", "S", "W"), 8: ("N", "NE", "E", "SE", "S", "SW", "W", "NW")}

_MOST_BINS = 100_000


@dataclass(frozen=True, slots=True)
class Bins:
    """Sectors of azimuth, bands of tilt and classes of capacity: public, and chosen in advance.

    A value beyond the outermost edges falls into the outermost bin. A plane that lacks a value
    falls into a bin of its own, ``unknown``, so that every plane is in exactly one bin. A tracker
    counts as one level plane, in the sector of its axis's southern end. The capacity class is that
    of the whole system, however many planes it has.
    """

    sectors: int = 8  # number of sectors of the compass; the first is centred on north
    # edges of the bands, increasing; a band holds its lower edge. [degrees]
    tilt_edges: tuple[float, ...] = (0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 90.0)
    # edges of the classes, increasing; a class holds its lower edge. [kW]
    capacity_edges_kw: tuple[float, ...] = (0.0, 3.0, 5.0, 7.0, 10.0, 20.0, 1000.0)

    def __post_init__(self) -> None:
        check_fields(self)
        if isinstance(self.sectors, bool) or not isinstance(self.sectors, int) or self.sectors < 1:
            raise ParameterError("sectors must be a whole number of 1 or more")
        _check_edges("tilt_edges", self.tilt_edges)
        _check_edges("capacity_edges_kw", self.capacity_edges_kw)
        if self.size > _MOST_BINS:
            raise ParameterError(
                f"the edges make {self.size:,} bins, more than {_MOST_BINS:,}; use wider ones"
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of sectors, bands and classes."""
        return self.sectors, len(self.tilt_edges) - 1, len(self.capacity_edges_kw) - 1

    @property
    def size(self) -> int:
        """Number of bins, without the one for unknown values."""
        return int(np.prod(self.shape))

    @property
    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Names of the sectors, bands and classes."""
        return self._sector_names(), _spans(self.tilt_edges), _spans(self.capacity_edges_kw)

    def _sector_names(self) -> tuple[str, ...]:
        if self.sectors in _POINTS:
            return _POINTS[self.sectors]
        width = 360.0 / self.sectors
        starts = [(i - 0.5) * width % 360.0 for i in range(self.sectors)]
        return tuple(f"{start:g} to {(start + width) % 360.0:g}" for start in starts)


def _check_edges(name: str, edges: tuple[float, ...]) -> None:
    if (
        len(edges) < 2
        or not all(map(math.isfinite, edges))
        or any(b <= a for a, b in pairwise(edges))
    ):
        raise ParameterError(f"{name} must be two or more finite numbers, each above the last")


def _spans(edges: tuple[float, ...]) -> tuple[str, ...]:
    return tuple(f"{low:g} to {high:g}" for low, high in pairwise(edges))


# [kW] largest capacity of a system, unless the curator gives another
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


@dataclass(frozen=True, slots=True)
class HowMade:
    """How a product is made, in the sentences of its README and release card."""

    covers: str  # what the guarantee is of: "Each row" or "All tables together"
    data: str  # what the protected data are
    unprotected: str  # what is taken to be public
    preprocessing: str  # what happens before the draw; CHOOSER stands for who chose
    post_processing: str  # what is done with what was drawn
    composition: str  # how the losses of its parts add up
    product_type: str  # the registry's word for it


# Stands in `HowMade.preprocessing` for who made public choices: the curator or an analyst.
CHOOSER = "{chooser}"


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """Published tables with their guarantee. Everything in it is public.

    Parameters
    ----------
    title
        Its title.
    tables
        Its tables.
    guarantee
        The guarantee of all of it together.
    mechanism
        The mechanisms that drew it, in words.
    public
        The public choices it was made with.
    how
        How its product is made, for README and release card; None where that is not known.
    question
        The question that the ledger answered with it; None where there was none.
    """

    title: str
    tables: tuple[PublishedTable, ...]
    guarantee: Guaranteed
    mechanism: str
    public: dict[str, Any] = field(default_factory=dict)
    how: HowMade | None = None
    question: Any = field(default=None, repr=False)

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

NOISY_COUNTS = "noisy-counts"

AXES = ("sector", "tilt_band", "capacity_class")

BINS = Bins(
    sectors=16,
    tilt_edges=(0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 60.0, 90.0),
    capacity_edges_kw=(0.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 30.0, 100.0),
)


class ErrorVerdict(StrEnum):
    """What an answer of some error is good for."""

    USEFUL = "useful"
    ROUGH = "rough"
    NOISE = "only noise"


@dataclass(frozen=True, slots=True)
class Rule:
    """Largest errors of useful and of rough answers, as shares of the quantity they are of."""

    useful: float
    rough: float
    words: str  # the rule as a sentence


# By the unit of the error. A count differs from an empty bin at three standard deviations.
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
    """Grade an expected error relative to ``of``; None if there is no rule for it."""
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
