"""Signing in and out, links to set a password, one's own account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Form
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sunveil.errors import ParameterError, ReleaseNotFound
from sunveil.service.authentication import (
    Identity,
    check_rate,
    drop_cookie,
    own_address,
    record_event,
    set_cookie,
)
from sunveil.service.context import Problem, service_of
from sunveil.service.guarded_routes import analyst_router, console_router, public_router
from sunveil.service.page_rendering import identity_of, redirect, render
from sunveil.service.passwords_and_tokens import digest_of, password_fits, read_token, same_secret
from sunveil.service.settings import ABOUT, ANALYST, CONSOLE, PORTAL, READ, SCOPES, home_of, side_of
from sunveil.service.store.accounts import (
    DAYS,
    MOST_DAYS,
    SIGN_IN,
    account_of_id,
    add_first_curator,
    begin_session,
    end_links_of,
    end_other_sessions,
    end_session,
    find_account,
    find_link,
    issue_token,
    note_sign_in,
    revoke_token,
    sessions_of,
    set_account_password,
    setup_digest,
    token_rows,
)
from sunveil.service.store.database import Account, Session, TokenRow

# How somebody signed in, for the audit log.
PASSWORD, TOKEN, SETUP, LINK, PROVIDER = "password", "token", "set-up", "link", "provider"


def open_account(request: Request, account: Account, *, way: str) -> str:
    service = service_of(request)
    with service.store.changing() as db:
        note_sign_in(db, account)
        cookie = begin_session(
            db,
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
    with service.store.changing() as db:
        cookie = begin_session(
            db,
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
    return go_home(request, account.role, open_account(request, account, way=way))


def go_home(request: Request, role: str, cookie: str) -> Response:
    response = RedirectResponse(home_of(role), status_code=303)
    set_cookie(request, response, role, cookie)
    return response


router = public_router()

# a database takes no text with a zero in it
ShortText = Annotated[str, Form(max_length=400, pattern=r"^[^\x00]*$")]
PAGES = {CONSOLE: "curator_login.html", PORTAL: "analyst/login.html"}
NO_LOCAL = "Passwords are switched off. Sign in through the provider."


@router.get("/")
def front(request: Request) -> Response:
    return render(request, "front.html")


@router.get("/analyst/login")
def analyst_login(request: Request) -> Response:
    return _sign_in_page(request, PORTAL)


@router.post("/analyst/login")
def analyst_log_in(
    request: Request, token: ShortText = "", name: ShortText = "", password: ShortText = ""
) -> Response:
    if not token.strip() and name.strip():
        return _by_password(request, PORTAL, name, password)
    service, given = service_of(request), read_token(token)
    row = None if given is None else service.tokens.look_up(given)
    if row is not None:
        return go_home(request, ANALYST, open_token(request, row))
    known = None if given is None else service.tokens.find(given)
    record_event(request, "sign-in-refused", way="token", token=None if known is None else known.id)
    unknown = "This token is not known. Ask the curator for a new one."
    fault = unknown if known is None else known.fault or unknown
    return _sign_in_page(request, PORTAL, status=403, problem=fault)


@router.get("/curator/login")
def curator_login(request: Request) -> Response:
    return _sign_in_page(request, CONSOLE)


@router.post("/curator/login")
def curator_log_in(request: Request, name: ShortText = "", password: ShortText = "") -> Response:
    return _by_password(request, CONSOLE, name, password)


@router.get("/setup/{secret}")
def setup(request: Request, secret: str) -> Response:
    _check_setup(request, secret)
    return render(request, "setup.html", problem=None, secret=secret, name="")


@router.post("/setup/{secret}")
def set_up(
    request: Request, secret: str, name: ShortText = "", password: ShortText = ""
) -> Response:
    _check_setup(request, secret)
    try:
        with service_of(request).store.changing() as db:
            account = add_first_curator(db, name.strip(), password)
    except ParameterError as error:
        values = {"problem": sentence(error), "secret": secret, "name": name}
        return render(request, "setup.html", status=422, **values)
    record_event(request, "account-made", account=account.name, as_role=account.role)
    return sign_in(request, account, way=SETUP)


@router.get("/links/{secret}")
def link(request: Request, secret: str) -> Response:
    """Show what a link that works once is for: a new password, or signing in without one."""
    account, purpose = _linked(request, secret)
    return _link_page(request, secret, account, signs_in=purpose == SIGN_IN)


@router.post("/links/{secret}")
def use_link(request: Request, secret: str, password: ShortText = "") -> Response:
    """Set the password of a link's account, or just sign in; the link ends."""
    account, purpose = _linked(request, secret)
    try:
        with service_of(request).store.changing() as db:
            if find_link(db, secret) is None:  # somebody was quicker
                raise Problem(404, "This link was used. Ask for another.")
            if purpose == SIGN_IN:
                end_links_of(db, account.id)
            else:
                set_account_password(db, account, password)
    except ParameterError as error:
        return _link_page(request, secret, account, signs_in=False, problem=sentence(error))
    event = "break-glass-used" if purpose == SIGN_IN else "password-set"
    record_event(request, event, account=account.name)
    if purpose != SIGN_IN and not _local(request):
        return RedirectResponse("/", status_code=303)
    return sign_in(request, account, way=LINK)


def sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _by_password(request: Request, side: str, name: str, password: str) -> Response:
    if not _local(request):
        return _sign_in_page(request, side, status=403, problem=NO_LOCAL)
    with service_of(request).store.reading() as db:
        account = find_account(db, name)
    problem = "Name or password is wrong."
    if password_fits(password, None if account is None else account.password):
        assert account is not None
        if account.usable:
            return sign_in(request, account, way=PASSWORD)
        problem = "This account is disabled; ask a curator."
    # what was entered may be anything, such as a password: only names that there are
    known = None if account is None else account.name
    record_event(request, "sign-in-refused", way=PASSWORD, account=known)
    return _sign_in_page(request, side, status=403, problem=problem, name=name)


def _sign_in_page(
    request: Request, side: str, *, status: int = 200, problem: str | None = None, name: str = ""
) -> Response:
    oidc = service_of(request).settings.oidc
    return render(
        request,
        PAGES[side],
        status=status,
        problem=problem,
        name=name,
        provider=None if oidc is None else oidc.provider,
        local=_local(request),
    )


def _local(request: Request) -> bool:
    oidc = service_of(request).settings.oidc
    return oidc is None or oidc.local


def _check_setup(request: Request, secret: str) -> None:
    with service_of(request).store.reading() as db:
        digest = setup_digest(db)
    if digest is None or not same_secret(digest_of(secret), digest):
        raise Problem(404, "This link is not valid or was used. Sign in instead.")


def _linked(request: Request, secret: str) -> tuple[Account, str]:
    try:
        with service_of(request).store.reading() as db:
            found = find_link(db, secret)
            account = None if found is None else account_of_id(db, found.account)
    except ReleaseNotFound:
        account = None
    if found is None or account is None or account.disabled is not None:
        raise Problem(404, "This link is not valid, has expired or was used. Ask for another.")
    return account, found.purpose


def _link_page(
    request: Request, secret: str, account: Account, *, signs_in: bool, problem: str = ""
) -> Response:
    return render(
        request,
        "link.html",
        status=422 if problem else 200,
        problem=problem,
        secret=secret,
        account=account,
        signs_in=signs_in,
    )


analyst_side = analyst_router()
console_side = console_router()
DAY_CHOICES = (7, 30, DAYS, 180, MOST_DAYS)


def log_out(request: Request) -> Response:
    identity, service = identity_of(request), service_of(request)
    with service.store.changing() as db:
        end_session(db, identity.cookie)
        account = identity.session and identity.session.account_id
        local = not account or account_of_id(db, account).local
    record_event(request, "signed-out")
    # a form may lead to no other host, so that the way to the provider is a page of ours
    response = RedirectResponse("/" if local else "/oidc/signed-out", status_code=303)
    drop_cookie(request, response, identity.role)
    return response


def page(request: Request) -> Response:
    return _own_account_page(request)


