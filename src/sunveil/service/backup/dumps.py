"""A whole database as one file, of one instant, and back into an empty one."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, func, inspect, make_url, select

from sunveil.errors import LedgerError, SunveilError
from sunveil.ledger.database import is_url, open_engine, reading, translated_errors
from sunveil.ledger.high_water import HighWaterMark
from sunveil.ledger.schema import datasets

SQLITE, POSTGRESQL = "sqlite", "postgresql"


def kind_of(where: str) -> str:
    """Return which database a path or URL is of."""
    return POSTGRESQL if is_url(where) else SQLITE


def dump_database(where: str, out: Path) -> dict[str, HighWaterMark]:
    """Write a database to a file as it is at one instant, and return how far its chains are then.

    Others may change it meanwhile: SQLite's own backup copies all pages under one lock of a reader,
    and ``pg_dump`` reads one snapshot.

    Parameters
    ----------
    where
        A file's path, or a ``postgresql://`` URL.
    out
        The file, which is made.
    """
    os.close(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    if kind_of(where) == POSTGRESQL:
        return _dump_postgresql(where, out)
    if not Path(where).is_file():
        raise LedgerError("there is no database in this folder; name the folder of a service")
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(where)}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(out)) as copy,
        ):
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
    except sqlite3.Error as error:
        raise LedgerError(
            f"the database cannot be copied ({type(error).__name__}); check the disk, and try again"
        ) from None
    engine = open_engine(str(out))
    try:
        with reading(engine) as connection:
            return chain_ends(connection)
    finally:
        engine.dispose()


def _dump_postgresql(where: str, out: Path) -> dict[str, HighWaterMark]:
    engine = open_engine(where)
    try:
        with reading(engine) as connection:
            # what is read here and what is dumped are of one instant
            ends = chain_ends(connection)
            snapshot = connection.execute(select(func.pg_export_snapshot())).scalar_one()
            options = ["--format=custom", "--no-owner", f"--snapshot={snapshot}"]
            _run_tool("pg_dump", where, [*options, "--file", str(out)])
    finally:
        engine.dispose()
    return ends


def chain_ends(connection: Connection) -> dict[str, HighWaterMark]:
    """Return how long the chain of each dataset is, and how it ends."""
    rows = connection.execute(select(datasets.c.name, datasets.c.length, datasets.c.head))
    return {row.name: HighWaterMark(row.length, row.head) for row in rows}


def load_database(dump: Path, where: str) -> None:
    """Bring a dumped database back, into a place where there is none.

    Parameters
    ----------
    dump
        What :func:`dump_database` wrote.
    where
        A file's path, or a ``postgresql://`` URL of an empty database.
    """
    if kind_of(where) == POSTGRESQL:
        options = ["--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"]
        _run_tool(
            "pg_restore", where, [*options, "--dbname", make_url(where).database or "", str(dump)]
        )
        return
    shutil.copyfile(dump, where)
    Path(where).chmod(0o600)
    with closing(sqlite3.connect(where)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def check_empty(where: str) -> None:
    """Refuse a database that holds anything."""
    if kind_of(where) == SQLITE:
        if Path(where).exists():
            raise SunveilError("there is a database at the new place; a restore needs an empty one")
        return
    engine = open_engine(where)
    try:
        with translated_errors(engine), engine.connect() as connection:
            tables = inspect(connection).get_table_names()
    finally:
        engine.dispose()
    if tables:
        raise SunveilError("the new database holds tables already; a restore needs an empty one")


def _run_tool(tool: str, where: str, options: Sequence[str]) -> None:
    """Run one of PostgreSQL's programs; the password is in no list of processes."""
    url = make_url(where)
    given = {"PGHOST": url.host, "PGPORT": url.port, "PGUSER": url.username}
    given |= {"PGPASSWORD": url.password, "PGDATABASE": url.database}
    environment = os.environ | {name: str(value) for name, value in given.items() if value}
    try:
        done = subprocess.run([tool, *options], env=environment, capture_output=True, check=False)
    except FileNotFoundError:
        raise SunveilError(
            f"{tool} is not installed here; install PostgreSQL's client programs, and try again"
        ) from None
    if done.returncode:
        raise SunveilError(
            f"{tool} could not copy the database; check that it is as new as the server, that the"
            " database can be reached, and that its user may read and make tables"
        )
