"""What is true of the whole service."""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, delete, insert, select

from sunveil.service.store.base import insert_new
from sunveil.service.store.schema import facts

# The name of the demo's dataset; there only in the database of a demo.
DEMO = "demo"


def fact(connection: Connection, name: str) -> str | None:
    """Return what is noted under a name, or None."""
    found: str | None = connection.execute(
        select(facts.c.value).where(facts.c.name == name)
    ).scalar()
    return found


def set_fact(connection: Connection, name: str, value: str) -> None:
    """Note something under a name, in place of what was there.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    name, value
        What is noted.
    """
    connection.execute(delete(facts).where(facts.c.name == name))
    connection.execute(insert(facts).values(name=name, value=value))


def kept_secret(connection: Connection, name: str) -> str:
    """Return the random text that is kept under a name, the same for all processes."""
    insert_new(connection, facts, {"name": name, "value": secrets.token_hex(32)})
    return str(fact(connection, name))
