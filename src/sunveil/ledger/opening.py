"""Making a ledger's tables, and refusing those of another version."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, Insert, MetaData, Table, insert, inspect, select, text

from sunveil.errors import LedgerError, ReleaseNotFound
from sunveil.ledger.database import LOCK_TIMEOUT_SECONDS, location_of, reading, translated_errors
from sunveil.ledger.schema import metadata, turns, version_table

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
    """Have a new SQLite file keep its changes in a log, so that readers never wait.

    SQLite does not wait for others that do the same at this instant, so it is asked again.
    """
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
