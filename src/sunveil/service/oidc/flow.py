"""One sign-in on its way through the provider, known by a short-lived cookie.

State, nonce and PKCE's verifier are made from the cookie, so that nothing is kept here: whoever
comes back must bring the cookie that the answer was asked for with, and a code that somebody else
asked for fits none of the three.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass, field

from sunveil.service.security.tokens import random_secret

# How long somebody may take at the provider. [s]
SECONDS = 600


@dataclass(frozen=True, slots=True)
class SignInFlow:
    """A sign-in that was begun and has not come back yet.

    Parameters
    ----------
    cookie
        When it was begun, and a random secret.
    """

    cookie: str = field(repr=False)

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
    """Return a new sign-in."""
    return SignInFlow(f"{int(time.time())}.{random_secret()}")


def flow_of(cookie: str) -> SignInFlow | None:
    """Return the sign-in of a cookie, unless it was begun too long ago."""
    begun, _, secret = cookie.partition(".")
    if not (begun.isdecimal() and len(begun) < 12 and len(secret) >= 40 and cookie.isascii()):
        return None
    return SignInFlow(cookie) if 0 <= time.time() - int(begun) <= SECONDS else None
