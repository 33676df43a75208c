"""Tables of the service and their version; transactions."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    Engine,
    Index,
    Integer,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    orm,
)
from sqlalchemy import inspect as inspected
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, mapped_column, relationship

from sunveil.errors import ParameterError
from sunveil.ledger.ledger_database import TableSet, open_engine, reading, translated_errors
from sunveil.service.settings import ANALYST, narrower

Transaction = orm.Session

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?")

# Of larger fleets, rows of single systems are published from the command line.
MOST_SYSTEMS = 2000


class Json(TypeDecorator[Any]):
    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return json.dumps(value, allow_nan=False)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return json.loads(value)


class Base(MappedAsDataclass, DeclarativeBase):
    """A row of one of the service's tables."""


# One row, the version of the other tables.
version_table = Table(
    "sunveil_service",
    Base.metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
)


class Account(Base, kw_only=True):
    """Somebody who may sign in."""

    # A local account has a password once its holder has set one; one of single sign-on is known by
    # issuer and subject, whatever its name is. An account is disabled and never deleted: its name
    # stands in the ledger.
    __tablename__ = "service_accounts"
    __table_args__ = (UniqueConstraint("issuer", "subject", name="one_account_per_subject"),)

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    role: Mapped[str] = mapped_column(String(20))  # `none` where a provider took it back
    analyst: Mapped[str] = mapped_column(String(200))  # an analyst's name in the ledger
    scope: Mapped[str] = mapped_column(String(10))  # an analyst may at most `read` or `ask`
    password: Mapped[str | None] = mapped_column(Text, default=None, repr=False)  # a digest
    issuer: Mapped[str | None] = mapped_column(String(400), default=None)
    subject: Mapped[str | None] = mapped_column(String(400), default=None)
    disabled: Mapped[str | None] = mapped_column(String(40), default=None)  # when, in UTC
    made: Mapped[str] = mapped_column(String(40))  # in UTC
    signed_in: Mapped[str | None] = mapped_column(String(40), default=None)  # last, in UTC

    @property
    def local(self) -> bool:
        return self.issuer is None

    @property
    def usable(self) -> bool:
        return self.disabled is None and (self.password is not None or not self.local)

    @property
    def who(self) -> str:
        """The name under which it is known on its side: an analyst's in the ledger, or its own."""
        return self.analyst if self.role == ANALYST else self.name


class Link(Base, kw_only=True):
    """A link that works once: to set the password of an account, or to sign in without one."""

    __tablename__ = "service_links"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True, repr=False)
    account: Mapped[str] = mapped_column(String(16))  # its id
    purpose: Mapped[str] = mapped_column(String(20))
    expires: Mapped[int] = mapped_column(BigInteger)  # [s since 1970]


class Secret(Base, kw_only=True):
    """A secret of the service itself, as a digest: the one-time set-up link."""

    __tablename__ = "service_secrets"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), repr=False)
    made: Mapped[str] = mapped_column(String(40))


# A session's last use is written down when it is this old. [s]
TOUCH_SECONDS = 60


class Session(Base, kw_only=True):
    """A sign-in of an account, or with a token; it ends at an instant, and when nobody uses it."""

    __tablename__ = "service_sessions"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True, repr=False)
    id: Mapped[str] = mapped_column(String(16), unique=True)  # what it is known by in lists
    role: Mapped[str] = mapped_column(String(20))
    signed_in_as: Mapped[str] = mapped_column("who", String(200))
    account_id: Mapped[str | None] = mapped_column("account", String(16))
    token: Mapped[str | None] = mapped_column(String(16))
    granted: Mapped[str] = mapped_column("scope", String(10))
    made: Mapped[int] = mapped_column(BigInteger)  # [s since 1970]
    seen: Mapped[int] = mapped_column(BigInteger)  # [s since 1970] last use
    expires: Mapped[int] = mapped_column(BigInteger)  # [s since 1970]
    browser: Mapped[str] = mapped_column(String(200))  # what the browser said that it is
    # messages for the next page, each as kind and text
    flash: Mapped[list[tuple[str, str]]] = mapped_column(Json, default_factory=list)
    holder: Mapped[Account | None] = relationship(
        primaryjoin=lambda: Session.account_id == Account.id,
        foreign_keys=lambda: Session.account_id,
        lazy="joined",
        viewonly=True,
        init=False,
    )

    def lives(self, idle_minutes: float) -> bool:
        """Whether it has not ended, and its account may still have it."""
        holder, at = self.holder, int(time.time())
        return (
            self.expires >= at
            and self.seen >= at - int(60.0 * idle_minutes)
            and (
                self.account_id is None
                or (holder is not None and holder.disabled is None and holder.role == self.role)
            )
        )

    @property
    def who(self) -> str:
        """The account's name; of an analyst, the name in the ledger."""
        of_analyst = self.holder is not None and self.role == ANALYST
        return self.holder.analyst if self.holder and of_analyst else self.signed_in_as

    @property
    def account(self) -> str:
        return self.holder.name if self.holder else ""

    @property
    def scope(self) -> str:
        """What it may do at most: `read` or `ask`."""
        return narrower(self.granted, self.holder.scope) if self.holder else self.granted

    @property
    def stale(self) -> bool:
        return self.seen + TOUCH_SECONDS < time.time()

    @property
    def begun(self) -> str:
        return _minute(self.made)

    @property
    def used(self) -> str:
        """When it was last used, to a minute, in UTC, as people read it."""
        return _minute(self.seen)


