"""Who is asking, from where and how often; the audit log of what they did."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import SunveilError
from sunveil.service.context import Problem, Service, service_of
from sunveil.service.passwords_and_tokens import csrf_of, random_secret, read_token
from sunveil.service.settings import ASK, GUEST, limit_key, parse_address, side_of
from sunveil.service.store.accounts import find_session, touch_session
from sunveil.service.store.database import Session, TokenRow

# Headers by which a request shows that it came through a proxy, trusted or not.
PROXY_SIGNS = ("x-forwarded-for", "forwarded", "via", "x-real-ip")


def own_address(request: Request) -> str:
    return service_of(request).settings.address or str(request.base_url).rstrip("/")


def client_address(request: Request) -> str:
    """Return the network address that a request comes from, as uvicorn had it from a proxy."""
    # An IPv4 address within IPv6 is that IPv4 address.
    found = parse_address(request.client.host) if request.client else None
    return "unknown" if found is None else str(found)


def limited_as(request: Request) -> str:
    return limit_key(client_address(request))


@dataclass(frozen=True, slots=True)
class Identity:
    role: str  # `curator`, `auditor`, `analyst` or `guest`
    who: str = ""  # the account's name; of an analyst, the name in the ledger; empty for a guest
    cookie: str = field(default="", repr=False)
    flash: Sequence[tuple[str, str]] = ()  # what the next page says
    fresh: bool = False  # whether the browser must be given the cookie yet
    scope: str = ASK  # what an analyst may do at most: `read` or `ask`
    account: str = ""
    token: str = ""
    session: Session | None = None  # the session of a browser; None for programs and guests

    @property
    def csrf(self) -> str:
        """The token that a form must carry to come from a page of ours."""
        return csrf_of(self.cookie)

    @property
    def actor(self) -> str | None:
        """What the ledger says did it: the account, else the token; None for a guest."""
        if self.account:
            return self.account
        return f"token sv_{self.token}" if self.token else None


def cookie_name(request: Request, role: str) -> str:
    prefix = "__Host-" if service_of(request).settings.https else ""
    return f"{prefix}sunveil-{side_of(role)}"


def set_cookie(request: Request, response: Response, role: str, value: str) -> None:
    """Give a browser its cookie: not for scripts, and not for requests from elsewhere."""
    seconds = int(3600 * service_of(request).settings.session_hours)
    response.set_cookie(value=value, max_age=seconds, **_cookie(request, role))


def drop_cookie(request: Request, response: Response, role: str) -> None:
    response.delete_cookie(**_cookie(request, role))


def _cookie(request: Request, role: str) -> dict[str, Any]:
    https, name = service_of(request).settings.https, cookie_name(request, role)
    return {"key": name, "path": "/", "secure": https, "httponly": True, "samesite": "strict"}


def guest_of(request: Request) -> Identity:
    """Return a browser that has not logged in; it is known by a cookie all the same."""
    known = request.cookies.get(cookie_name(request, GUEST), "")
    if len(known) >= 40:
        return Identity(GUEST, cookie=known)
    return Identity(GUEST, cookie=random_secret(), fresh=True)


async def session_of(request: Request, side: str) -> Identity | None:
    """Return who has signed in to a side, ``curator`` for the console or ``analyst``, or None."""
    cookie = request.cookies.get(cookie_name(request, side), "")
    if not cookie:
        return None
    found = await run_in_threadpool(_find, service_of(request), cookie)
    if found is None or side_of(found.role) != side:
        return None
    return Identity(
        found.role,
        found.who,
        cookie,
        found.flash,
        scope=found.scope,
        account=found.account,
        token=found.token or "",
        session=found,
    )


def _find(service: Service, cookie: str) -> Session | None:
    idle = service.settings.idle_minutes
    with service.store.reading() as db:
        found = find_session(db, cookie, idle_minutes=idle)
    if found is not None and found.stale:
        try:
            with service.store.changing() as db:
                touch_session(db, cookie)
        except SunveilError:  # a disk that is full: reading goes on until the session is too old
            return found
    return found


def bearer_of(request: Request) -> str | None:
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else None


async def token_of(request: Request) -> TokenRow:
    service = service_of(request)
    token = read_token(bearer_of(request) or "")
    if token is not None:
        row = service.tokens.cached(token)
        if row is None:
            row = await run_in_threadpool(service.tokens.look_up, token)
        if row is not None:
            return row
    check_rate(service.limits.login_attempts.take(limited_as(request)))
    known = None if token is None else await run_in_threadpool(service.tokens.find, token)
    fault = None if known is None else known.fault
    raise Problem(
        401,
        fault or "Send a token that is valid: Authorization: Bearer sv_…",
        headers={"WWW-Authenticate": "Bearer"},
    )


def require_scope(identity: Identity, scope: str) -> None:
    if scope == ASK and identity.scope != ASK:
        what = "This token" if identity.token else "This account"
        raise Problem(
            403,
            f"{what} may read releases, and neither plan nor ask; use one with the scope ask.",
            slug="out-of-scope",
        )


def check_rate(seconds: int) -> None:
    if seconds:
        raise Problem(
            429,
            f"Too many requests; ask again in {seconds} s.",
            headers={"Retry-After": str(seconds)},
        )


Fact = str | int | float | bool | None
LONGEST = 200
log = logging.getLogger("sunveil.audit")


def record_event(source: Request | Service, event: str, /, **facts: Fact) -> None:
    # A request adds who asked (`who`, `role`) and from which address (`address`), unless the facts
    # say otherwise; a service, where nobody asked, adds nothing.
    found: dict[str, Fact] = {}
    service = service_of(source) if isinstance(source, Request) else source
    service.metrics.events.labels(event).inc()
    if isinstance(source, Request):
        source.state.audited = True
        identity = getattr(source.state, "identity", None)
        if identity is not None and identity.who:
            found |= {"who": identity.who, "role": identity.role}
        found["address"] = client_address(source)
    found |= facts
    log.info(
        event,
        extra={
            "facts": {name: _short(value) for name, value in found.items() if value is not None}
        },
    )


def _short(value: Fact) -> Fact:
    return value[:LONGEST] if isinstance(value, str) else value
