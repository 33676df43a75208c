"""Accounts, for curators: making them, their roles, links to a new password, disabling."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import ParameterError
from sunveil.service.addresses import own_address
from sunveil.service.audit_log import record_event
from sunveil.service.context import service_of
from sunveil.service.curator.forms import ShortText
from sunveil.service.pages import identity_of, redirect, render
from sunveil.service.roles import ABOUT, ANALYST, ASK, ROLES, SCOPES
from sunveil.service.routing import curator_router
from sunveil.service.store.accounts import (
    Account,
    account_of_id,
    add_account,
    all_accounts,
    change_role,
    disable_account,
    enable_account,
)
from sunveil.service.store.links import HOURS, PASSWORD, new_link
from sunveil.service.store.people import analyst_names
from sunveil.service.store.sessions import end_sessions_of_account

router = curator_router()
HERE = "/curator/accounts"
OWN = "this is your own account; another curator can do this"


@router.get("/accounts")
def accounts(request: Request) -> Response:
    """Show all accounts, and the form of a new one."""
    return _page(request)


@router.post("/accounts")
def add(
    request: Request,
    name: ShortText = "",
    role: ShortText = "",
    analyst: ShortText = "",
    scope: ShortText = ASK,
) -> Response:
    """Make a local account, and show the link by which its holder sets a password."""
    given = {"name": name, "role": role, "analyst": analyst}
    try:
        with service_of(request).store.changing() as connection:
            made = add_account(
                connection, name.strip(), role=role, analyst=analyst.strip(), scope=scope
            )
            secret = new_link(connection, made.id)
    except ParameterError as error:
        return _page(request, problem=str(error), given=given)
    record_event(request, "account-made", account=made.name, as_role=made.role)
    return _show_link(request, made, secret)


@router.post("/accounts/{account_id}/role")
def role(
    request: Request,
    account_id: str,
    role: ShortText = "",
    analyst: ShortText = "",
    scope: ShortText = ASK,
) -> Response:
    """Give an account another role; its sessions end."""
    try:
        with service_of(request).store.changing() as connection:
            account = _others(request, account_of_id(connection, account_id))
            change_role(connection, account, role=role, analyst=analyst.strip(), scope=scope)
            changed = account_of_id(connection, account_id)
    except ParameterError as error:
        return _page(request, problem=str(error))
    record_event(request, "account-role", account=account.name, as_role=changed.role)
    what = "n" if role in ("auditor", "analyst") else ""
    return redirect(request, HERE, message=f"{account.name} is a{what} {role} now.")


@router.post("/accounts/{account_id}/reset")
def reset(request: Request, account_id: str) -> Response:
    """Show a link by which the account's holder sets a new password."""
    with service_of(request).store.changing() as connection:
        account = account_of_id(connection, account_id)
        secret = new_link(connection, account.id) if account.local else None
    if secret is None or account.disabled is not None:
        return _page(request, problem="this account has no password here, or is disabled")
    record_event(request, "password-link-made", account=account.name)
    return _show_link(request, account, secret)


@router.post("/accounts/{account_id}/disable")
def disable(request: Request, account_id: str) -> Response:
    """Let nobody use an account any more."""
    try:
        with service_of(request).store.changing() as connection:
            account = _others(request, account_of_id(connection, account_id))
            disable_account(connection, account)
    except ParameterError as error:
        return _page(request, problem=str(error))
    record_event(request, "account-disabled", account=account.name)
    message = f"{account.name} is disabled; all sessions and tokens of the account have ended."
    return redirect(request, HERE, message=message, kind="note")


@router.post("/accounts/{account_id}/enable")
def enable(request: Request, account_id: str) -> Response:
    """Let an account be used again."""
    with service_of(request).store.changing() as connection:
        account = account_of_id(connection, account_id)
        enable_account(connection, account)
    record_event(request, "account-enabled", account=account.name)
    return redirect(request, HERE, message=f"{account.name} can sign in again.")


@router.post("/accounts/{account_id}/sign-out")
def sign_out(request: Request, account_id: str) -> Response:
    """End all sessions of an account."""
    with service_of(request).store.changing() as connection:
        account = _others(request, account_of_id(connection, account_id))
        end_sessions_of_account(connection, account.id)
    record_event(request, "account-signed-out", account=account.name)
    return redirect(request, HERE, message=f"All sessions of {account.name} have ended.")


def _others(request: Request, account: Account) -> Account:
    """Return an account that is not the curator's own, or refuse: nobody locks themselves out."""
    mine = identity_of(request).session
    if mine is not None and mine.account_id == account.id:
        raise ParameterError(OWN)
    return account


def _page(request: Request, *, problem: str = "", given: dict[str, str] | None = None) -> Response:
    service, mine = service_of(request), identity_of(request).session
    with service.store.reading() as connection:
        found, analysts = all_accounts(connection), sorted(analyst_names(connection))
    return render(
        request,
        "curator/accounts.html",
        status=422 if problem else 200,
        found=found,
        analysts=analysts,
        problem=problem,
        given=given or {"name": "", "role": ANALYST, "analyst": ""},
        own=None if mine is None else mine.account_id,
        roles=[(each, f"{each}: {ABOUT[each]}") for each in ROLES],
        role_names=[(each, each) for each in ROLES],
        scopes=[(each, each) for each in reversed(SCOPES)],
        oidc=service.settings.oidc,
    )


def _show_link(request: Request, account: Account, secret: str) -> Response:
    address = own_address(request)
    oidc = service_of(request).settings.oidc
    if oidc is not None:
        address = oidc.address.rstrip("/")
    return render(
        request,
        "curator/link.html",
        account=account,
        link=f"{address}/links/{secret}",
        hours=f"{HOURS[PASSWORD]:g}",
    )
