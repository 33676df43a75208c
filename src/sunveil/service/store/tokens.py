"""Analysts' tokens: digests only, each with a scope and an instant at which it expires."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from sunveil.errors import ParameterError, ReleaseNotFound
from sunveil.ledger.records import check_name
from sunveil.service.roles import ANALYST, ASK, check_scope, narrower
from sunveil.service.security.tokens import Token, make_token
from sunveil.service.store.base import now
from sunveil.service.store.schema import accounts, tokens
from sunveil.service.store.sessions import end_sessions_of_token

# How long a new token works. [days]
DAYS, MOST_DAYS = 90, 366
DAY_SECONDS = 86_400
# An analyst holds this many that work at most, so that no program fills the table.
MOST_WORKING = 100


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as the database knows it.

    Parameters
    ----------
    id
        Its public half.
    analyst
        Under whose name in the ledger it asks.
    digest
        Of its secret half.
    made, revoked
        When it was made and revoked, in UTC; None while it is not revoked.
    scope
        ``read`` or ``ask``: what it was made for, and what its account still allows.
    expires
        When it expires. [s since 1970]
    account
        Name of the account that issued it for itself; None where a curator did.
    account_id
        Its id.
    label
        What its holder calls it.
    withdrawn
        Whether its account is disabled, or is this analyst's no longer.
    """

    id: str
    analyst: str
    digest: str = field(repr=False)
    made: str
    expires: int
    revoked: str | None = None
    scope: str = ASK
    account: str | None = None
    account_id: str | None = None
    label: str = ""
    withdrawn: bool = False

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
            return "This token was revoked: issue another one, or ask the curator for one."
        if self.expired:
            return (
                f"This token expired on {self.expiry}: issue another one, or ask the curator for"
                " one."
            )
        if self.withdrawn:
            return "The account of this token may not use it any more: ask the curator."
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
    """Make a token for an analyst; its text is shown once, and never kept.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    analyst
        Under whose name in the ledger it asks.
    days
        How long it works. [days]
    scope
        ``read`` or ``ask``.
    account_id
        The account that issues it for itself, and with which it ends; None for a curator's.
    label
        What its holder calls it.
    """
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
    row = connection.execute(_query().where(tokens.c.id == token_id)).one_or_none()
    return None if row is None else _token(row)


def token_rows(connection: Connection, analyst: str | None = None) -> list[TokenRow]:
    """Return all tokens, or those of one analyst, oldest first."""
    query = _query().order_by(tokens.c.made, tokens.c.id)
    if analyst is not None:
        query = query.where(tokens.c.analyst == analyst)
    return [_token(row) for row in connection.execute(query)]


def token_rows_of(connection: Connection, ids: Collection[str]) -> list[TokenRow]:
    """Return the tokens of some public halves, as far as they are known."""
    query = _query().where(tokens.c.id.in_(ids))
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


def _query() -> Any:
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
