"""Whether the households that a ledger holds are those that its entries have registered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, Row, distinct, func, select

from sunveil.ledger.households import HOUSEHOLD, SystemHome, roster_digest
from sunveil.ledger.schema import datasets, members, system_keys
from sunveil.ledger.spending import household_spending


def stored_rosters(connection: Connection, row: Row[Any]) -> dict[int, str]:
    """Return the digest of what each entry of a dataset has registered, as the tables hold it."""
    registered: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    said: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    by = members.c.chain_id == row.id
    for place, *each in connection.execute(
        select(members.c.place, members.c.system, members.c.name).where(by)
    ):
        registered[place].append(tuple(each))
    columns = (system_keys.c.place, system_keys.c.name, system_keys.c.kind, system_keys.c.key)
    for place, *each in connection.execute(
        select(*columns).where(system_keys.c.chain_id == row.id)
    ):
        said[place].append(tuple(each))
    return {place: roster_digest(registered[place], said[place]) for place in {*registered, *said}}


def member_rows(connection: Connection, row: Row[Any]) -> list[dict[str, Any]]:
    """Return account, name, household, and the entry that registered it, of each system."""
    columns = (members.c.system, members.c.name, members.c.household, members.c.place)
    found = select(*columns, datasets.c.name.label("chain"))
    found = found.join_from(members, datasets, datasets.c.id == members.c.chain_id)
    found = found.where(members.c.dataset_id == row.id).order_by(members.c.system)
    return [each._asdict() for each in connection.execute(found)]


def household_faults(connection: Connection, row: Row[Any], *, squared: bool) -> Iterator[str]:
    """Yield what is wrong with whose the systems of a dataset are, and with what these have spent.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row.
    squared
        As for :func:`~sunveil.ledger.spending.household_spending`.
    """
    wrong = (
        select(func.count())
        .select_from(members)
        .where(members.c.dataset_id == row.id, members.c.household != household_of_member())
    )
    counted = select(household_count(row.id), is_shared(row.id))
    if connection.execute(wrong).scalar_one() or connection.execute(counted).one() != (
        row.households,
        row.shared,
    ):
        yield "the households are not those that were registered"
    elif row.shared and household_spending(connection, row, squared=squared).left < 0:
        yield "a household has spent more, over all its datasets, than is promised"


def household_of_member() -> Any:
    """Return the household of a member: by its dataset's table, another's, or its own id."""
    said = (system_keys.c.name == members.c.name) & (system_keys.c.kind == HOUSEHOLD)
    here = said & (system_keys.c.chain_id == members.c.dataset_id)
    key = select(func.min(system_keys.c.key))
    return func.coalesce(
        key.where(here).correlate(members).scalar_subquery(),
        key.where(said).correlate(members).scalar_subquery(),
        members.c.name,
    )


def household_count(dataset_id: int) -> Any:
    """Return the query of how many households a dataset has."""
    found = select(func.count(distinct(members.c.household)))
    return found.where(members.c.dataset_id == dataset_id).scalar_subquery()


def is_shared(dataset_id: int) -> Any:
    """Return the query of whether a household of a dataset has another system, here or elsewhere.

    The answer is 1 or 0.
    """
    others = members.alias()
    other = (others.c.dataset_id != members.c.dataset_id) | (others.c.system != members.c.system)
    found = (
        select(members.c.system)
        .join(others, (others.c.household == members.c.household) & other)
        .where(members.c.dataset_id == dataset_id)
        .limit(1)
        .subquery()
    )
    return select(func.count()).select_from(found).scalar_subquery()


def count_two_keys(connection: Connection, row: Row[Any], homes: Iterable[SystemHome] = ()) -> int:
    """Return how many systems, registered or about to be, are another household in another dataset.

    Tables of two datasets may use one id for two systems. Where they do not, a household has two
    keys, and what it has spent under one of them does not count for the other.
    """
    of_household = select(system_keys.c.name, system_keys.c.key).where(
        system_keys.c.kind == HOUSEHOLD
    )
    elsewhere: dict[str, set[str]] = defaultdict(set)
    for name, key in connection.execute(of_household.where(system_keys.c.chain_id != row.id)):
        elsewhere[name].add(key)
    if not elsewhere:
        return 0
    registered = connection.execute(of_household.where(system_keys.c.chain_id == row.id))
    here = dict(registered.all())
    here |= {home.name: home.keys().get(HOUSEHOLD, "") for home in homes}
    return sum(1 for name, key in here.items() if key and elsewhere[name] - {key})


def sharing(row: Row[Any]) -> Any:
    """Return the condition of datasets that share a household with a dataset."""
    mine = select(members.c.household).where(members.c.dataset_id == row.id)
    there = select(members.c.dataset_id).where(members.c.household.in_(mine))
    return datasets.c.id.in_(there) & (datasets.c.id != row.id)
