"""Single sign-on (Authlib)."""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import requests
from authlib.common.urls import add_params_to_uri
from authlib.integrations.base_client import (
    BaseApp,
    FrameworkIntegration,
    OAuth2Mixin,
    OAuthError,
    OpenIDMixin,
)
from authlib.integrations.requests_client import OAuth2Session
from fastapi import Query
from joserfc.errors import JoseError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sunveil.errors import LedgerError, SunveilError
from sunveil.ledger.promises import LONGEST_NAME
from sunveil.service.authentication import record_event, set_cookie
from sunveil.service.context import Problem, Service, service_of
from sunveil.service.guarded_routes import public_router
from sunveil.service.page_rendering import render
from sunveil.service.passwords_and_tokens import digest_of, random_secret, same_secret
from sunveil.service.settings import ANALYST, GRANTS, OidcSettings, home_of
from sunveil.service.sign_in import PROVIDER, open_account
from sunveil.service.store.accounts import (
    account_of_id,
    account_of_subject,
    add_account,
    analyst_names,
    find_account,
    follow_provider,
    withdraw_role,
)
from sunveil.service.store.database import Account, Transaction

# How long somebody may take at the provider. [s]
SECONDS = 600


@dataclass(frozen=True, slots=True)
class SignInFlow:
    """A sign-in that was begun and has not come back yet."""

    cookie: str = field(repr=False)  # when it was begun, and a random secret

    @property
    def state(self) -> str:
        """What binds the provider's answer to this browser."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """What binds the signed token to this sign-in."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """What only who began the sign-in can send along with the code (PKCE)."""
        return self._derived("verifier")

    def _derived(self, what: str) -> str:
        return hmac.new(
            self.cookie.encode(), f"sunveil oidc {what}".encode(), hashlib.sha256
        ).hexdigest()


def begin_flow() -> SignInFlow:
    return SignInFlow(f"{int(time.time())}.{random_secret()}")


def flow_of(cookie: str) -> SignInFlow | None:
    """Return the sign-in of a cookie, unless it was begun too long ago."""
    begun, _, secret = cookie.partition(".")
    if not (begun.isdecimal() and len(begun) < 12 and len(secret) >= 40 and cookie.isascii()):
        return None
    return SignInFlow(cookie) if 0 <= time.time() - int(begun) <= SECONDS else None


# Letters of a name that are left when where it comes from is added.
_SHORT = 120


@dataclass(frozen=True, slots=True)
class Person:
    subject: str  # the provider's unchanging name of them
    name: str  # how they are called
    grant: tuple[str, str] | None  # role and scope that they have now; None for none
    analyst: str = ""


def person_of(claims: dict[str, Any], settings: OidcSettings) -> Person:
    subject = str(claims["sub"])
    given = claims.get(settings.name_claim)
    name = _plain(given if isinstance(given, str) else "") or _plain(subject) or "somebody"
    analyst = claims.get(settings.analyst_claim) if settings.analyst_claim else None
    return Person(
        subject,
        name,
        grant_of(claims.get(settings.role_claim), settings),
        _plain(analyst) if isinstance(analyst, str) else "",
    )


def grant_of(value: Any, settings: OidcSettings) -> tuple[str, str] | None:
    values = {value} if isinstance(value, str) else set()
    if isinstance(value, list):
        values = {each for each in value if isinstance(each, str)}
    for grant, meaning in GRANTS.items():
        if values & settings.roles.get(grant, frozenset()):
            return meaning
    return None


def account_for(db: Transaction, person: Person, issuer: str, *, taken: set[str]) -> Account:
    """Return the account of a person, created or updated to the current role."""
    assert person.grant is not None
    role, scope = person.grant
    found = account_of_subject(db, issuer, person.subject)
    if found is None:
        name = _free_name(db, person, issuer, taken=taken)
        return add_account(
            db,
            name,
            role=role,
            analyst=person.analyst or name if role == ANALYST else "",
            scope=scope,
            subject=(issuer, person.subject),
        )
    # a curator may have given the account an analyst's name, which the provider's claim overrules
    analyst = person.analyst or found.analyst
    if role == ANALYST and not analyst:
        analyst = _apart(found.name, person, issuer) if found.name in taken else found.name
    follow_provider(db, found, role=role, analyst=analyst, scope=scope)
    return account_of_id(db, found.id)


def _free_name(db: Transaction, person: Person, issuer: str, *, taken: set[str]) -> str:
    """Return a name that is nobody else's: the person's own, or with where they come from."""
    host = urlsplit(issuer).hostname or "provider"
    short = person.name[:_SHORT]
    tried = (person.name, f"{short}@{host}"[:LONGEST_NAME], _apart(person.name, person, issuer))
    for name in tried:
        if find_account(db, name) is None and name not in taken:
            return name
    return tried[-1]


def _apart(name: str, person: Person, issuer: str) -> str:
    """Return a name that only this subject of this issuer has."""
    mark = digest_of(f"{issuer}\n{person.subject}")[:12]
    return f"{name[:_SHORT]}@{urlsplit(issuer).hostname or 'provider'}"[:180] + f"#{mark}"


def _plain(text: str) -> str:
    """Return a text as a name: printable, on one line, and not too long."""
    return "".join(each for each in text if each.isprintable()).strip()[:LONGEST_NAME]


# How long one answer of the provider may take, and how far its clock may be off. [s]
TIMEOUT_SECONDS, LEEWAY_SECONDS = 10.0, 60

# After so long, addresses and keys are asked for again. [s]
METADATA_SECONDS = 3600.0

ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    "Ed25519",
)  # fmt: skip

NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class ProviderDown(SunveilError):
    """The provider does not answer, or not in a way that can be understood."""


class SignInRefused(SunveilError):
    """The provider's answer is no proof of who somebody is, in words for them."""


