"""The first entry of a dataset: the promise that was made for it."""

from __future__ import annotations

from sqlalchemy import Connection, insert
from sqlalchemy.exc import IntegrityError

from sunveil.errors import ParameterError
from sunveil.ledger.acting import actor_fields
from sunveil.ledger.chain import GENESIS, Entry, canonical
from sunveil.ledger.promise import Promise, promise_text
from sunveil.ledger.rows import now, write_entry
from sunveil.ledger.schema import datasets


def write_promise(connection: Connection, name: str, promise: Promise) -> Entry:
    """Write a new dataset and the entry of its promise, and return that entry.

    Parameters
    ----------
    connection
        A transaction on the ledger.
    name
        Of the dataset; one that is taken is refused.
    promise
        What is promised.
    """
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
