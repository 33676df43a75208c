"""Datasets, requests, releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import undefer

from sunveil.errors import ParameterError, ReleaseNotFound
from sunveil.ledger import ledger_database
from sunveil.ledger.promises import Dataset
from sunveil.ledger.statements import as_dataset
from sunveil.service.store.database import (
    ReleaseRow,
    Served,
    StoredRequest,
    Transaction,
    add_row,
    insert_new,
    now,
)

NEW, READY = "new", "ready"

# Fields of a curator's form that say how readings are written, named as the reader's options are.
READING_FIELDS = (
    "timezone",
    "power_unit",
    "label",
    "time_column",
    "date_column",
    "power_column",
    "export_column",
    "import_column",
    "system_column",
    "time_format",
    "skip_rows",
    "separator",
    "decimal",
    "register",
    "duplicates",
    "unit_switch",
    "negate",
    "net",
)

# Those of them that are true where they are filled in at all.
READING_FLAGS = ("negate", "net")


def add_served(db: Transaction, dataset: Served) -> None:
    if db.get(Served, dataset.name) is not None:
        raise ParameterError(f"there is a dataset named {dataset.name!r} already")
    add_row(db, replace(dataset, made=now()))


def change_served(db: Transaction, name: str, **changes: Any) -> None:
    changed = update(Served).where(Served.name == name).values(changes).returning(Served.name)
    if db.execute(changed).first() is None:
        raise ReleaseNotFound(f"there is no dataset named {name!r}")


def find_served(db: Transaction, name: str) -> Served:
    found = db.get(Served, name)
    if found is None:
        raise ReleaseNotFound(f"there is no dataset named {name!r}")
    return found


def all_served(db: Transaction) -> Sequence[Served]:
    return db.scalars(select(Served).order_by(Served.name)).all()


def find_promised(db: Transaction, name: str) -> Dataset | None:
    """Return a dataset as the ledger knows it, or None before its promise is made."""
    row = db.execute(
        select(ledger_database.datasets).where(ledger_database.datasets.c.name == name)
    ).one_or_none()
    return None if row is None else as_dataset(db.connection(), row)


def find_release(db: Transaction, release: str) -> ReleaseRow | None:
    return db.get(ReleaseRow, release, options=[undefer(ReleaseRow.body)])


def releases_of(db: Transaction, dataset: str, *, limit: int = 200) -> Sequence[ReleaseRow]:
    query = select(ReleaseRow).where(ReleaseRow.dataset == dataset)
    return db.scalars(query.order_by(ReleaseRow.made.desc(), ReleaseRow.id).limit(limit)).all()


def begin_request(db: Transaction, request: StoredRequest) -> StoredRequest:
    """Keep what is asked under a key, and return what the key stands for."""
    insert_new(db, replace(request, made=now()))
    return db.get_one(StoredRequest, (request.analyst, request.key))


def end_request(db: Transaction, request: StoredRequest, release: str) -> None:
    db.execute(update(StoredRequest).where(*_same(request)).values(release=release))


def drop_request(db: Transaction, request: StoredRequest) -> None:
    """Forget a request without an answer, so that its key is free."""
    db.execute(delete(StoredRequest).where(*_same(request), StoredRequest.release.is_(None)))


def open_requests(db: Transaction, *, before: str) -> Sequence[StoredRequest]:
    """Return the requests without an answer that were made before an instant, oldest first."""
    waiting = select(StoredRequest).where(
        StoredRequest.release.is_(None), StoredRequest.made < before
    )
    return db.scalars(waiting.order_by(StoredRequest.made)).all()


def _same(request: StoredRequest) -> tuple[Any, Any]:
    return StoredRequest.analyst == request.analyst, StoredRequest.key == request.key
