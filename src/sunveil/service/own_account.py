"""Your account, on both sides: the password, sessions, and an analyst's own tokens."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sunveil.errors import ParameterError
from sunveil.service.addresses import own_address
from sunveil.service.audit_log import record_event
from sunveil.service.context import service_of
from sunveil.service.identity import Identity, check_rate, drop_cookie, set_cookie
from sunveil.service.pages import identity_of, redirect, render
from sunveil.service.problems import Problem
from sunveil.service.roles import ABOUT, ANALYST, READ, SCOPES, side_of
from sunveil.service.routing import analyst_router, console_router
from sunveil.service.security.passwords import password_fits
from sunveil.service.signing_in import PASSWORD, open_account
from sunveil.service.store.accounts import (
    Account,
    account_of_id,
    set_account_password,
)
from sunveil.service.store.sessions import (
    Session,
    end_other_sessions,
    end_session,
    sessions_of,
)
from sunveil.service.store.tokens import (
    DAYS,
    MOST_DAYS,
    TokenRow,
    issue_token,
    revoke_token,
    token_rows,
)

analyst_side = analyst_router()
console_side = console_router()

# a database takes no text with a zero in it
ShortText = Annotated[str, Form(max_length=400, pattern=r"^[^\x00]*$")]
DAY_CHOICES = (7, 30, DAYS, 180, MOST_DAYS)


def both(path: str, endpoint: Any, *, method: str = "POST") -> None:
    """Give both sides a route to the same endpoint.

    Parameters
    ----------
    path, method
        Where it is, and by which method.
    endpoint
        What answers.
    """
    for router in (analyst_side, console_side):
        _add(router, path, endpoint, method)


def _add(router: APIRouter, path: str, endpoint: Any, method: str) -> None:
    router.add_api_route(path, endpoint, methods=[method])


def page(request: Request) -> Response:
    """Show your account: who you are here, sessions, and an analyst's tokens."""
    return _page(request)


def change_password(request: Request, old: ShortText = "", new: ShortText = "") -> Response:
    """Change your password; all other sessions end, and this one begins anew.

    Parameters
    ----------
    request
        What asks.
    old, new
        The present password, and the one that takes its place.
    """
    account = _own_account(request)
    if not account.local:
        raise Problem(409, "Your password is kept by the provider; change it there.")
    # who found a browser open shall not guess on
    check_rate(service_of(request).limits.login_attempts.take(f"password of {account.id}"))
    if not password_fits(old, account.password):
        record_event(request, "password-change-refused")
        return _page(request, problem="The present password does not fit.", status=403)
    try:
        with service_of(request).store.changing() as connection:
            set_account_password(connection, account, new)
    except ParameterError as error:
        return _page(request, problem=f"{str(error).rstrip('.')}.", status=422)
    record_event(request, "password-changed", account=account.name)
    cookie = open_account(request, account, way=PASSWORD)
    response = RedirectResponse(f"{_here(request)}?changed=1", status_code=303)
    set_cookie(request, response, account.role, cookie)
    return response


def end_others(request: Request) -> Response:
    """End all your sessions but this one."""
    with service_of(request).store.changing() as connection:
        count = end_other_sessions(connection, _session(request))
    record_event(request, "sessions-ended", count=count)
    message = f"{count} other session{' has' if count == 1 else 's have'} ended."
    return redirect(request, _here(request), message=message)


def end_all(request: Request) -> Response:
    """Sign out everywhere, here too."""
    identity = identity_of(request)
    with service_of(request).store.changing() as connection:
        end_other_sessions(connection, _session(request))
        end_session(connection, identity.cookie)
    record_event(request, "signed-out-everywhere")
    response = RedirectResponse(f"/{side_of(identity.role)}/login", status_code=303)
    drop_cookie(request, response, identity.role)
    return response


both("/account", page, method="GET")
both("/account/password", change_password)
both("/account/sessions/end-others", end_others)
both("/account/sessions/end-all", end_all)


@analyst_side.post("/account/tokens")
def new_token(
    request: Request, label: ShortText = "", days: ShortText = "", scope: ShortText = READ
) -> Response:
    """Issue a token for yourself, shown once."""
    account = _own_account(request)
    if scope not in SCOPES or (scope != READ and account.scope == READ):
        return _page(request, problem="Your account may issue tokens that read only.", status=403)
    try:
        with service_of(request).store.changing() as connection:
            made = issue_token(
                connection,
                account.analyst,
                days=int(days) if days.isdecimal() and len(days) < 6 else DAYS,
                scope=scope,
                account_id=account.id,
                label=label.strip(),
            )
    except ParameterError as error:
        return _page(request, problem=f"{error}.", status=422)
    record_event(request, "token-issued", token=made.id, scope=scope, account=account.name)
    return render(
        request,
        "analyst/token.html",
        token=made.text,
        address=own_address(request),
        back="/analyst/account",
    )


@analyst_side.post("/account/tokens/revoke")
def revoke(request: Request, token: ShortText = "") -> Response:
    """Revoke a token that you have issued."""
    account, service = _own_account(request), service_of(request)
    with service.store.changing() as connection:
        own = {row.id for row in _tokens(token_rows(connection, account.analyst), account.id)}
        if token not in own:
            raise Problem(404, "There is no such token of yours; load the page again.")
        revoke_token(connection, token)
    service.tokens.forget(token)
    record_event(request, "token-revoked", token=token)
    return redirect(request, "/analyst/account", message="The token was revoked.", kind="note")


def _page(request: Request, *, problem: str = "", status: int = 200) -> Response:
    service, identity, mine = service_of(request), identity_of(request), _session(request)
    with service.store.reading() as connection:
        account = account_of_id(connection, mine.account_id) if mine.account_id else None
        found = sessions_of(connection, mine, idle_minutes=service.settings.idle_minutes)
        rows = token_rows(connection, identity.who) if identity.role == ANALYST else []
    full = account is not None and not mine.token
    return render(
        request,
        "account.html",
        status=status,
        problem=f"{problem[:1].upper()}{problem[1:]}",
        account=account if full else None,
        about=ABOUT.get(identity.role, ""),
        mine=mine,
        scope=identity.scope,
        token=next((row for row in rows if row.id == mine.token), None),
        tokens=_tokens(rows, mine.account_id) if full else [],
        sessions=found,
        days=DAY_CHOICES,
        usual_days=DAYS,
        here=_here(request),
        changed=request.query_params.get("changed") == "1",
        hours=service.settings.session_hours,
        idle=service.settings.idle_minutes,
    )


def _tokens(rows: list[TokenRow], account_id: str) -> list[TokenRow]:
    return [row for row in rows if row.account_id == account_id and row.revoked is None]


def _own_account(request: Request) -> Account:
    """Return the account that this browser has signed in to; a token opens none."""
    mine = _session(request)
    if not mine.account_id or mine.token:
        raise Problem(403, "A token opens no account: sign in with your account for this.")
    with service_of(request).store.reading() as connection:
        return account_of_id(connection, mine.account_id)


def _session(request: Request) -> Session:
    found = identity_of(request).session
    assert found is not None
    return found


def _here(request: Request) -> str:
    identity: Identity = identity_of(request)
    return f"/{side_of(identity.role)}/account"
