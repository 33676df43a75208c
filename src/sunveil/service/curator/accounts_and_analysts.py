"""Accounts, analysts, shares, tokens."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import ParameterError
from sunveil.ledger.promises import check_name
from sunveil.ledger.statements import shares_of_analyst, shares_of_dataset
from sunveil.service.authentication import own_address, record_event
from sunveil.service.context import Problem, Service, service_of
from sunveil.service.curator.inference import ShortText, dataset_view, measure_sign, parse_number
from sunveil.service.guarded_routes import curator_router
from sunveil.service.page_rendering import identity_of, redirect, render
from sunveil.service.settings import ABOUT, ANALYST, ASK, ROLES, SCOPES
from sunveil.service.store.accounts import (
    DAYS,
    HOURS,
    MOST_DAYS,
    PASSWORD,
    account_of_id,
    add_account,
    all_accounts,
    analyst_names,
    change_role,
    disable_account,
    enable_account,
    end_sessions_of_account,
    issue_token,
    new_link,
    revoke_token,
    token_rows,
)
from sunveil.service.store.database import Account, TokenRow
from sunveil.service.store.datasets import all_served

router = curator_router()
HERE = "/curator/accounts"
OWN = "this is your own account; another curator can do this"


@router.get("/accounts")
def accounts(request: Request) -> Response:
    return _accounts_page(request)


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
        with service_of(request).store.changing() as db:
            made = add_account(db, name.strip(), role=role, analyst=analyst.strip(), scope=scope)
            secret = new_link(db, made.id)
    except ParameterError as error:
        return _accounts_page(request, problem=str(error), given=given)
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
        with service_of(request).store.changing() as db:
            account = _others(request, account_of_id(db, account_id))
            change_role(db, account, role=role, analyst=analyst.strip(), scope=scope)
            changed = account_of_id(db, account_id)
    except ParameterError as error:
        return _accounts_page(request, problem=str(error))
    record_event(request, "account-role", account=account.name, as_role=changed.role)
    what = "n" if role in ("auditor", "analyst") else ""
    return redirect(request, HERE, message=f"{account.name} is a{what} {role} now.")


@router.post("/accounts/{account_id}/reset")
def reset(request: Request, account_id: str) -> Response:
    """Show a link by which the account's holder sets a new password."""
    with service_of(request).store.changing() as db:
        account = account_of_id(db, account_id)
        secret = new_link(db, account.id) if account.local else None
    if secret is None or account.disabled is not None:
        return _accounts_page(request, problem="this account has no password here, or is disabled")
    record_event(request, "password-link-made", account=account.name)
    return _show_link(request, account, secret)


@router.post("/accounts/{account_id}/disable")
def disable(request: Request, account_id: str) -> Response:
    try:
        with service_of(request).store.changing() as db:
            account = _others(request, account_of_id(db, account_id))
            disable_account(db, account)
    except ParameterError as error:
        return _accounts_page(request, problem=str(error))
    record_event(request, "account-disabled", account=account.name)
    message = f"{account.name} is disabled; all sessions and tokens of the account have ended."
    return redirect(request, HERE, message=message, kind="note")


@router.post("/accounts/{account_id}/enable")
def enable(request: Request, account_id: str) -> Response:
    with service_of(request).store.changing() as db:
        account = account_of_id(db, account_id)
        enable_account(db, account)
    record_event(request, "account-enabled", account=account.name)
    return redirect(request, HERE, message=f"{account.name} can sign in again.")


@router.post("/accounts/{account_id}/sign-out")
def sign_out(request: Request, account_id: str) -> Response:
    with service_of(request).store.changing() as db:
        account = _others(request, account_of_id(db, account_id))
        end_sessions_of_account(db, account.id)
    record_event(request, "account-signed-out", account=account.name)
    return redirect(request, HERE, message=f"All sessions of {account.name} have ended.")


def _others(request: Request, account: Account) -> Account:
    """Return an account that is not the curator's own, or refuse: nobody locks themselves out."""
    mine = identity_of(request).session
    if mine is not None and mine.account_id == account.id:
        raise ParameterError(OWN)
    return account


def _accounts_page(
    request: Request, *, problem: str = "", given: dict[str, str] | None = None
) -> Response:
    service, mine = service_of(request), identity_of(request).session
    with service.store.reading() as db:
        found, analysts = all_accounts(db), sorted(analyst_names(db))
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


# How long a new token may work, on pages. [days]
DAY_CHOICES = (7, 30, DAYS, 180, MOST_DAYS)


