"""What a running service holds together, and how a request reaches it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from cachetools import TTLCache
from starlette.requests import Request

from sunveil.ledger.ledger import Ledger
from sunveil.service.broker import Broker
from sunveil.service.network.metrics import Metrics
from sunveil.service.security.rates import RateLimit
from sunveil.service.security.sign_ins import KnownBrowsers, SignInLimits
from sunveil.service.security.tokens import Token
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.base import Store
from sunveil.service.store.facts import kept_secret
from sunveil.service.store.tokens import TokenRow, token_row

# How long a token that another worker revoked may still open. [s]
TOKEN_MEMORY = 1.0
MOST_TOKENS = 20_000


@dataclass(frozen=True, slots=True)
class RateLimits:
    """How often one token or one address may ask: a bucket of requests for each kind of request."""

    reads: RateLimit
    asks: RateLimit
    login_attempts: RateLimit
    sign_ins: SignInLimits

    @classmethod
    def of(cls, settings: ServiceSettings, store: Store) -> RateLimits:
        """Return full buckets of the sizes that the settings give."""
        rates = settings.rates
        failures = RateLimit(rates.login_attempts, rates.login_attempts_burst)
        with store.changing() as connection:
            known = KnownBrowsers(kept_secret(connection, "key of known browsers"))
        return cls(
            RateLimit(rates.reads, rates.reads_burst),
            RateLimit(rates.asks, rates.asks_burst),
            failures,
            SignInLimits(rates, addresses=failures, known=known),
        )


class Tokens:
    """Tokens, of which those that were looked up a moment ago are in memory.

    Parameters
    ----------
    store
        Where they are kept.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, threading.Lock()
        self._known: TTLCache[str, TokenRow] = TTLCache(MOST_TOKENS, TOKEN_MEMORY)

    def cached(self, token: Token) -> TokenRow | None:
        """Return a token's row if it was looked up a moment ago, its secret fits and it works."""
        with self._lock:
            row = self._known.get(token.id)
        return row if row is not None and row.works and token.fits(row.digest) else None

    def look_up(self, token: Token) -> TokenRow | None:
        """Return a token's row if it is known, works, and its secret fits."""
        row = self.find(token)
        if row is None or not row.works:
            return None
        with self._lock:
            self._known[token.id] = row
        return row

    def find(self, token: Token) -> TokenRow | None:
        """Return a token's row if its secret fits, also of one that works no more."""
        with self._store.reading() as connection:
            row = token_row(connection, token.id)
        return row if row is not None and token.fits(row.digest) else None

    def forget(self, token_id: str) -> None:
        """Forget a token: its next use is looked up."""
        with self._lock:
            self._known.pop(token_id, None)


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
    checks
        By name, what must hold for the service to be ready.
    metrics
        Counts of requests and events.
    """

    settings: ServiceSettings
    ledger: Ledger
    store: Store
    broker: Broker
    tokens: Tokens
    limits: RateLimits
    ask_slots: asyncio.Semaphore
    on_close: list[Callable[[], None]] = field(default_factory=list)
    checks: dict[str, Callable[[], bool]] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=Metrics)

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
