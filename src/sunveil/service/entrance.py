"""The doors: the front page, logins, the set-up link and logging out."""

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
from sunveil.service.routing import analyst_room, curator_room, public_room
from sunveil.service.security.passwords import password_fits
from sunveil.service.security.tokens import digest_of, read_token, same
from sunveil.service.store.accounts import add_first_curator, password_of, setup_digest
from sunveil.service.store.sessions import begin_session, end_session

room = public_room()
analyst_exit = analyst_room()
curator_exit = curator_room()

# a database takes no text with a zero in it
Short = Annotated[str, Form(max_length=400, pattern=r"^[^\x00]*$")]
_HOMES = {ANALYST: "/analyst", CURATOR: "/curator"}


@room.get("/")
def front(request: Request) -> Response:
    """Show the two doors."""
    return render(request, "front.html")


@room.get("/healthz")
def health(request: Request) -> Response:
    """Say that the service runs."""
    with service_of(request).store.reading():
        return Response("ok\n", media_type="text/plain")


@room.get("/analyst/login")
def analyst_login(request: Request) -> Response:
    """Show the analyst's login."""
    return render(request, "analyst/login.html", problem=None)


@room.post("/analyst/login")
def analyst_enter(request: Request, token: Short = "") -> Response:
    """Log an analyst in with a token."""
    service, given = service_of(request), read_token(token)
    row = None if given is None else service.tokens.look_up(given)
    if row is None:
        said = "This token is not known, or was revoked: ask the curator for a new one."
        return render(request, "analyst/login.html", status=403, problem=said)
    return _enter(request, role=ANALYST, who=row.analyst)


@room.get("/curator/login")
def curator_login(request: Request) -> Response:
    """Show the curator's login."""
    return render(request, "curator_login.html", problem=None, name="")


@room.post("/curator/login")
def curator_enter(request: Request, name: Short = "", password: Short = "") -> Response:
    """Log a curator in with a password."""
    with service_of(request).store.reading() as connection:
        kept = password_of(connection, name)
    if not password_fits(password, kept):
        said = "Name and password do not fit."
        return render(request, "curator_login.html", status=403, problem=said, name=name)
    return _enter(request, role=CURATOR, who=name)


@room.get("/setup/{secret}")
def setup(request: Request, secret: str) -> Response:
    """Show the form of the first curator's account, to who has the link."""
    _check_setup(request, secret)
    return render(request, "setup.html", problem=None, secret=secret, name="")


@room.post("/setup/{secret}")
def set_up(request: Request, secret: str, name: Short = "", password: Short = "") -> Response:
    """Make the first curator's account."""
    _check_setup(request, secret)
    try:
        with service_of(request).store.changing() as connection:
            add_first_curator(connection, name, password)
    except ParameterError as error:
        told = {"problem": f"{error}.", "secret": secret, "name": name}
        return render(request, "setup.html", status=422, **told)
    return _enter(request, role=CURATOR, who=name)


@analyst_exit.post("/logout")
def analyst_leave(request: Request) -> Response:
    """Log an analyst out."""
    return _leave(request)


@curator_exit.post("/logout")
def curator_leave(request: Request) -> Response:
    """Log a curator out."""
    return _leave(request)


def _check_setup(request: Request, secret: str) -> None:
    with service_of(request).store.reading() as connection:
        digest = setup_digest(connection)
    if digest is None or not same(digest_of(secret), digest):
        raise Problem(404, "This link does not hold, or has been used; log in instead.")


def _enter(request: Request, *, role: str, who: str) -> Response:
    service = service_of(request)
    with service.store.changing() as connection:
        cookie = begin_session(connection, role=role, who=who, hours=service.settings.session_hours)
    response = RedirectResponse(_HOMES[role], status_code=303)
    set_cookie(request, response, role, cookie)
    return response


def _leave(request: Request) -> Response:
    identity = identity_of(request)
    with service_of(request).store.changing() as connection:
        end_session(connection, identity.cookie)
    response = RedirectResponse("/", status_code=303)
    drop_cookie(request, response, identity.role)
    return response
