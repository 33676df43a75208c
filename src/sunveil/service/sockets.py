"""The sockets that the service listens on: light to import, so that they are there at once."""

from __future__ import annotations

import socket
from dataclasses import replace

from sunveil.errors import SunveilError
from sunveil.service.settings import ServiceSettings

# How many may wait until they are taken up.
BACKLOG = 1024


def bind(settings: ServiceSettings, *, shared: bool = False) -> socket.socket:
    """Return a socket that listens, or raise an error that says why there is none.

    Parameters
    ----------
    settings
        Where it listens.
    shared
        Whether other sockets of this service listen there too, and the kernel deals connections
        out among them.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # named as TCP, so that asyncio sends small answers at once: they would wait 40 ms otherwise
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
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
    bound.set_inheritable(True)
    return bound


def bind_each(settings: ServiceSettings) -> list[socket.socket]:
    """Return a socket for each worker, all at one address.

    Each worker has a queue of its own, of connections that the kernel deals out evenly; of one
    queue for all, whoever wakes first would take every connection that waits.
    """
    # alone first: another service's workers would let these in beside them
    with bind(settings) as alone:
        here = replace(settings, port=alone.getsockname()[1])
    return [bind(here, shared=True) for _ in range(settings.workers)]
