"""The store: one database, read and changed in transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, Table
from sqlalchemy.dialects import postgresql, sqlite

from sunveil.ledger.database import open_engine, reading, translated_errors
from sunveil.service.store.schema import SERVICE_TABLES


class Store:
    """The tables of the service, read and changed in transactions.

    Parameters
    ----------
    where
        The ledger's database, which is there already.
    """

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
        """Yield a connection whose changes are kept together, or not at all."""
        with translated_errors(self.engine), self.engine.begin() as connection:
            yield connection


def now() -> str:
    """Return the present time in UTC, as the tables hold it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def insert_new(connection: Connection, table: Table, values: dict[str, Any]) -> bool:
    """Insert a row, unless one with its key is there; return whether it is new.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    table
        Where it is inserted.
    values
        The row, by column.
    """
    made = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    added = made(table).values(values).on_conflict_do_nothing().returning(*table.primary_key)
    # psycopg leaves the row count of an INSERT ... ON CONFLICT at -1
    return connection.execute(added).first() is not None
