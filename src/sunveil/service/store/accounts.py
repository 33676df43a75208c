"""Accounts, sessions, tokens, links (digests)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, select, update

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
from sunveil.service.settings import ANALYST, ASK, CURATOR, NONE, check_role, check_scope
from sunveil.service.store.database import (
    Account,
    Fact,
    Link,
    Secret,
    Session,
    TokenRow,
    Transaction,
    add_row,
    insert_new,
    now,
)

PASSWORD, SIGN_IN = "password", "sign-in"

# How long a link works. [h]
HOURS = {PASSWORD: 48.0, SIGN_IN: 0.25}


def new_link(db: Transaction, account_id: str, purpose: str = PASSWORD) -> str:
    """Return the secret of a new link to an account; those before it end."""
    db.execute(delete(Link).where(Link.expires < int(time.time())))
    end_links_of(db, account_id)
    secret, expires = random_secret(), int(time.time() + 3600.0 * HOURS[purpose])
    add_row(
        db, Link(digest=digest_of(secret), account=account_id, purpose=purpose, expires=expires)
    )
    return secret


def find_link(db: Transaction, secret: str) -> Link | None:
    """Return a link that still works, or None."""
    found = db.get(Link, digest_of(secret))
    return found if found is not None and found.expires >= int(time.time()) else None


def end_links_of(db: Transaction, account_id: str) -> None:
    db.execute(delete(Link).where(Link.account == account_id))


def begin_session(
    db: Transaction,
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
    db.execute(delete(Session).where(Session.expires < began))
    ends = int(began + 3600.0 * hours)
    secret = random_secret()
    session = Session(
        digest=digest_of(secret),
        id=secrets.token_hex(8),
        role=role,
        signed_in_as=who,
        account_id=account_id,
        token=token,
        granted=scope,
        made=began,
        seen=began,
        expires=ends if until is None else min(ends, until),
        browser="".join(each for each in browser if each.isprintable())[:200],
    )
    add_row(db, session)
    return secret


def find_session(db: Transaction, secret: str, *, idle_minutes: float) -> Session | None:
    """Return the session of a cookie, unless it has ended, or its account may not have it."""
    found = db.get(Session, digest_of(secret))
    return found if found is not None and found.lives(idle_minutes) else None


def sessions_of(db: Transaction, mine: Session, *, idle_minutes: float) -> list[Session]:
    found = db.scalars(select(Session).where(_same_holder(mine)).order_by(Session.seen.desc()))
    return [each for each in found if each.lives(idle_minutes)]


def touch_session(db: Transaction, secret: str) -> None:
    here = Session.digest == digest_of(secret)
    db.execute(update(Session).where(here).values(seen=int(time.time())))


def set_flash(db: Transaction, secret: str, messages: list[tuple[str, str]]) -> None:
    here = Session.digest == digest_of(secret)
    db.execute(update(Session).where(here).values(flash=messages))


def end_session(db: Transaction, secret: str) -> None:
    db.execute(delete(Session).where(Session.digest == digest_of(secret)))


def end_other_sessions(db: Transaction, mine: Session) -> int:
    others = and_(_same_holder(mine), Session.id != mine.id)
    return len(db.execute(delete(Session).where(others).returning(Session.id)).all())


def end_sessions_of_account(db: Transaction, account_id: str) -> None:
    db.execute(delete(Session).where(Session.account_id == account_id))


def _same_holder(mine: Session) -> ColumnElement[bool]:
    # who has but a token sees what it opened; an account sees its tokens' sessions too
    if mine.token:
        return Session.token == mine.token
    return Session.account_id == mine.account_id


SETUP = "setup"

LAST_CURATOR = (
    "this is the last curator who can sign in; make another one first, or nobody could run the"
    " service"
)


def add_account(
    db: Transaction,
    name: str,
    *,
    role: str,
    analyst: str = "",
    scope: str = ASK,
    subject: tuple[str, str] | None = None,
) -> Account:
    check_name("curator" if role == CURATOR else "person", name)
    if find_account(db, name) is not None:
        raise ParameterError(f"there is an account named {name!r} already; choose another name")
    issuer, known_as = subject or (None, None)
    made = Account(
        id=secrets.token_hex(8),
        name=name,
        issuer=issuer,
        subject=known_as,
        made=now(),
        **_role_values(name, role, analyst, scope),
    )
    add_row(db, made)
    return made


def all_accounts(db: Transaction) -> Sequence[Account]:
    return db.scalars(select(Account).order_by(Account.name)).all()


def find_account(db: Transaction, name: str) -> Account | None:
    wanted = name.strip().casefold()
    return next((each for each in all_accounts(db) if each.name.casefold() == wanted), None)


def account_named(db: Transaction, name: str) -> Account:
    found = find_account(db, name)
    if found is None:
        raise ReleaseNotFound(f"there is no account named {name!r}; list the accounts")
    return found


def account_of_id(db: Transaction, account_id: str) -> Account:
    found = db.get(Account, account_id)
    if found is None:
        raise ReleaseNotFound("there is no such account; load the page again")
    return found


def account_of_subject(db: Transaction, issuer: str, subject: str) -> Account | None:
    same = select(Account).where(Account.issuer == issuer, Account.subject == subject)
    return db.scalars(same).one_or_none()


def set_account_password(db: Transaction, account: Account, password: str) -> None:
    """Give a local account a password; links to it and sessions of it end."""
    if not account.local:
        raise ParameterError("this account signs in through its provider, and has no password here")
    check_strength(password, [account.name, account.analyst])
    _change(db, account, password=hash_password(password))
    end_sessions_of_account(db, account.id)
    end_links_of(db, account.id)
    if account.role == CURATOR:
        db.execute(delete(Secret).where(Secret.name == SETUP))


def change_role(
    db: Transaction, account: Account, *, role: str, analyst: str = "", scope: str = ASK
) -> None:
    # Its sessions end. The last curator who can sign in stays one.
    if role != CURATOR:
        _keep_a_curator(db, account)
    _change(db, account, **_role_values(account.name, role, analyst, scope))
    end_sessions_of_account(db, account.id)


def follow_provider(
    db: Transaction, account: Account, *, role: str, analyst: str, scope: str
) -> None:
    """Give an account of single sign-on the role that its provider names now, also a lesser one."""
    values = _role_values(account.name, role, analyst, scope)
    if values != {"role": account.role, "analyst": account.analyst, "scope": account.scope}:
        _change(db, account, **values)
        end_sessions_of_account(db, account.id)


def withdraw_role(db: Transaction, account: Account) -> None:
    """Leave an account of single sign-on without a role, since its provider gives it none."""
    _change(db, account, role=NONE)
    end_sessions_of_account(db, account.id)


def disable_account(db: Transaction, account: Account) -> None:
    """Let nobody sign in to an account or use its tokens; its sessions and links end."""
    _keep_a_curator(db, account)
    _change(db, account, disabled=now())
    end_sessions_of_account(db, account.id)
    end_links_of(db, account.id)


def enable_account(db: Transaction, account: Account) -> None:
    _change(db, account, disabled=None)


def note_sign_in(db: Transaction, account: Account) -> None:
    _change(db, account, signed_in=now())


def add_first_curator(db: Transaction, name: str, password: str) -> Account:
    """Make the first curator's account, in the transaction that sees that it is the first."""
    if has_curator(db):
        raise ParameterError("there is a curator already; sign in instead")
    set_password(db, name, password)
    return account_named(db, name)


