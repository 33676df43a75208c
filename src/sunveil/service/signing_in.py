"""Opening and ending sessions, whichever way somebody signs in."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sunveil.service.audit_log import record_event
from sunveil.service.context import service_of
from sunveil.service.identity import set_cookie
from sunveil.service.roles import ANALYST, home_of
from sunveil.service.store.accounts import Account, note_sign_in
from sunveil.service.store.sessions import begin_session
from sunveil.service.store.tokens import TokenRow

# How somebody signed in, for the audit log.
PASSWORD, TOKEN, SETUP, LINK, PROVIDER = "password", "token", "set-up", "link", "provider"


def open_account(request: Request, account: Account, *, way: str) -> str:
    """Begin a session of an account, and return its cookie.

    Parameters
    ----------
    request
        What it answers.
    account
        Whose session it is; that it may be opened was checked before.
    way
        How they signed in, for the audit log.
    """
    service = service_of(request)
    with service.store.changing() as connection:
        note_sign_in(connection, account)
        cookie = begin_session(
            connection,
            role=account.role,
            who=account.who,
            hours=service.settings.session_hours,
            account_id=account.id,
            scope=account.scope,
            browser=request.headers.get("user-agent", ""),
        )
    record_event(request, "signed-in", who=account.name, role=account.role, way=way)
    return cookie


def open_token(request: Request, row: TokenRow) -> str:
    """Begin a session with a token, which ends with it, and return its cookie."""
    service = service_of(request)
    with service.store.changing() as connection:
        cookie = begin_session(
            connection,
            role=ANALYST,
            who=row.analyst,
            hours=service.settings.session_hours,
            account_id=row.account_id,
            token=row.id,
            scope=row.scope,
            until=row.expires,
            browser=request.headers.get("user-agent", ""),
        )
    record_event(request, "signed-in", who=row.analyst, role=ANALYST, way=TOKEN, token=row.id)
    return cookie


def sign_in(request: Request, account: Account, *, way: str) -> Response:
    """Begin a session of an account and send the browser to its first page.

    Parameters
    ----------
    request, account, way
        As for :func:`open_account`.
    """
    return go_home(request, account.role, open_account(request, account, way=way))


def go_home(request: Request, role: str, cookie: str) -> Response:
    """Send a browser to the first page of a role, with the cookie of its session.

    Parameters
    ----------
    request
        What it answers.
    role
        Of the session.
    cookie
        The secret that it is known by.
    """
    response = RedirectResponse(home_of(role), status_code=303)
    set_cookie(request, response, role, cookie)
    return response
