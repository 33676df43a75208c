"""What ε buys: how much a release is worth, and which votes of days that pays for.

The sum of what days say counts for ε over the votes that one day has at most. Where that is
little, a day is asked one easy question, whether a few of its readings agree, so that its answer
counts whole; where it is much, harder questions tell clear days from cloudy ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sunveil.arguments import check_fields, number
from sunveil.checked import checked
from sunveil.privacy.guarantee import check_epsilon
from sunveil.privacy.units import Days, Readings, System, Unit
from sunveil.timegrid import TimeGrid

YEAR, HOUR = 365.0, 3600.0
# One count of a register is part of the differences before and after it. The counts of a day are
# part of the differences of that day and, at its ends, of the days before and after.
REGISTER_READINGS, REGISTER_DAYS = 2, 3


@dataclass(frozen=True, slots=True)
class VoteRule:
    """How days vote from some worth on.

    Parameters
    ----------
    worth
        The least worth of a release that it is for.
    thresholds
        Shares of a day's lit intervals that must agree for its first, second, ... vote.
    fewest
        Readings of a day that must agree for any vote.
    """

    worth: float
    thresholds: tuple[float, ...]
    fewest: int

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain JSON types."""
        return {
            "worth": self.worth,
            "thresholds": list(self.thresholds),
            "fewest": self.fewest,
        }


# The votes are those that gave 60 simulated systems with a real fleet's faults the least mean error
# of azimuth at some worth. There each gave way to the next at 0.22, 0.28 and 0.45; the steps are
# put higher, since votes too few cost little and votes too many much, and since fewer of a real
# record's days agree. How they do on real systems: docs/release-benchmarks.md.
VOTE_RULES = (
    VoteRule(0.0, (0.2,), 3),
    VoteRule(0.25, (0.3, 0.5), 4),
    VoteRule(0.5, (0.3, 0.5, 0.7), 4),
    VoteRule(0.7, (0.3, 0.5, 0.7, 0.9), 4),
)


def reach(unit: Unit, *, differenced: bool) -> int:
    """Return how many of a record's readings, or days, one of the source's can change.

    Parameters
    ----------
    unit
        What neighbours differ in, in the source.
    differenced
        Whether the record holds differences of a register.

    Privacy
    -------
    Public. A score of differences moves that many times as far as one of readings, so that a
    release of a register is worth what one of readings is at ε divided by this. Proof:
    ``docs/proofs/agreement.md``, ``docs/proofs/day-votes.md``.
    """
    if not differenced or isinstance(unit, System):
        return 1
    return REGISTER_READINGS if isinstance(unit, Readings) else REGISTER_DAYS


def worth(
    unit: Readings | Days, epsilon: float, time_grid: TimeGrid, *, differenced: bool
) -> float:
    """Return the ε at which a year of hours, for one day or reading, is worth as much.

    Parameters
    ----------
    unit, epsilon
        Of the release.
    time_grid
        The intervals of the record.
    differenced
        Whether the record holds differences of a register.

    Privacy
    -------
    Public: no reading is looked at.
    """
    check_epsilon(epsilon)
    once = epsilon / (unit.k * reach(unit, differenced=differenced))
    years = time_grid.days / YEAR
    return once * years * (HOUR / time_grid.step if isinstance(unit, Readings) else 1.0)


@checked
def votes_for(worth: float) -> VoteRule:
    """Return how days vote in a release of some worth."""
    number("worth", worth, low=0.0)
    return [rule for rule in VOTE_RULES if rule.worth <= worth][-1]