def set_password(db: Transaction, name: str, password: str) -> None:
    """Give an account a new password; make a curator's account of that name if there is none."""
    found = find_account(db, name) or add_account(db, name, role=CURATOR)
    set_account_password(db, found, password)


def has_curator(db: Transaction) -> bool:
    return any(each.role == CURATOR and each.usable for each in all_accounts(db))


def new_setup_secret(db: Transaction, secret: str) -> None:
    """Make a one-time set-up secret the only one that holds."""
    db.execute(delete(Secret).where(Secret.name == SETUP))
    add_row(db, Secret(name=SETUP, digest=digest_of(secret), made=now()))


def setup_digest(db: Transaction) -> str | None:
    return db.scalar(select(Secret.digest).where(Secret.name == SETUP))


def _role_values(name: str, role: str, analyst: str, scope: str) -> dict[str, str]:
    check_role(role)
    check_scope(scope)
    if role != ANALYST:
        return {"role": role, "analyst": "", "scope": ASK}
    check_name("analyst", analyst or name)
    return {"role": role, "analyst": analyst or name, "scope": scope}


def _keep_a_curator(db: Transaction, account: Account) -> None:
    """Refuse to lose the last curator; rows are held, so that two cannot lose each other."""
    if account.role != CURATOR or not account.usable:
        return
    held = select(Account).where(Account.role == CURATOR).with_for_update()
    # as they are once they are held, whatever was read before
    curators = db.scalars(held, execution_options={"populate_existing": True})
    if not any(each.usable and each.id != account.id for each in curators):
        raise ParameterError(LAST_CURATOR)


