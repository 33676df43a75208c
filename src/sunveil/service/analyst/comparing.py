"""Two releases side by side: where they differ by more than their noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

Table = dict[str, Any]
# Which column of a table is compared, and the one with the standard deviation of its noise.
COMPARED = {
    "counts": ("noisy", "sd"),
    "planes": ("noisy", "sd"),
    "sectors": ("noisy", "sd"),
    "tilts": ("noisy", "sd"),
    "capacities": ("noisy", "sd"),
    "mounts": ("noisy", "sd"),
    "totals": ("noisy_total_kw", "total_sd_kw"),
    "quantiles": ("value", None),
}
# Standard deviations beyond which a difference is more than noise.
CLEAR = 2.0
LABELS = ("string",)


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A row that both releases have.

    Parameters
    ----------
    labels
        What it is of: a sector, a group, ...
    one, other
        The value in each; None where it has none.
    difference
        The other less the first.
    noise
        Standard deviation of the noise in the difference; None where none is stated.
    """

    labels: tuple[Any, ...]
    one: float | None
    other: float | None
    difference: float | None
    noise: float | None

    @property
    def clear(self) -> bool | None:
        """Whether the difference is more than two standard deviations of its noise."""
        if self.difference is None or self.noise is None:
            return None
        return abs(self.difference) > CLEAR * self.noise


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """A table that both releases have.

    Parameters
    ----------
    name, column
        Which table, and which of its columns is compared.
    labels
        Names of the columns that say what a row is of.
    rows
        The rows that both have.
    """

    name: str
    column: str
    labels: tuple[str, ...]
    rows: tuple[ComparedRow, ...]


def compare(one: dict[str, Any], other: dict[str, Any]) -> list[ComparedTable]:
    """Return the tables that two releases have in common and whose rows can be matched.

    Parameters
    ----------
    one, other
        The bodies of the releases.
    """
    theirs = {table["name"]: table for table in other["tables"]}
    found = (
        _compared(table, theirs[table["name"]])
        for table in one["tables"]
        if table["name"] in theirs and table["name"] in COMPARED
    )
    return [each for each in found if each is not None and each.rows]


def _compared(one: Table, other: Table) -> ComparedTable | None:
    column, noise = COMPARED[one["name"]]
    labels = _labels(one)
    if labels != _labels(other):
        return None
    ours, theirs = (_values(table, labels, column, noise) for table in (one, other))
    rows = tuple(_row(key, ours[key], theirs[key]) for key in ours if key in theirs)
    return ComparedTable(one["name"], column, labels, rows)


def _labels(table: Table) -> tuple[str, ...]:
    """Return the columns that say what a row is of."""
    return tuple(
        name for name, kind, _ in table["columns"] if kind in LABELS or name == "probability"
    )


def _values(
    table: Table, labels: tuple[str, ...], column: str, noise: str | None
) -> dict[tuple[Any, ...], tuple[float | None, float | None]]:
    names = [each[0] for each in table["columns"]]
    places = [names.index(name) for name in labels]
    at, by = names.index(column), None if noise is None else names.index(noise)
    return {
        tuple(row[place] for place in places): (row[at], None if by is None else row[by])
        for row in table["rows"]
    }


def _row(
    key: tuple[Any, ...],
    one: tuple[float | None, float | None],
    other: tuple[float | None, float | None],
) -> ComparedRow:
    known = one[0] is not None and other[0] is not None
    difference = other[0] - one[0] if known else None  # type: ignore[operator]
    told = one[1] is not None and other[1] is not None
    noise = math.hypot(one[1], other[1]) if told else None  # type: ignore[arg-type]
    return ComparedRow(key, one[0], other[0], difference, noise)