class OidcProvider:
    """A provider of single sign-on, as its discovery document describes it."""

    def __init__(self, settings: OidcSettings) -> None:
        self.settings = settings
        self._made = 0.0
        self._client: Any = None

    def authorization_url(self, flow: SignInFlow) -> str:
        client = self._ready()
        made = client.create_authorization_url(
            self.settings.redirect_uri,
            state=flow.state,
            nonce=flow.nonce,
            code_verifier=flow.verifier,
        )
        return str(made["url"])

    def claims(self, code: str, flow: SignInFlow) -> dict[str, Any]:
        client = self._ready()
        try:
            token = client.fetch_access_token(
                redirect_uri=self.settings.redirect_uri, code=code, code_verifier=flow.verifier
            )
            if not token.get("id_token"):
                raise SignInRefused("The provider sent no proof of who you are; tell its operator.")
            found = client.parse_id_token(
                token,
                nonce=flow.nonce,
                claims_options={
                    "iss": {"essential": True, "values": [self.settings.issuer]},
                    "aud": {"essential": True, "values": [self.settings.client_id]},
                    "sub": {"essential": True},
                },
                leeway=LEEWAY_SECONDS,
            )
            return {**self._more(client, token, found), **found}
        except OAuthError:
            raise SignInRefused(
                "The provider did not accept this sign-in, which may be used or old; sign in again."
            ) from None
        except JoseError:
            raise SignInRefused(
                "What the provider sent is not meant for this sign-in; sign in again."
            ) from None
        except requests.RequestException:
            raise ProviderDown("the provider does not answer") from None
        except (KeyError, TypeError, ValueError):
            raise ProviderDown("the provider's answer cannot be read") from None

    def logout_url(self) -> str | None:
        """Return where somebody signs out of the provider too, if it offers that."""
        try:
            client = self._ready()
        except ProviderDown:
            return None
        endpoint = client.server_metadata.get("end_session_endpoint")
        if not isinstance(endpoint, str):
            return None
        settings = self.settings
        given = {"client_id": settings.client_id, "post_logout_redirect_uri": settings.after_logout}
        return str(add_params_to_uri(endpoint, list(given.items())))

    def _more(self, client: Any, token: Any, found: dict[str, Any]) -> dict[str, Any]:
        """Return the claims that stand only in the provider's record of the person."""
        wanted = {self.settings.name_claim, self.settings.role_claim}
        wanted |= {self.settings.analyst_claim} - {""}
        if wanted <= set(found) or not client.server_metadata.get("userinfo_endpoint"):
            return {}
        more = dict(client.userinfo(token=token))
        # nobody else's record may add a role
        return more if more.get("sub") == found.get("sub") else {}

    def _ready(self) -> Any:
        """Return Authlib's client with the discovery document, which is renewed now and then."""
        if self._client is not None and time.monotonic() - self._made < METADATA_SECONDS:
            return self._client
        client = _client(self.settings)
        try:
            found = client.load_server_metadata()
        except (requests.RequestException, ValueError, TypeError):
            raise ProviderDown("the provider does not answer") from None
        if found.get("issuer") != self.settings.issuer or not all(
            isinstance(found.get(each), str) for each in NEEDED
        ):
            raise ProviderDown("the provider is not the one that the settings name")
        offered = found.get("id_token_signing_alg_values_supported") or ["RS256"]
        found["id_token_signing_alg_values_supported"] = [
            each for each in offered if each in ALGORITHMS
        ]
        self._client, self._made = client, time.monotonic()
        return client


