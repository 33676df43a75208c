"""The front page, signing in with a password, a token or a link, and signing out."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sunveil.errors import ParameterError, ReleaseNotFound
from sunveil.service.audit_log import record_event
from sunveil.service.context import service_of
from sunveil.service.identity import drop_cookie
from sunveil.service.pages import identity_of, render
from sunveil.service.problems import Problem
from sunveil.service.roles import ANALYST, CONSOLE, PORTAL
from sunveil.service.routing import analyst_router, console_router, public_router
from sunveil.service.security.passwords import password_fits
from sunveil.service.security.tokens import digest_of, read_token, same_secret
from sunveil.service.signing_in import LINK, PASSWORD, SETUP, go_home, open_token, sign_in
from sunveil.service.store.accounts import (
    Account,
    account_of_id,
    add_first_curator,
    find_account,
    set_account_password,
    setup_digest,
)
from sunveil.service.store.links import SIGN_IN, end_links_of, find_link
from sunveil.service.store.sessions import end_session

router = public_router()
analyst_logout_router = analyst_router()
console_logout_router = console_router()

# a database takes no text with a zero in it
ShortText = Annotated[str, Form(max_length=400, pattern=r"^[^\x00]*$")]
PAGES = {CONSOLE: "curator_login.html", PORTAL: "analyst/login.html"}
NO_LOCAL = "Passwords are switched off here: sign in through the provider."


@router.get("/")
def front(request: Request) -> Response:
    """Show the front page: to the analyst's and to the curator's side."""
    return render(request, "front.html")


@router.get("/analyst/login")
def analyst_login(request: Request) -> Response:
    """Show the analyst's sign-in."""
    return _page(request, PORTAL)


@router.post("/analyst/login")
def analyst_log_in(
    request: Request, token: ShortText = "", name: ShortText = "", password: ShortText = ""
) -> Response:
    """Sign an analyst in with a token, or with an account's name and password."""
    if not token.strip() and name.strip():
        return _by_password(request, PORTAL, name, password)
    service, given = service_of(request), read_token(token)
    row = None if given is None else service.tokens.look_up(given)
    if row is not None:
        return go_home(request, ANALYST, open_token(request, row))
    known = None if given is None else service.tokens.find(given)
    record_event(request, "sign-in-refused", way="token", token=None if known is None else known.id)
    unknown = "This token is not known: ask the curator for a new one."
    fault = unknown if known is None else known.fault or unknown
    return _page(request, PORTAL, status=403, problem=fault)


@router.get("/curator/login")
def curator_login(request: Request) -> Response:
    """Show the console's sign-in."""
    return _page(request, CONSOLE)


@router.post("/curator/login")
def curator_log_in(request: Request, name: ShortText = "", password: ShortText = "") -> Response:
    """Sign somebody in with an account's name and password."""
    return _by_password(request, CONSOLE, name, password)


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
            account = add_first_curator(connection, name.strip(), password)
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
        with service_of(request).store.changing() as connection:
            if find_link(connection, secret) is None:  # somebody was quicker
                raise Problem(404, "This link has been used; ask for another.")
            if purpose == SIGN_IN:
                end_links_of(connection, account.id)
            else:
                set_account_password(connection, account, password)
    except ParameterError as error:
        return _link_page(request, secret, account, signs_in=False, problem=sentence(error))
    event = "break-glass-used" if purpose == SIGN_IN else "password-set"
    record_event(request, event, account=account.name)
    if purpose != SIGN_IN and not _local(request):
        return RedirectResponse("/", status_code=303)
    return sign_in(request, account, way=LINK)


@analyst_logout_router.post("/logout")
def analyst_log_out(request: Request) -> Response:
    """Sign an analyst out."""
    return _log_out(request)


@console_logout_router.post("/logout")
def console_log_out(request: Request) -> Response:
    """Sign a curator or an auditor out."""
    return _log_out(request)


def sentence(error: Exception) -> str:
    """Return an error's words as a sentence on a page."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _by_password(request: Request, side: str, name: str, password: str) -> Response:
    if not _local(request):
        return _page(request, side, status=403, problem=NO_LOCAL)
    with service_of(request).store.reading() as connection:
        account = find_account(connection, name)
    problem = "Name and password do not fit."
    if password_fits(password, None if account is None else account.password):
        assert account is not None
        if account.usable:
            return sign_in(request, account, way=PASSWORD)
        problem = "This account is disabled; ask a curator."
    # what was entered may be anything, such as a password: only names that there are
    known = None if account is None else account.name
    record_event(request, "sign-in-refused", way=PASSWORD, account=known)
    return _page(request, side, status=403, problem=problem, name=name)


def _page(
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
    with service_of(request).store.reading() as connection:
        digest = setup_digest(connection)
    if digest is None or not same_secret(digest_of(secret), digest):
        raise Problem(404, "This link is not valid, or has been used; sign in instead.")


def _linked(request: Request, secret: str) -> tuple[Account, str]:
    try:
        with service_of(request).store.reading() as connection:
            found = find_link(connection, secret)
            account = None if found is None else account_of_id(connection, found[0])
    except ReleaseNotFound:
        account = None
    if found is None or account is None or account.disabled is not None:
        raise Problem(404, "This link is not valid, is too old, or has been used; ask for another.")
    return account, found[1]


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


def _log_out(request: Request) -> Response:
    identity, service = identity_of(request), service_of(request)
    with service.store.changing() as connection:
        end_session(connection, identity.cookie)
        account = identity.session and identity.session.account_id
        local = not account or account_of_id(connection, account).local
    record_event(request, "signed-out")
    # a form may lead to no other host, so that the way to the provider is a page of ours
    response = RedirectResponse("/" if local else "/oidc/signed-out", status_code=303)
    drop_cookie(request, response, identity.role)
    return response
