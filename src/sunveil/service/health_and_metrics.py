"""Probes, metrics and logs."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import prometheus_client
from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sunveil.errors import SunveilError, debugging
from sunveil.ledger.ledger_database import entries
from sunveil.service.authentication import PROXY_SIGNS, client_address
from sunveil.service.background_jobs import BackgroundJobs
from sunveil.service.context import Problem, Service, service_of
from sunveil.service.guarded_routes import probe_router, public_router
from sunveil.service.passwords_and_tokens import RateLimit
from sunveil.service.settings import is_within, parse_address
from sunveil.service.store.accounts import begin_session, end_session

ACCESS, AUDIT = "sunveil.access", "sunveil.audit"
LONGEST_LINE = 2000
log = logging.getLogger("sunveil.service")

# Lines per second and at once: of requests and events, and of all else, by kind and together.
MEASURES = {ACCESS: (100.0, 2000.0), AUDIT: (20.0, 2000.0)}
MEASURE_OF_A_KIND, MEASURE_OF_ALL = (0.1, 20.0), (2.0, 200.0)


class WithoutTraceback(logging.Filter):
    """Keep out of the log what an exception says, unless SUNVEIL_DEBUG=1: it may hold anything."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if record.name == "asyncio":
            # its further lines show objects, and what they hold
            said = said.partition("\n")[0]
        if record.exc_info and record.exc_info[0] is not None and not debugging():
            said = f"{said}: {record.exc_info[0].__name__}"
            record.exc_info = record.exc_text = None
        record.msg, record.args = "%s", (said,)
        return True


