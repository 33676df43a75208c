"""uvicorn, with connections that cannot keep others out."""

from __future__ import annotations

import asyncio
import resource
import socket
from typing import Any, ClassVar

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from sunveil.service.network.connections import (
    STATE_KEY,
    Connection,
    ConnectionLimits,
    ConnectionRegistry,
)
from sunveil.service.settings import ServiceSettings
from sunveil.service.sockets import BACKLOG

# Descriptors that are left for databases, uploads, releases and background work.
SPARE_FILES = 112
# How many connections are taken off the socket at once: the loop takes as many before any of them
# can be counted, so that up to three times as many may be open beyond the limit for an instant.
ACCEPTED_AT_ONCE = 16
# More files than this are never asked for, and more connections never taken.
MOST_FILES, MOST_CONNECTIONS, FEWEST_CONNECTIONS = 8192, 4000, 16
# How much of an answer the system takes ahead of a client's reading; megabytes otherwise. [bytes]
SENT_AHEAD = 128 * 1024
KEEP_ALIVE_SECONDS, SHUTDOWN_SECONDS = 30, 10


class GuardedProtocol(H11Protocol):
    """uvicorn's own protocol, which tells a registry of its connection."""

    registry: ClassVar[ConnectionRegistry]

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        # requests find what they came by among their state
        self._request_state = dict(app_state)
        self._connection: Connection | None = None
        super().__init__(config, server_state, self._request_state, _loop)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count a connection."""
        super().connection_made(transport)
        self._connection = self.registry.add(transport)
        self._request_state[STATE_KEY] = self._connection

    def data_received(self, data: bytes) -> None:
        """Take bytes off a connection."""
        if self._connection is not None:
            self._connection.data_came()
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        if self._connection is not None:
            self.registry.remove(self._connection)
        super().connection_lost(exc)


class GuardedServer(uvicorn.Server):
    """uvicorn's server, whose socket has room for those who come while others are taken up."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving, then let more wait than are taken up at once."""
        await super().startup(sockets)
        for each in sockets or []:
            each.listen(BACKLOG)
            # what is accepted inherits it
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, SENT_AHEAD)


def make_server(app: FastAPI, settings: ServiceSettings) -> uvicorn.Server:
    """Return the server of a service: one process, with all limits on connections.

    Parameters
    ----------
    app
        The service; its state gets the registry of connections, which metrics tell of.
    settings
        How many connections it may have, if not as many as open files allow.
    """
    most = settings.connections or most_connections(raise_file_limit())
    limits = ConnectionLimits(most, trusted=settings.trusted_proxies)
    app.state.connections = ConnectionRegistry(limits)
    return GuardedServer(
        uvicorn.Config(
            app,
            loop="asyncio",
            http=guarded_protocol(app.state.connections),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            # who called a proxy is told by the proxies that are trusted, and by nobody else
            proxy_headers=False,
            backlog=ACCEPTED_AT_ONCE,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
    )


def guarded_protocol(registry: ConnectionRegistry) -> type[GuardedProtocol]:
    """Return the protocol of the connections of one registry."""
    return type("RegisteredProtocol", (GuardedProtocol,), {"registry": registry})


def raise_file_limit() -> int:
    """Let this process open as many files as it may, within reason, and return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


def most_connections(files: int) -> int:
    """Return how many connections may be open with so many files."""
    left = files - SPARE_FILES - 3 * ACCEPTED_AT_ONCE
    return max(FEWEST_CONNECTIONS, min(MOST_CONNECTIONS, left))
