"""Whose doing an entry is: the account that acts while the ledger is changed.

An entry says it in the optional field ``by`` of its body, which its digest binds like the rest.
Changes outside of any account have none. Answers have none either:
they are drawn for the charge, which names who asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sunveil.errors import ParameterError

# With twice the length of a name, since an account may be named with where it comes from.
LONGEST = 400
FIELD = "by"
_acting: ContextVar[str | None] = ContextVar("acting", default=None)


@contextmanager
def acting_as(account: str | None) -> Iterator[None]:
    """Have entries that are written within the block say which account did it.

    It holds in threads to which the block's context is copied, as ``asyncio.to_thread`` does.

    Parameters
    ----------
    account
        The account's name; None for changes outside of any.
    """
    if account is not None and not (account.isprintable() and 0 < len(account) <= LONGEST):
        raise ParameterError(f"the name of an account is 1 to {LONGEST} printable letters")
    token = _acting.set(account)
    try:
        yield
    finally:
        _acting.reset(token)


def acting_account() -> str | None:
    """Return which account acts now, or None."""
    return _acting.get()


def actor_fields() -> dict[str, str]:
    """Return the field of an entry's body that says who acts: empty where nobody is named."""
    account = acting_account()
    return {} if account is None else {FIELD: account}


def actor_of(facts: dict[str, Any]) -> str | None:
    """Return which account an entry's body says did it, or None."""
    found = facts.get(FIELD)
    return None if found is None else str(found)
