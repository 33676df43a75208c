"""The running service, and the problems that it answers with."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from cachetools import TTLCache
from fastapi.exceptions import RequestValidationError
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.exceptions import HTTPException
from starlette.requests import Request

from sunveil.errors import LedgerUnavailable, log_unforeseen
from sunveil.ledger.ledger import Ledger
from sunveil.service.passwords_and_tokens import KnownBrowsers, RateLimit, SignInLimits, Token
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.accounts import kept_secret
from sunveil.service.store.database import Store, TokenRow

if TYPE_CHECKING:
    from sunveil.service.answer_questions import LedgerBroker

# Names the folder, before prometheus_client is imported.
SHARED_COUNTS = "PROMETHEUS_MULTIPROC_DIR"

# Questions are padded to whole multiples of half a second up to fifteen. [s]
BUCKETS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Histogram(
            "sunveil_request_seconds",
            "Time that requests took, by the pattern of their address.",
            ("route", "method", "status"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.events = Counter(
            "sunveil_audit_events", "Events of the audit log.", ("event",), registry=self.registry
        )
        self.left_out = Counter(
            "sunveil_log_lines_left_out",
            "Lines beyond their measure.",
            ("logger",),
            registry=self.registry,
        )

    def of_all_workers(self) -> CollectorRegistry:
        if SHARED_COUNTS not in os.environ:
            return self.registry
        found = CollectorRegistry()
        MultiProcessCollector(found)  # type: ignore[no-untyped-call]
        return found

    def count_request(self, *, route: str, method: str, status: int, seconds: float) -> None:
        known = method if method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS") else "other"
        self.requests.labels(route, known, f"{status // 100}xx").observe(seconds)


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
        rates = settings.rates
        failures = RateLimit(rates.login_attempts, rates.login_attempts_burst)
        with store.changing() as db:
            known = KnownBrowsers(kept_secret(db, "key of known browsers"))
        return cls(
            RateLimit(rates.reads, rates.reads_burst),
            RateLimit(rates.asks, rates.asks_burst),
            failures,
            SignInLimits(rates, addresses=failures, known=known),
        )


class Tokens:
    """Tokens, of which those that were looked up a moment ago are in memory."""

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
        with self._store.reading() as db:
            row = db.get(TokenRow, token.id)
        return row if row is not None and token.fits(row.digest) else None

    def forget(self, token_id: str) -> None:
        with self._lock:
            self._known.pop(token_id, None)


@dataclass(frozen=True, slots=True)
class Service:
    settings: ServiceSettings  # where its data are, and its limits
    ledger: Ledger  # promises, and what has been spent against them
    store: Store  # the service's own tables
    broker: LedgerBroker  # what answers questions
    tokens: Tokens
    limits: RateLimits
    ask_slots: asyncio.Semaphore
    on_close: list[Callable[[], None]] = field(default_factory=list)
    checks: dict[str, Callable[[], bool]] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=Metrics)  # counts of requests and events

    def close(self) -> None:
        """Call what waits for the end, then close the databases."""
        for each in reversed(self.on_close):
            each()
        self.store.close()
        self.ledger.close()


def service_of(request: Request) -> Service:
    found = request.app.state.service
    assert isinstance(found, Service)
    return found


log = logging.getLogger("sunveil.service")
TYPE_PREFIX = "urn:sunveil:problem:"
MEDIA_TYPE = "application/problem+json"
API = "/api/"
NOT_WRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)

# By status, where nothing more is known.
SLUGS = {
    400: "bad-request",
    401: "not-logged-in",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    413: "too-large",
    415: "unsupported-media-type",
    422: "invalid",
    429: "too-many-requests",
    503: "not-ready",
}


class Problem(HTTPException):
    def __init__(
        self,
        status: int,
        detail: str,
        *,
        slug: str | None = None,
        title: str | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(status, detail, headers)
        self.slug = slug or SLUGS.get(status, "error")
        self.title = title or HTTPStatus(status).phrase
        self.more = more

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": TYPE_PREFIX + self.slug,
            "title": self.title,
            "status": self.status_code,
            "detail": self.detail,
            **self.more,
        }


def internal_problem(error: Exception) -> Problem:
    """Return the problem that stands for an error inside: an id, and nothing of what it says."""
    # The log has the id, the kind of the error and where it happened. Its message may hold
    # anything, and so is in neither, unless the operator sets SUNVEIL_DEBUG=1 for the
    # log.
    number = secrets.token_hex(6)
    log_unforeseen(log, f"problem {number}", error)
    return Problem(
        500,
        f"Something went wrong inside; tell the curator the number {number}.",
        slug="internal",
        id=number,
    )


def unavailable_problem(error: LedgerUnavailable | OSError) -> Problem:
    """Return the problem of a ledger or a disk that cannot be written; the log has the reason."""
    reason = error.reason if isinstance(error, LedgerUnavailable) else os.strerror(error.errno or 0)
    log.error("the service cannot write: %s", reason)
    return Problem(
        503,
        "The service cannot write what it keeps, so nothing was changed: its disk may be full."
        " Try again later, or tell the operator.",
        slug="not-writable",
        headers={"Retry-After": "60"},
    )


def as_problem(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    if isinstance(error, HTTPException):
        headers = dict(error.headers) if error.headers else None
        said = {
            404: "There is nothing here; check the address.",
            405: "This address cannot be asked in this way.",
            400: "The request cannot be read.",
        }.get(error.status_code, HTTPStatus(error.status_code).phrase + ".")
        return Problem(error.status_code, said, headers=headers)
    return internal_problem(error)


def _invalid(error: RequestValidationError) -> Problem:
    # neither the input nor the message's context, which may hold it: where, and what is wrong
    found = [
        {"where": ".".join(str(part) for part in each["loc"]), "what": str(each["msg"])}
        for each in error.errors()[:20]
    ]
    first = f"{found[0]['where']}: {found[0]['what']}" if found else "it does not fit"
    return Problem(422, f"The request does not fit its description: {first}.", errors=found)
