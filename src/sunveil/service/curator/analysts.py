"""Inviting analysts, giving them shares, and issuing and revoking their tokens."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import ParameterError
from sunveil.ledger.records import check_name
from sunveil.ledger.shares import shares_of_analyst, shares_of_dataset
from sunveil.service.addresses import own_address
from sunveil.service.audit_log import record_event
from sunveil.service.context import Service, service_of
from sunveil.service.curator.forms import ShortText, dataset_view, measure_sign, parse_number
from sunveil.service.pages import redirect, render
from sunveil.service.problems import Problem
from sunveil.service.roles import ANALYST, ASK, SCOPES
from sunveil.service.routing import curator_router
from sunveil.service.store.accounts import all_accounts
from sunveil.service.store.datasets import all_served
from sunveil.service.store.people import analyst_names
from sunveil.service.store.tokens import (
    DAYS,
    MOST_DAYS,
    TokenRow,
    issue_token,
    revoke_token,
    token_rows,
)

router = curator_router()
# How long a new token may work, on pages. [days]
DAY_CHOICES = (7, 30, DAYS, 180, MOST_DAYS)


@router.get("/analysts")
def analysts(request: Request) -> Response:
    """Show all analysts, their tokens and their shares."""
    service = service_of(request)
    with service.store.reading() as connection:
        tokens = token_rows(connection)
        titles = {served.name: served.title for served in all_served(connection)}
        names = analyst_names(connection)
        holders = [each for each in all_accounts(connection) if each.role == ANALYST]
        found = [
            {
                "name": name,
                "tokens": [row for row in tokens if row.analyst == name],
                "accounts": [each for each in holders if each.analyst == name],
                "shares": sorted(shares_of_analyst(connection, name).items()),
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
    row = next((each for each in _tokens(service) if each.id == token), None)
    if row is None or row.revoked is not None:
        raise Problem(404, "There is no such token, or it was revoked before; load the page.")
    with service.store.changing() as connection:
        revoke_token(connection, row.id)
    service.tokens.forget(row.id)
    record_event(request, "token-revoked", token=row.id, analyst=row.analyst)
    message = f"A token of {row.analyst} was revoked; what was published stays published."
    return redirect(request, "/curator/analysts", message=message, kind="note")


@router.get("/datasets/{name}/analysts")
def of_dataset(request: Request, name: str) -> Response:
    """Show who has a share of a dataset."""
    return _page(request, name)


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
        return _page(request, name, problem=str(error), given=(analyst, share), status=422)
    return _show_token(request, service, analyst, dataset=name)


@router.post("/datasets/{name}/share")
def set_share(
    request: Request, name: str, analyst: ShortText = "", share: ShortText = ""
) -> Response:
    """Give an analyst who is known a share, or change it."""
    service = service_of(request)
    if analyst not in _names(service):
        raise Problem(404, "There is no such analyst; invite them first.")
    try:
        service.ledger.set_share(name, analyst, parse_number(share, "The share"))
    except ParameterError as error:
        return _page(request, name, problem=str(error), status=422)
    message = f"{analyst} may spend {parse_number(share, 'The share'):g} in all."
    return redirect(request, f"/curator/datasets/{name}/analysts", message=message)


def _page(
    request: Request,
    name: str,
    *,
    problem: str = "",
    given: tuple[str, str] = ("", ""),
    status: int = 200,
) -> Response:
    service, found = service_of(request), dataset_view(request, name)
    values: dict[str, Any] = found.template_values()
    with service.store.reading() as connection:
        values["shares"] = shares_of_dataset(connection, name)
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
    with service.store.changing() as connection:
        made = issue_token(connection, analyst, days=days, scope=scope)
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


def _tokens(service: Service) -> list[TokenRow]:
    with service.store.reading() as connection:
        return token_rows(connection)


def _names(service: Service) -> set[str]:
    """Return all analysts: who has a token, a share or an account."""
    with service.store.reading() as connection:
        return analyst_names(connection)