def _minute(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


class TokenRow(Base, kw_only=True):
    """A token of an analyst, known by its public half and a digest of the other."""

    __tablename__ = "service_tokens"
    __table_args__ = (Index("service_tokens_by_analyst", "analyst"),)

    id: Mapped[str] = mapped_column(String(16), primary_key=True)  # its public half
    analyst: Mapped[str] = mapped_column(String(200))  # in the ledger
    digest: Mapped[str] = mapped_column(String(64), repr=False)
    made: Mapped[str] = mapped_column(String(40))  # in UTC
    revoked: Mapped[str | None] = mapped_column(String(40), default=None)  # in UTC
    granted: Mapped[str] = mapped_column("scope", String(10))
    expires: Mapped[int] = mapped_column(BigInteger)  # [s since 1970]
    account_id: Mapped[str | None] = mapped_column("account", String(16))
    label: Mapped[str] = mapped_column(String(100))  # what its holder calls it
    holder: Mapped[Account | None] = relationship(
        primaryjoin=lambda: TokenRow.account_id == Account.id,
        foreign_keys=lambda: TokenRow.account_id,
        lazy="joined",
        viewonly=True,
        init=False,
    )

    @property
    def account(self) -> str | None:
        return self.holder.name if self.holder else None

    @property
    def scope(self) -> str:
        """What it was made for, `read` or `ask`, as far as its account still allows it."""
        return narrower(self.granted, self.holder.scope) if self.holder else self.granted

    @property
    def expiry(self) -> str:
        return datetime.fromtimestamp(self.expires, UTC).date().isoformat()

    @property
    def expired(self) -> bool:
        return self.expires <= time.time()

    @property
    def withdrawn(self) -> bool:
        """Whether its account is disabled, or is this analyst's no longer."""
        holder = self.holder
        return self.account_id is not None and (
            holder is None
            or holder.disabled is not None
            or holder.role != ANALYST
            or holder.analyst != self.analyst
        )

    @property
    def works(self) -> bool:
        return self.fault is None

    @property
    def fault(self) -> str | None:
        """Why it opens nothing, in one sentence; None where it works."""
        if self.revoked is not None:
            return "This token was revoked. Create another, or ask the curator for one."
        if self.expired:
            return (
                f"This token expired on {self.expiry}. Create another, or ask the curator for one."
            )
        if self.withdrawn:
            return "The account of this token may no longer use it. Ask the curator."
        return None


class Served(Base):
    """A dataset that is served: where its files are, and what is public about it."""

    __tablename__ = "service_datasets"

    # its name in links and in the ledger: small letters, digits and hyphens
    name: Mapped[str] = mapped_column(String(60), primary_key=True)
    title: Mapped[str] = mapped_column(String(200))
    folder: Mapped[str] = mapped_column(Text)
    about: Mapped[str] = mapped_column(Text, default="")
    estimates: Mapped[str | None] = mapped_column(Text, default=None)
    meters: Mapped[str | None] = mapped_column(Text, default=None)
    places: Mapped[str | None] = mapped_column(Text, default=None)
    systems: Mapped[int | None] = mapped_column(default=None)  # how many: public
    keys: Mapped[dict[str, list[str]]] = mapped_column(Json, default_factory=dict)
    # public name of the data; another one makes every question a new one
    edition: Mapped[str] = mapped_column(String(60), default="1")
    latitude: Mapped[float | None] = mapped_column(default=None)
    longitude: Mapped[float | None] = mapped_column(default=None)
    altitude: Mapped[float | None] = mapped_column(default=None)
    timezone: Mapped[str | None] = mapped_column(String(60), default=None)
    # `new`, `inferring`, `ready` or `failed`; questions are answered when ready
    state: Mapped[str] = mapped_column(String(20), default="new")
    # whatever else the curator's side keeps
    extra: Mapped[dict[str, Any]] = mapped_column(Json, default_factory=dict)
    made: Mapped[str] = mapped_column(String(40), default="")  # when it was added

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


class StoredRequest(Base):
    """What an analyst asked under an idempotency key, from before it is charged."""

    __tablename__ = "service_requests"
    __table_args__ = (Index("requests_by_release", "release"),)

    analyst: Mapped[str] = mapped_column(String(200), primary_key=True)
    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    dataset: Mapped[str] = mapped_column(String(60))  # its name
    asked: Mapped[str] = mapped_column(Text)  # the question, as canonical JSON
    release: Mapped[str | None] = mapped_column(String(32), default=None)  # its answer
    made: Mapped[str] = mapped_column(String(40), default="", compare=False)


class Fact(Base):
    """What is true of the whole service, such as that it is a demo."""

    __tablename__ = "service_facts"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[str] = mapped_column(Text, repr=False)


class ReleaseRow(Base):
    """What was answered, as it is served: public, but for analysts of the dataset only."""

    __tablename__ = "service_releases"
    __table_args__ = (
        UniqueConstraint("dataset", "question", name="one_release_per_question"),
        Index("releases_by_dataset", "dataset", "made"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True)  # its id, which links hold
    dataset: Mapped[str] = mapped_column(String(60))  # its name
    kind: Mapped[str] = mapped_column(String(40))
    title: Mapped[str] = mapped_column(String(200))
    epsilon: Mapped[float]  # its privacy loss
    cost: Mapped[float]  # what was charged, in the promise's measure
    made: Mapped[str] = mapped_column(String(40))  # when it was drawn, in UTC
    question: Mapped[str] = mapped_column(String(64), default="", compare=False)  # its digest
    body: Mapped[dict[str, Any]] = mapped_column(
        Json, default_factory=dict, deferred=True, compare=False, repr=False
    )


SERVICE_TABLES = TableSet("the service's tables in", Base.metadata, version_table, 1)


class Store:
    """The tables of the service, read and changed in transactions."""

    def __init__(self, where: str) -> None:
        self.engine: Engine = open_engine(where)
        try:
            SERVICE_TABLES.open(self.engine)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Yield a transaction that sees one instant and changes nothing."""
        with reading(self.engine) as connection, Transaction(connection) as db:
            yield db

    @contextmanager
    def changing(self) -> Iterator[Transaction]:
        """Yield a transaction that changes something; rows read in it stay readable after it."""
        with (
            translated_errors(self.engine),
            Transaction(self.engine, expire_on_commit=False) as db,
            db.begin(),
        ):
            db.connection()  # takes SQLite's lock before anything is read
            yield db


def now(later: float = 0.0) -> str:
    """Return the time in UTC as stored, now or some seconds later."""
    return (datetime.now(UTC) + timedelta(seconds=later)).isoformat(timespec="milliseconds")


def add_row(db: Transaction, row: Base) -> None:
    """Insert a row; the next reader gets what the database has."""
    db.add(row)
    db.flush()
    db.expunge(row)


def insert_new(db: Transaction, row: Base) -> bool:
    """Insert a row, unless one with its key is there; return whether it is new."""
    table = inspected(type(row))
    made = postgresql.insert if db.get_bind().dialect.name == "postgresql" else sqlite.insert
    values = {each.key: getattr(row, each.key) for each in table.column_attrs}
    added = made(type(row)).values(values).on_conflict_do_nothing().returning(*table.primary_key)
    # psycopg leaves the row count of an INSERT ... ON CONFLICT at -1
    return db.execute(added).first() is not None
