"""What was answered, as it is served; and what was asked, from before it was charged."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from sunveil.service.store.base import insert_new, now
from sunveil.service.store.schema import releases, requests

SUMMARY = (
    releases.c.id,
    releases.c.dataset,
    releases.c.kind,
    releases.c.title,
    releases.c.epsilon,
    releases.c.cost,
    releases.c.made,
)


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """A release in a list.

    Parameters
    ----------
    id
        Its id, which links hold.
    dataset
        The name of its dataset.
    kind, title
        What was asked.
    epsilon, cost
        Its privacy loss, and what was charged, in the promise's measure.
    made
        When it was drawn, in UTC.
    """

    id: str
    dataset: str
    kind: str
    title: str
    epsilon: float
    cost: float
    made: str


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """What was asked under an idempotency key.

    Parameters
    ----------
    analyst, key
        By whom, and under which key.
    dataset
        Of which dataset, by name.
    asked
        The question, as canonical JSON.
    release
        Its answer; None as long as there is none.
    """

    analyst: str
    key: str
    dataset: str
    asked: str
    release: str | None = None


def keep_release(
    connection: Connection, row: ReleaseRow, *, question: str, body: dict[str, Any]
) -> None:
    """Keep a release, unless it is kept already.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    row
        Its line in lists.
    question
        Digest of the question that it answers.
    body
        All of it, as plain JSON types: public.
    """
    values = {
        "id": row.id,
        "dataset": row.dataset,
        "question": question,
        "kind": row.kind,
        "title": row.title,
        "epsilon": row.epsilon,
        "cost": row.cost,
        "body": json.dumps(body, allow_nan=False),
        "made": row.made,
    }
    insert_new(connection, releases, values)


def find_release(connection: Connection, release: str) -> tuple[ReleaseRow, dict[str, Any]] | None:
    """Return a release and its body, or None."""
    row = connection.execute(
        select(*SUMMARY, releases.c.body).where(releases.c.id == release)
    ).one_or_none()
    return None if row is None else (ReleaseRow(*row[:-1]), json.loads(row.body))


def releases_of(connection: Connection, dataset: str, *, limit: int = 200) -> list[ReleaseRow]:
    """Return the releases of a dataset, newest first.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    dataset
        Its name.
    limit
        How many at most.
    """
    query = select(*SUMMARY).where(releases.c.dataset == dataset)
    query = query.order_by(releases.c.made.desc(), releases.c.id).limit(limit)
    return [ReleaseRow(*row) for row in connection.execute(query)]


def begin_request(connection: Connection, request: StoredRequest) -> StoredRequest:
    """Keep what is asked under a key, and return what the key stands for."""
    values = {
        "analyst": request.analyst,
        "key": request.key,
        "dataset": request.dataset,
        "asked": request.asked,
        "made": now(),
    }
    insert_new(connection, requests, values)
    return _as_request(connection.execute(select(requests).where(*_same(request))).one())


def end_request(connection: Connection, request: StoredRequest, release: str) -> None:
    """Note which release answers a request."""
    connection.execute(update(requests).where(*_same(request)).values(release=release))


def drop_request(connection: Connection, request: StoredRequest) -> None:
    """Forget a request without an answer, so that its key is free."""
    connection.execute(delete(requests).where(*_same(request), requests.c.release.is_(None)))


def open_requests(connection: Connection, *, before: str) -> list[StoredRequest]:
    """Return the requests without an answer that were made before an instant, oldest first."""
    waiting = requests.c.release.is_(None) & (requests.c.made < before)
    query = select(requests).where(waiting).order_by(requests.c.made)
    return [_as_request(row) for row in connection.execute(query)]


def _same(request: StoredRequest) -> tuple[Any, Any]:
    return requests.c.analyst == request.analyst, requests.c.key == request.key


def _as_request(row: Row[Any]) -> StoredRequest:
    return StoredRequest(row.analyst, row.key, row.dataset, row.asked, row.release)
