"""Verdicts on errors to expect: useful, rough, or only noise, by rules that are public.

An error is judged by what it is an error of, as far as that is public: how many systems there are,
in how many groups, and into how many cells a table divides them. No row is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class ErrorVerdict(StrEnum):
    """What an answer would be good for."""

    USEFUL = "useful"
    ROUGH = "rough"
    NOISE = "only noise"


@dataclass(frozen=True, slots=True)
class Rule:
    """Up to which share of what is told an error is useful, and up to which it is rough.

    Parameters
    ----------
    useful, rough
        The largest error of each, as a share of what it is compared with.
    words
        The rule as a sentence.
    """

    useful: float
    rough: float
    words: str


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
    """Return the verdict on an error, or None where there is nothing to compare it with.

    Parameters
    ----------
    error
        How large it is. [unit]
    unit
        What it is in.
    of
        What it is compared with: what a cell holds on average, say. [unit]
    """
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
