"""The application, put together and run by uvicorn."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from filelock import FileLock, Timeout
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from sunveil import __version__
from sunveil.errors import LedgerUnavailable, SunveilError, log_unforeseen
from sunveil.ledger.ledger import Ledger
from sunveil.service import health_and_metrics, page_rendering, sign_in, single_sign_on
from sunveil.service.analyst import api, pages
from sunveil.service.analyst.releases import ReleaseCache
from sunveil.service.answer_padding import hold_draw
from sunveil.service.answer_questions import LedgerBroker
from sunveil.service.context import SHARED_COUNTS, RateLimits, Service, Tokens
from sunveil.service.curator import (
    accounts_and_analysts,
    datasets,
    estimates,
    new_readings,
    promises,
)
from sunveil.service.curator.inference import update_states
from sunveil.service.demo_data import check_demo_folder, make_demo, refuse_demo
from sunveil.service.guarded_routes import add_routers
from sunveil.service.health_and_metrics import Observed, set_up_logs
from sunveil.service.page_rendering import problem_response
from sunveil.service.passwords_and_tokens import SecurityHeaders, random_secret
from sunveil.service.settings import ServiceSettings, mapped
from sunveil.service.single_sign_on import OidcProvider
from sunveil.service.store.accounts import has_curator, new_setup_secret
from sunveil.service.store.database import Store
from sunveil.service.uploads import remove_abandoned

# [s] Pauses between looks at jobs and at charges without an answer.
JOBS_PAUSE, RECOVERY_PAUSE = 1.0, 5.0
log = logging.getLogger("sunveil.service")


def watch_jobs(service: Service) -> Callable[[], None]:
    """Watch jobs and charges, also of an earlier run; return the function that stops it."""
    # The jobs' work itself is done by processes of their own, which neither begin nor end with the
    # service.
    ending, folder = threading.Event(), service.settings.data

    def look_at_jobs(first: bool) -> None:
        if first:
            remove_abandoned(service.settings.datasets)
        update_states(service)

    def look_at_charges(first: bool) -> None:
        if first:  # also what is answered in the ledger, and not kept where it is served from
            service.broker.recover(after=0.0)
        elif service.broker.unanswered():
            service.broker.recover()

    threads = [
        threading.Thread(target=_watch, args=(folder / name, look, pause, ending), daemon=True)
        for name, look, pause in (
            ("jobs.lock", look_at_jobs, JOBS_PAUSE),
            ("recovery.lock", look_at_charges, RECOVERY_PAUSE),
        )
    ]
    for thread in threads:
        thread.start()
    service.checks["job runner"] = threads[0].is_alive

    def end() -> None:
        """End the watch; the jobs' own processes go on."""
        ending.set()
        for thread in threads:
            thread.join()

    return end


def _watch(path: Path, look: Callable[[bool], None], pause: float, ending: threading.Event) -> None:
    """Call `look` periodically while the lock is held, with whether it is the first time."""
    lock = FileLock(path, mode=0o600, timeout=0)
    while not ending.is_set():
        first = not lock.is_locked
        try:
            if first:
                lock.acquire()
            look(first)
        except Timeout:
            pass  # another worker watches
        except Exception as error:
            lock.release()
            log_unforeseen(log, "the watch over jobs and charges", error)
        ending.wait(pause)
    lock.release()


def open_service(settings: ServiceSettings) -> Service:
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
        tokens=Tokens(store),
        limits=RateLimits.of(settings, store),
        ask_slots=asyncio.Semaphore(settings.asks_at_once),
    )


def create_app(settings: ServiceSettings) -> FastAPI:
    service = open_service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # in the background: the code that draws takes seconds to load, and reading does not need it
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
        # first, since addresses are matched in turn and these are asked for most
        api.description_router,
        api.router,
        pages.router,
        health_and_metrics.router,
        health_and_metrics.metrics_router,
        page_rendering.router,
        sign_in.router,
        single_sign_on.router,
        sign_in.analyst_side,
        sign_in.console_side,
        datasets.router,
        new_readings.router,
        new_readings.upload_router,
        estimates.router,
        promises.router,
        promises.ledgers_router,
        accounts_and_analysts.router,
    )
    # no page is made for a name that is not ours, which links in it could follow
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=settings.host_names, www_redirect=False)
    app.add_middleware(SecurityHeaders, https=settings.https)
    app.add_middleware(Observed)
    return app


Say = Callable[[str], None]

# [s] How long a drawing thread may delay a sending one.
THREAD_SWITCH_SECONDS = 0.0005

# [s] A worker that does not answer for this long is replaced; a draw may block it for a while.
HUNG_SECONDS = 60

# [s] How long a starting worker waits for its database.
DATABASE_SECONDS = 30
KEEP_ALIVE_SECONDS, SHUTDOWN_SECONDS = 30, 10

