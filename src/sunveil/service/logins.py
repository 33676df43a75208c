"""The front page, logins, the set-up link and logging out."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sunveil.errors import ParameterError
from sunveil.service.context import service_of
from sunveil.service.identity import ANALYST, CURATOR, drop_cookie, set_cookie
from sunveil.service.pages import identity_of, render
from sunveil.service.problems import Problem
from sunveil.service.routing import analyst_router, curator_router, public_router
from sunveil.service.security.passwords import password_fits
from sunveil.service.security.tokens import digest_of, read_token, same_secret
from sunveil.service.store.accounts import add_first_curator, password_of, setup_digest
from sunveil.service.store.sessions import begin_session, end_session

router = public_router()
analyst_logout_router = analyst_router()
curator_logout_router = curator_router()

# a database takes no text with a zero in it
ShortText = Annotated[str, Form(max_length=400, pattern=r"^[^\x00]*$")]
_HOMES = {ANALYST: "/analyst", CURATOR: "/curator"}


@router.get("/")
def front(request: Request) -> Response:
    """Show the front page: to the analyst's and to the curator's side."""
    return render(request, "front.html")


@router.get("/healthz")
def health(request: Request) -> Response:
    """Say that the service runs."""
    with service_of(request).store.reading():
        return Response("ok\n", media_type="text/plain")


@router.get("/analyst/login")
def analyst_login(request: Request) -> Response:
    """Show the analyst's login."""
    return render(request, "analyst/login.html", problem=None)


@router.post("/analyst/login")
def analyst_log_in(request: Request, token: ShortText = "") -> Response:
    """Log an analyst in with a token."""
    service, given = service_of(request), read_token(token)
    row = None if given is None else service.tokens.look_up(given)
    if row is None:
        message = "This token is not known, or was revoked: ask the curator for a new one."
        return render(request, "analyst/login.html", status=403, problem=message)
    return _log_in(request, role=ANALYST, who=row.analyst)


@router.get("/curator/login")
def curator_login(request: Request) -> Response:
    """Show the curator's login."""
    return render(request, "curator_login.html", problem=None, name="")


@router.post("/curator/login")
def curator_log_in(request: Request, name: ShortText = "", password: ShortText = "") -> Response:
    """Log a curator in with a password."""
    with service_of(request).store.reading() as connection:
        kept = password_of(connection, name)
    if not password_fits(password, kept):
        message = "Name and password do not fit."
        return render(request, "curator_login.html", status=403, problem=message, name=name)
    return _log_in(request, role=CURATOR, who=name)


@router.get("/setup/{secret}")
def setup(request: Request, secret: str) -> Response:
    """Show the form of the first curator's account, to who has the link."""
    _check_setup(request, secret)
    return render(request, "setup.html", problem=None, secret=secret, name="")


@router.post("/setup/{secret}")
def set_up(
    request: Request, secret: str, name: ShortText = "", password: ShortText = ""
) -> Response:
    """Make the first curator's account."""
    _check_setup(request, secret)
    try:
        with service_of(request).store.changing() as connection:
            add_first_curator(connection, name, password)
    except ParameterError as error:
        values = {"problem": f"{error}.", "secret": secret, "name": name}
        return render(request, "setup.html", status=422, **values)
    return _log_in(request, role=CURATOR, who=name)


@analyst_logout_router.post("/logout")
def analyst_log_out(request: Request) -> Response:
    """Log an analyst out."""
    return _log_out(request)


@curator_logout_router.post("/logout")
def curator_log_out(request: Request) -> Response:
    """Log a curator out."""
    return _log_out(request)


def _check_setup(request: Request, secret: str) -> None:
    with service_of(request).store.reading() as connection:
        digest = setup_digest(connection)
    if digest is None or not same_secret(digest_of(secret), digest):
        raise Problem(404, "This link does not hold, or has been used; log in instead.")


def _log_in(request: Request, *, role: str, who: str) -> Response:
    service = service_of(request)
    with service.store.changing() as connection:
        cookie = begin_session(connection, role=role, who=who, hours=service.settings.session_hours)
    response = RedirectResponse(_HOMES[role], status_code=303)
    set_cookie(request, response, role, cookie)
    return response


def _log_out(request: Request) -> Response:
    identity = identity_of(request)
    with service_of(request).store.changing() as connection:
        end_session(connection, identity.cookie)
    response = RedirectResponse("/", status_code=303)
    drop_cookie(request, response, identity.role)
    return response
