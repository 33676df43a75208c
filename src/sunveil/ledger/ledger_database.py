"""SQLite and PostgreSQL engines, tables and their version."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import platformdirs
from sqlalchemy import (
    URL,
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Engine,
    ForeignKey,
    Insert,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from sunveil._extras import require_extras
from sunveil.errors import LedgerError, LedgerUnavailable, ReleaseNotFound
from sunveil.ledger.hash_chain import HighWaterMarks

# How long a writer waits for another before it gives up. [s]
LOCK_TIMEOUT_SECONDS = 60

READING = "sunveil_reading"

ADDRESS = "name a file, or a URL that begins with postgresql://"

# What SQLite says, in words; its own messages may hold what was written.
SQLITE_SAID = {
    "SQLITE_NOTADB": "the file is no ledger; name another",
    "SQLITE_CORRUPT": "the file is damaged; put the newest whole copy back",
    "SQLITE_READONLY": "the file or its folder cannot be written; check their rights and the disk",
    "SQLITE_CANTOPEN": "the file cannot be opened; check its folder and their rights",
    "SQLITE_FULL": "the disk is full; make room and ask again",
    "SQLITE_IOERR": "the disk refused; check that it is not full, and ask again",
    "SQLITE_BUSY": "another process did not let go of it for a minute; ask again",
}


def is_url(where: str) -> bool:
    """Return whether a ledger is named by a URL rather than by a file's path."""
    return "://" in where


def open_engine(where: str | Path, *, create: bool = False) -> Engine:
    """Return the engine of a ledger's database."""
    if not is_url(str(where)):
        return _sqlite(Path(where).resolve(), create=create)
    url = _postgresql(str(where))
    require_extras("postgres", purpose="a ledger in PostgreSQL")
    # Whatever a server's default: a change takes its dataset's lock first, and what it then reads
    # must be what the lock's last holder left.
    engine = create_engine(url, isolation_level="READ COMMITTED", hide_parameters=True)
    event.listen(engine, "begin", _begin_postgresql)
    return engine


def _postgresql(where: str) -> URL:
    try:
        url = make_url(where)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise LedgerError(f"the ledger's address cannot be read; {ADDRESS}") from None
    if backend not in ("postgresql", "postgres"):
        raise LedgerError(f"a ledger is kept in SQLite or in PostgreSQL; {ADDRESS}")
    return url.set(drivername="postgresql+psycopg")


