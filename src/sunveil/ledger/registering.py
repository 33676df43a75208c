"""Registering the systems of a dataset, each with its household, within a transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Select, distinct, exists, func, insert, select, update

from sunveil.errors import ParameterError
from sunveil.ledger.debit import CHUNK
from sunveil.ledger.households import (
    HOUSEHOLD,
    METER,
    SystemHome,
    distinct_homes,
    roster_digest,
    rows_text,
)
from sunveil.ledger.promise import Promise
from sunveil.ledger.records import account_of
from sunveil.ledger.rosters import household_count, household_of_member, is_shared, sharing
from sunveil.ledger.rows import append_entry, find_row, promise_of
from sunveil.ledger.schema import accounts, datasets, members, system_keys
from sunveil.ledger.spending import household_spending
from sunveil.privacy.units import unit_name

Item = TypeVar("Item")


def register_systems(
    connection: Connection, row: Row[Any], systems: Iterable[SystemHome | str], *, add: bool
) -> None:
    """Register systems that are not yet, and what is new about their households.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row that it holds.
    systems
        The systems, by their ids or with their households.
    add
        Whether a system without a household's key may join those that are there: otherwise a
        renamed file would open an account.
    """
    homes = distinct_homes(systems)
    known = set(connection.execute(_names_of(row)).scalars())
    fresh = {name: home for name, home in homes.items() if name not in known}
    if not add:
        _check_first(connection, row, fresh.values(), known=bool(known))
    keys = _new_keys(connection, row, homes)
    if not fresh and not keys:
        return
    _write(connection, row, fresh, keys)
    promise = promise_of(row)
    _check_meters(connection, row, homes, promise)
    _check_ids(connection, row, homes)
    if not find_row(connection, row.name).shared:
        return
    _check_promises(connection, row, promise)
    spending = household_spending(connection, row, squared=promise.measure == "rho")
    if spending.left < 0:
        raise ParameterError(
            "a household has already spent more in other datasets than is promised here; promise"
            " as much as there, or leave it out"
        )


def _check_first(
    connection: Connection, row: Row[Any], fresh: Iterable[SystemHome], *, known: bool
) -> None:
    """Refuse systems without keys where others are known already, by registration or account."""
    nameless = [home for home in fresh if home.household is None]
    of_row = select(accounts.c.system).where(accounts.c.dataset_id == row.id)
    if not nameless or not (known or connection.execute(of_row.limit(1)).first()):
        return
    there = set(connection.execute(of_row).scalars())
    strange = [home for home in nameless if account_of(row.name, home.system_id) not in there]
    if strange:
        raise ParameterError(
            f"{len(strange)} of the systems are not registered in {row.name!r}, and a new name is"
            " not a new household; register them with sunveil dataset households, in a table or by"
            " --add"
        )


def _new_keys(
    connection: Connection, row: Row[Any], homes: Mapping[str, SystemHome]
) -> list[tuple[str, ...]]:
    """Return name, kind and key of what was not said before, and refuse what contradicts it."""
    said = {(name, kind): key for name, home in homes.items() for kind, key in home.keys().items()}
    before = {
        (each.name, each.kind): each.key
        for some in chunks(sorted({name for name, _ in said}))
        for each in connection.execute(
            select(system_keys).where(
                system_keys.c.chain_id == row.id, system_keys.c.name.in_(some)
            )
        )
    }
    for at, key in said.items():
        if before.get(at, key) != key:
            where = rows_text([homes[at[0]]])
            raise ParameterError(
                f"{where} differ in the {at[1]} of one system; correct the table, or give a system"
                " that is another an id of its own"
            )
    return [(*at, key) for at, key in said.items() if at not in before]


def _write(
    connection: Connection,
    row: Row[Any],
    fresh: Mapping[str, SystemHome],
    keys: Sequence[tuple[str, ...]],
) -> None:
    """Write what is new: rows, then what follows from them, then the entry that binds them."""
    place = connection.execute(
        select(datasets.c.length).where(datasets.c.id == row.id)
    ).scalar_one()
    by = {"chain_id": row.id, "place": place + 1}
    rows = [
        {"dataset_id": at, "system": system, "name": name, "household": name, **by}
        for at, system, name in _accounts(connection, row, fresh)
    ]
    for some in chunks(rows):
        connection.execute(insert(members), some)
    said = [{"name": name, "kind": kind, "key": key, **by} for name, kind, key in keys]
    for some in chunks(said):
        connection.execute(insert(system_keys), some)
    right = household_of_member()
    connection.execute(
        update(members)
        .where(members.c.name.in_(_names_of(row)), members.c.household != right)
        .values(household=right)
    )
    _count(connection, row)
    digest = roster_digest([(each["system"], each["name"]) for each in rows], keys)
    body = {"systems": len(rows), "keys": len(keys), "digest": digest}
    append_entry(connection, row, "households", body)


def _accounts(
    connection: Connection, row: Row[Any], fresh: Mapping[str, SystemHome]
) -> Iterator[tuple[int, str, str]]:
    """Yield dataset, account and name of new systems, and of their accounts that nobody has.

    A dataset whose systems were charged and never registered has accounts alone: a system of the
    same id is found there by its account.
    """
    linked = (members.c.dataset_id == accounts.c.dataset_id) & (
        members.c.system == accounts.c.system
    )
    lone: dict[int, set[str]] = defaultdict(set)
    for each in connection.execute(
        select(accounts.c.dataset_id, accounts.c.system)
        .select_from(accounts.outerjoin(members, linked))
        .where(members.c.system.is_(None), accounts.c.dataset_id != row.id)
    ):
        lone[each.dataset_id].add(each.system)
    of_name = {each.id: each.name for each in connection.execute(select(datasets))}
    for name, home in fresh.items():
        yield row.id, account_of(row.name, home.system_id), name
        for at, there in lone.items():
            account = account_of(of_name[at], home.system_id)
            if account in there:
                yield at, account, name


def _count(connection: Connection, row: Row[Any]) -> None:
    """Count the households of all datasets that are concerned, and note who shares any."""
    concerned = sharing(row)
    ids = [row.id, *connection.execute(select(datasets.c.id).where(concerned)).scalars()]
    for at in ids:
        values = {"households": household_count(at), "shared": is_shared(at)}
        counted = connection.execute(select(*(each.label(key) for key, each in values.items())))
        connection.execute(
            update(datasets).where(datasets.c.id == at).values(counted.one()._asdict())
        )


def _check_meters(
    connection: Connection, row: Row[Any], homes: Mapping[str, SystemHome], promise: Promise
) -> None:
    """Refuse one meter under two names, and households with more meters than are promised."""
    here = members.c.dataset_id == row.id
    crowded = (
        select(members.c.household)
        .where(here)
        .group_by(members.c.household)
        .having(func.count() > promise.meters)
    )
    found = _rows_of(
        connection, select(members.c.name).where(here, members.c.household.in_(crowded))
    )
    if found:
        raise ParameterError(
            f"{rows_text(homes.get(name) for name in found)} give one household more meters than"
            f" the {promise.meters} that the promise of {row.name!r} names; make a dataset with"
            " more --meters"
        )
    same = (system_keys.c.name == members.c.name) & (system_keys.c.chain_id == members.c.dataset_id)
    keyed = members.join(system_keys, same)
    meters = select(system_keys.c.key).select_from(keyed).where(system_keys.c.kind == METER)
    twice = meters.where(here).group_by(system_keys.c.key)
    twice = twice.having(func.count(distinct(members.c.name)) > 1)
    apart = meters.group_by(system_keys.c.key)
    apart = apart.having(func.count(distinct(members.c.household)) > 1)
    for doubled in (twice, apart):
        names = select(system_keys.c.name).where(system_keys.c.key.in_(doubled))
        found = [name for name in _rows_of(connection, names) if name in homes]
        if found:
            raise ParameterError(
                f"{rows_text(homes.get(name) for name in found)} name one meter under two ids; a"
                " meter is one system: keep the id that it had first"
            )


def _check_ids(connection: Connection, row: Row[Any], homes: Mapping[str, SystemHome]) -> None:
    """Refuse an id that tables give to two households, and that is somewhere without a table."""
    two = (
        select(system_keys.c.name)
        .where(system_keys.c.kind == HOUSEHOLD, system_keys.c.name.in_(_names_of(row)))
        .group_by(system_keys.c.name)
        .having(func.count(distinct(system_keys.c.key)) > 1)
    )
    said = (
        (system_keys.c.name == members.c.name)
        & (system_keys.c.kind == HOUSEHOLD)
        & (system_keys.c.chain_id == members.c.dataset_id)
    )
    found = select(members.c.name).where(members.c.name.in_(two), ~exists().where(said))
    names = _rows_of(connection, found)
    if names:
        raise ParameterError(
            f"{rows_text(homes.get(name) for name in names)} have an id that two tables give to"
            " different households; register a table for every dataset that it is in"
        )


def _names_of(row: Row[Any]) -> Select[str]:
    return select(members.c.name).where(members.c.dataset_id == row.id)


def _rows_of(connection: Connection, names: Select[str]) -> list[str]:
    return list(connection.execute(names).scalars())


def _check_promises(connection: Connection, row: Row[Any], promise: Promise) -> None:
    """Refuse households under promises whose losses cannot be added up."""

    def what(each: Promise) -> tuple[Any, ...]:
        return unit_name(each.unit), each.measure, set(each.conditional)

    for other in connection.execute(select(datasets).where(sharing(row))):
        if what(promise_of(other)) != what(promise):
            raise ParameterError(
                f"a household is in {row.name!r} and in {other.name!r}, whose promises differ in"
                " unit, in having a delta or in what they allow, so that their losses cannot be"
                " added up; promise the same in both"
            )


def chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield items in parts that a statement can take."""
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]
