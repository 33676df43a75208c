"""Accounts, their roles and passwords, and the set-up link: secrets as digests only."""

from __future__ import annotations

import secrets as random
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from sunveil.errors import ParameterError, ReleaseNotFound
from sunveil.ledger.records import check_name
from sunveil.service.roles import ANALYST, ASK, CURATOR, NONE, check_role, check_scope
from sunveil.service.security.passwords import check_strength, hash_password
from sunveil.service.security.tokens import digest_of
from sunveil.service.store.base import now
from sunveil.service.store.links import end_links_of
from sunveil.service.store.schema import accounts, secrets
from sunveil.service.store.sessions import end_sessions_of_account

SETUP = "setup"
LAST_CURATOR = (
    "this is the last curator who can sign in; make another one first, or nobody could run the"
    " service"
)


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who may sign in.

    Parameters
    ----------
    id
        What sessions and tokens know it by.
    name
        Unique among accounts; it stands in the ledger beside what it did.
    role
        ``curator``, ``auditor``, ``analyst``, or ``none`` where a provider took it back.
    analyst
        Of an analyst's account, the name in the ledger under which it asks; empty otherwise.
    scope
        What an analyst's account may do at most: ``read`` or ``ask``.
    password
        Its scrypt hash; None before it is set, and for single sign-on.
    issuer, subject
        Who the provider of single sign-on says it is; None for a local account.
    disabled
        When it was disabled, in UTC; None while it is not.
    made, signed_in
        When it was made and last signed in to, in UTC.
    """

    id: str
    name: str
    role: str
    analyst: str
    scope: str
    password: str | None = field(repr=False)
    issuer: str | None
    subject: str | None
    disabled: str | None
    made: str
    signed_in: str | None

    @property
    def local(self) -> bool:
        """Whether it signs in with a password, and not through a provider."""
        return self.issuer is None

    @property
    def usable(self) -> bool:
        """Whether somebody can sign in to it now."""
        return self.disabled is None and (self.password is not None or not self.local)

    @property
    def who(self) -> str:
        """The name under which it is known on its side: an analyst's in the ledger, or its own."""
        return self.analyst if self.role == ANALYST else self.name


def add_account(
    connection: Connection,
    name: str,
    *,
    role: str,
    analyst: str = "",
    scope: str = ASK,
    subject: tuple[str, str] | None = None,
) -> Account:
    """Make an account; a local one has no password before its holder sets one.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    name
        Its name, which no other account has, whatever the case of its letters.
    role
        ``curator``, ``auditor`` or ``analyst``.
    analyst
        For an analyst, the name in the ledger under which it asks; its own when left out.
    scope
        For an analyst, what it may do at most.
    subject
        Issuer and subject of single sign-on; None for a local account.
    """
    check_name("curator" if role == CURATOR else "person", name)
    if find_account(connection, name) is not None:
        raise ParameterError(f"there is an account named {name!r} already; choose another name")
    issuer, known_as = subject or (None, None)
    made = random.token_hex(8)
    values = {
        "id": made,
        "name": name,
        "issuer": issuer,
        "subject": known_as,
        "made": now(),
        **_role_values(name, role, analyst, scope),
    }
    connection.execute(insert(accounts).values(values))
    return account_of_id(connection, made)


def all_accounts(connection: Connection) -> list[Account]:
    """Return all accounts, by name."""
    rows = connection.execute(select(accounts).order_by(accounts.c.name))
    return [_account(row) for row in rows]


def find_account(connection: Connection, name: str) -> Account | None:
    """Return the account of a name, whatever the case of its letters, or None."""
    wanted = name.strip().casefold()
    found = [each for each in all_accounts(connection) if each.name.casefold() == wanted]
    return found[0] if found else None


def account_named(connection: Connection, name: str) -> Account:
    """Return the account of a name, or refuse."""
    found = find_account(connection, name)
    if found is None:
        raise ReleaseNotFound(f"there is no account named {name!r}; list the accounts")
    return found


def account_of_id(connection: Connection, account_id: str) -> Account:
    """Return an account by its id, or refuse."""
    row = connection.execute(select(accounts).where(accounts.c.id == account_id)).one_or_none()
    if row is None:
        raise ReleaseNotFound("there is no such account; load the page again")
    return _account(row)


