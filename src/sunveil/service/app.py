"""The service, put together: the only place where the analyst's and the curator's side meet."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from sunveil import __version__
from sunveil.ledger.ledger import Ledger
from sunveil.service import assets, logins, operations, own_account
from sunveil.service.analyst.access import ReleaseCache
from sunveil.service.analyst.routers import ROUTERS as ANALYST_ROUTERS
from sunveil.service.answering.broker import LedgerBroker
from sunveil.service.context import RateLimits, Service
from sunveil.service.curator.routers import ROUTERS
from sunveil.service.jobs.watch import watch_jobs
from sunveil.service.leading import AlwaysLeading, Leadership
from sunveil.service.network.connections import RequestPhases
from sunveil.service.network.observing import Observed
from sunveil.service.oidc import pages as oidc_pages
from sunveil.service.oidc.provider import OidcProvider
from sunveil.service.pages import problem_response
from sunveil.service.routing import add_routers
from sunveil.service.security.headers import SecurityHeaders
from sunveil.service.security.padding import hold_draw
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.base import Store
from sunveil.service.token_cache import TokenCache


def open_service(settings: ServiceSettings) -> Service:
    """Open the database, making its tables if need be, and what stands on it."""
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings.datasets.mkdir(exist_ok=True, mode=0o700)
    leadership = Leadership(settings.where) if settings.workers > 1 else AlwaysLeading()
    ledger = Ledger(settings.where, create=True, after_draw=hold_draw, guard=leadership.confirm)
    try:
        store = Store(settings.where)
    except BaseException:
        ledger.close()
        raise
    broker = LedgerBroker(settings, ledger=ledger, store=store, leadership=leadership)
    return Service(
        settings=settings,
        ledger=ledger,
        store=store,
        broker=broker,
        tokens=TokenCache(store),
        limits=RateLimits.of(settings, store),
        ask_slots=asyncio.Semaphore(settings.asks_at_once),
        on_close=[leadership.close, broker.passed.close],
        leadership=leadership,
    )


def create_app(settings: ServiceSettings) -> FastAPI:
    """Return the service as an ASGI application."""
    service = open_service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # in the background: what draws takes seconds to load, and reading needs none of it
        threading.Thread(target=service.broker.warm, daemon=True).start()
        service.on_close.append(watch_jobs(service))
        yield
        service.close()

    app = FastAPI(
        title="Sunveil",
        version=__version__,
        summary="Questions to a fleet of solar PV systems, answered under differential privacy.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        exception_handlers={
            HTTPException: problem_response,
            RequestValidationError: problem_response,
        },
    )
    app.state.service = service
    app.state.release_cache = ReleaseCache()
    app.state.oidc = None if settings.oidc is None else OidcProvider(settings.oidc)
    add_routers(
        app,
        *ANALYST_ROUTERS,  # first, since addresses are matched in turn and these are asked for most
        operations.router,
        operations.metrics_router,
        assets.router,
        logins.router,
        logins.analyst_logout_router,
        logins.console_logout_router,
        oidc_pages.router,
        own_account.analyst_side,
        own_account.console_side,
        *ROUTERS,
    )
    app.add_middleware(SecurityHeaders, https=settings.https)
    app.add_middleware(Observed)
    app.add_middleware(RequestPhases)
    return app
