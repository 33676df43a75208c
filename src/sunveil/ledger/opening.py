"""Making a ledger's tables, and bringing them to what this version expects."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Engine, inspect, text

from sunveil.errors import LedgerError, ReleaseNotFound
from sunveil.ledger.database import LOCK_TIMEOUT_SECONDS, location_of, reading, translated_errors
from sunveil.ledger.schema import VERSION_TABLE

MIGRATIONS = Path(__file__).parent / "migrations"
# Any number that other users of a server would hardly take: who opens a new ledger holds it.
OPENING_LOCK = 7120934


def prepare(engine: Engine, *, create: bool, migrations: Path = MIGRATIONS) -> None:
    """Make sure that a database holds a ledger that this version understands.

    Parameters
    ----------
    engine
        The database.
    create
        Whether a ledger is made where there is none.
    migrations
        The steps that lead there.
    """
    config = config_of(migrations)
    with reading(engine) as connection:
        tables = set(inspect(connection).get_table_names())
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        current = context.get_current_revision()
    if VERSION_TABLE not in tables:
        _check_empty(engine, tables, create=create)
        use_wal(engine)
    if current is None or current != ScriptDirectory.from_config(config).get_current_head():
        _migrate(engine, config)


def config_of(migrations: Path) -> Config:
    """Return alembic's configuration for the steps in a folder."""
    config = Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    return config


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


def _migrate(engine: Engine, config: Config) -> None:
    """Take all steps that are missing, in one transaction: all of them or none."""
    with translated_errors(engine), engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            # several processes may open a new ledger at once
            connection.execute(text(f"SELECT pg_advisory_xact_lock({OPENING_LOCK})"))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError:
            raise LedgerError(
                f"the ledger {location_of(engine)} was made by a newer Sunveil; install that"
            ) from None
