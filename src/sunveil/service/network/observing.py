"""What every request passes: HEAD is answered as GET without the body, and each is counted."""

from __future__ import annotations

import logging
import time

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sunveil.service.addresses import client_address
from sunveil.service.context import service_of
from sunveil.service.network.logs import ACCESS

UNMATCHED = "unmatched"
# Asked every few seconds by those who watch over the service.
PROBES = ("/livez", "/readyz", "/healthz", "/metrics")
log = logging.getLogger(ACCESS)


class Observed:
    """ASGI middleware that counts requests and writes the access log.

    A line has the pattern of an address and not the address itself, which may hold a link's secret
    or the id of a system, and nothing of the query, the cookies or the body.

    Parameters
    ----------
    app
        The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it when it has been answered."""
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
    if log.isEnabledFor(logging.INFO) and route not in PROBES:
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
        log.info("request", extra={"facts": facts})
