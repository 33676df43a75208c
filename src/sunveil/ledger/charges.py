"""Register households, charge a question, keep its answer: each in one transaction."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from filelock import FileLock
from sqlalchemy import (
    Connection,
    Engine,
    Row,
    Select,
    case,
    distinct,
    exists,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from sunveil.errors import BudgetExceeded, LedgerError, ParameterError, ReleaseNotFound
from sunveil.ledger.hash_chain import GENESIS, Entry, actor_fields, canonical, digest_of
from sunveil.ledger.ledger_database import (
    CHUNK,
    READING,
    accounts,
    analysts,
    answers,
    datasets,
    entries,
    location_of,
    members,
    system_keys,
    translated_errors,
)
from sunveil.ledger.promises import (
    HOUSEHOLD,
    METER,
    Answer,
    Promise,
    Question,
    SystemHome,
    account_of,
    distinct_homes,
    promise_text,
    roster_digest,
    rows_text,
)
from sunveil.ledger.statements import (
    append_entry,
    entry_at,
    find_row,
    household_count,
    household_of_member,
    household_spending,
    is_shared,
    now,
    present_year,
    promise_of,
    sharing,
    write_entry,
)
from sunveil.ledger.verify_chain import conflict_of, kept_answer
from sunveil.privacy.guarantees import from_nano, unit_name


def debit_fleet(connection: Connection, row: Row[Any], *, cost: int, allowed: int) -> None:
    """Charge every household at once, by one conditional update."""
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
    """Charge the accounts of some systems, each by the same conditional update; all or none."""
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
    """Charge an analyst's share, by one conditional update."""
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


def refuse(cost: int, left: int, *, where: str = "") -> NoReturn:
    """Refuse a cost that is more than what is left."""
    left = max(left, 0)
    raise BudgetExceeded(
        f"this costs {from_nano(cost):.9g}, but {from_nano(left):.9g} is left{where}; lower epsilon"
        " or ask for less",
        requested=from_nano(cost),
        remaining=from_nano(left),
    )


Item = TypeVar("Item")


