"""Tables of the service and their version; transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects import postgresql, sqlite

from sunveil.ledger.ledger_database import TableSet, open_engine, reading, translated_errors

metadata = MetaData()

# One row, the version of the other tables.
version_table = Table(
    "sunveil_service", metadata, Column("version", Integer, primary_key=True, autoincrement=False)
)

# Who may sign in. A local account has a password once its holder has set one; one of single
# sign-on is known by issuer and subject, whatever its name is. An account is disabled and never
# deleted: its name stands in the ledger. An analyst's account asks under an analyst's name there.
accounts = Table(
    "service_accounts",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("role", String(20), nullable=False),
    Column("analyst", String(200), nullable=False, default=""),
    Column("scope", String(10), nullable=False, default="ask"),
    Column("password", Text),
    Column("issuer", String(400)),
    Column("subject", String(400)),
    Column("disabled", String(40)),
    Column("made", String(40), nullable=False),
    Column("signed_in", String(40)),
    UniqueConstraint("issuer", "subject", name="one_account_per_subject"),
)

# Links that work once: to set the password of an account, or to sign in to it without one.
links = Table(
    "service_links",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("account", String(16), nullable=False),
    Column("purpose", String(20), nullable=False),
    Column("expires", BigInteger, nullable=False),
)

# Secrets of the service itself, as digests: the one-time set-up link.
secrets_table = Table(
    "service_secrets",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("made", String(40), nullable=False),
)

# Sign-ins, of an account or with a token: they end at an instant, and when nobody uses them.
sessions = Table(
    "service_sessions",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("id", String(16), nullable=False, unique=True),
    Column("role", String(20), nullable=False),
    Column("who", String(200), nullable=False),
    Column("account", String(16)),
    Column("token", String(16)),
    Column("scope", String(10), nullable=False, default="ask"),
    Column("made", BigInteger, nullable=False),
    Column("seen", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("browser", String(200), nullable=False, default=""),
    Column("flash", Text, nullable=False, default="[]"),
)

# An analyst may hold several tokens; each is known by its public half and a digest of the other.
tokens = Table(
    "service_tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("analyst", String(200), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("made", String(40), nullable=False),
    Column("revoked", String(40)),
    Column("scope", String(10), nullable=False, default="ask"),
    Column("expires", BigInteger, nullable=False),
    Column("account", String(16)),
    Column("label", String(100), nullable=False, default=""),
    Index("service_tokens_by_analyst", "analyst"),
)

# A dataset that is served: where its files are, and what is public about it.
served = Table(
    "service_datasets",
    metadata,
    Column("name", String(60), primary_key=True),
    Column("title", String(200), nullable=False),
    Column("about", Text, nullable=False, default=""),
    Column("folder", Text, nullable=False),
    Column("estimates", Text),
    Column("meters", Text),
    Column("places", Text),
    Column("systems", Integer),
    Column("keys", Text, nullable=False, default="{}"),
    Column("edition", String(60), nullable=False, default="1"),
    Column("latitude", Float),
    Column("longitude", Float),
    Column("altitude", Float),
    Column("timezone", String(60)),
    Column("state", String(20), nullable=False, default="new"),
    Column("extra", Text, nullable=False, default="{}"),
    Column("made", String(40), nullable=False),
)

# What an analyst asked for under an idempotency key, from before it is charged, and its answer.
requests = Table(
    "service_requests",
    metadata,
    Column("analyst", String(200), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("dataset", String(60), nullable=False),
    Column("asked", Text, nullable=False),
    Column("release", String(32)),
    Column("made", String(40), nullable=False),
    Index("requests_by_release", "release"),
)

# What is true of the whole service, such as that it is a demo.
facts = Table(
    "service_facts",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)

# What was answered, as it is served: public, but for analysts of the dataset only.
releases = Table(
    "service_releases",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("dataset", String(60), nullable=False),
    Column("question", String(64), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("title", String(200), nullable=False),
    Column("epsilon", Float, nullable=False),
    Column("cost", Float, nullable=False),
    Column("body", Text, nullable=False),
    Column("made", String(40), nullable=False),
    UniqueConstraint("dataset", "question", name="one_release_per_question"),
    Index("releases_by_dataset", "dataset", "made"),
)

SERVICE_TABLES = TableSet("the service's tables in", metadata, version_table, 1)


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
        """Close all connections to the database."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that sees one instant and changes nothing."""
        with reading(self.engine) as connection:
            yield connection

    @contextmanager
    def changing(self) -> Iterator[Connection]:
        """Yield a connection for one transaction."""
        with translated_errors(self.engine), self.engine.begin() as connection:
            yield connection


def now(later: float = 0.0) -> str:
    """Return the time in UTC as stored, now or some seconds later."""
    return (datetime.now(UTC) + timedelta(seconds=later)).isoformat(timespec="milliseconds")


def insert_new(connection: Connection, table: Table, values: dict[str, Any]) -> bool:
    """Insert a row, unless one with its key is there; return whether it is new."""
    made = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    added = made(table).values(values).on_conflict_do_nothing().returning(*table.primary_key)
    # psycopg leaves the row count of an INSERT ... ON CONFLICT at -1
    return connection.execute(added).first() is not None