class _Client(OAuth2Mixin, OpenIDMixin, BaseApp):  # type: ignore[misc]
    client_cls = OAuth2Session


def _client(settings: OidcSettings) -> _Client:
    return _Client(
        FrameworkIntegration("provider"),
        name="provider",
        client_id=settings.client_id,
        client_secret=settings.secret or None,
        server_metadata_url=f"{settings.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={
            "scope": " ".join(settings.scopes),
            "code_challenge_method": "S256",
            "token_endpoint_auth_method": "client_secret_basic" if settings.secret else "none",
            "default_timeout": TIMEOUT_SECONDS,
        },
    )


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
    response.set_cookie(_cookie(request), flow.cookie, max_age=SECONDS, **_safe(request))
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
        person = _vouched(request, provider, code=code, state=state, error=error, iss=iss)
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
    response.delete_cookie(_cookie(request), **_safe(request))
    return response


@router.get("/signed-out")
def signed_out(request: Request) -> Response:
    """Say that somebody is signed out here, and lead them on to sign out of the provider too."""
    provider = _provider(request)
    address = provider.logout_url()
    return render(request, "signed_out.html", provider=provider.settings.provider, address=address)


def _vouched(
    request: Request, provider: OidcProvider, *, code: str, state: str, error: str, iss: str
) -> Person:
    if iss and iss != provider.settings.issuer:  # RFC 9207
        raise SignInRefused("This answer is not of the provider that was asked; sign in again.")
    flow = flow_of(request.cookies.get(_cookie(request), ""))
    if flow is None or not same_secret(state, flow.state):
        raise SignInRefused(
            "This sign-in was not begun in this browser, or took too long; sign in again."
        )
    if error or not code:
        raise SignInRefused("The provider did not let you in; sign in again, or ask its operator.")
    return person_of(provider.claims(code, flow), provider.settings)


def _account(service: Service, settings: OidcSettings, person: Person) -> Account | None:
    try:
        return _account_once(service, settings, person)
    except LedgerError:  # the same person, in another browser at the same time
        return _account_once(service, settings, person)


def _account_once(service: Service, settings: OidcSettings, person: Person) -> Account | None:
    with service.store.changing() as db:
        if person.grant is not None:
            return account_for(db, person, settings.issuer, taken=analyst_names(db))
        found = account_of_subject(db, settings.issuer, person.subject)
        if found is not None:
            withdraw_role(db, found)
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


def _safe(request: Request) -> dict[str, Any]:
    """Return what keeps the cookie from scripts and from other hosts."""
    # lax, since the browser comes back from the provider's pages
    https = service_of(request).settings.https
    return {"path": "/", "secure": https, "httponly": True, "samesite": "lax"}
