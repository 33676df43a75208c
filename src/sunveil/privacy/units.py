"""What one guarantee protects, as types: some readings, some days, or a whole system."""

from __future__ import annotations

from dataclasses import dataclass

from sunveil.arguments import shown
from sunveil.checked import checked
from sunveil.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Readings:
    """Up to ``k`` readings of one system, each replaced by any other, or by none."""

    k: int = 1

    def __post_init__(self) -> None:
        _check_count("readings", self.k)

    def __str__(self) -> str:
        return "any one reading" if self.k == 1 else f"any {self.k} readings"


@dataclass(frozen=True, slots=True)
class Days:
    """All readings of up to ``k`` days of one system, replaced by any others, or by none."""

    k: int = 1

    def __post_init__(self) -> None:
        _check_count("days", self.k)

    def __str__(self) -> str:
        return "any one day" if self.k == 1 else f"any {self.k} days"


@dataclass(frozen=True, slots=True)
class System:
    """The whole record of one system, replaced by any other record."""

    def __str__(self) -> str:
        return "a system's whole record"


Unit = Readings | Days | System


@checked
def parse_unit(text: str) -> Unit:
    """Return the unit that a text names: ``readings:1``, ``days:7``, ``system``."""
    kind, _, count = text.strip().lower().partition(":")
    if kind == "system" and not count:
        return System()
    if kind in ("readings", "days") and (not count or (count.isdecimal() and len(count) <= 9)):
        k = int(count) if count else 1
        return Readings(k) if kind == "readings" else Days(k)
    raise ParameterError(
        f"a unit of protection is readings:K, days:K or system, and {shown(text)} is none of these"
    )


def unit_name(unit: Unit) -> str:
    """Return the text that :func:`parse_unit` reads back."""
    if isinstance(unit, System):
        return "system"
    return f"{'readings' if isinstance(unit, Readings) else 'days'}:{unit.k}"


@checked
def implies(larger: Unit, smaller: Unit) -> bool:
    """Return whether a guarantee for one unit is one for another, at the same ε.

    A whole record holds any days, and ``k`` days hold any ``k`` readings; never the reverse.
    """
    if isinstance(larger, System):
        return True
    if isinstance(smaller, System):
        return False
    if isinstance(larger, Readings) and isinstance(smaller, Days):
        return False
    return larger.k >= smaller.k


def _check_count(what: str, k: object) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError(f"a unit protects a whole number of {what}, 1 or more: give k as one")
