"""Fixed rules that sort drawn answers into a few public bins.

A promise of ε bounds how much more likely any set of answers is for one of two neighbours. These
sets are chosen before anything is run, around what the simulated systems are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sunveil.endtoend.cells import VALUES, Truth
from sunveil.endtoend.outcomes import Row

# From what was drawn to the name of a bin.
Rule = Callable[[Sequence[Row]], str]

# How far from a truth an answer is still near: of a release of readings, which is sharp, of one of
# a few weeks' days, which is less so, and of one of a whole record, which is not at all. The last
# are the corners of about the ball that its window is. [degrees, degrees, log of capacity]
SHARP, WIDER, BALL = (40.0, 20.0, 0.5), (100.0, 45.0, 0.5), (200.0, 90.0, 3.0)


def each_near(truths: Sequence[Truth], reach: tuple[float, float, float] = SHARP) -> Rule:
    """Return the rule that asks of every system whether a row is near what it is."""

    def rule(rows: Sequence[Row]) -> str:
        answers = _planes(rows)
        found = ["near" if any(_near(a, t, reach) for a in answers) else "off" for t in truths]
        return " ".join(found)

    return rule


def most_near(truths: Sequence[Truth]) -> Rule:
    """Return the rule that asks whether a row is near each of the systems, but for one."""
    every = each_near(truths, WIDER)

    def rule(rows: Sequence[Row]) -> str:
        return "most near" if every(rows).split().count("off") <= 1 else "few near"

    return rule


def many_near(truth: Truth, least: int) -> Rule:
    """Return the rule that asks whether many rows are near what all systems are."""

    def rule(rows: Sequence[Row]) -> str:
        near = sum(_within_ball(answer, truth) for answer in _planes(rows))
        return "many near" if near >= least else "few near"

    return rule


def total_within(total: float, reach: float) -> Rule:
    """Return the rule that asks on which side of a public total, or near it, a noisy one is.

    Parameters
    ----------
    total
        The public total. [kW]
    reach
        How far from it is still near. [kW]
    """

    def rule(rows: Sequence[Row]) -> str:
        drawn = [float(row["noisy_total_kw"]) for row in rows if "noisy_total_kw" in row]
        if not drawn:
            return "no total"
        apart = sum(drawn) - total
        return "near" if abs(apart) <= reach else ("above" if apart > 0.0 else "below")

    return rule


def counted(table: str, label: str, ours: Sequence[str], theirs: Sequence[str]) -> Rule:
    """Return the rule that asks which of two lists of cells has drawn more systems.

    Parameters
    ----------
    table, label
        Which table, and its column that names the cells.
    ours, theirs
        The names.
    """

    def rule(rows: Sequence[Row]) -> str:
        drawn = {row[label]: float(row["noisy"]) for row in rows if row["table"] == table}
        more = sum(drawn[name] for name in ours) > sum(drawn[name] for name in theirs)
        return " ".join(ours if more else theirs)

    return rule


def anything(rows: Sequence[Row]) -> str:
    """Return the same for all rows: only what must not change is looked at."""
    return "drawn" if rows else "nothing drawn"


def _planes(rows: Sequence[Row]) -> list[Truth]:
    held = [row for row in rows if all(row.get(name) not in (None, "") for name in VALUES)]
    return [Truth(*(float(row[name]) for name in VALUES)) for row in held]


def _near(answer: Truth, truth: Truth, reach: tuple[float, float, float]) -> bool:
    return all(a <= b + 1e-9 for a, b in zip(_apart(answer, truth), reach, strict=True))


def _within_ball(answer: Truth, truth: Truth) -> bool:
    shares = (a / b for a, b in zip(_apart(answer, truth), BALL, strict=True))
    return sum(shares) <= 1.0


def _apart(answer: Truth, truth: Truth) -> tuple[float, float, float]:
    """Return how far an answer is from a truth. [degrees, degrees, log of capacity]"""
    turned = abs(answer.surface_azimuth - truth.surface_azimuth) % 360.0
    return (
        min(turned, 360.0 - turned),
        abs(answer.surface_tilt - truth.surface_tilt),
        abs(math.log(answer.dc_capacity_kw / truth.dc_capacity_kw)),
    )