@router.get("/analysts")
def analysts(request: Request) -> Response:
    service = service_of(request)
    with service.store.reading() as db:
        tokens = token_rows(db)
        titles = {served.name: served.title for served in all_served(db)}
        names = analyst_names(db)
        holders = [each for each in all_accounts(db) if each.role == ANALYST]
        found = [
            {
                "name": name,
                "tokens": [row for row in tokens if row.analyst == name],
                "accounts": [each for each in holders if each.analyst == name],
                "shares": sorted(shares_of_analyst(db.connection(), name).items()),
            }
            for name in sorted(names)
        ]
    return render(
        request,
        "curator/analysts.html",
        found=found,
        titles=titles,
        days=DAY_CHOICES,
        usual_days=DAYS,
        scopes=SCOPES,
    )


@router.post("/analysts/token")
def another_token(
    request: Request, analyst: ShortText = "", days: ShortText = str(DAYS), scope: ShortText = ASK
) -> Response:
    """Give an analyst who is known another token, shown once."""
    service = service_of(request)
    if analyst not in _names(service):
        raise Problem(404, "There is no such analyst; invite them from a dataset.")
    if not days.isdecimal() or len(days) > 5:
        raise Problem(422, f"A token works for 1 to {MOST_DAYS} days; choose one of these.")
    return _show_token(request, service, analyst, days=int(days), scope=scope)


@router.post("/analysts/revoke")
def revoke(request: Request, token: ShortText = "") -> Response:
    """End a token, and the sessions that were opened with it."""
    service = service_of(request)
    with service.store.reading() as db:
        row = db.get(TokenRow, token)
    if row is None or row.revoked is not None:
        raise Problem(404, "There is no such token, or it was revoked before; load the page.")
    with service.store.changing() as db:
        revoke_token(db, row.id)
    service.tokens.forget(row.id)
    record_event(request, "token-revoked", token=row.id, analyst=row.analyst)
    message = f"A token of {row.analyst} was revoked; what was published stays published."
    return redirect(request, "/curator/analysts", message=message, kind="note")


@router.get("/datasets/{name}/analysts")
def of_dataset(request: Request, name: str) -> Response:
    return _analysts_page(request, name)


@router.post("/datasets/{name}/invite")
def invite(request: Request, name: str, analyst: ShortText = "", share: ShortText = "") -> Response:
    """Give a new analyst a share and a token, shown once."""
    service, analyst = service_of(request), analyst.strip()
    if dataset_view(request, name).promised is None:
        raise Problem(409, "There is no promise yet; make it before analysts are invited.")
    try:
        _check_new(service, analyst)
        service.ledger.set_share(name, analyst, parse_number(share, "The share"))
    except ParameterError as error:
        return _analysts_page(request, name, problem=str(error), given=(analyst, share), status=422)
    return _show_token(request, service, analyst, dataset=name)


@router.post("/datasets/{name}/share")
def set_share(
    request: Request, name: str, analyst: ShortText = "", share: ShortText = ""
) -> Response:
    service = service_of(request)
    if analyst not in _names(service):
        raise Problem(404, "There is no such analyst; invite them first.")
    try:
        service.ledger.set_share(name, analyst, parse_number(share, "The share"))
    except ParameterError as error:
        return _analysts_page(request, name, problem=str(error), status=422)
    message = f"{analyst} may spend {parse_number(share, 'The share'):g} in all."
    return redirect(request, f"/curator/datasets/{name}/analysts", message=message)


def _analysts_page(
    request: Request,
    name: str,
    *,
    problem: str = "",
    given: tuple[str, str] = ("", ""),
    status: int = 200,
) -> Response:
    service, found = service_of(request), dataset_view(request, name)
    values: dict[str, Any] = found.template_values()
    with service.store.reading() as db:
        values["shares"] = shares_of_dataset(db.connection(), name)
        having = {share.analyst for share in values["shares"]}
    values |= {
        "others": [(each, each) for each in sorted(_names(service) - having)],
        "problem": problem,
        "given_name": given[0],
        "given_share": given[1],
        "sign": "" if found.promised is None else measure_sign(found.promised),
    }
    return render(request, "curator/shares.html", status=status, **values)


def _check_new(service: Service, analyst: str) -> None:
    check_name("analyst", analyst)
    if analyst in _names(service):
        raise ParameterError(
            f"there is an analyst named {analyst} already; set their share in the list instead"
        )


def _show_token(
    request: Request,
    service: Service,
    analyst: str,
    *,
    dataset: str | None = None,
    days: int = DAYS,
    scope: str = ASK,
) -> Response:
    with service.store.changing() as db:
        made = issue_token(db, analyst, days=days, scope=scope)
    record_event(request, "token-issued", token=made.id, analyst=analyst, scope=scope)
    address = own_address(request)
    return render(
        request,
        "curator/token.html",
        analyst=analyst,
        token=made.text,
        address=address,
        days=days,
        scope=scope,
        back=f"/curator/datasets/{dataset}/analysts" if dataset else "/curator/analysts",
    )


def _names(service: Service) -> set[str]:
    with service.store.reading() as db:
        return analyst_names(db)
