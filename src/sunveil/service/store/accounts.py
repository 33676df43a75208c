"""Accounts, sessions, tokens, links (digests)."""

from __future__ import annotations

import json
import secrets
import secrets as random
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, or_, select, update

from sunveil.errors import ParameterError, ReleaseNotFound
from sunveil.ledger.ledger_database import analysts
from sunveil.ledger.promises import check_name
from sunveil.service.passwords_and_tokens import (
    Token,
    check_strength,
    digest_of,
    hash_password,
    make_token,
    random_secret,
)
from sunveil.service.settings import ANALYST, ASK, CURATOR, NONE, check_role, check_scope, narrower
from sunveil.service.store.database import (
    accounts,
    facts,
    insert_new,
    links,
    now,
    secrets_table,
    sessions,
    tokens,
)

PASSWORD, SIGN_IN = "password", "sign-in"

# How long a link works. [h]
HOURS = {PASSWORD: 48.0, SIGN_IN: 0.25}


def new_link(connection: Connection, account_id: str, purpose: str = PASSWORD) -> str:
    """Return the secret of a new link to an account; those before it end."""
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


# A session's last use is written down when it is this old. [s]
TOUCH_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Session:
    """A sign-in of an account, or with a token."""

    role: str  # `curator`, `auditor` or `analyst`
    who: str  # the account's name; of an analyst, the name in the ledger
    id: str = ""  # what it is known by in lists
    account: str = ""
    account_id: str = ""
    token: str = ""
    scope: str = ASK  # what it may do at most: `read` or `ask`
    flash: tuple[tuple[str, str], ...] = ()  # messages for the next page, each as kind and text
    made: int = 0  # [s since 1970] when it began
    seen: int = 0  # [s since 1970] last use
    expires: int = 0  # [s since 1970]
    browser: str = ""  # what the browser said that it is

    @property
    def stale(self) -> bool:
        """Whether its last use should be written down again."""
        return self.seen + TOUCH_SECONDS < time.time()

    @property
    def begun(self) -> str:
        """When it began, in UTC, as people read it."""
        return _minute(self.made)

    @property
    def used(self) -> str:
        """When it was last used, to a minute, in UTC, as people read it."""
        return _minute(self.seen)


def begin_session(
    connection: Connection,
    *,
    role: str,
    who: str,
    hours: float,
    account_id: str | None = None,
    token: str | None = None,
    scope: str = ASK,
    until: int | None = None,
    browser: str = "",
) -> str:
    """Keep a new session, and return the cookie that it is known by."""
    began = int(time.time())
    connection.execute(delete(sessions).where(sessions.c.expires < began))
    ends = int(began + 3600.0 * hours)
    secret = random_secret()
    values = {
        "digest": digest_of(secret),
        "id": random.token_hex(8),
        "role": role,
        "who": who,
        "account": account_id,
        "token": token,
        "scope": scope,
        "made": began,
        "seen": began,
        "expires": ends if until is None else min(ends, until),
        "browser": "".join(each for each in browser if each.isprintable())[:200],
        "flash": "[]",
    }
    connection.execute(insert(sessions).values(values))
    return secret


def find_session(connection: Connection, secret: str, *, idle_minutes: float) -> Session | None:
    """Return the session of a cookie, unless it has ended, or its account may not have it."""
    here = sessions.c.digest == digest_of(secret)
    row = connection.execute(_sessions_query(idle_minutes).where(here)).one_or_none()
    return None if row is None else _session(row)


def sessions_of(connection: Connection, mine: Session, *, idle_minutes: float) -> list[Session]:
    """Return all sessions of the same account or token."""
    query = _sessions_query(idle_minutes).where(_same_holder(mine)).order_by(sessions.c.seen.desc())
    return [_session(row) for row in connection.execute(query)]


def touch_session(connection: Connection, secret: str) -> None:
    """Write down that a session is in use."""
    connection.execute(
        update(sessions).where(sessions.c.digest == digest_of(secret)).values(seen=int(time.time()))
    )


