"""Security headers of every response."""

from __future__ import annotations

import re
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Plotly makes empty style elements and fills them rule by rule, which scripts of ours may do; only
# an empty one has this digest. Its marks on the page are styled by attributes.
EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
# No script or style of another origin, no script in the page itself, and no frame around it.
# Plotly puts images of figures together as data and blobs.
POLICY = (
    "default-src 'self'; script-src 'self';"
    f" style-src 'self' {EMPTY_STYLE}; style-src-attr 'unsafe-inline';"
    " img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; object-src 'none';"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# The script that draws maps works in a worker, which it makes from its own text.
MAP_PAGE = re.compile(r"/curator/datasets/[^/]+/map")
MAP_POLICY = f"{POLICY}; worker-src blob:"
FIXED = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
CACHE_CONTROL = b"cache-control"
HSTS = {"strict-transport-security": "max-age=31536000"}


class SecurityHeaders:
    """ASGI middleware that puts the security headers on every response.

    Parameters
    ----------
    app
        The application behind it.
    https
        Whether browsers reach it over TLS.
    """

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self._app = app
        fixed = {**FIXED, **(HSTS if https else {})}
        self._usual = _encoded(fixed)
        self._of_maps = _encoded({**fixed, "content-security-policy": MAP_POLICY})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the headers to the response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = self._of_maps if MAP_PAGE.fullmatch(scope["path"]) else self._usual
                message["headers"] = _merged(message["headers"], ours)
            await send(message)

        await self._app(scope, receive, sending)


def _encoded(headers: dict[str, str]) -> dict[bytes, bytes]:
    return {name.encode(): value.encode() for name, value in headers.items()}


def _merged(
    given: Iterable[tuple[bytes, bytes]], ours: dict[bytes, bytes]
) -> list[tuple[bytes, bytes]]:
    """Return an answer's headers with ours, which go before its own."""
    kept = [pair for pair in given if pair[0] not in ours]
    # what was answered is for the one who asked, unless the answer says otherwise
    if not any(name == CACHE_CONTROL for name, _ in kept):
        kept.append((CACHE_CONTROL, b"no-store"))
    return [*kept, *ours.items()]
