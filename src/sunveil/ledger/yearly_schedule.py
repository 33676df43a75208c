"""A budget in even yearly parts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sunveil._options import check_fields
from sunveil.errors import ParameterError
from sunveil.ledger.hash_chain import Entry
from sunveil.privacy.guarantees import from_nano, to_nano_below

MOST_YEARS = 100


@dataclass(frozen=True, slots=True)
class YearlySchedule:
    """A promise spent in even yearly parts: ``start`` at once, the rest over ``years``."""

    # What is left of a year can be spent in later ones. The start is for what is drawn once and
    # then stands, such as rows of single systems.

    first: int  # the first year, by the ledger's clock in UTC
    years: int  # how many years, and so how many parts
    start: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0.0 <= self.start < math.inf:
            raise ParameterError("give the start of a schedule as a part of its promise, 0 or more")
        if not (1 <= self.years <= MOST_YEARS and 2000 <= self.first <= 9000):
            raise ParameterError(
                f"give a schedule 1 to {MOST_YEARS} years, from a year such as 2026 on"
            )

    def allowed(self, total: int, year: int) -> int:
        """Return what may be spent of a total by the end of a year, rounded down."""
        if year < self.first:
            return 0
        start = min(to_nano_below(self.start), total)
        return start + (total - start) * min(year - self.first + 1, self.years) // self.years

    def more_after(self, year: int) -> int | None:
        """Return the next year that allows more, if there is one."""
        following = max(year + 1, self.first)
        return following if following < self.first + self.years else None

    def to_dict(self) -> dict[str, Any]:
        """Return the schedule as plain JSON types."""
        return {"first": self.first, "years": self.years, "start": self.start}

    def __str__(self) -> str:
        start = f"{self.start:g} of it at the start and the rest " if self.start else ""
        return f"{start}in even parts over {self.years} years from {self.first}"


@dataclass(frozen=True, slots=True)
class YearSpent:
    """A year of a schedule, all amounts from the beginning to its end, in billionths."""

    year: int  # the calendar year
    allowed: int  # what may be spent by its end
    spent: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the year as plain JSON types, in the promise's measure."""
        spent = None if self.spent is None else from_nano(self.spent)
        left = None if self.spent is None else from_nano(self.allowed - self.spent)
        return {"year": self.year, "allowed": from_nano(self.allowed), "spent": spent, "left": left}


def spent_by_year(entries: Iterable[Entry]) -> dict[int, int]:
    """Return what had been spent by the end of each year that something was spent in."""
    found: dict[int, int] = {}
    fleet, accounts = 0, dict[str, int]()
    largest = 0
    for entry in entries:
        if entry.kind != "charge":
            continue
        facts = entry.facts()
        if facts["systems"] is None:
            fleet += facts["cost"]
        for name in facts["systems"] or ():
            accounts[name] = accounts.get(name, 0) + facts["cost"]
            largest = max(largest, accounts[name])
        found[year_of(facts)] = fleet + largest
    return found


def year_of(facts: dict[str, Any]) -> int:
    """Return the year of an entry, by its own date."""
    return int(str(facts["at"])[:4])


def years_of(
    schedule: YearlySchedule, total: int, spent: dict[int, int], *, present: int
) -> list[YearSpent]:
    """Return a schedule year by year, with what was spent."""
    rows = []
    for year in range(schedule.first, schedule.first + schedule.years):
        known = [amount for at, amount in sorted(spent.items()) if at <= year]
        had = None if year > present else (known or [0])[-1]
        rows.append(YearSpent(year, schedule.allowed(total, year), had))
    return rows
