"""Datasets, requests, releases."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from sunveil.errors import ParameterError, ReleaseNotFound
from sunveil.ledger import ledger_database
from sunveil.ledger.promises import Dataset
from sunveil.ledger.statements import as_dataset
from sunveil.service.store.database import insert_new, now, releases, requests, served

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?")
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

# Of larger fleets, rows of single systems are published from the command line.
MOST_SYSTEMS = 2000


@dataclass(frozen=True, slots=True)
class Served:
    """A dataset that is served."""

    name: str  # its name in links and in the ledger: small letters, digits and hyphens
    title: str  # what it is, for people
    folder: str
    about: str = ""  # what it is, for people
    estimates: str | None = None
    meters: str | None = None
    places: str | None = None
    systems: int | None = None  # how many systems there are: public
    keys: dict[str, list[str]] = field(default_factory=dict)
    edition: str = "1"  # public name of the data; another one makes every question a new one
    latitude: float | None = None
    longitude: float | None = None
    altitude: float | None = None
    timezone: str | None = None
    state: str = "new"  # `new`, `inferring`, `ready` or `failed`; questions are answered when ready
    extra: dict[str, Any] = field(default_factory=dict)  # whatever else the curator's side keeps
    made: str = ""  # when it was added

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ParameterError(
                "the name of a served dataset is 1 to 60 small letters, digits and hyphens"
            )

    @property
    def table(self) -> str | None:
        """Path in the folder of the public table of systems, if there is one."""
        found = self.places or self.extra.get("systems_table")
        return None if found is None else str(found)

    @property
    def net(self) -> int:
        """How many of its systems the curator has declared to have net meters: public."""
        return int(self.extra.get("net", 0))

    @property
    def label_declared(self) -> bool:
        """Whether the curator has said which instant of an interval a timestamp names."""
        return bool(self.extra.get("options", {}).get("label"))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of question that its files can answer."""
        found = []
        if self.estimates is not None:
            found += ["fleet-table", "totals", "quantiles", "synthetic"]
        placed = self.table is not None or None not in (self.latitude, self.longitude)
        if self.meters is not None and placed and (self.systems or 0) <= MOST_SYSTEMS:
            found.append("systems")
        return tuple(found)

    @property
    def upcoming(self) -> Served:
        """The dataset as its next edition will make it; as it is where none is on its way."""
        coming: dict[str, Any] | None = self.extra.get("next")
        return self if coming is None else replace(self, **coming)

    def path(self, datasets: Path, name: str = "") -> Path:
        """Return its folder, or a file as seen from there, in the service's folder of datasets."""
        return Path(os.path.normpath(datasets / self.folder / name))


def add_served(connection: Connection, dataset: Served) -> None:
    """Insert a new dataset; its name must be free."""
    if connection.execute(select(served.c.name).where(served.c.name == dataset.name)).scalar():
        raise ParameterError(f"there is a dataset named {dataset.name!r} already")
    connection.execute(insert(served).values({**_values(dataset), "made": now()}))


def change_served(connection: Connection, name: str, **changes: Any) -> None:
    """Change fields of a dataset."""
    values = {key: _text(value) for key, value in changes.items()}
    done = connection.execute(update(served).where(served.c.name == name).values(values))
    if done.rowcount != 1:
        raise ReleaseNotFound(f"there is no dataset named {name!r}")


def find_served(connection: Connection, name: str) -> Served:
    """Return a served dataset by its name."""
    row = connection.execute(select(served).where(served.c.name == name)).one_or_none()
    if row is None:
        raise ReleaseNotFound(f"there is no dataset named {name!r}")
    return _as_served(row)


def all_served(connection: Connection) -> list[Served]:
    """Return all served datasets, sorted by name."""
    return [_as_served(row) for row in connection.execute(select(served).order_by(served.c.name))]


def find_promised(connection: Connection, name: str) -> Dataset | None:
    """Return a dataset as the ledger knows it, or None before its promise is made."""
    row = connection.execute(
        select(ledger_database.datasets).where(ledger_database.datasets.c.name == name)
    ).one_or_none()
    return None if row is None else as_dataset(connection, row)


def _values(dataset: Served) -> dict[str, Any]:
    names = [column.name for column in served.columns]
    return {name: _text(getattr(dataset, name)) for name in names}


def _text(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict) else value


def _as_served(row: Row[Any]) -> Served:
    values = dict(row._mapping)
    return Served(**{**values, "keys": json.loads(row.keys), "extra": json.loads(row.extra)})


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
    """A release in a list."""

    id: str  # its id, which links hold
    dataset: str  # the name of its dataset
    kind: str  # what was asked
    title: str  # what was asked
    epsilon: float  # its privacy loss, and what was charged, in the promise's measure
    cost: float  # its privacy loss, and what was charged, in the promise's measure
    made: str  # when it was drawn, in UTC


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """What was asked under an idempotency key."""

    analyst: str  # by whom, and under which key
    key: str  # by whom, and under which key
    dataset: str  # of which dataset, by name
    asked: str  # the question, as canonical JSON
    release: str | None = None  # its answer; None as long as there is none


def keep_release(
    connection: Connection, row: ReleaseRow, *, question: str, body: dict[str, Any]
) -> None:
    """Keep a release, unless it is kept already."""
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
    """Return the releases of a dataset, newest first."""
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
