"""Random secrets: analysts' tokens, cookies and links. Only their digests are kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

# 256 bits of chance
_BYTES = 32
_TOKEN = re.compile(r"sv_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Token:
    """An analyst's token: a public half that finds it, and a secret half that opens.

    Parameters
    ----------
    id
        The public half.
    secret
        The other half.
    """

    id: str
    secret: str = field(repr=False)

    @property
    def text(self) -> str:
        """What the analyst is given."""
        return f"sv_{self.id}_{self.secret}"

    @property
    def digest(self) -> str:
        """What is kept of the secret."""
        return digest_of(self.secret)

    def fits(self, digest: str) -> bool:
        """Return whether the secret is the one that a digest was kept of, in constant time."""
        return hmac.compare_digest(self.digest.encode(), digest.encode())


def make_token() -> Token:
    """Return a new token."""
    return Token(secrets.token_hex(8), random_secret())


def read_token(text: str) -> Token | None:
    """Return the token that a text is, or None."""
    found = _TOKEN.fullmatch(text.strip())
    return None if found is None else Token(found[1], found[2])


def random_secret() -> str:
    """Return a secret of 256 random bits, as text."""
    return secrets.token_urlsafe(_BYTES)


def digest_of(secret: str) -> str:
    """Return what is kept of a secret. It has 256 random bits, so that no salt is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def csrf_of(cookie: str) -> str:
    """Return the token that forms of a session carry; only who knows its cookie can make it."""
    return hmac.new(cookie.encode(), b"sunveil form", hashlib.sha256).hexdigest()


def same_secret(one: str, other: str) -> bool:
    """Return whether two texts are the same, in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())
