"""From a ledger's tables to what they mean, and entries into them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from sunveil.errors import LedgerConflict, ReleaseNotFound
from sunveil.ledger.acting import actor_fields
from sunveil.ledger.chain import Entry, canonical, digest_of
from sunveil.ledger.promise import Promise, read_promise
from sunveil.ledger.records import Dataset
from sunveil.ledger.rosters import household_faults, stored_rosters
from sunveil.ledger.schema import accounts, analysts, answers, datasets, entries
from sunveil.ledger.spending import household_spending
from sunveil.ledger.verify import StoredState


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
    """Bind an entry to the end of a dataset's chain, and return its place.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row that it holds.
    kind
        ``households``, ``charge``, ``answer``, ``analyst`` or ``withdrawn``.
    body
        What happened, as plain JSON types; the time is added, and the account that acts.
    """
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
    """Insert an entry as it is.

    Parameters
    ----------
    connection
        A transaction.
    dataset_id
        Primary key of the dataset's row.
    entry
        The entry.
    """
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
    """Return a chain's later entries, each with the digest that the database holds for it.

    Parameters
    ----------
    connection
        A transaction.
    dataset_id
        Primary key of the dataset's row.
    place
        Entries after this place; 0 for all.
    """
    found = connection.execute(
        select(entries)
        .where(entries.c.dataset_id == dataset_id, entries.c.place > place)
        .order_by(entries.c.place)
    )
    return [(Entry(each.place, each.kind, each.body, each.previous), each.digest) for each in found]


def entry_at(connection: Connection, dataset_id: int, place: int) -> Entry | None:
    """Return an entry, or None where there is none or its digest does not fit it.

    Parameters
    ----------
    connection
        A transaction.
    dataset_id
        Primary key of the dataset's row.
    place
        The entry's place in the chain.
    """
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
