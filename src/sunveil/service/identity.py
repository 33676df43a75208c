"""Who is asking: by a cookie on pages, by a token in the API."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.service.context import service_of
from sunveil.service.problems import Problem
from sunveil.service.security.tokens import csrf_of, random_secret, read_token
from sunveil.service.store.accounts import TokenRow
from sunveil.service.store.sessions import Session, find_session

CURATOR, ANALYST, GUEST = "curator", "analyst", "guest"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is asking.

    Parameters
    ----------
    role
        ``curator``, ``analyst`` or ``guest``.
    who
        The account's or the analyst's name; empty for a guest.
    cookie
        The secret that the browser is known by, which forms' tokens are made from.
    flash
        What the next page says.
    fresh
        Whether the browser must be given the cookie yet.
    """

    role: str
    who: str = ""
    cookie: str = field(default="", repr=False)
    flash: tuple[tuple[str, str], ...] = ()
    fresh: bool = False

    @property
    def csrf(self) -> str:
        """The token that a form must carry to come from a page of ours."""
        return csrf_of(self.cookie)


def cookie_name(request: Request, role: str) -> str:
    """Return the name of a role's cookie; over TLS, one that no other host can set."""
    prefix = "__Host-" if service_of(request).settings.https else ""
    return f"{prefix}sunveil-{role}"


def set_cookie(request: Request, response: Response, role: str, value: str) -> None:
    """Give a browser its cookie: not for scripts, and not for requests from elsewhere.

    Parameters
    ----------
    request, response
        What is answered, and the response that sets the cookie.
    role
        ``curator``, ``analyst`` or ``guest``.
    value
        The secret that the session is known by.
    """
    settings = service_of(request).settings
    response.set_cookie(
        cookie_name(request, role),
        value,
        max_age=int(3600 * settings.session_hours),
        path="/",
        secure=settings.https,
        httponly=True,
        samesite="strict",
    )


def drop_cookie(request: Request, response: Response, role: str) -> None:
    """Take a browser's cookie back.

    Parameters
    ----------
    request, response
        What is answered, and the response that deletes the cookie.
    role
        ``curator``, ``analyst`` or ``guest``.
    """
    settings = service_of(request).settings
    response.delete_cookie(
        cookie_name(request, role),
        path="/",
        secure=settings.https,
        httponly=True,
        samesite="strict",
    )


def guest_of(request: Request) -> Identity:
    """Return a browser that has not logged in; it is known by a cookie all the same."""
    known = request.cookies.get(cookie_name(request, GUEST), "")
    if len(known) >= 40:
        return Identity(GUEST, cookie=known)
    return Identity(GUEST, cookie=random_secret(), fresh=True)


async def session_of(request: Request, role: str) -> Identity | None:
    """Return who has logged in as a role, or None."""
    cookie = request.cookies.get(cookie_name(request, role), "")
    if not cookie:
        return None
    found = await run_in_threadpool(_find, request, cookie)
    if found is None or found.role != role:
        return None
    return Identity(role, found.who, cookie, found.flash)


def _find(request: Request, cookie: str) -> Session | None:
    with service_of(request).store.reading() as connection:
        return find_session(connection, cookie)


def bearer_of(request: Request) -> str | None:
    """Return the token in a request's header, if any."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else None


async def token_of(request: Request) -> TokenRow:
    """Return the token that a program asks with, or refuse."""
    service = service_of(request)
    token = read_token(bearer_of(request) or "")
    if token is not None:
        row = service.tokens.cached(token)
        if row is None:
            row = await run_in_threadpool(service.tokens.look_up, token)
        if row is not None:
            return row
    check_rate(service.limits.login_attempts.take(client_address(request)))
    raise Problem(
        401,
        "Send a token that holds: Authorization: Bearer sv_…",
        headers={"WWW-Authenticate": "Bearer"},
    )


def client_address(request: Request) -> str:
    """Return the network address that a request comes from."""
    return request.client.host if request.client else "unknown"


def check_rate(seconds: int) -> None:
    """Refuse a request that comes too early by so many seconds; 0 refuses nothing."""
    if seconds:
        raise Problem(
            429,
            f"Too many requests; ask again in {seconds} s.",
            headers={"Retry-After": str(seconds)},
        )
