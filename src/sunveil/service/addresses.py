"""Where a request comes from, as far as the configured proxies can be believed."""

from __future__ import annotations

from starlette.requests import Request

from sunveil.service.context import service_of
from sunveil.service.security.networks import client_of, is_within, limit_key, parse_address

FORWARDED = "x-forwarded-for"
# Headers by which a request shows that it came through a proxy, trusted or not.
PROXY_SIGNS = (FORWARDED, "forwarded", "via", "x-real-ip")


def client_address(request: Request) -> str:
    """Return the network address that a request comes from; see :func:`client_of`."""
    peer = request.client.host if request.client else ""
    forwarded = request.headers.getlist(FORWARDED)
    return client_of(peer, forwarded, service_of(request).settings.trusted_proxies)


def limited_as(request: Request) -> str:
    """Return what limits count a request as: its address, or a household's IPv6 network."""
    return limit_key(client_address(request))


def came_directly(request: Request) -> bool:
    """Return whether a request came through no proxy but trusted ones."""
    peer = parse_address(request.client.host) if request.client else None
    if peer is not None and is_within(peer, service_of(request).settings.trusted_proxies):
        return True
    return not any(name in request.headers for name in PROXY_SIGNS)
