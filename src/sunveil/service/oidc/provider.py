"""The provider: discovery, the way to its page, and the exchange of a code for claims.

Authlib does the protocol: the authorization code with PKCE, the client's authentication, keys by
JWKS and their renewal, signature, ``iss``, ``exp``, ``iat``, ``nonce`` and ``at_hash``. What is
added here: the issuer must name itself as the settings do, the audience must be this service, and
only signatures with a public key count.
"""

from __future__ import annotations

import time
from typing import Any

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
from joserfc.errors import JoseError

from sunveil.errors import SunveilError
from sunveil.service.oidc.flow import SignInFlow
from sunveil.service.oidc.settings import OidcSettings

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
    """A provider of single sign-on, as its discovery document describes it.

    Parameters
    ----------
    settings
        Who it is, and how it knows this service.
    """

    def __init__(self, settings: OidcSettings) -> None:
        self.settings = settings
        self._made = 0.0
        self._client: Any = None

    def authorization_url(self, flow: SignInFlow) -> str:
        """Return the address of the provider's page for a sign-in."""
        client = self._ready()
        made = client.create_authorization_url(
            self.settings.redirect_uri,
            state=flow.state,
            nonce=flow.nonce,
            code_verifier=flow.verifier,
        )
        return str(made["url"])

    def claims(self, code: str, flow: SignInFlow) -> dict[str, Any]:
        """Return what the provider has signed of whoever comes back with a code.

        Parameters
        ----------
        code
            What the provider sent the browser back with.
        flow
            The sign-in that it was asked for with.
        """
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
        given = {
            "client_id": settings.client_id,
            "post_logout_redirect_uri": settings.after_logout,
        }
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
    """Authlib's client of a provider, over requests."""

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