def register_systems(
    connection: Connection, row: Row[Any], systems: Iterable[SystemHome | str], *, add: bool
) -> None:
    """Register systems that are not yet, and what is new about their households."""
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
    unknown = [home for home in nameless if account_of(row.name, home.system_id) not in there]
    if unknown:
        raise ParameterError(
            f"{len(unknown)} of the systems are not registered in {row.name!r}, and a new name is"
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
    """Yield dataset, account and name of new systems, and of their accounts that nobody has."""
    # A dataset with systems that were charged and never registered has accounts alone: a system of
    # the same id is found there by its account.
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
    """Refuse households under promises with losses that cannot be added up."""

    def what(each: Promise) -> tuple[Any, ...]:
        return unit_name(each.unit), each.measure, set(each.conditional)

    for other in connection.execute(select(datasets).where(sharing(row))):
        if what(promise_of(other)) != what(promise):
            raise ParameterError(
                f"a household is in {row.name!r} and in {other.name!r}, and their promises differ"
                " in unit, in having a delta or in what they allow, so that their losses cannot be"
                " added up; promise the same in both"
            )


def chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield items in parts that a statement can take."""
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


# Whose rest is meant, where it is not the dataset's own.
SHARED = " for a household with several meters, or in other datasets of the ledger too"


def charge_question(connection: Connection, row: Row[Any], question: Question) -> int:
    """Charge a question to all that it concerns, and return the place of its charge."""
    # Its systems are registered first; where either is refused, neither is done.
    if question.homes:
        register_systems(connection, row, question.homes, add=False)
    row = find_row(connection, row.name)
    names = question.accounts(row.name)
    cost, meters = cost_to_household(connection, row, question, registered=True)
    _debit_households(connection, row, names, cost=cost, meters=meters)
    if question.analyst is not None:
        debit_analyst(connection, row, analyst=question.analyst, cost=cost * meters)
    body = {
        "cost": cost,
        "meters": meters,
        "question": question.digest(row.name),
        "kind": question.kind,
        "mechanism": question.mechanism,
        "guarantee": question.guarantee.to_dict(),
        "analyst": question.analyst,
        "systems": names,
    }
    if question.series is not None:
        body["series"] = question.series
    return append_entry(connection, row, "charge", body)


def cost_to_household(
    connection: Connection, row: Row[Any], question: Question, *, registered: bool = False
) -> tuple[int, int]:
    # A release about all systems costs one amount, which counts all meters of a household. One
    # about some systems is a release of each, and costs a household as many as it has among them.
    promise = promise_of(row)
    cost = promise.cost(question.guarantee, mechanism=question.mechanism)
    names = question.accounts(row.name)
    if names is None:
        return promise.cost_of_all(cost), 1
    counted = _households_of(connection, row, names)
    if registered and row.households and counted.total() < len(names):
        raise ParameterError(
            f"{len(names) - counted.total()} of the systems are not registered in {row.name!r};"
            " register them first"
        )
    return cost, max(counted.values(), default=1)


def _households_of(connection: Connection, row: Row[Any], names: Sequence[str]) -> Counter[str]:
    """Return how many of some accounts each household has; nobody's, where none is registered."""
    counted: Counter[str] = Counter()
    for start in range(0, len(names) if row.households else 0, CHUNK):
        some = members.c.system.in_(names[start : start + CHUNK])
        here = select(members.c.household).where(members.c.dataset_id == row.id, some)
        counted.update(connection.execute(here).scalars())
    return counted


def _debit_households(
    connection: Connection, row: Row[Any], names: list[str] | None, *, cost: int, meters: int
) -> None:
    """Charge accounts, or the fleet, if every household that is concerned has it left."""
    # The ledger is held, so that what is added up after the debit is what stands when it is
    # durable.
    promise, year = promise_of(row), present_year()
    allowed = promise.allowed(year)
    saved = connection.begin_nested()
    try:
        if names is None:
            debit_fleet(connection, row, cost=cost, allowed=allowed)
        else:
            debit_systems(connection, row, names=names, cost=cost, allowed=allowed)
        if row.shared:
            some = names if names is not None and len(names) <= CHUNK else None
            squared = promise.measure == "rho"
            # by a schedule a household has spent so much, over all datasets, by now
            held = allowed if promise.schedule is not None else None
            if household_spending(connection, row, some, squared=squared).within(held) < 0:
                saved.rollback()
                before = household_spending(connection, row, some, squared=squared)
                refuse(cost * meters, before.within(held), where=SHARED)
    except BudgetExceeded as error:
        _refuse_until(error, promise, year)
        raise
    saved.commit()


def _refuse_until(error: BudgetExceeded, promise: Promise, year: int) -> None:
    """Say when more may be spent, where a schedule holds it back."""
    later = None if promise.schedule is None else promise.schedule.more_after(year)
    if later is None:
        return
    more = from_nano(promise.allowed(later) - promise.allowed(year))
    raise BudgetExceeded(
        f"this costs {error.requested:.9g}, but the schedule leaves {error.remaining:.9g} in {year}"
        f" and adds {more:.9g} in {later}; lower epsilon or wait until then",
        requested=error.requested,
        remaining=error.remaining,
    ) from None


def keep_answer(
    connection: Connection, row: Row[Any], question_digest: str, *, charge: int, text: str
) -> Answer:
    """Keep the answer of a question, unless another process was quicker."""
    found = kept_answer(connection, row, question_digest)
    if found is not None:
        return found
    paid = entry_at(connection, row.id, charge)
    if paid is None or paid.kind != "charge" or paid.facts()["question"] != question_digest:
        raise ParameterError(f"entry {charge} of {row.name!r} is no charge of this question")
    series = paid.facts().get("series")
    body = {"charge": charge, "question": question_digest, "answer": digest_of(text)}
    if series is not None:
        body["series"] = series
    place = append_entry(connection, row, "answer", body)
    values = {"question": question_digest, "charge": charge, "place": place, "answer": text}
    connection.execute(insert(answers).values(dataset_id=row.id, series=series, **values))
    return Answer(json.loads(text)["answer"], charge, fresh=True)


# Questions asked together hold a turn each, up to this many; more of them hold one for all, since
# every turn is an open file or connection.
MOST_TURNS = 32

# How often who waits looks whether a file's lock is free. [s]
LOOK_SECONDS = 0.01


def pending_charges(connection: Connection, row: Row[Any]) -> dict[str, int]:
    """Return the place of a charge without an answer, by its question's digest; the oldest."""
    # Charges are found by the unique index of answers: those without one are few.
    answered = select(answers.c.charge).where(answers.c.dataset_id == row.id)
    found = connection.execute(
        select(entries)
        .where(
            entries.c.dataset_id == row.id,
            entries.c.kind == "charge",
            entries.c.place.not_in(answered),
        )
        .order_by(entries.c.place)
    )
    places: dict[str, int] = {}
    for each in found:
        entry = Entry(each.place, each.kind, each.body, each.previous)
        if entry.digest != each.digest:
            raise conflict_of(row.name, f"entry {each.place} was changed")
        places.setdefault(entry.facts()["question"], entry.place)
    return places


@contextmanager
def lock_names(
    engine: Engine, dataset: str, questions: Iterable[str]
) -> Iterator[Callable[[], None]]:
    # Yields what raises an error unless all of them are held still.
    names = sorted(set(questions))
    if len(names) > MOST_TURNS:
        names = ["many"]
    turn = _turn_in_postgresql if engine.dialect.name == "postgresql" else _turn_in_file
    with ExitStack() as held:
        checks = [  # in one order, so that no two wait for each other
            held.enter_context(turn(engine, hashlib.sha256(f"{dataset}\n{name}".encode()).digest()))
            for name in names
        ]

        def check_held() -> None:
            for check in checks:
                check()

        yield check_held


@contextmanager
def _turn_in_postgresql(engine: Engine, key: bytes) -> Iterator[Callable[[], None]]:
    """Hold an advisory lock by a connection of its own, which ends with the process."""
    number = int.from_bytes(key[:8], signed=True)
    with ExitStack() as opened:
        with translated_errors(engine):
            connection = opened.enter_context(engine.connect())
            # READING: a change would not wait for longer than a minute
            options: dict[str, Any] = {READING: True, "isolation_level": "AUTOCOMMIT"}
            connection.execution_options(**options)
            connection.detach()  # from the pool, which many turns would use up
            connection.execute(select(func.pg_advisory_lock(number)))

        def check() -> None:
            # a connection that answers has kept its lock
            with translated_errors(engine):
                connection.execute(select(1))

        yield check


@contextmanager
def _turn_in_file(engine: Engine, key: bytes) -> Iterator[Callable[[], None]]:
    """Hold a lock on a file beside the ledger, which is removed afterwards; nobody can take it."""
    ledger = Path(location_of(engine))
    path = ledger.with_name(f"{ledger.name}.turn-{key.hex()[:16]}")
    with ExitStack() as opened:
        try:
            # a file that its last holder has removed meanwhile is not taken for the lock
            opened.enter_context(FileLock(path, mode=0o600, poll_interval=LOOK_SECONDS))
        except OSError as error:
            raise LedgerError(
                f"the folder {path.parent} cannot be written:"
                f" {(error.strerror or 'refused').lower()}; check its rights and the disk"
            ) from None
        try:
            yield lambda: None
        finally:
            with suppress(OSError):
                path.unlink()


def write_promise(connection: Connection, name: str, promise: Promise) -> Entry:
    """Write a new dataset and the entry of its promise, and return that entry."""
    body = canonical({"at": now(), "name": name, **actor_fields(), **promise.to_dict()})
    first = Entry(1, "promise", body, GENESIS)
    values = {
        "name": name,
        "promise": promise_text(promise),
        "total": promise.total,
        "fleet_spent": 0,
        "largest_spent": 0,
        "length": 1,
        "head": first.digest,
        "meters": promise.meters,
    }
    try:
        made = connection.execute(insert(datasets).values(values).returning(datasets.c.id))
        write_entry(connection, made.scalar_one(), first)
    except IntegrityError:
        raise ParameterError(
            f"there is a dataset named {name!r} already; choose another name"
        ) from None
    return first
