"""What the ledger has stored, read back: entries, households, spending, shares of analysts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Row,
    Subquery,
    case,
    cast,
    distinct,
    func,
    insert,
    select,
    update,
)

from sunveil.errors import LedgerConflict, ParameterError, ReleaseNotFound
from sunveil.ledger.hash_chain import Entry, HighWaterMark, actor_fields, canonical, digest_of
from sunveil.ledger.ledger_database import (
    accounts,
    analysts,
    answers,
    datasets,
    entries,
    members,
    system_keys,
)
from sunveil.ledger.promises import (
    HOUSEHOLD,
    Dataset,
    HouseholdSpending,
    Promise,
    SystemHome,
    read_promise,
    roster_digest,
)
from sunveil.privacy.guarantees import from_nano, to_nano


def household_spending(
    connection: Connection, row: Row[Any], systems: Sequence[str] | None = None, *, squared: bool
) -> HouseholdSpending:
    """Return what the households of a dataset have spent, there and elsewhere."""
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
    """Return what each household has spent, and the smallest promise that it is under."""
    # A household with more meters than a promise names is outside of that promise, and has lost
    # more to its releases about all systems than they cost: that counts for its other promises.
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
    # The answer is 1 or 0.
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
    # Tables of two datasets may use one id for two systems. Where they do not, a household has two
    # keys, and what it has spent under one of them does not count for the other.
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


@dataclass(frozen=True, slots=True)
class StoredState:
    """What the database's tables hold of a dataset, beside its chain of entries."""

    name: str  # of the dataset; its promise as canonical JSON, the budget in billionths
    promise: str  # of the dataset; its promise as canonical JSON, the budget in billionths
    total: int  # of the dataset; its promise as canonical JSON, the budget in billionths
    fleet_spent: int  # its counters, in billionths
    largest_spent: int  # its counters, in billionths
    length: int  # where its chain is said to end
    head: str  # where its chain is said to end
    accounts: dict[str, int]
    shares: dict[str, tuple[int, int]]
    answers: dict[int, tuple[str, str, str | None]]
    meters: int = 1  # how many meters of a household are said to count as one
    rosters: dict[int, str] = field(default_factory=dict)
    household_faults: tuple[str, ...] = ()  # what is wrong with households over all datasets


def find_row(connection: Connection, name: str) -> Row[Any]:
    """Return the row of a dataset, by its name."""
    row = connection.execute(select(datasets).where(datasets.c.name == name)).one_or_none()
    if row is None:
        raise ReleaseNotFound(f"the ledger has no dataset named {name!r}")
    return row


def promise_of(row: Row[Any]) -> Promise:
    """Return the promise in a dataset's row."""
    try:
        return read_promise(row.promise)
    except (KeyError, TypeError, ValueError):
        raise LedgerConflict(
            f"the promise of {row.name!r} cannot be read: it was changed; verify the ledger"
        ) from None


def as_dataset(connection: Connection, row: Row[Any]) -> Dataset:
    """Return a dataset's row as a dataset, with what its households have spent elsewhere."""
    promise, spending = promise_of(row), None
    if row.shared:
        spending = household_spending(connection, row, squared=promise.measure == "rho")
    return Dataset(
        row.name,
        promise,
        row.fleet_spent,
        row.largest_spent,
        row.households,
        spending,
        allowed_nano=None if promise.schedule is None else promise.allowed(present_year()),
    )


def append_entry(connection: Connection, row: Row[Any], kind: str, body: dict[str, Any]) -> int:
    """Bind an entry to the end of a dataset's chain, and return its place."""
    acted = {} if kind == "answer" else actor_fields()
    tail = connection.execute(
        select(datasets.c.length, datasets.c.head).where(datasets.c.id == row.id)
    ).one()
    entry = Entry(tail.length + 1, kind, canonical({"at": now(), **acted, **body}), tail.head)
    write_entry(connection, row.id, entry)
    connection.execute(
        update(datasets)
        .where(datasets.c.id == row.id)
        .values(length=entry.place, head=entry.digest)
    )
    return entry.place


