"""Sign-ins: known by the digest of a random cookie, ended by time, by rest or by hand."""

from __future__ import annotations

import json
import secrets as random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, or_, select, update

from sunveil.service.roles import ANALYST, ASK, narrower
from sunveil.service.security.tokens import digest_of, random_secret
from sunveil.service.store.schema import accounts, sessions

# A session's last use is written down when it is this old. [s]
TOUCH_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Session:
    """A sign-in of an account, or with a token.

    Parameters
    ----------
    role
        ``curator``, ``auditor`` or ``analyst``.
    who
        The account's name; of an analyst, the name in the ledger.
    id
        What it is known by in lists.
    account, account_id
        Name and id of its account; empty for a sign-in with a token that a curator made.
    token
        Public half of the token it was opened with; empty for a sign-in to an account.
    scope
        What it may do at most: ``read`` or ``ask``.
    flash
        Messages for the next page, each as kind and text.
    made, seen, expires
        When it began, was last used, and ends at the latest. [s since 1970]
    browser
        What the browser said that it is.
    """

    role: str
    who: str
    id: str = ""
    account: str = ""
    account_id: str = ""
    token: str = ""
    scope: str = ASK
    flash: tuple[tuple[str, str], ...] = ()
    made: int = 0
    seen: int = 0
    expires: int = 0
    browser: str = ""

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
    """Keep a new session, and return the cookie that it is known by.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    role, who
        As for :class:`Session`.
    hours
        How long it lasts at most. [h]
    account_id, token
        What it was opened with: an account, or the public half of a token.
    scope
        What it may do at most.
    until
        When it ends at the latest, such as with its token. [s since 1970]
    browser
        What the browser says that it is.
    """
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
    """Return the session of a cookie, unless it has ended, or its account may not have it.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    secret
        The cookie.
    idle_minutes
        How long it lasts without being used. [min]
    """
    here = sessions.c.digest == digest_of(secret)
    row = connection.execute(_query(idle_minutes).where(here)).one_or_none()
    return None if row is None else _session(row)


def sessions_of(connection: Connection, mine: Session, *, idle_minutes: float) -> list[Session]:
    """Return all sessions of whoever has this one: of its account, or of its token.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    mine
        A session of theirs.
    idle_minutes
        How long a session lasts without being used. [min]
    """
    query = _query(idle_minutes).where(_same_holder(mine)).order_by(sessions.c.seen.desc())
    return [_session(row) for row in connection.execute(query)]


def touch_session(connection: Connection, secret: str) -> None:
    """Write down that a session is in use."""
    connection.execute(
        update(sessions).where(sessions.c.digest == digest_of(secret)).values(seen=int(time.time()))
    )


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
    """Sign a browser out: delete the session of its cookie."""
    connection.execute(delete(sessions).where(sessions.c.digest == digest_of(secret)))


def end_other_sessions(connection: Connection, mine: Session) -> int:
    """End all sessions of whoever has this one, but this one, and return how many these were."""
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


def _query(idle_minutes: float) -> Any:
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
