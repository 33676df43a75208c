"""Running the service: its socket, the addresses it prints, and logs without private values."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from sunveil.errors import Interface, SunveilError, speak
from sunveil.service.app import create_app
from sunveil.service.context import Service
from sunveil.service.security.tokens import random_secret
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.accounts import has_curator, new_setup_secret

Say = Callable[[str], None]
# How long a thread that draws may keep the one that sends waiting. [s]
THREAD_SWITCH_SECONDS = 0.0005


def run_service(settings: ServiceSettings, *, say: Say, demo: bool = False) -> None:
    """Serve until interrupted.

    Parameters
    ----------
    settings
        Where its data are, where it listens, and its limits.
    say
        Prints a line.
    demo
        Whether a simulated fleet is made first.
    """
    speak(Interface.SERVICE)
    bound = bind(settings)
    try:
        app = create_app(settings)
        base = base_url(bound, settings)
        if demo:
            from sunveil.service.demo import make_demo

            made = make_demo(app.state.service, say=say)
            say(f"Curator: {base}/curator/login  name {made.curator}  password {made.password}")
            say(f"Analyst: {base}/analyst/login  token {made.token}")
        else:
            print_addresses(app.state.service, base, say=say)
        if not settings.https and not is_local(settings.host):
            say(
                "Whoever is on this network can listen: put a proxy that speaks TLS in front, and"
                " add --https."
            )
        quiet_logs()
        sys.setswitchinterval(THREAD_SWITCH_SECONDS)
        server_of(app).run(sockets=[bound])
    finally:
        bound.close()


def bind(settings: ServiceSettings) -> socket.socket:
    """Return a socket that listens, or raise an error that says why there is none."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # named as TCP, so that asyncio sends small answers at once: they would wait 40 ms otherwise
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((settings.host, settings.port))
        # who follows a link as soon as it is printed waits until the service answers
        bound.listen()
    except OSError as error:
        bound.close()
        raise SunveilError(
            f"the service cannot listen on {settings.host}:{settings.port}:"
            f" {(error.strerror or 'refused').lower()}; take another --host or --port"
        ) from None
    bound.set_inheritable(True)
    return bound


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
    with service.store.changing() as connection:
        known = has_curator(connection)
        if not known:
            secret = random_secret()
            new_setup_secret(connection, secret)
    if not known:
        say(f"There is no curator yet. This link, good for once, makes one: {base}/setup/{secret}")
    say(f"Curators: {base}/curator")
    say(f"Analysts: {base}/analyst")


def server_of(app: FastAPI) -> uvicorn.Server:
    """Return the server: one process, since limits and caches are in its memory."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=10,
        )
    )


class WithoutTraceback(logging.Filter):
    """Keep out of the log what an exception says: it may hold anything."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Strip the exception from a record, but for its kind."""
        if record.exc_info and record.exc_info[0] is not None:
            record.msg, record.args = "%s: %s", (record.getMessage(), record.exc_info[0].__name__)
            record.exc_info = record.exc_text = None
        return True


def quiet_logs() -> None:
    """Send warnings to stderr, without tracebacks."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    handler.addFilter(WithoutTraceback())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