def write_entry(connection: Connection, dataset_id: int, entry: Entry) -> None:
    """Insert an entry as it is."""
    connection.execute(
        insert(entries).values(
            dataset_id=dataset_id,
            place=entry.place,
            kind=entry.kind,
            body=entry.body,
            previous=entry.previous,
            digest=entry.digest,
        )
    )


def entries_after(
    connection: Connection, dataset_id: int, place: int
) -> Sequence[tuple[Entry, str]]:
    """Return a chain's later entries, each with the digest that the database holds for it."""
    found = connection.execute(
        select(entries)
        .where(entries.c.dataset_id == dataset_id, entries.c.place > place)
        .order_by(entries.c.place)
    )
    return [(Entry(each.place, each.kind, each.body, each.previous), each.digest) for each in found]


def entry_at(connection: Connection, dataset_id: int, place: int) -> Entry | None:
    """Return an entry, or None where there is none or its digest does not fit it."""
    found = connection.execute(
        select(entries).where(entries.c.dataset_id == dataset_id, entries.c.place == place)
    ).one_or_none()
    if found is None:
        return None
    entry = Entry(found.place, found.kind, found.body, found.previous)
    return entry if entry.digest == found.digest else None


def stored_state(connection: Connection, row: Row[Any]) -> StoredState:
    """Return the counters, accounts, shares and answers that the database holds of a dataset."""
    owed = connection.execute(
        select(accounts.c.system, accounts.c.spent).where(accounts.c.dataset_id == row.id)
    ).all()
    shares = connection.execute(
        select(analysts.c.name, analysts.c.share, analysts.c.spent).where(
            analysts.c.dataset_id == row.id
        )
    ).all()
    kept = connection.execute(select(answers).where(answers.c.dataset_id == row.id)).all()
    squared = '"measure":"rho"' in row.promise
    return StoredState(
        name=row.name,
        promise=row.promise,
        total=row.total,
        fleet_spent=row.fleet_spent,
        largest_spent=row.largest_spent,
        length=row.length,
        head=row.head,
        accounts={system: spent for system, spent in owed if spent},
        shares={name: (share, spent) for name, share, spent in shares},
        answers={
            each.charge: (each.question, digest_of(each.answer), each.series) for each in kept
        },
        meters=row.meters,
        rosters=stored_rosters(connection, row),
        household_faults=tuple(household_faults(connection, row, squared=squared)),
    )


def now() -> str:
    """Return the present time in UTC, as entries hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def present_year() -> int:
    """Return the present year in UTC, by the clock that dates entries."""
    return int(now()[:4])


@dataclass(frozen=True, slots=True)
class StatedCharge:
    """The charge of one question."""

    place: int  # its place in the dataset's chain, and the digest of what was asked
    question: str  # its place in the dataset's chain, and the digest of what was asked
    cost: float  # what a household was charged at most, in the promise's measure
    meters: int  # how many meters of one household it was charged for


@dataclass(frozen=True, slots=True)
class LedgerStatement:
    """A dataset's figures, all of the same moment."""

    dataset: Dataset  # its promise, and what has been spent
    mark: HighWaterMark  # how long its chain is, and the digest of its last entry
    charges: int  # how many charges are in it
    plain_epsilon: float | None
    charge: StatedCharge | None  # the charge that was asked for; None where there is none

    @property
    def spent_epsilon(self) -> float:
        """What has been spent, as ε at the promise's δ."""
        return self.dataset.promise.spent_epsilon(to_nano(self.dataset.spent))

    def to_dict(self) -> dict[str, Any]:
        """Return what is true of the dataset as plain JSON types."""
        return {
            **self.dataset.to_dict(),
            "spent_epsilon": self.spent_epsilon,
            "plain_epsilon": self.plain_epsilon,
            "charges": self.charges,
            "mark": f"{self.mark.length}:{self.mark.head}",
        }


def make_statement(
    connection: Connection, row: Row[Any], question: str | None = None
) -> LedgerStatement:
    """Return what can be stated of a dataset within one transaction."""
    dataset = as_dataset(connection, row)
    charged = (entries.c.dataset_id == row.id) & (entries.c.kind == "charge")
    count = connection.execute(select(func.count()).select_from(entries).where(charged)).scalar()
    plain: float | None = None
    if dataset.promise.delta == 0.0:
        plain = dataset.spent  # that is what the ledger adds up
    elif dataset.elsewhere is None:
        found = connection.execute(select(entries).where(charged))
        bodies = (Entry(each.place, each.kind, each.body, each.previous).facts() for each in found)
        plain = plain_sum(bodies, meters=dataset.promise.meters)
    return LedgerStatement(
        dataset=dataset,
        mark=HighWaterMark(row.length, row.head),
        charges=int(count or 0),
        plain_epsilon=plain,
        charge=None if question is None else _charge(connection, row, question, dataset),
    )


