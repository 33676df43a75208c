"""What households have spent, over all their meters and all datasets that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Connection, Row, Subquery, case, cast, func, select

from sunveil.ledger.schema import accounts, datasets, members


@dataclass(frozen=True, slots=True)
class HouseholdSpending:
    """What some households have spent, in billionths of their promises' measure.

    Parameters
    ----------
    most
        The most that one of them has spent.
    left
        The least that one of them has left of the smallest promise that it is under; negative where
        that was broken.
    """

    most: int
    left: int

    def within(self, allowed: int | None) -> int:
        """Return the least that is left, where one may have spent so much by now; or at any time.

        It is negative where more was spent.
        """
        return self.left if allowed is None else min(self.left, allowed - self.most)


def household_spending(
    connection: Connection,
    row: Row[Any],
    systems: Sequence[str] | None = None,
    *,
    squared: bool,
) -> HouseholdSpending:
    """Return what the households of a dataset have spent, there and elsewhere.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row.
    systems
        Accounts whose households are meant; all of the dataset's when left out.
    squared
        Whether the loss of several meters together grows with the square of their number, as ρ
        does; ε grows with their number.
    """
    concerned = select(members.c.household).where(members.c.dataset_id == row.id)
    if systems is not None:
        concerned = concerned.where(members.c.system.in_(systems))
    meant = members.c.household.in_(concerned)
    sums = _sums(_per_dataset(meant), squared=squared)
    most, left = connection.execute(
        select(func.max(sums.c.spent), func.min(sums.c.total - sums.c.spent))
    ).one()
    return HouseholdSpending(int(most or 0), int(row.total if left is None else left))


def _per_dataset(meant: Any) -> Subquery:
    """Return, for each household and dataset, its meters there and what these have spent."""
    same = (accounts.c.dataset_id == members.c.dataset_id) & (accounts.c.system == members.c.system)
    return (
        select(
            members.c.household,
            members.c.dataset_id,
            func.count().label("meters"),
            cast(func.coalesce(func.sum(accounts.c.spent), 0), BigInteger).label("own"),
        )
        .select_from(members.outerjoin(accounts, same))
        .where(meant)
        .group_by(members.c.household, members.c.dataset_id)
        .subquery()
    )


def _sums(each: Subquery, *, squared: bool) -> Subquery:
    """Return what each household has spent, and the smallest promise that it is under.

    A household with more meters than a promise names is outside of that promise, and has lost more
    to its releases about all systems than they cost: that counts for its other promises.
    """
    has = each.c.meters * each.c.meters if squared else each.c.meters
    named = datasets.c.meters * datasets.c.meters if squared else datasets.c.meters
    within = each.c.meters <= datasets.c.meters
    more = (datasets.c.fleet_spent * has + named - 1) // named
    fleet = case((within, datasets.c.fleet_spent), else_=more)
    return (
        select(
            func.sum(each.c.own + fleet).label("spent"),
            func.min(case((within, datasets.c.total))).label("total"),
        )
        .select_from(each.join(datasets, datasets.c.id == each.c.dataset_id))
        .group_by(each.c.household)
        .subquery()
    )
