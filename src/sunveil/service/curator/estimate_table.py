"""The table of estimates as a curator asks for it: which columns, in which order, which systems."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any
from urllib.parse import urlencode

from sunveil.errors import ParameterError
from sunveil.publish.csv_text import defuse

LONGEST_TEXT = 100


@dataclass(frozen=True, slots=True)
class EstimateColumn:
    """A column of the table of estimates.

    Parameters
    ----------
    name, title
        As the file has it, and as people read it.
    unit
        Of its numbers; empty for none.
    """

    name: str
    title: str
    unit: str = ""


NUMBERS = (
    EstimateColumn("surface_azimuth", "Azimuth", "°"),
    EstimateColumn("surface_tilt", "Tilt", "°"),
    EstimateColumn("dc_capacity_kw", "DC capacity", " kW"),
    EstimateColumn("plane_error_degrees", "Plane error", "°"),
    EstimateColumn("agreement", "Agreement"),
    EstimateColumn("ac_limit_kw", "AC limit", " kW"),
    EstimateColumn("clear_hours", "Clear hours", " h"),
    EstimateColumn("trend_percent_per_year", "Trend", " %/year"),
    EstimateColumn("clock_offset_minutes", "Clock offset", " min"),
    EstimateColumn("latitude", "Latitude", "°"),
    EstimateColumn("longitude", "Longitude", "°"),
)
COLUMNS = (
    EstimateColumn("system_id", "System"),
    *NUMBERS,
    EstimateColumn("quality", "Quality"),
    EstimateColumn("flags", "Flags"),
)
BY_NAME = {column.name: column for column in COLUMNS}
USUAL = (
    "surface_azimuth", "surface_tilt", "dc_capacity_kw", "plane_error_degrees", "quality", "flags"
)  # fmt: skip
# What a program that opens CSV files takes for a formula.


@dataclass(frozen=True, slots=True)
class EstimateFilter:
    """Which systems of a table are shown, and in which order.

    Parameters
    ----------
    text
        What the id contains.
    flag
        ``any`` for systems with some flag, or the flag that they have; empty for all.
    quality
        The quality of the estimates; empty for all.
    column, low, high
        A column of numbers and its bounds; none where both are left out.
    sort, descending
        The column that the rows are sorted by, and in which direction.
    shown
        Columns beside the id.
    """

    text: str = ""
    flag: str = ""
    quality: str = ""
    column: str = ""
    low: float | None = None
    high: float | None = None
    sort: str = "system_id"
    descending: bool = False
    shown: tuple[str, ...] = field(default=USUAL)

    def __post_init__(self) -> None:
        numbers = {each.name for each in NUMBERS}
        if self.sort not in BY_NAME or not set(self.shown) <= set(BY_NAME):
            raise ParameterError("there is no such column in the table of estimates")
        if self.column and self.column not in numbers:
            raise ParameterError("only columns of numbers have bounds; choose one of them")

    @property
    def columns(self) -> tuple[EstimateColumn, ...]:
        """The columns that are shown, the id first."""
        return (BY_NAME["system_id"], *(each for each in COLUMNS[1:] if each.name in self.shown))

    def where(self) -> tuple[list[str], list[Any]]:
        """Return the conditions as SQL, and the values that they take."""
        clauses, values = matching(self.text)
        if self.flag == "any":
            clauses.append("len(flags) > 0")
        elif self.flag:
            clauses.append("list_contains(flags, ?)")
            values.append(self.flag)
        if self.quality:
            clauses.append("quality = ?")
            values.append(self.quality)
        for sign, bound in ((">=", self.low), ("<=", self.high)):
            if self.column and bound is not None:
                clauses.append(f"{self.column} {sign} ?")
                values.append(bound)
        return clauses, values

    def order(self) -> str:
        """Return the order of the rows as SQL; systems without a value come last."""
        way = "DESC" if self.descending else "ASC"
        return f"{self.sort} {way} NULLS LAST, system_id"

    def query(self, **changes: Any) -> str:
        """Return the part of a link that asks for the same table with some changes."""
        given = {each.name: getattr(replace(self, **changes), each.name) for each in fields(self)}
        shown = given.pop("shown")
        given["descending"] = "yes" if given["descending"] else ""
        given["sort"] = "" if given["sort"] == "system_id" else given["sort"]
        pairs = [(name, f"{value:g}" if isinstance(value, float) else value)
                 for name, value in given.items() if value not in ("", None)]  # fmt: skip
        if shown != USUAL:
            pairs += [("shown", name) for name in shown]
        return urlencode(pairs)

    def sorted_by(self, name: str) -> str:
        """Return the query that sorts by a column, or the other way round where it is sorted so."""
        return self.query(sort=name, descending=self.sort == name and not self.descending)


def matching(text: str) -> tuple[list[str], list[Any]]:
    """Return the condition that an id contains a text, as SQL with its value; none for none."""
    text = text.strip()[:LONGEST_TEXT]
    return (["contains(lower(system_id), lower(?))"], [text]) if text else ([], [])


def csv_lines(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield a table as lines of CSV that no spreadsheet takes for formulas.

    Parameters
    ----------
    names
        The header.
    rows
        The cells; numbers stay numbers, and lists become words.
    """
    for row in chain([names], rows):
        line = io.StringIO()
        csv.writer(line, lineterminator="\r\n").writerow([defused(cell) for cell in row])
        yield line.getvalue()


def defused(cell: Any) -> Any:
    """Return a cell as a CSV file has it: a text that looks like a formula gets an apostrophe."""
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return ""
    if isinstance(cell, list | tuple):
        cell = " ".join(str(each) for each in cell)
    return defuse(cell) if isinstance(cell, str) else cell