def set_flash(connection: Connection, secret: str, messages: list[tuple[str, str]]) -> None:
    """Keep the messages that the next page shows."""
    connection.execute(
        update(sessions)
        .where(sessions.c.digest == digest_of(secret))
        .values(flash=json.dumps(messages))
    )


def end_session(connection: Connection, secret: str) -> None:
    """Sign a browser out: delete the session of its cookie."""
    connection.execute(delete(sessions).where(sessions.c.digest == digest_of(secret)))


def end_other_sessions(connection: Connection, mine: Session) -> int:
    """End all other sessions of the same account or token, and return how many."""
    others = and_(_same_holder(mine), sessions.c.id != mine.id)
    return connection.execute(delete(sessions).where(others)).rowcount


def end_sessions_of_account(connection: Connection, account_id: str) -> None:
    """Sign an account out everywhere."""
    connection.execute(delete(sessions).where(sessions.c.account == account_id))


def end_sessions_of_token(connection: Connection, token: str) -> None:
    """End the sessions that were opened with a token."""
    connection.execute(delete(sessions).where(sessions.c.token == token))


def _same_holder(mine: Session) -> ColumnElement[bool]:
    # who has but a token sees what it opened; an account sees its tokens' sessions too
    if mine.token:
        return sessions.c.token == mine.token
    return sessions.c.account == mine.account_id


def _sessions_query(idle_minutes: float) -> Any:
    """Return the query of sessions that have not ended, with what their accounts are now."""
    at = int(time.time())
    holder = accounts.c
    allowed = or_(
        sessions.c.account.is_(None),
        and_(holder.disabled.is_(None), holder.role == sessions.c.role),
    )
    return (
        select(
            sessions,
            holder.name.label("holder"),
            holder.analyst.label("holder_analyst"),
            holder.scope.label("holder_scope"),
        )
        .join_from(sessions, accounts, sessions.c.account == holder.id, isouter=True)
        .where(sessions.c.expires >= at, sessions.c.seen >= at - int(60.0 * idle_minutes), allowed)
    )


def _session(row: Row[Any]) -> Session:
    own = row.account is not None
    as_analyst = own and row.role == ANALYST
    return Session(
        role=row.role,
        who=row.holder_analyst if as_analyst else row.who,
        id=row.id,
        account=row.holder or "",
        account_id=row.account or "",
        token=row.token or "",
        scope=narrower(row.scope, row.holder_scope) if own else row.scope,
        flash=tuple((kind, text) for kind, text in json.loads(row.flash)),
        made=row.made,
        seen=row.seen,
        expires=row.expires,
        browser=row.browser,
    )


