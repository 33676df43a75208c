"""Tokens that were used a moment ago, in memory, so that reading is cheap."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from sunveil.service.security.tokens import Token
from sunveil.service.store.base import Store
from sunveil.service.store.tokens import TokenRow, token_row, token_rows_of

# How long a token that was revoked by another process may still open. [s]
TOKEN_MEMORY = 1.0
# How often the tokens that are in use are looked up again, all by one query. [s]
REFRESH_EVERY = 0.4


@dataclass(slots=True)
class _Known:
    row: TokenRow
    until: float
    used: bool = False


class TokenCache:
    """Tokens that were looked up a moment ago.

    One request in a while looks up all tokens that are in use, before what is known of them is too
    old. The others need not wait, however many tokens there are.

    Parameters
    ----------
    store
        Where they are kept.
    clock
        Returns the present time. [s]
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._known: dict[str, _Known] = {}
        self._refresh_at = 0.0

    def cached(self, token: Token) -> TokenRow | None:
        """Return a token's row if it was looked up a moment ago, its secret fits and it works."""
        known = self._known.get(token.id)
        if known is None or known.until < self._clock():
            return None
        if not token.fits(known.row.digest) or known.row.expired:
            return None
        known.used = True
        return known.row

    def look_up(self, token: Token) -> TokenRow | None:
        """Return a token's row if it is known, works, and its secret fits."""
        until = self._clock() + TOKEN_MEMORY
        row = self.find(token)
        if row is None or not row.works:
            self._known.pop(token.id, None)
            return None
        self._known[token.id] = _Known(row, until, used=True)
        return row

    def find(self, token: Token) -> TokenRow | None:
        """Return a token's row if its secret fits, also of one that works no more."""
        with self._store.reading() as connection:
            row = token_row(connection, token.id)
        return row if row is not None and token.fits(row.digest) else None

    def take_refresh(self) -> bool:
        """Return whether it is time for :meth:`refresh`: for one of those who ask meanwhile."""
        now = self._clock()
        if now < self._refresh_at:
            return False
        self._refresh_at = now + REFRESH_EVERY
        return True

    def refresh(self) -> None:
        """Look up all tokens that were used since the last time; forget those long unused."""
        now = self._clock()
        before = {
            token: known
            for token, known in list(self._known.items())
            if known.used or known.until < now
        }
        used = [token for token, known in before.items() if known.used]
        found: dict[str, TokenRow] = {}
        if used:
            with self._store.reading() as connection:
                found = {row.id: row for row in token_rows_of(connection, used) if row.works}
        for token, known in before.items():
            if self._known.get(token) is not known:
                continue  # it was forgotten or looked up meanwhile
            if token in found:
                self._known[token] = _Known(found[token], now + TOKEN_MEMORY)
            else:
                del self._known[token]

    def forget(self, token_id: str) -> None:
        """Forget a token: its next use is looked up."""
        self._known.pop(token_id, None)
