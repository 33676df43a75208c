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
    """A login of a curator or an analyst.

    Parameters
    ----------
    role
        ``curator`` or ``analyst``.
    who
        The account's or the analyst's name.
    flash
        Messages for the next page, each as kind and text.
    """

    role: str
    who: str
    flash: tuple[tuple[str, str], ...] = ()


def begin_session(connection: Connection, *, role: str, who: str, hours: float) -> str:
    """Keep a new session, and return the cookie that it is known by.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    role
        ``curator`` or ``analyst``.
    who
        The account's or the analyst's name.
    hours
        How long it lasts. [h]
    """
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


def set_flash(connection: Connection, secret: str, messages: list[tuple[str, str]]) -> None:
    """Keep the messages that the next page shows.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    secret
        The session's cookie.
    messages
        Each message as kind (``good``, ``bad`` or ``note``) and text; an empty list forgets all.
    """
    connection.execute(
        update(sessions)
        .where(sessions.c.digest == digest_of(secret))
        .values(flash=json.dumps(messages))
    )


def end_session(connection: Connection, secret: str) -> None:
    """Log a browser out: delete the session of its cookie."""
    connection.execute(delete(sessions).where(sessions.c.digest == digest_of(secret)))


def end_sessions_of(connection: Connection, *, role: str, who: str) -> None:
    """Log somebody out everywhere: delete all their sessions.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    role
        ``curator`` or ``analyst``.
    who
        The account's or the analyst's name.
    """
    connection.execute(delete(sessions).where(sessions.c.role == role, sessions.c.who == who))
