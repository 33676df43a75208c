"""Logins: known by the digest of a random cookie."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from sunveil.service.security.tokens import digest_of, random_secret
from sunveil.service.store.schema import sessions


@dataclass(frozen=True, slots=True)
class Session:
    """A login.

    Parameters
    ----------
    role
        ``curator`` or ``analyst``.
    who
        The account's or the analyst's name.
    flash
        What is to be said on the next page, each as kind and text.
    """

    role: str
    who: str
    flash: tuple[tuple[str, str], ...] = ()


def begin_session(connection: Connection, *, role: str, who: str, hours: float) -> str:
    """Keep a new session, and return the cookie that it is known by."""
    connection.execute(delete(sessions).where(sessions.c.expires < int(time.time())))
    secret = random_secret()
    values = {
        "digest": digest_of(secret),
        "role": role,
        "who": who,
        "expires": int(time.time() + 3600.0 * hours),
        "flash": "[]",
    }
    connection.execute(insert(sessions).values(values))
    return secret


def find_session(connection: Connection, secret: str) -> Session | None:
    """Return the session of a cookie, unless it has ended."""
    row = connection.execute(
        select(sessions).where(
            sessions.c.digest == digest_of(secret), sessions.c.expires >= int(time.time())
        )
    ).one_or_none()
    if row is None:
        return None
    return Session(row.role, row.who, tuple((kind, text) for kind, text in json.loads(row.flash)))


def set_flash(connection: Connection, secret: str, said: list[tuple[str, str]]) -> None:
    """Keep what the next page says; an empty list forgets it."""
    connection.execute(
        update(sessions)
        .where(sessions.c.digest == digest_of(secret))
        .values(flash=json.dumps(said))
    )


def end_session(connection: Connection, secret: str) -> None:
    """End a session."""
    connection.execute(delete(sessions).where(sessions.c.digest == digest_of(secret)))


def end_sessions_of(connection: Connection, *, role: str, who: str) -> None:
    """End all sessions of somebody."""
    connection.execute(delete(sessions).where(sessions.c.role == role, sessions.c.who == who))
