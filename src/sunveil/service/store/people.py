"""The analysts that the service knows: by a token, by a share, or by an account."""

from __future__ import annotations

from sqlalchemy import Connection, select

from sunveil.ledger.schema import analysts
from sunveil.service.roles import ANALYST
from sunveil.service.store.accounts import all_accounts
from sunveil.service.store.tokens import token_rows


def analyst_names(connection: Connection) -> set[str]:
    """Return the names in the ledger of all analysts who have a token, a share or an account."""
    names = {row.analyst for row in token_rows(connection)}
    names |= {each.analyst for each in all_accounts(connection) if each.role == ANALYST}
    return names | set(connection.execute(select(analysts.c.name).distinct()).scalars())
