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
from sunveil.service import assets, logins
from sunveil.service.analyst import api, description, pages
from sunveil.service.analyst.access import ReleaseCache
from sunveil.service.answering.broker import LedgerBroker
from sunveil.service.context import RateLimits, Service, TokenCache
from sunveil.service.curator.routers import ROUTERS
from sunveil.service.jobs.watch import watch_jobs
from sunveil.service.pages import problem_response
from sunveil.service.routing import add_routers
from sunveil.service.security.headers import SecurityHeaders
from sunveil.service.security.padding import hold_draw
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.base import Store


def open_service(settings: ServiceSettings) -> Service:
    """Open the database, making its tables if need be, and what stands on it."""
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings.datasets.mkdir(exist_ok=True, mode=0o700)
    ledger = Ledger(settings.where, create=True, after_draw=hold_draw)
    try:
        store = Store(settings.where)
    except BaseException:
        ledger.close()
        raise
    return Service(
        settings=settings,
        ledger=ledger,
        store=store,
        broker=LedgerBroker(settings, ledger=ledger, store=store),
        tokens=TokenCache(store),
        limits=RateLimits.of(settings),
        ask_slots=asyncio.Semaphore(settings.asks_at_once),
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
    add_routers(
        app,
        assets.router,
        logins.router,
        logins.analyst_logout_router,
        logins.curator_logout_router,
        description.router,
        api.router,
        pages.router,
        *ROUTERS,
    )
    app.add_middleware(SecurityHeaders, https=settings.https)
    return app
