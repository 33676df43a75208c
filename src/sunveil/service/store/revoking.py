"""Logging everybody out for good, after a restore."""

from __future__ import annotations

from sqlalchemy import Connection, delete, update

from sunveil.service.store.base import now
from sunveil.service.store.schema import links, secrets, sessions, tokens


def revoke_everything(connection: Connection) -> None:
    """Revoke every token, end every session, and forget the set-up link and links of accounts.

    Whatever opens the service beside a password belongs here.
    """
    connection.execute(update(tokens).where(tokens.c.revoked.is_(None)).values(revoked=now()))
    connection.execute(delete(sessions))
    connection.execute(delete(secrets))
    connection.execute(delete(links))
