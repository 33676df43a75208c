"""The 15/15 rule, as utilities apply it: publish a total unless few make it, or one makes most.

It is here to be compared with. It is no privacy guarantee: ``docs/rule-15-15.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.fleet.results import FleetRows
from sunveil.publish.bins import groups_of
from sunveil.publish.totals import watts

# Beyond any capacity there is: the rule itself clips nothing.
_UNCLIPPED_KW = (0.0, 1e8)


@dataclass(frozen=True, slots=True)
class RuleTotal:
    """What the rule lets out of a group.

    Parameters
    ----------
    group
        Which group.
    customers
        How many customers it has; None where it is suppressed.
    total_kw
        Their total capacity, to the watt; None where it is suppressed. [kW]
    """

    group: str
    customers: int | None
    total_kw: float | None

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
