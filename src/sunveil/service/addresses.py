"""Where a request comes from, as far as the configured proxies can be believed."""

from __future__ import annotations

from starlette.requests import Request

from sunveil.service.context import service_of
from sunveil.service.security.networks import limit_key, parse_address

# Headers by which a request shows that it came through a proxy, trusted or not.
PROXY_SIGNS = ("x-forwarded-for", "forwarded", "via", "x-real-ip")


def own_address(request: Request) -> str:
    """Return what links to this service begin with, wherever a request claims to have come."""
    return service_of(request).settings.address or str(request.base_url).rstrip("/")


def client_address(request: Request) -> str:
    """Return the network address that a request comes from, as uvicorn had it from a proxy.

    An IPv4 address within IPv6 is that IPv4 address.
    """
    found = parse_address(request.client.host) if request.client else None
    return "unknown" if found is None else str(found)


def limited_as(request: Request) -> str:
    """Return what limits count a request as: its address, or a household's IPv6 network."""
    return limit_key(client_address(request))


def came_directly(request: Request) -> bool:
    """Return whether a request came through no proxy."""
    return not any(name in request.headers for name in PROXY_SIGNS)
