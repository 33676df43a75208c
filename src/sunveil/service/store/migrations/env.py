"""How alembic reaches the service's tables: through the connection that it is handed."""

from __future__ import annotations

from alembic import context

from sunveil.service.store.schema import VERSION_TABLE, metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, version_table=VERSION_TABLE)
with context.begin_transaction():
    context.run_migrations()