class Measured(logging.Filter):
    """Let lines pass in measure, and have the next one tell how many did not."""

    def __init__(
        self,
        left_out: prometheus_client.Counter | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._left_out = left_out
        self._pending: Counter[str] = Counter()
        self._kinds = {name: RateLimit(*measure, clock=clock) for name, measure in MEASURES.items()}
        self._other = RateLimit(*MEASURE_OF_A_KIND, clock=clock)
        self._all = RateLimit(*MEASURE_OF_ALL, clock=clock)

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line passes; one that does tells of those before it that did not."""
        kind = self._kind(record)
        if not self._passes(record.name, kind):
            if self._left_out is not None:
                self._left_out.labels(record.name).inc()
            if len(self._pending) < 1000 or kind in self._pending:
                self._pending[kind] += 1
            return False
        record.left_out = self._pending.pop(kind, 0)
        return True

    def _kind(self, record: logging.LogRecord) -> str:
        if record.name in self._kinds:
            return record.name
        # as it was written in the code, where what it is about has not been put in yet
        return f"{record.name} {record.levelno} {str(record.msg)[:80]}"

    def _passes(self, name: str, kind: str) -> bool:
        if name in self._kinds:
            return not self._kinds[name].take(name)
        return not self._other.take(kind) and not self._all.take("all")


class TextLines(logging.Formatter):
    """Lines that people read: time, level, logger, message, and facts as ``name="value"``."""

    def format(self, record: logging.LogRecord) -> str:
        facts = getattr(record, "facts", {})
        fields = "".join(f" {name}={json.dumps(value)}" for name, value in facts.items())
        message = " ".join(record.getMessage().splitlines())
        line = f"{_time(record)} {record.levelname} {record.name} {message}{fields}"[:LONGEST_LINE]
        left_out = getattr(record, "left_out", 0)
        line = f"{line} (… {left_out:,} more like this)" if left_out else line
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """Lines that programs read: one JSON object each."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:LONGEST_LINE],
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        left_out = getattr(record, "left_out", 0)
        return json.dumps({**line, "more_like_this": left_out} if left_out else line)


def set_up_logs(
    log_format: str = "text",
    *,
    access: bool = False,
    left_out: prometheus_client.Counter | None = None,
) -> None:
    """Send warnings, events and, if asked for, requests to stderr, in measure."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    # measured first: omitted lines need no formatting
    handler.addFilter(Measured(left_out))
    handler.addFilter(WithoutTraceback())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger(AUDIT).setLevel(logging.INFO)
    logging.getLogger(ACCESS).setLevel(logging.INFO if access else logging.CRITICAL)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


UNMATCHED = "unmatched"

# Asked every few seconds by those who watch over the service.
PROBES = ("/livez", "/readyz", "/healthz", "/metrics")
access_log = logging.getLogger(ACCESS)


class Observed:
    """ASGI middleware that counts requests and writes the access log."""

    # A line has the pattern of an address and not the address itself, which may hold a link's
    # secret or the id of a system, and nothing of the query, the cookies or the body.

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, size = time.perf_counter(), 500, 0
        bodiless = scope["method"] == "HEAD"
        # routing writes the route that it found into the scope
        inner = {**scope, "method": "GET"} if bodiless else dict(scope)

        async def sending(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            elif bodiless:
                message = {**message, "body": b""}
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(inner, receive, sending)
        finally:
            seconds = time.perf_counter() - started
            _count(inner, method=scope["method"], status=status, size=size, seconds=seconds)


def _count(scope: Scope, *, method: str, status: int, size: int, seconds: float) -> None:
    request = Request(scope)
    route = getattr(scope.get("route"), "path", UNMATCHED)
    service_of(request).metrics.count_request(
        route=route, method=method, status=status, seconds=seconds
    )
    if access_log.isEnabledFor(logging.INFO) and route not in PROBES:
        identity = getattr(request.state, "identity", None)
        facts = {
            "address": client_address(request),
            "who": getattr(identity, "who", ""),
            "method": method,
            "route": route,
            "status": status,
            "bytes": size,
            "seconds": round(seconds, 4),
        }
        access_log.info("request", extra={"facts": facts})


# How long it is believed that the ledger can be written, and how long counts of it are kept. [s]
BELIEVED_SECONDS = 5.0

# Shares of a promise that are left, by their least, largest first.
BANDS = ((0.5, "half or more"), (0.1, "a tenth to a half"), (0.0, "less than a tenth"))
USED_UP = "none"
router = probe_router()
metrics_router = public_router()
_trying = threading.Lock()


@router.get("/livez")
async def live(request: Request) -> Response:
    return _said(200, "ok")


@router.get("/readyz")
@router.get("/healthz")  # the name that it had first
def ready(request: Request) -> Response:
    """Say whether the service can do its work: write its ledger, and run jobs."""
    service = service_of(request)
    found = {"ledger": _writable(request), **{name: it() for name, it in service.checks.items()}}
    words = [f"{name}: {'ok' if holds else 'not ready'}" for name, holds in found.items()]
    return _said(200 if all(found.values()) else 503, "\n".join(words))


@metrics_router.get("/metrics")
def metrics(request: Request) -> Response:
    service, address = service_of(request), parse_address(client_address(request))
    allowed = address is not None and is_within(address, service.settings.metrics_from)
    if not allowed or any(name in request.headers for name in PROXY_SIGNS):
        raise Problem(404, "There is nothing here; check the address.")
    text = generate_latest(service.metrics.of_all_workers())
    text += generate_latest(StateCollector(service))
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def _said(status: int, words: str) -> Response:
    return Response(f"{words}\n", status_code=status, media_type="text/plain")


def _writable(request: Request) -> bool:
    """Return whether the ledger's database can be written; it is tried every few seconds."""
    state = request.app.state
    with _trying:
        found, until = getattr(state, "writable", (False, 0.0))
        if until < time.monotonic():
            found = try_to_write(service_of(request))
            state.writable = (found, time.monotonic() + BELIEVED_SECONDS)
    return bool(found)


def try_to_write(service: Service) -> bool:
    """Write to the database, durably, what is taken back in the same step."""
    try:
        with service.store.changing() as db:
            cookie = begin_session(db, role="probe", who="", hours=0.0)
            end_session(db, cookie)
    except SunveilError:
        return False
    return True


class StateCollector(Collector):
    """What is read where all workers find the same: charges, budgets and jobs."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Yield everything; of budgets, how many datasets are in which band, and not which."""
        with self._service.store.reading() as db:
            charged = db.execute(
                select(func.count()).select_from(entries).where(entries.c.kind == "charge")
            ).scalar_one()
        yield CounterMetricFamily("sunveil_charges", "Charges in the ledger.", value=charged)
        yield self._budgets()
        jobs = GaugeMetricFamily("sunveil_jobs", "Background jobs.", labels=["state"])
        folder = self._service.settings.data / "jobs"
        for state, count in Counter(
            job.state.value for job in BackgroundJobs(folder).all()
        ).items():
            jobs.add_metric([state], count)
        yield jobs

    def _budgets(self) -> Metric:
        made = GaugeMetricFamily(
            "sunveil_datasets", "Datasets, by the share of the promise left.", labels=["left"]
        )
        counts = Counter(
            _band(each.remaining, each.total) for each in self._service.ledger.datasets()
        )
        for band in (*(name for _, name in BANDS), USED_UP):
            made.add_metric([band], counts[band])
        return made


def _band(left: float, total: float) -> str:
    if left <= 0.0:
        return USED_UP
    return next(name for least, name in BANDS if left >= least * total)