# Connections that may wait to be accepted.
BACKLOG = 1024

# Holds the settings for workers; they do not hand it on to what they start.
SETTINGS = "SUNVEIL_WORKER_SETTINGS"


def run_service(settings: ServiceSettings, *, say: Say) -> None:
    with bind(settings) as bound:
        service = open_service(settings)
        try:
            refuse_demo(service)
            print_addresses(service, base_url(bound, settings), say=say)
        finally:
            service.close()  # no connection is shared with workers
        if not settings.trusted_proxies:
            say("Only this machine can reach it: no proxy is named by --trusted-proxy.")
        if settings.workers > 1:
            run_workers(settings, bound)
        else:
            serve_on(create_app(settings), bound)


def run_workers(settings: ServiceSettings, bound: socket.socket) -> None:
    with TemporaryDirectory(prefix="sunveil-") as counts:
        os.environ[SHARED_COUNTS] = counts
        os.environ[SETTINGS] = pickle.dumps(settings, protocol=0).decode("ascii")
        set_up_logs(settings.log_format, access=settings.access_log)
        uvicorn.run(
            f"{__name__}:worker_app",
            factory=True,
            fd=bound.fileno(),
            workers=settings.workers,
            timeout_worker_healthcheck=HUNG_SECONDS,
            **uvicorn_options(settings),
        )


def worker_app() -> FastAPI:
    """Return the application of one of several workers, which ends with their parent."""
    given = os.environ.pop(SETTINGS).encode("ascii")
    settings: ServiceSettings = pickle.loads(given)  # noqa: S301, written by the parent
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for _ in range(DATABASE_SECONDS):
        try:
            return _with_logs(create_app(settings))
        except LedgerUnavailable as error:
            log.warning("a worker waits for its database: %s", error)
            time.sleep(1.0)
    sys.exit(1)  # another one is started


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def bind(settings: ServiceSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # small answers are sent at once, for connections inherit it: they would wait 40 ms otherwise
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        bound.bind((settings.host, settings.port))
        # who follows a link as soon as it is printed waits until the service answers
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise SunveilError(
            f"the service cannot listen on {settings.host}:{settings.port}:"
            f" {(error.strerror or 'refused').lower()}; take another --host or --port"
        ) from None
    return bound


def run_demo(
    settings: ServiceSettings, *, bound: socket.socket, say: Say, ready: Callable[[str], object]
) -> None:
    """Make a demo, or go on with one, then serve it until interrupted."""
    check_demo_folder(settings)
    app = create_app(settings)
    try:
        made = make_demo(app.state.service, say=say)
    except BaseException:
        app.state.service.close()  # a server that runs closes it by itself
        raise
    base = base_url(bound, settings)
    say(f"Curator: {base}/curator/login  name {made.curator}  password {made.password}")
    say(f"Analyst: {base}/analyst/login  token {made.token}")
    ready(base)
    serve_on(app, bound)


def serve_on(app: FastAPI, bound: socket.socket) -> None:
    server_of(_with_logs(app)).run(sockets=[bound])


def _with_logs(app: FastAPI) -> FastAPI:
    service: Service = app.state.service
    set_up_logs(
        service.settings.log_format,
        access=service.settings.access_log,
        left_out=service.metrics.left_out,
    )
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    return app


def server_of(app: FastAPI) -> uvicorn.Server:
    """Return the server of one process; limits and caches are in its memory."""
    return uvicorn.Server(uvicorn.Config(app, **uvicorn_options(app.state.service.settings)))


def uvicorn_options(settings: ServiceSettings) -> dict[str, Any]:
    """Return how uvicorn serves; slow clients are the proxy's, see deploy/nginx.conf."""
    return {
        "http": "h11",
        "ws": "none",
        "lifespan": "on",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": bool(settings.trusted_proxies),
        "forwarded_allow_ips": [
            str(each) for proxy in settings.trusted_proxies for each in (proxy, mapped(proxy))
        ],
        "backlog": BACKLOG,
        "limit_concurrency": settings.connections,
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": SHUTDOWN_SECONDS,
    }


def base_url(bound: socket.socket, settings: ServiceSettings) -> str:
    if settings.address:
        return settings.address
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{bound.getsockname()[1]}"


def print_addresses(service: Service, base: str, *, say: Say) -> None:
    """Print where the service is; the first time, also the link that sets it up."""
    oidc = service.settings.oidc
    with service.store.changing() as db:
        # who has no local accounts signs in through the provider
        known = has_curator(db) or (oidc is not None and not oidc.local)
        if not known:
            secret = random_secret()
            new_setup_secret(db, secret)
    if not known:
        say(f"There is no curator yet. This link, good for once, makes one: {base}/setup/{secret}")
    say(f"Curators: {base}/curator")
    say(f"Analysts: {base}/analyst")