def _minute(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


SETUP = "setup"

LAST_CURATOR = (
    "this is the last curator who can sign in; make another one first, or nobody could run the"
    " service"
)


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who may sign in."""

    id: str  # what sessions and tokens know it by
    name: str  # unique among accounts; it stands in the ledger beside what it did
    role: str  # `curator`, `auditor`, `analyst`, or `none` where a provider took it back
    analyst: str
    scope: str  # what an analyst's account may do at most: `read` or `ask`
    password: str | None = field(repr=False)
    issuer: str | None  # provider of single sign-on; None for a local account
    subject: str | None  # the person's id at the provider
    disabled: str | None  # when it was disabled, in UTC; None while it is not
    made: str  # in UTC
    signed_in: str | None  # last sign-in, in UTC

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
    """Make an account; a local one has no password before its holder sets one."""
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
    """Return the account of who a provider says somebody is, or None."""
    row = connection.execute(
        select(accounts).where(accounts.c.issuer == issuer, accounts.c.subject == subject)
    ).one_or_none()
    return None if row is None else _account(row)


def set_account_password(connection: Connection, account: Account, password: str) -> None:
    """Give a local account a password; links to it and sessions of it end."""
    if not account.local:
        raise ParameterError("this account signs in through its provider, and has no password here")
    check_strength(password, [account.name, account.analyst])
    _change(connection, account, password=hash_password(password))
    end_sessions_of_account(connection, account.id)
    end_links_of(connection, account.id)
    if account.role == CURATOR:
        connection.execute(delete(secrets_table).where(secrets_table.c.name == SETUP))


def change_role(
    connection: Connection, account: Account, *, role: str, analyst: str = "", scope: str = ASK
) -> None:
    """Give an account another role, or an analyst's another name in the ledger or another scope."""
    # Its sessions end. The last curator who can sign in stays one.
    if role != CURATOR:
        _keep_a_curator(connection, account)
    _change(connection, account, **_role_values(account.name, role, analyst, scope))
    end_sessions_of_account(connection, account.id)


def follow_provider(
    connection: Connection, account: Account, *, role: str, analyst: str, scope: str
) -> None:
    """Give an account of single sign-on the role that its provider names now, also a lesser one."""
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
    """Make the first curator's account, in the transaction that sees that it is the first."""
    if has_curator(connection):
        raise ParameterError("there is a curator already; sign in instead")
    set_password(connection, name, password)
    return account_named(connection, name)


def set_password(connection: Connection, name: str, password: str) -> None:
    """Give an account a new password; make a curator's account of that name if there is none."""
    found = find_account(connection, name) or add_account(connection, name, role=CURATOR)
    set_account_password(connection, found, password)


def has_curator(connection: Connection) -> bool:
    """Return whether there is a curator who can sign in."""
    return any(each.role == CURATOR and each.usable for each in all_accounts(connection))


def new_setup_secret(connection: Connection, secret: str) -> None:
    """Make a one-time set-up secret the only one that holds."""
    connection.execute(delete(secrets_table).where(secrets_table.c.name == SETUP))
    values = {"name": SETUP, "digest": digest_of(secret), "made": now()}
    connection.execute(insert(secrets_table).values(values))


def setup_digest(connection: Connection) -> str | None:
    """Return the digest of the set-up secret, as long as there is one."""
    found: str | None = connection.execute(
        select(secrets_table.c.digest).where(secrets_table.c.name == SETUP)
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


# The name of the demo's dataset; there only in the database of a demo.
DEMO = "demo"


def fact(connection: Connection, name: str) -> str | None:
    """Return what is noted under a name, or None."""
    found: str | None = connection.execute(
        select(facts.c.value).where(facts.c.name == name)
    ).scalar()
    return found


def set_fact(connection: Connection, name: str, value: str) -> None:
    """Note something under a name, in place of what was there."""
    connection.execute(delete(facts).where(facts.c.name == name))
    connection.execute(insert(facts).values(name=name, value=value))


def kept_secret(connection: Connection, name: str) -> str:
    """Return the random text that is kept under a name, the same for all processes."""
    insert_new(connection, facts, {"name": name, "value": secrets.token_hex(32)})
    return str(fact(connection, name))


# How long a new token works. [days]
DAYS, MOST_DAYS = 90, 366
DAY_SECONDS = 86_400

# An analyst holds this many that work at most, so that no program fills the table.
MOST_WORKING = 100


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as the database knows it."""

    id: str  # its public half
    analyst: str  # its analyst in the ledger
    digest: str = field(repr=False)  # of its secret half
    made: str  # in UTC
    expires: int  # [s since 1970] when it expires
    revoked: str | None = None  # in UTC
    scope: str = ASK  # `read` or `ask`: what it was made for, and what its account still allows
    account: str | None = None
    account_id: str | None = None  # its id
    label: str = ""  # what its holder calls it
    withdrawn: bool = False  # whether its account is disabled, or is this analyst's no longer

    @property
    def expiry(self) -> str:
        """The day on which it expires, in UTC."""
        return datetime.fromtimestamp(self.expires, UTC).date().isoformat()

    @property
    def expired(self) -> bool:
        """Whether it has expired by now."""
        return self.expires <= time.time()

    @property
    def works(self) -> bool:
        """Whether it opens anything now."""
        return self.fault is None

    @property
    def fault(self) -> str | None:
        """Why it opens nothing, in one sentence; None where it works."""
        if self.revoked is not None:
            return "This token was revoked. Create another, or ask the curator for one."
        if self.expired:
            return (
                f"This token expired on {self.expiry}. Create another, or ask the curator for one."
            )
        if self.withdrawn:
            return "The account of this token may no longer use it. Ask the curator."
        return None


def issue_token(
    connection: Connection,
    analyst: str,
    *,
    days: int = DAYS,
    scope: str = ASK,
    account_id: str | None = None,
    label: str = "",
) -> Token:
    """Make a token for an analyst; its text is shown once, and never kept."""
    check_name("analyst", analyst)
    check_scope(scope)
    if not 1 <= days <= MOST_DAYS:
        raise ParameterError(f"a token works for 1 to {MOST_DAYS} days; choose one of these")
    if len(label) > 100 or not label.isprintable():
        raise ParameterError("a token's label has up to 100 printable letters")
    if sum(each.works for each in token_rows(connection, analyst)) >= MOST_WORKING:
        raise ParameterError(f"there are {MOST_WORKING} tokens that work; revoke some first")
    made = make_token()
    values = {
        "id": made.id,
        "analyst": analyst,
        "digest": made.digest,
        "made": now(),
        "scope": scope,
        "expires": int(time.time()) + days * DAY_SECONDS,
        "account": account_id,
        "label": label,
    }
    connection.execute(insert(tokens).values(values))
    return made


def token_row(connection: Connection, token_id: str) -> TokenRow | None:
    """Return a token by its public half, also one that opens nothing any more."""
    row = connection.execute(_tokens_query().where(tokens.c.id == token_id)).one_or_none()
    return None if row is None else _token(row)


def token_rows(connection: Connection, analyst: str | None = None) -> list[TokenRow]:
    """Return all tokens, or those of one analyst, oldest first."""
    query = _tokens_query().order_by(tokens.c.made, tokens.c.id)
    if analyst is not None:
        query = query.where(tokens.c.analyst == analyst)
    return [_token(row) for row in connection.execute(query)]


def token_rows_of(connection: Connection, ids: Collection[str]) -> list[TokenRow]:
    """Return the tokens of some public halves, as far as they are known."""
    query = _tokens_query().where(tokens.c.id.in_(ids))
    return [_token(row) for row in connection.execute(query)]


def revoke_token(connection: Connection, token_id: str) -> None:
    """Revoke a token, and end the sessions that it opened; it stays in the list as revoked."""
    done = connection.execute(
        update(tokens)
        .where(tokens.c.id == token_id, tokens.c.revoked.is_(None))
        .values(revoked=now())
    )
    if done.rowcount != 1:
        raise ReleaseNotFound("there is no such token, or it was revoked before")
    end_sessions_of_token(connection, token_id)


def _tokens_query() -> Any:
    return select(
        tokens,
        accounts.c.name.label("holder"),
        accounts.c.role.label("holder_role"),
        accounts.c.analyst.label("holder_analyst"),
        accounts.c.scope.label("holder_scope"),
        accounts.c.disabled.label("holder_disabled"),
    ).join_from(tokens, accounts, tokens.c.account == accounts.c.id, isouter=True)


def _token(row: Row[Any]) -> TokenRow:
    own = row.account is not None
    allowed = (
        row.holder_role == ANALYST
        and row.holder_analyst == row.analyst
        and row.holder_disabled is None
    )
    return TokenRow(
        id=row.id,
        analyst=row.analyst,
        digest=row.digest,
        made=row.made,
        revoked=row.revoked,
        scope=narrower(row.scope, row.holder_scope) if own and row.holder_scope else row.scope,
        expires=row.expires,
        account=row.holder,
        account_id=row.account,
        label=row.label,
        withdrawn=own and not allowed,
    )


def analyst_names(connection: Connection) -> set[str]:
    """Return the names in the ledger of all analysts who have a token, a share or an account."""
    names = {row.analyst for row in token_rows(connection)}
    names |= {each.analyst for each in all_accounts(connection) if each.role == ANALYST}
    return names | set(connection.execute(select(analysts.c.name).distinct()).scalars())