def _sqlite(path: Path, *, create: bool) -> Engine:
    try:
        if create:  # answers are for all, but who was asked about is not
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        elif not path.is_file():
            raise ReleaseNotFound(
                f"there is no ledger at {path}; make one with sunveil dataset create"
            )
    except OSError as error:
        raise LedgerError(
            f"the ledger {path} cannot be written: {(error.strerror or 'refused').lower()}; check"
            " its folder, its rights and the disk"
        ) from None
    address = f"file:{quote(str(path))}?mode=rw"

    def connect() -> sqlite3.Connection:
        # transactions are begun by hand, below
        return sqlite3.connect(
            address,
            uri=True,
            timeout=LOCK_TIMEOUT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )

    engine = create_engine(
        URL.create("sqlite", database=str(path)), creator=connect, hide_parameters=True
    )
    event.listen(engine, "connect", _make_durable)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_durable(connection: sqlite3.Connection, _record: object) -> None:
    """Have SQLite flush every commit to the disk."""
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_sqlite(connection: Connection) -> None:
    """Take SQLite's lock when a change begins: a later one would find others ahead of it."""
    reading = connection.get_execution_options().get(READING, False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _begin_postgresql(connection: Connection) -> None:
    """Have PostgreSQL flush commits even where a server leaves it, and never wait for ever."""
    if not connection.get_execution_options().get(READING, False):
        connection.exec_driver_sql(
            f"SELECT set_config('lock_timeout', '{LOCK_TIMEOUT_SECONDS}s', true), CASE"
            " WHEN current_setting('synchronous_commit') = 'off'"
            " THEN set_config('synchronous_commit', 'on', true) END"
        )


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Yield a connection that sees one instant of the ledger and changes nothing."""
    with translated_errors(engine), engine.connect() as connection:
        options: dict[str, Any] = {READING: True}
        if engine.dialect.name == "postgresql":
            options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        yield connection.execution_options(**options)


def location_of(engine: Engine) -> str:
    """Return where a ledger is: its path, or its URL without user and password."""
    url = engine.url
    if engine.dialect.name == "sqlite":
        return str(url.database)
    return f"postgresql://{url.host or ''}:{url.port or 5432}/{url.database or ''}"


def default_marks(engine: Engine) -> HighWaterMarks:
    """Return the high-water marks of a ledger: beside its file, and in the user's state folder."""
    place = location_of(engine)
    key = hashlib.sha256(place.encode()).hexdigest()[:32]
    state = platformdirs.user_state_path("sunveil") / "marks" / f"{key}.json"
    if engine.dialect.name != "sqlite":
        return HighWaterMarks(state)
    beside = Path(place)
    return HighWaterMarks(beside.with_name(beside.name + ".mark"), state)


@contextmanager
def translated_errors(engine: Engine) -> Iterator[None]:
    """Turn errors of the database into one sentence, without what was written to it."""
    try:
        yield
    except DBAPIError as error:
        said = _said(error.orig)
        raise LedgerUnavailable(f"the ledger {location_of(engine)}: {said}", reason=said) from None


def _said(error: object) -> str:
    name = getattr(error, "sqlite_errorname", "")
    for code, words in SQLITE_SAID.items():
        if name.startswith(code):
            return words
    return (
        f"its database refused ({type(error).__name__}); check that it can be reached and written,"
        " and that its disk is not full"
    )


metadata = MetaData()

# One row, the version of the other tables; its presence makes a database a ledger.
version_table = Table(
    "sunveil_ledger", metadata, Column("version", Integer, primary_key=True, autoincrement=False)
)

# One row, which every change of a ledger updates first: a household's account is in all datasets,
# so that changes follow one another whichever dataset they are of.
turns = Table(
    "turns",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("changes", BigInteger, nullable=False),
)

# One row per dataset: its promise, what has been spent, how many meters of a household its promise
# counts as one, how many households it has, and whether any of them is elsewhere too or has several
# meters: then what households have spent is added up (spending.py).
datasets = Table(
    "datasets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("promise", Text, nullable=False),
    Column("total", BigInteger, nullable=False),
    Column("fleet_spent", BigInteger, nullable=False, default=0),
    Column("largest_spent", BigInteger, nullable=False, default=0),
    Column("length", BigInteger, nullable=False, default=0),
    Column("head", String(64), nullable=False),
    Column("meters", Integer, nullable=False, default=1),
    Column("households", BigInteger, nullable=False, default=0),
    Column("shared", Integer, nullable=False, default=0),
    CheckConstraint("fleet_spent >= 0 AND largest_spent >= 0", name="never_negative"),
    CheckConstraint("fleet_spent + largest_spent <= total", name="promise_kept"),
)

# What single systems have spent beside the fleet's releases; systems are named by a digest of
# dataset and id.
accounts = Table(
    "accounts",
    metadata,
    Column("dataset_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("system", String(64), primary_key=True),
    Column("spent", BigInteger, nullable=False, default=0),
    CheckConstraint("spent >= 0", name="account_never_negative"),
)

# Systems and households of a dataset: the account, a digest of the id that is the same
# in all datasets, the household, and the entry that registered it. That of another dataset stands
# in for a dataset with systems that were charged and never registered.
members = Table(
    "members",
    metadata,
    Column("dataset_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("system", String(64), primary_key=True),
    Column("name", String(64), nullable=False, index=True),
    Column("household", String(64), nullable=False, index=True),
    Column("chain_id", Integer, ForeignKey("datasets.id"), nullable=False),
    Column("place", BigInteger, nullable=False),
)

# What a curator's table says of the systems of a dataset: the digest of a household's or of a
# meter's key, once each.
system_keys = Table(
    "system_keys",
    metadata,
    Column("chain_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("name", String(64), primary_key=True, index=True),
    Column("kind", String(10), primary_key=True),
    Column("key", String(64), nullable=False, index=True),
    Column("place", BigInteger, nullable=False),
)

analysts = Table(
    "analysts",
    metadata,
    Column("dataset_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("share", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False, default=0),
    CheckConstraint("spent >= 0 AND spent <= share", name="share_kept"),
)

# Append-only, each entry bound to the one before by its digest.
entries = Table(
    "entries",
    metadata,
    Column("dataset_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("place", BigInteger, primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("body", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
)

# What was answered: the place of the charge that paid for it, of the entry that tells of it, and
# the series that it belongs to, if any (standing.py).
answers = Table(
    "answers",
    metadata,
    Column("dataset_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("question", String(64), primary_key=True),
    Column("charge", BigInteger, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("answer", Text, nullable=False),
    Column("series", String(64), index=True),
    UniqueConstraint("dataset_id", "charge", name="one_answer_per_charge"),
)

# Databases take a limited number of values in one statement.
CHUNK = 5000

# Any number that other users of a server would hardly take: who makes tables holds it.
OPENING_LOCK = 7120934


@dataclass(frozen=True, slots=True)
class TableSet:
    """Tables that are made, checked and moved together."""

    name: str  # in messages
    metadata: MetaData
    version_table: Table  # of one column and one row
    version: int
    first_rows: tuple[Insert, ...] = ()

    def open(self, engine: Engine) -> None:
        """Make the tables if there are none, and refuse those of another version."""
        with reading(engine) as connection:
            made = self.is_made(connection)
        if not made:
            self._make(engine)
        with reading(engine) as connection:
            self.check_version(connection)

    def is_made(self, connection: Connection) -> bool:
        """Return whether a database has these tables, of whatever version."""
        return inspect(connection).has_table(self.version_table.name)

    def check_version(self, connection: Connection) -> None:
        """Refuse tables of another version: read as these, they could enlarge a budget."""
        # whatever the columns are called there
        found = connection.execute(select(text("*")).select_from(self.version_table)).all()
        if [tuple(row) for row in found] != [(self.version,)]:
            raise LedgerError(
                f"another version of Sunveil made {self.name} {location_of(connection.engine)};"
                " use that version"
            )

    def _make(self, engine: Engine) -> None:
        """Make the tables in one transaction, unless another process has made them meanwhile."""
        with translated_errors(engine), engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({OPENING_LOCK})"))
            if self.is_made(connection):
                return
            self.metadata.create_all(connection, checkfirst=False)
            connection.execute(insert(self.version_table).values(version=self.version))
            for row in self.first_rows:
                connection.execute(row)


LEDGER_TABLES = TableSet(
    "the ledger", metadata, version_table, 1, (insert(turns).values(id=1, changes=0),)
)


def prepare(engine: Engine, *, create: bool) -> None:
    """Make sure that a database holds a ledger of this version; make it if need be and asked."""
    with reading(engine) as connection:
        tables = set(inspect(connection).get_table_names())
    if version_table.name not in tables:
        _check_empty(engine, tables, create=create)
        use_wal(engine)
    LEDGER_TABLES.open(engine)


def _check_empty(engine: Engine, tables: set[str], *, create: bool) -> None:
    if tables:
        raise LedgerError(
            f"the database {location_of(engine)} holds tables of something else; a ledger has"
            " one of its own"
        )
    if not create:
        raise ReleaseNotFound(
            f"there is no ledger at {location_of(engine)}; make one with sunveil dataset create"
        )


def use_wal(engine: Engine) -> None:
    """Have a new SQLite file keep its changes in a log, so that readers never wait."""
    # SQLite does not wait for others that do the same at this instant, so it is asked again.
    if engine.dialect.name != "sqlite":
        return
    until = time.monotonic() + LOCK_TIMEOUT_SECONDS
    while True:
        try:
            with closing(engine.raw_connection()) as raw:
                raw.cursor().execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > until:
                raise LedgerError(
                    f"the ledger {location_of(engine)} cannot be written; check its folder, its"
                    " rights and the disk"
                ) from None
            time.sleep(0.01)
        else:
            return
