"""Opening a ledger's database: SQLite by path, PostgreSQL by URL."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import platformdirs
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from sunveil.errors import LedgerError, LedgerUnavailable, ReleaseNotFound
from sunveil.extras import require_extras
from sunveil.ledger.high_water import HighWaterMarks

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
    """Return the engine of a ledger's database.

    Parameters
    ----------
    where
        A file's path, for SQLite, or a ``postgresql://`` URL.
    create
        Whether a missing file is made.
    """
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
