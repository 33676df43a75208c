"""What a running service holds together, and how a request reaches it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.requests import Request

from sunveil.ledger.ledger import Ledger
from sunveil.service.broker import Broker
from sunveil.service.security.rates import RateLimit
from sunveil.service.security.tokens import Token
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.accounts import TokenRow, token_row
from sunveil.service.store.base import Store

# How long a token that was revoked by another process may still open. [s]
TOKEN_MEMORY = 1.0


class TokenCache:
    """Tokens that were looked up a moment ago, so that reading is cheap.

    Parameters
    ----------
    store
        Where they are kept.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[TokenRow, float]] = {}

    def cached(self, token: Token) -> TokenRow | None:
        """Return a token's row if it was looked up a moment ago, and its secret fits."""
        row, until = self._known.get(token.id, (None, 0.0))
        if row is None or until < time.monotonic() or not token.fits(row.digest):
            return None
        return row

    def look_up(self, token: Token) -> TokenRow | None:
        """Return a token's row if it is known, not revoked, and its secret fits."""
        with self._store.reading() as connection:
            row = token_row(connection, token.id)
        if row is None or not token.fits(row.digest) or row.revoked is not None:
            self._known.pop(token.id, None)
            return None
        self._known[token.id] = (row, time.monotonic() + TOKEN_MEMORY)
        return row

    def forget(self, token_id: str) -> None:
        """Forget a token: its next use is looked up."""
        self._known.pop(token_id, None)


@dataclass(frozen=True, slots=True)
class RateLimits:
    """How often one token or one address may ask: a bucket of requests for each kind of request."""

    reads: RateLimit
    asks: RateLimit
    login_attempts: RateLimit

    @classmethod
    def of(cls, settings: ServiceSettings) -> RateLimits:
        """Return full buckets of the sizes that the settings give."""
        rates = settings.rates
        return cls(
            RateLimit(rates.reads, rates.reads_burst),
            RateLimit(rates.asks, rates.asks_burst),
            RateLimit(rates.login_attempts, rates.login_attempts_burst),
        )


@dataclass(frozen=True, slots=True)
class Service:
    """A running service.

    Parameters
    ----------
    settings
        Where its data are, and its limits.
    ledger
        Promises, and what has been spent against them.
    store
        The service's own tables.
    broker
        What answers questions.
    tokens, limits
        Tokens that were used a moment ago, and how often each may still ask: in memory only.
    ask_slots
        Holds back questions beyond those that are answered at the same time.
    on_close
        Called when the service ends, last one first.
    """

    settings: ServiceSettings
    ledger: Ledger
    store: Store
    broker: Broker
    tokens: TokenCache
    limits: RateLimits
    ask_slots: asyncio.Semaphore
    on_close: list[Callable[[], None]] = field(default_factory=list)

    def close(self) -> None:
        """Call what waits for the end, then close the databases."""
        for each in reversed(self.on_close):
            each()
        self.store.close()
        self.ledger.close()


def service_of(request: Request) -> Service:
    """Return the service that a request came to."""
    found = request.app.state.service
    assert isinstance(found, Service)
    return found
