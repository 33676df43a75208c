"""15/15 rule and differencing attack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil._options import checked
from sunveil.errors import ParameterError
from sunveil.estimates.read_write import FleetRows
from sunveil.privacy.discrete_noise import Spending
from sunveil.publish.noisy_counts import FleetGroups, groups_of
from sunveil.publish.totals_and_quantiles import draw_totals, total_deviation, watts

# Beyond any capacity there is: the rule itself clips nothing.
_UNCLIPPED_KW = (0.0, 1e8)


@dataclass(frozen=True, slots=True)
class RuleTotal:
    """What the rule lets out of a group."""

    group: str  # which group
    customers: int | None  # how many customers it has; None where it is suppressed
    total_kw: float | None  # [kW] their total capacity, to the watt; None where it is suppressed

    @property
    def suppressed(self) -> bool:
        """Whether the rule keeps the group back."""
        return self.total_kw is None


@checked
def rule_15_15(
    rows: FleetRows,
    *,
    key: str | None = None,
    keys: Sequence[str] | None = None,
    customers: int = 15,
    share: float = 0.15,
) -> tuple[RuleTotal, ...]:
    """Return the total capacity of every group that passes the rule, and suppress the others.

    Parameters
    ----------
    rows
        The fleet. A capacity that is missing counts as a customer and adds nothing.
    key, keys
        The column that divides the fleet, and its groups.
    customers
        How many a group must have at least.
    share
        What no customer may exceed of the group's total.
    """
    if customers < 1 or not 0.0 < share <= 1.0:
        raise ParameterError(
            "the rule needs a number of customers of 1 or more and a share above 0 and at most 1"
        )
    groups = groups_of(rows, key=key, keys=keys)
    each = watts(np.asarray(rows.dc_capacity_kw, dtype=np.float64), _UNCLIPPED_KW)
    found = []
    for place, name in enumerate(groups.names):
        inside = each[groups.place == place]
        passes = len(inside) >= customers and int(inside.max()) <= share * int(inside.sum())
        total = int(inside.sum()) / 1e3
        found.append(RuleTotal(name, len(inside), total) if passes else RuleTotal(name, None, None))
    return tuple(found)


Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Recovered:
    """What an attacker made of two publications, household by household: private."""

    true_kw: Array  # [kW] capacities that were attacked
    rule_kw: Array  # [kW] what the 15/15 rule gave away; NaN where it suppressed one of the totals
    private_kw: Array  # [kW] what differentially private totals gave
    stated_sd_kw: float  # [kW] standard deviation that the noise of two totals is said to have

    def __repr__(self) -> str:
        return f"Recovered({len(self.true_kw)} households, private)"

    @property
    def rule_exact(self) -> float:
        """Share of the households with a capacity that the rule gave away to the watt."""
        missed = np.abs(self.rule_kw - self.true_kw)
        return float(np.mean(np.nan_to_num(missed, nan=np.inf) <= 0.0005 + 1e-9))

    @property
    def private_error_kw(self) -> float:
        """Root mean square error of the attack on private totals. [kW]"""
        return float(np.sqrt(np.mean((self.private_kw - self.true_kw) ** 2)))

    @property
    def guess_error_kw(self) -> float:
        """Root mean square error of saying the mean for everyone, with no publication. [kW]"""
        return float(np.std(self.true_kw))


def without(rows: FleetRows, place: int) -> FleetRows:
    """Return a fleet before one household joined, or after it left."""
    return rows.kept(np.arange(len(rows)) != place)


@checked
def differencing_attack(
    rows: FleetRows, targets: Sequence[int], *, epsilon: float, clip_kw: tuple[float, float]
) -> Recovered:
    """Attack households by the totals of a group with and without each.

    The two publications may be this year's and last year's, or those of two groups that overlap.
    """
    if not targets or any(not 0 <= place < len(rows) for place in targets):
        raise ParameterError("an attack needs at least one household, each a row of the group")
    (after,) = rule_15_15(rows)
    rule, private = [], []
    for place in targets:
        before = without(rows, place)
        (earlier,) = rule_15_15(before)
        rule.append(_difference(after.total_kw, earlier.total_kw))
        totals = [_private_total(each, epsilon, clip_kw) for each in (rows, before)]
        private.append(totals[0] - totals[1])
    return Recovered(
        np.asarray(rows.dc_capacity_kw, dtype=np.float64)[list(targets)],
        np.array(rule),
        np.array(private),
        float(np.sqrt(2.0) * total_deviation(clip_kw=clip_kw, spending=Spending(epsilon))),
    )


def _difference(later: float | None, earlier: float | None) -> float:
    return np.nan if later is None or earlier is None else later - earlier


def _private_total(rows: FleetRows, epsilon: float, clip_kw: tuple[float, float]) -> float:
    whole = FleetGroups(None, ("all",), np.zeros(len(rows), dtype=np.int64))
    drawn = draw_totals(rows, whole, clip_kw=clip_kw, spending=Spending(epsilon))
    return int(drawn.totals[0]) / 1e3
