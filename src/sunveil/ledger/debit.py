"""Taking a cost off a budget: conditional updates, whose row counts decide.

Each runs in a transaction that holds the ledger (:meth:`Ledger.charge`); what is refused is
rolled back as a whole. The conditions stand in the updates all the same: none of them relies on
what was read before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from sqlalchemy import Connection, Row, case, func, insert, select, update

from sunveil.errors import BudgetExceeded, ReleaseNotFound
from sunveil.ledger.amounts import from_nano
from sunveil.ledger.schema import accounts, analysts, datasets

# Databases take a limited number of values in one statement.
CHUNK = 5000


def debit_fleet(connection: Connection, row: Row[Any], *, cost: int, allowed: int) -> None:
    """Charge every household at once, by one conditional update.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row that it holds.
    cost, allowed
        What it costs, and what may be spent by now, in billionths of the promise's measure.
    """
    spent = datasets.c.fleet_spent + datasets.c.largest_spent
    done = connection.execute(
        update(datasets)
        .where(datasets.c.id == row.id, spent + cost <= _at_most(allowed))
        .values(fleet_spent=datasets.c.fleet_spent + cost)
    )
    if done.rowcount != 1:
        left = select(_at_most(allowed) - spent).where(datasets.c.id == row.id)
        refuse(cost, connection.execute(left).scalar_one())


def debit_systems(
    connection: Connection, row: Row[Any], *, names: Sequence[str], cost: int, allowed: int
) -> None:
    """Charge the accounts of some systems, each by the same conditional update; all or none.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row that it holds.
    names
        The accounts, each once.
    cost, allowed
        Of each account, in billionths of the promise's measure, and what each household may have
        spent by now.
    """
    top = 0
    for start in range(0, len(names), CHUNK):
        some = names[start : start + CHUNK]
        top = max(top, _debit_some(connection, row, names=some, cost=cost, allowed=allowed))
    connection.execute(
        update(datasets)
        .where(datasets.c.id == row.id)
        .values(
            largest_spent=case(
                (datasets.c.largest_spent < top, top), else_=datasets.c.largest_spent
            )
        )
    )


def _debit_some(
    connection: Connection, row: Row[Any], *, names: Sequence[str], cost: int, allowed: int
) -> int:
    """Charge some accounts, and return what the highest of them has spent."""
    mine = (accounts.c.dataset_id == row.id) & accounts.c.system.in_(names)
    known = {
        each.system: each.spent
        for each in connection.execute(select(accounts.c.system, accounts.c.spent).where(mine))
    }
    fresh = [
        {"dataset_id": row.id, "system": name, "spent": 0} for name in names if name not in known
    ]
    if fresh:
        connection.execute(insert(accounts), fresh)
    free = (
        select(_at_most(allowed) - datasets.c.fleet_spent)
        .where(datasets.c.id == row.id)
        .scalar_subquery()
    )
    done = connection.execute(
        update(accounts)
        .where(mine, accounts.c.spent + cost <= free)
        .values(spent=accounts.c.spent + cost)
    )
    if done.rowcount != len(names):
        # as it stood before the update: those that could pay have paid, in what is rolled back now
        most = max(known.values(), default=0)
        refuse(cost, connection.execute(select(free - most)).scalar_one())
    highest: int = connection.execute(select(func.max(accounts.c.spent)).where(mine)).scalar_one()
    return highest


def _at_most(allowed: int) -> Any:
    """Return the smaller of a dataset's total and what may be spent by now."""
    return case((datasets.c.total < allowed, datasets.c.total), else_=allowed)


def debit_analyst(connection: Connection, row: Row[Any], *, analyst: str, cost: int) -> None:
    """Charge an analyst's share, by one conditional update.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row that it holds.
    analyst
        Whose share.
    cost
        In billionths of the promise's measure.
    """
    who = (analysts.c.dataset_id == row.id) & (analysts.c.name == analyst)
    done = connection.execute(
        update(analysts)
        .where(who, analysts.c.spent + cost <= analysts.c.share)
        .values(spent=analysts.c.spent + cost)
    )
    if done.rowcount == 1:
        return
    found = connection.execute(select(analysts).where(who)).one_or_none()
    if found is None:
        raise ReleaseNotFound(
            f"{analyst!r} has no share of the dataset {row.name!r}; give one first"
        )
    refuse(cost, found.share - found.spent)


def refuse(cost: int, left: int, *, whose: str = "") -> NoReturn:
    """Refuse a cost that is more than what is left.

    Parameters
    ----------
    cost, left
        In billionths of the promise's measure.
    whose
        Words that say whose rest it is, where it is not the dataset's own.
    """
    left = max(left, 0)
    raise BudgetExceeded(
        f"this would spend {from_nano(cost):.9g}, and {from_nano(left):.9g} is left{whose}; ask for"
        " less or not at all",
        requested=from_nano(cost),
        remaining=from_nano(left),
    )
