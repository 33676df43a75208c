"""What a running service holds together, and how a request reaches it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.requests import Request

from sunveil.ledger.ledger import Ledger
from sunveil.service.broker import Broker
from sunveil.service.leading import AlwaysLeading
from sunveil.service.network.metrics import Metrics
from sunveil.service.security.rates import RateLimit
from sunveil.service.security.sign_ins import KnownBrowsers, SignInLimits
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.base import Store
from sunveil.service.store.facts import kept_secret
from sunveil.service.token_cache import TokenCache


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
    leadership
        Whether this process is the one that charges, draws and watches over jobs.
    """

    settings: ServiceSettings
    ledger: Ledger
    store: Store
    broker: Broker
    tokens: TokenCache
    limits: RateLimits
    ask_slots: asyncio.Semaphore
    on_close: list[Callable[[], None]] = field(default_factory=list)
    checks: dict[str, Callable[[], bool]] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=Metrics)
    leadership: AlwaysLeading = field(default_factory=AlwaysLeading)

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