def account_of_subject(connection: Connection, issuer: str, subject: str) -> Account | None:
    """Return the account of who a provider says somebody is, or None.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    issuer, subject
        Of the provider, and its unchanging name of the person.
    """
    row = connection.execute(
        select(accounts).where(accounts.c.issuer == issuer, accounts.c.subject == subject)
    ).one_or_none()
    return None if row is None else _account(row)


def set_account_password(connection: Connection, account: Account, password: str) -> None:
    """Give a local account a password; links to it and sessions of it end.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    account
        Whose it is.
    password
        In the clear; its scrypt hash is kept.
    """
    if not account.local:
        raise ParameterError("this account signs in through its provider, and has no password here")
    check_strength(password, [account.name, account.analyst])
    _change(connection, account, password=hash_password(password))
    end_sessions_of_account(connection, account.id)
    end_links_of(connection, account.id)
    if account.role == CURATOR:
        connection.execute(delete(secrets).where(secrets.c.name == SETUP))


def change_role(
    connection: Connection, account: Account, *, role: str, analyst: str = "", scope: str = ASK
) -> None:
    """Give an account another role, or an analyst's another name in the ledger or another scope.

    Its sessions end. The last curator who can sign in stays one.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    account
        Whose it is.
    role, analyst, scope
        As for :func:`add_account`.
    """
    if role != CURATOR:
        _keep_a_curator(connection, account)
    _change(connection, account, **_role_values(account.name, role, analyst, scope))
    end_sessions_of_account(connection, account.id)


def follow_provider(
    connection: Connection, account: Account, *, role: str, analyst: str, scope: str
) -> None:
    """Give an account of single sign-on the role that its provider names now, also a lesser one.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    account
        Whose it is.
    role, analyst, scope
        As for :func:`add_account`.
    """
    values = _role_values(account.name, role, analyst, scope)
    if values != {"role": account.role, "analyst": account.analyst, "scope": account.scope}:
        _change(connection, account, **values)
        end_sessions_of_account(connection, account.id)


def withdraw_role(connection: Connection, account: Account) -> None:
    """Leave an account of single sign-on without a role, since its provider gives it none."""
    _change(connection, account, role=NONE)
    end_sessions_of_account(connection, account.id)


def disable_account(connection: Connection, account: Account) -> None:
    """Let nobody sign in to an account or use its tokens; its sessions and links end."""
    _keep_a_curator(connection, account)
    _change(connection, account, disabled=now())
    end_sessions_of_account(connection, account.id)
    end_links_of(connection, account.id)


def enable_account(connection: Connection, account: Account) -> None:
    """Let an account that was disabled be used again."""
    _change(connection, account, disabled=None)


def note_sign_in(connection: Connection, account: Account) -> None:
    """Keep when an account was last signed in to."""
    _change(connection, account, signed_in=now())


def add_first_curator(connection: Connection, name: str, password: str) -> Account:
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
        raise ParameterError("there is a curator already; sign in instead")
    set_password(connection, name, password)
    return account_named(connection, name)


def set_password(connection: Connection, name: str, password: str) -> None:
    """Give an account a new password; make a curator's account of that name if there is none.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    name
        The account's name.
    password
        In the clear; its scrypt hash is kept.
    """
    found = find_account(connection, name) or add_account(connection, name, role=CURATOR)
    set_account_password(connection, found, password)


def has_curator(connection: Connection) -> bool:
    """Return whether there is a curator who can sign in."""
    return any(each.role == CURATOR and each.usable for each in all_accounts(connection))


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


def _role_values(name: str, role: str, analyst: str, scope: str) -> dict[str, str]:
    check_role(role)
    check_scope(scope)
    if role != ANALYST:
        return {"role": role, "analyst": "", "scope": ASK}
    check_name("analyst", analyst or name)
    return {"role": role, "analyst": analyst or name, "scope": scope}


def _keep_a_curator(connection: Connection, account: Account) -> None:
    """Refuse to lose the last curator; rows are held, so that two cannot lose each other."""
    if account.role != CURATOR or not account.usable:
        return
    held = select(accounts).where(accounts.c.role == CURATOR).with_for_update()
    others = [_account(row) for row in connection.execute(held) if row.id != account.id]
    if not any(each.usable for each in others):
        raise ParameterError(LAST_CURATOR)


def _change(connection: Connection, account: Account, **values: Any) -> None:
    connection.execute(update(accounts).where(accounts.c.id == account.id).values(values))


def _account(row: Row[Any]) -> Account:
    return Account(**row._mapping)
