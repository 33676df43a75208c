"""Links that work once and expire: to set an account's password, or to sign in without one."""

from __future__ import annotations

import time

from sqlalchemy import Connection, delete, insert, select

from sunveil.service.security.tokens import digest_of, random_secret
from sunveil.service.store.schema import links

PASSWORD, SIGN_IN = "password", "sign-in"
# How long a link works. [h]
HOURS = {PASSWORD: 48.0, SIGN_IN: 0.25}


def new_link(connection: Connection, account_id: str, purpose: str = PASSWORD) -> str:
    """Return the secret of a new link to an account; those before it end.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    account_id
        Whose account.
    purpose
        ``password`` lets its holder set one; ``sign-in`` opens a session without any.
    """
    connection.execute(delete(links).where(links.c.expires < int(time.time())))
    end_links_of(connection, account_id)
    secret = random_secret()
    values = {
        "digest": digest_of(secret),
        "account": account_id,
        "purpose": purpose,
        "expires": int(time.time() + 3600.0 * HOURS[purpose]),
    }
    connection.execute(insert(links).values(values))
    return secret


def find_link(connection: Connection, secret: str) -> tuple[str, str] | None:
    """Return the account and the purpose of a link that still works, or None."""
    row = connection.execute(
        select(links.c.account, links.c.purpose).where(
            links.c.digest == digest_of(secret), links.c.expires >= int(time.time())
        )
    ).one_or_none()
    return None if row is None else (row.account, row.purpose)


def end_links_of(connection: Connection, account_id: str) -> None:
    """End all links to an account."""
    connection.execute(delete(links).where(links.c.account == account_id))