def change_password(request: Request, old: ShortText = "", new: ShortText = "") -> Response:
    """Change your password; all other sessions end, and this one is renewed."""
    account = _own_account(request)
    if not account.local:
        raise Problem(409, "Change your password at your provider.")
    # who found a browser open shall not guess on
    check_rate(service_of(request).limits.login_attempts.take(f"password of {account.id}"))
    if not password_fits(old, account.password):
        record_event(request, "password-change-refused")
        return _own_account_page(request, problem="The current password is wrong.", status=403)
    try:
        with service_of(request).store.changing() as db:
            set_account_password(db, account, new)
    except ParameterError as error:
        return _own_account_page(request, problem=f"{str(error).rstrip('.')}.", status=422)
    record_event(request, "password-changed", account=account.name)
    cookie = open_account(request, account, way=PASSWORD)
    response = RedirectResponse(f"{_here(request)}?changed=1", status_code=303)
    set_cookie(request, response, account.role, cookie)
    return response


def end_others(request: Request) -> Response:
    with service_of(request).store.changing() as db:
        count = end_other_sessions(db, _session(request))
    record_event(request, "sessions-ended", count=count)
    message = f"{count} other session{' has' if count == 1 else 's have'} ended."
    return redirect(request, _here(request), message=message)


def end_all(request: Request) -> Response:
    """Sign out everywhere, here too."""
    identity = identity_of(request)
    with service_of(request).store.changing() as db:
        end_other_sessions(db, _session(request))
        end_session(db, identity.cookie)
    record_event(request, "signed-out-everywhere")
    response = RedirectResponse(f"/{side_of(identity.role)}/login", status_code=303)
    drop_cookie(request, response, identity.role)
    return response


for each in (analyst_side, console_side):
    each.add_api_route("/logout", log_out, methods=["POST"])
    each.add_api_route("/account", page)
    each.add_api_route("/account/password", change_password, methods=["POST"])
    each.add_api_route("/account/sessions/end-others", end_others, methods=["POST"])
    each.add_api_route("/account/sessions/end-all", end_all, methods=["POST"])


@analyst_side.post("/account/tokens")
def new_token(
    request: Request, label: ShortText = "", days: ShortText = "", scope: ShortText = READ
) -> Response:
    account = _own_account(request)
    if scope not in SCOPES or (scope != READ and account.scope == READ):
        return _own_account_page(
            request, problem="Your account may only create tokens that read.", status=403
        )
    try:
        with service_of(request).store.changing() as db:
            made = issue_token(
                db,
                account.analyst,
                days=int(days) if days.isdecimal() and len(days) < 6 else DAYS,
                scope=scope,
                account_id=account.id,
                label=label.strip(),
            )
    except ParameterError as error:
        return _own_account_page(request, problem=f"{error}.", status=422)
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
    account, service = _own_account(request), service_of(request)
    with service.store.changing() as db:
        own = {row.id for row in _tokens(token_rows(db, account.analyst), account.id)}
        if token not in own:
            raise Problem(404, "You have no such token. Load the page again.")
        revoke_token(db, token)
    service.tokens.forget(token)
    record_event(request, "token-revoked", token=token)
    return redirect(request, "/analyst/account", message="The token was revoked.", kind="note")


def _own_account_page(request: Request, *, problem: str = "", status: int = 200) -> Response:
    service, identity, mine = service_of(request), identity_of(request), _session(request)
    with service.store.reading() as db:
        account = account_of_id(db, mine.account_id) if mine.account_id else None
        found = sessions_of(db, mine, idle_minutes=service.settings.idle_minutes)
        rows = token_rows(db, identity.who) if identity.role == ANALYST else []
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


def _tokens(rows: Sequence[TokenRow], account_id: str | None) -> list[TokenRow]:
    return [row for row in rows if row.account_id == account_id and row.revoked is None]


def _own_account(request: Request) -> Account:
    """Return the account that this browser has signed in to; a token opens none."""
    mine = _session(request)
    if not mine.account_id or mine.token:
        raise Problem(403, "This needs an account; a token is not enough.")
    with service_of(request).store.reading() as db:
        return account_of_id(db, mine.account_id)


def _session(request: Request) -> Session:
    found = identity_of(request).session
    assert found is not None
    return found


def _here(request: Request) -> str:
    identity: Identity = identity_of(request)
    return f"/{side_of(identity.role)}/account"
