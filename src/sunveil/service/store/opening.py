"""Making the service's tables, and bringing them to what this version expects."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Engine, text

from sunveil.errors import LedgerError
from sunveil.ledger.database import location_of, reading, translated_errors
from sunveil.ledger.opening import OPENING_LOCK, config_of
from sunveil.service.store.schema import VERSION_TABLE

MIGRATIONS = Path(__file__).parent / "migrations"


def prepare(engine: Engine) -> None:
    """Take the steps that a database lacks, all of them or none; a ledger stands there already."""
    config = config_of(MIGRATIONS)
    with reading(engine) as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        current = context.get_current_revision()
    if current is not None and current == ScriptDirectory.from_config(config).get_current_head():
        return
    with translated_errors(engine), engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({OPENING_LOCK})"))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError:
            raise LedgerError(
                f"the service's tables in {location_of(engine)} were made by a newer Sunveil;"
                " install that"
            ) from None
