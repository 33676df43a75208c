"""The pages of single sign-on: to the provider, back from it, and out.

Session cookies are ``SameSite=Strict``: a browser that the provider sends back brings none, and
would bring none either to where it is redirected next. So the way there is known by a short-lived
``Lax`` cookie of its own, and the page that the provider sends back to is shown, not redirected: it
sets the session's cookie and leads on, which is then a step within this site.
"""

from __future__ import annotations

from fastapi import Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sunveil.errors import LedgerError
from sunveil.service.audit_log import record_event
from sunveil.service.context import Service, service_of
from sunveil.service.identity import set_cookie
from sunveil.service.oidc.flow import SECONDS, SignInFlow, begin_flow, flow_of
from sunveil.service.oidc.people import Person, account_for, person_of
from sunveil.service.oidc.provider import OidcProvider, ProviderDown, SignInRefused
from sunveil.service.oidc.settings import OidcSettings
from sunveil.service.pages import render
from sunveil.service.problems import Problem
from sunveil.service.roles import home_of
from sunveil.service.routing import public_router
from sunveil.service.security.tokens import same_secret
from sunveil.service.signing_in import PROVIDER, open_account
from sunveil.service.store.accounts import Account, account_of_subject, withdraw_role
from sunveil.service.store.people import analyst_names

router = public_router("/oidc")
LONGEST = 4000


@router.get("/begin")
def begin(request: Request) -> Response:
    """Send a browser to the provider, with a cookie that it comes back with."""
    provider, flow = _provider(request), begin_flow()
    try:
        response = RedirectResponse(provider.authorization_url(flow), status_code=303)
    except ProviderDown as error:
        raise _down(request, error) from None
    _set_flow(request, response, flow)
    return response


@router.get("/callback")
def callback(
    request: Request,
    code: str = Query("", max_length=LONGEST),
    state: str = Query("", max_length=LONGEST),
    error: str = Query("", max_length=LONGEST),
    iss: str = Query("", max_length=LONGEST),
) -> Response:
    """Take up a browser that comes back, and show it on if the provider vouches for it."""
    provider = _provider(request)
    try:
        _check_issuer(provider, iss)
        person = _vouched(request, provider, code=code, state=state, error=error)
    except ProviderDown as fault:
        raise _down(request, fault) from None
    except SignInRefused as refusal:
        record_event(request, "sign-in-refused", way=PROVIDER)
        problem = Problem(403, str(refusal), title="You are not signed in")
        raise problem from None
    account = _account(service_of(request), provider.settings, person)
    if account is None or not account.usable:
        known = None if account is None else account.name
        record_event(request, "sign-in-refused", way=PROVIDER, account=known or person.name)
        response = render(
            request, "no_role.html", status=403, name=person.name, disabled=known is not None
        )
    else:
        cookie = open_account(request, account, way=PROVIDER)
        response = render(request, "signed_in.html", account=account, onward=home_of(account.role))
        set_cookie(request, response, account.role, cookie)
    _drop_flow(request, response)
    return response


@router.get("/signed-out")
def signed_out(request: Request) -> Response:
    """Say that somebody is signed out here, and lead them on to sign out of the provider too."""
    provider = _provider(request)
    address = provider.logout_url()
    return render(request, "signed_out.html", provider=provider.settings.provider, address=address)


def _check_issuer(provider: OidcProvider, iss: str) -> None:
    """Refuse an answer that says it is another provider's (RFC 9207)."""
    if iss and iss != provider.settings.issuer:
        raise SignInRefused("This answer is not of the provider that was asked; sign in again.")


def _vouched(
    request: Request, provider: OidcProvider, *, code: str, state: str, error: str
) -> Person:
    """Return who the provider says has come back, or refuse."""
    flow = flow_of(request.cookies.get(_cookie(request), ""))
    if flow is None or not same_secret(state, flow.state):
        raise SignInRefused(
            "This sign-in was not begun in this browser, or took too long; sign in again."
        )
    if error or not code:
        raise SignInRefused("The provider did not let you in; sign in again, or ask its operator.")
    return person_of(provider.claims(code, flow), provider.settings)


def _account(service: Service, settings: OidcSettings, person: Person) -> Account | None:
    """Return the account of a person, with the role of now; None where they have none."""
    try:
        return _account_once(service, settings, person)
    except LedgerError:  # the same person, in another browser at the same time
        return _account_once(service, settings, person)


def _account_once(service: Service, settings: OidcSettings, person: Person) -> Account | None:
    with service.store.changing() as connection:
        if person.grant is not None:
            known = analyst_names(connection)
            return account_for(
                connection, person, settings.issuer, analyst_known=known.__contains__
            )
        found = account_of_subject(connection, settings.issuer, person.subject)
        if found is not None:
            withdraw_role(connection, found)
    return None


def _provider(request: Request) -> OidcProvider:
    found = request.app.state.oidc
    if found is None:
        raise Problem(404, "There is no single sign-on here; sign in with a password or a token.")
    assert isinstance(found, OidcProvider)
    return found


def _down(request: Request, error: ProviderDown) -> Problem:
    record_event(request, "provider-down")
    return Problem(
        503,
        f"Signing in is not possible at the moment: {error}. Try again in a few minutes.",
        headers={"Retry-After": "60"},
    )


def _cookie(request: Request) -> str:
    return f"{'__Host-' if service_of(request).settings.https else ''}sunveil-oidc"


def _set_flow(request: Request, response: Response, flow: SignInFlow) -> None:
    response.set_cookie(
        _cookie(request),
        flow.cookie,
        max_age=SECONDS,
        path="/",
        secure=service_of(request).settings.https,
        httponly=True,
        samesite="lax",
    )


def _drop_flow(request: Request, response: Response) -> None:
    response.delete_cookie(
        _cookie(request),
        path="/",
        secure=service_of(request).settings.https,
        httponly=True,
        samesite="lax",
    )