def _change(db: Transaction, account: Account, **values: Any) -> None:
    db.execute(update(Account).where(Account.id == account.id).values(values))


# The name of the demo's dataset; there only in the database of a demo.
DEMO = "demo"


def fact(db: Transaction, name: str) -> str | None:
    return db.scalar(select(Fact.value).where(Fact.name == name))


def set_fact(db: Transaction, name: str, value: str) -> None:
    """Note something under a name, in place of what was there."""
    db.execute(delete(Fact).where(Fact.name == name))
    add_row(db, Fact(name=name, value=value))


def kept_secret(db: Transaction, name: str) -> str:
    """Return the random text that is kept under a name, the same for all processes."""
    insert_new(db, Fact(name=name, value=secrets.token_hex(32)))
    return str(fact(db, name))


# How long a new token works. [days]
DAYS, MOST_DAYS = 90, 366
DAY_SECONDS = 86_400

# An analyst holds this many that work at most, so that no program fills the table.
MOST_WORKING = 100


def issue_token(
    db: Transaction,
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
    if sum(each.works for each in token_rows(db, analyst)) >= MOST_WORKING:
        raise ParameterError(f"there are {MOST_WORKING} tokens that work; revoke some first")
    made = make_token()
    row = TokenRow(
        id=made.id,
        analyst=analyst,
        digest=made.digest,
        made=now(),
        granted=scope,
        expires=int(time.time()) + days * DAY_SECONDS,
        account_id=account_id,
        label=label,
    )
    add_row(db, row)
    return made


def token_rows(db: Transaction, analyst: str | None = None) -> Sequence[TokenRow]:
    query = select(TokenRow).order_by(TokenRow.made, TokenRow.id)
    if analyst is not None:
        query = query.where(TokenRow.analyst == analyst)
    return db.scalars(query).all()


def revoke_token(db: Transaction, token_id: str) -> None:
    """Revoke a token, and end the sessions that it opened; it stays in the list as revoked."""
    works = update(TokenRow).where(TokenRow.id == token_id, TokenRow.revoked.is_(None))
    if db.execute(works.values(revoked=now()).returning(TokenRow.id)).first() is None:
        raise ReleaseNotFound("there is no such token, or it was revoked before")
    db.execute(delete(Session).where(Session.token == token_id))


def analyst_names(db: Transaction) -> set[str]:
    """Return the names in the ledger of all analysts who have a token, a share or an account."""
    names = {*db.scalars(select(TokenRow.analyst).distinct())}
    names |= {*db.scalars(select(Account.analyst).where(Account.role == ANALYST))}
    return names | {*db.scalars(select(analysts.c.name).distinct())}
