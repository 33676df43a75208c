"""Running the service: its socket, the addresses it prints, and its server."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from sunveil.errors import Interface, speak
from sunveil.service.app import create_app, open_service
from sunveil.service.context import Service
from sunveil.service.demo import check_demo_folder, make_demo, refuse_demo
from sunveil.service.network.logs import set_up_logs
from sunveil.service.network.server import make_server
from sunveil.service.security.tokens import random_secret
from sunveil.service.settings import ServiceSettings
from sunveil.service.sockets import bind, bind_each
from sunveil.service.store.accounts import has_curator, new_setup_secret
from sunveil.service.workers import Workers

Say = Callable[[str], None]
# How long a thread that draws may keep the one that sends waiting. [s]
THREAD_SWITCH_SECONDS = 0.0005


def run_service(settings: ServiceSettings, *, say: Say) -> None:
    """Serve until interrupted.

    Parameters
    ----------
    settings
        Where its data are, where it listens, and its limits.
    say
        Prints a line.
    """
    speak(Interface.SERVICE)
    if settings.workers > 1:
        run_workers(settings, say=say)
        return
    with bind(settings) as bound:
        app = create_app(settings)
        with closed_on_error(app.state.service):
            _greet(app.state.service, bound, say=say)
        serve_on(app, bound)


def run_workers(settings: ServiceSettings, *, say: Say) -> None:
    """Serve by several processes until interrupted.

    Parameters
    ----------
    settings
        Where its data are, where it listens, and how many processes serve.
    say
        Prints a line.
    """
    sockets = bind_each(settings)
    try:
        service = open_service(settings)
        try:
            _greet(service, sockets[0], say=say)
        finally:
            service.close()  # no connection is shared with the workers
        set_up_logs(settings.log_format, access=settings.access_log)
        Workers(sockets, lambda bound: serve_on(create_app(settings), bound)).run()
    finally:
        for each in sockets:
            each.close()


@contextmanager
def closed_on_error(service: Service) -> Iterator[None]:
    """Close the databases where the block fails; a server that runs closes them itself."""
    try:
        yield
    except BaseException:
        service.close()
        raise


def _greet(service: Service, bound: socket.socket, *, say: Say) -> None:
    """Say where the service is, unless it is a demo."""
    refuse_demo(service)
    print_addresses(service, base_url(bound, service.settings), say=say)
    warn_of_listeners(service.settings, say=say)


def run_demo(
    settings: ServiceSettings, *, bound: socket.socket, say: Say, ready: Callable[[str], object]
) -> None:
    """Make a demo, or go on with one, then serve it until interrupted.

    Parameters
    ----------
    settings
        Where its data are, and its limits.
    bound
        The socket that it listens on.
    say
        Prints a line.
    ready
        Called with the address of the demo, once it is made.
    """
    speak(Interface.SERVICE)
    check_demo_folder(settings)
    app = create_app(settings)
    with closed_on_error(app.state.service):
        made = make_demo(app.state.service, say=say)
    base = base_url(bound, settings)
    say(f"Curator: {base}/curator/login  name {made.curator}  password {made.password}")
    say(f"Analyst: {base}/analyst/login  token {made.token}")
    warn_of_listeners(settings, say=say)
    ready(base)
    serve_on(app, bound)


def serve_on(app: FastAPI, bound: socket.socket) -> None:
    """Serve on a socket until this process is told to end."""
    settings = app.state.service.settings
    app.state.log_measure = set_up_logs(settings.log_format, access=settings.access_log)
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    server_of(app).run(sockets=[bound])


def warn_of_listeners(settings: ServiceSettings, *, say: Say) -> None:
    """Say so where others can listen to what is sent."""
    if not settings.https and not is_local(settings.host):
        say(
            "Whoever is on this network can listen: put a proxy that speaks TLS in front, and"
            " add --https."
        )
    if settings.https and not settings.trusted_proxies:
        say(
            "All who come through a proxy share one limit of sign-ins: name the proxy's address by"
            " --trusted-proxy."
        )


def is_local(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    return host in ("localhost", "::1") or host.startswith("127.")


def base_url(bound: socket.socket, settings: ServiceSettings) -> str:
    """Return the address that links begin with."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{bound.getsockname()[1]}"


def print_addresses(service: Service, base: str, *, say: Say) -> None:
    """Print where the service is; the first time, also the link that sets it up.

    Parameters
    ----------
    service
        The service.
    base
        What links begin with.
    say
        Prints a line.
    """
    oidc = service.settings.oidc
    with service.store.changing() as connection:
        # who has no local accounts signs in through the provider
        known = has_curator(connection) or (oidc is not None and not oidc.local)
        if not known:
            secret = random_secret()
            new_setup_secret(connection, secret)
    if not known:
        say(f"There is no curator yet. This link, good for once, makes one: {base}/setup/{secret}")
    say(f"Curators: {base}/curator")
    say(f"Analysts: {base}/analyst")


def server_of(app: FastAPI) -> uvicorn.Server:
    """Return the server of one process; limits and caches are in its memory."""
    return make_server(app, app.state.service.settings)
