"""Curators, the set-up link and analysts' tokens: secrets as digests only."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select, update

from sunveil.errors import ParameterError, ReleaseNotFound
from sunveil.ledger.records import check_name
from sunveil.service.security.passwords import hash_password
from sunveil.service.security.tokens import Token, digest_of, make_token
from sunveil.service.store.base import now
from sunveil.service.store.schema import curators, secrets, tokens
from sunveil.service.store.sessions import end_sessions_of

SETUP = "setup"


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as the database knows it.

    Parameters
    ----------
    id
        Its public half.
    analyst
        Whose it is.
    digest
        Of its secret half.
    made, revoked
        When it was made and revoked, in UTC; None while it is not revoked.
    """

    id: str
    analyst: str
    digest: str
    made: str
    revoked: str | None


def add_curator(connection: Connection, name: str, password: str) -> None:
    """Make a curator's account; the set-up link ends with the first.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    name
        The curator's name, which must be free.
    password
        In the clear; its scrypt hash is kept.
    """
    check_name("curator", name)
    if password_of(connection, name) is not None:
        raise ParameterError(f"there is a curator named {name!r} already")
    values = {"name": name, "password": hash_password(password), "made": now()}
    connection.execute(insert(curators).values(values))
    connection.execute(delete(secrets).where(secrets.c.name == SETUP))


def add_first_curator(connection: Connection, name: str, password: str) -> None:
    """Make the first curator's account, in the transaction that sees that it is the first.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    name
        The curator's name.
    password
        In the clear; its scrypt hash is kept.
    """
    if has_curator(connection):
        raise ParameterError("there is a curator already")
    add_curator(connection, name, password)


def password_of(connection: Connection, name: str) -> str | None:
    """Return the hash of a curator's password, or None."""
    found: str | None = connection.execute(
        select(curators.c.password).where(curators.c.name == name)
    ).scalar()
    return found


def has_curator(connection: Connection) -> bool:
    """Return whether there is any curator."""
    return bool(connection.execute(select(func.count()).select_from(curators)).scalar_one())


def new_setup_secret(connection: Connection, secret: str) -> None:
    """Make a one-time set-up secret the only one that holds."""
    connection.execute(delete(secrets).where(secrets.c.name == SETUP))
    values = {"name": SETUP, "digest": digest_of(secret), "made": now()}
    connection.execute(insert(secrets).values(values))


def setup_digest(connection: Connection) -> str | None:
    """Return the digest of the set-up secret, as long as there is one."""
    found: str | None = connection.execute(
        select(secrets.c.digest).where(secrets.c.name == SETUP)
    ).scalar()
    return found


def issue_token(connection: Connection, analyst: str) -> Token:
    """Make a token for an analyst; its text is shown once, and never kept."""
    check_name("analyst", analyst)
    made = make_token()
    values = {"id": made.id, "analyst": analyst, "digest": made.digest, "made": now()}
    connection.execute(insert(tokens).values(values))
    return made


def token_row(connection: Connection, token_id: str) -> TokenRow | None:
    """Return a token by its public half, also a revoked one."""
    row = connection.execute(select(tokens).where(tokens.c.id == token_id)).one_or_none()
    return None if row is None else TokenRow(*row)


def token_rows(connection: Connection, analyst: str | None = None) -> list[TokenRow]:
    """Return all tokens, or those of one analyst, oldest first."""
    query = select(tokens).order_by(tokens.c.made, tokens.c.id)
    if analyst is not None:
        query = query.where(tokens.c.analyst == analyst)
    return [TokenRow(*row) for row in connection.execute(query)]


def revoke_token(connection: Connection, token_id: str) -> None:
    """Revoke a token, and end its analyst's logins; it stays in the list as revoked."""
    row = token_row(connection, token_id)
    done = connection.execute(
        update(tokens)
        .where(tokens.c.id == token_id, tokens.c.revoked.is_(None))
        .values(revoked=now())
    )
    if done.rowcount != 1 or row is None:
        raise ReleaseNotFound("there is no such token, or it was revoked before")
    end_sessions_of(connection, role="analyst", who=row.analyst)


def set_password(connection: Connection, name: str, password: str) -> None:
    """Give a curator a new password; make the account if there is none.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    name
        The curator's name.
    password
        In the clear; its scrypt hash is kept.
    """
    done = connection.execute(
        update(curators).where(curators.c.name == name).values(password=hash_password(password))
    )
    if done.rowcount != 1:
        add_curator(connection, name, password)