def plain_sum(charges: Iterable[dict[str, Any]], *, meters: int) -> float | None:
    """Return the ε of charges, added up plainly for a household; None where one is of ρ."""
    fleet, own = 0, Counter[str]()
    for facts in charges:
        epsilon = facts["guarantee"].get("epsilon")
        if epsilon is None:
            return None
        cost = to_nano(epsilon)
        if facts["systems"] is None:
            fleet += cost * meters
        else:
            own.update(dict.fromkeys(facts["systems"], cost * facts["meters"]))
    return from_nano(fleet + max(own.values(), default=0))


def _charge(
    connection: Connection, row: Row[Any], question: str, dataset: Dataset
) -> StatedCharge | None:
    """Return the charge that a kept answer was drawn for."""
    kept = (answers.c.dataset_id == row.id) & (answers.c.question == question)
    place = connection.execute(select(answers.c.charge).where(kept)).scalar()
    entry = None if place is None else entry_at(connection, row.id, place)
    if entry is None:
        return None
    facts = entry.facts()
    several = facts["meters"]
    meters = dataset.promise.meters if facts["systems"] is None else several
    return StatedCharge(entry.place, question, from_nano(facts["cost"] * several), meters)


@dataclass(frozen=True, slots=True)
class AnalystShare:
    """What an analyst may spend of a dataset, and has spent, in billionths of its measure."""

    analyst: str
    share_nano: int
    spent_nano: int

    @property
    def share(self) -> float:
        """The whole share, in the promise's measure."""
        return from_nano(self.share_nano)

    @property
    def spent(self) -> float:
        """What was spent of it, in the promise's measure."""
        return from_nano(self.spent_nano)

    @property
    def remaining(self) -> float:
        """What is left of it, in the promise's measure."""
        return from_nano(self.share_nano - self.spent_nano)

    def to_dict(self) -> dict[str, Any]:
        """Return the share as plain JSON types."""
        return {
            "analyst": self.analyst,
            "share": self.share,
            "spent": self.spent,
            "remaining": self.remaining,
        }


def give_share(connection: Connection, row: Row[Any], *, analyst: str, amount: int) -> None:
    """Give an analyst a share of a dataset's budget, or change it, and write that down."""
    who = (analysts.c.dataset_id == row.id) & (analysts.c.name == analyst)
    spent = connection.execute(select(analysts.c.spent).where(who)).scalar()
    if amount > row.total or (spent or 0) > amount:
        raise ParameterError(
            f"a share must be at most the dataset's {from_nano(row.total):g} and at least what the"
            " analyst has spent"
        )
    if spent is None:
        connection.execute(
            insert(analysts).values(dataset_id=row.id, name=analyst, share=amount, spent=0)
        )
    else:
        connection.execute(update(analysts).where(who).values(share=amount))
    append_entry(connection, row, "analyst", {"analyst": analyst, "share": amount})


def shares_of_dataset(connection: Connection, name: str) -> list[AnalystShare]:
    """Return the shares of a dataset, by analyst."""
    query = _shares().where(datasets.c.name == name).order_by(analysts.c.name)
    return [AnalystShare(row.analyst, row.share, row.spent) for row in connection.execute(query)]


def shares_of_analyst(connection: Connection, analyst: str) -> dict[str, AnalystShare]:
    """Return an analyst's shares, by the name of the dataset."""
    query = _shares().where(analysts.c.name == analyst)
    return {
        row.dataset: AnalystShare(analyst, row.share, row.spent)
        for row in connection.execute(query)
    }


def _shares() -> Any:
    return select(
        datasets.c.name.label("dataset"),
        analysts.c.name.label("analyst"),
        analysts.c.share,
        analysts.c.spent,
    ).join_from(analysts, datasets)
