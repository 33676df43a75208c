"""What those who run the service ask: whether it lives, whether it is ready, and its metrics."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import SunveilError
from sunveil.ledger.schema import entries
from sunveil.service.addresses import came_directly, client_address
from sunveil.service.context import Service, service_of
from sunveil.service.jobs.jobs import BackgroundJobs
from sunveil.service.problems import Problem
from sunveil.service.routing import probe_router, public_router
from sunveil.service.security.networks import is_within, parse_address
from sunveil.service.store.sessions import begin_session, end_session

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
    """Say that the process answers; if it does not, it must be started anew."""
    return _said(200, "ok")


@router.get("/readyz")
def ready(request: Request) -> Response:
    """Say whether the service can do its work: write its ledger, and run jobs."""
    return _readiness(request)


@router.get("/healthz")
def health(request: Request) -> Response:
    """Say the same as ``/readyz``, under the name that it had first."""
    return _readiness(request)


@metrics_router.get("/metrics")
def metrics(request: Request) -> Response:
    """Return counts for Prometheus, to the addresses that may have them."""
    service, address = service_of(request), parse_address(client_address(request))
    allowed = address is not None and is_within(address, service.settings.metrics_from)
    if not allowed or not came_directly(request):
        raise Problem(404, "There is nothing here; check the address.")
    text = generate_latest(service.metrics.of_all_workers())
    text += generate_latest(StateCollector(service))
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def _readiness(request: Request) -> Response:
    service = service_of(request)
    found = {"ledger": _writable(request), **{name: it() for name, it in service.checks.items()}}
    words = [f"{name}: {'ok' if holds else 'not ready'}" for name, holds in found.items()]
    return _said(200 if all(found.values()) else 503, "\n".join(words))


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
        with service.store.changing() as connection:
            cookie = begin_session(connection, role="probe", who="", hours=0.0)
            end_session(connection, cookie)
    except SunveilError:
        return False
    return True


class StateCollector(Collector):
    """What is read where all workers find the same: charges, budgets and jobs.

    Parameters
    ----------
    service
        The service.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Yield everything; of budgets, how many datasets are in which band, and not which."""
        with self._service.store.reading() as connection:
            charged = connection.execute(
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
