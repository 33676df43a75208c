"""Cookies of browsers that an account has signed in with before.

Such a cookie opens nothing. It only says that whoever tries a password here has known it once, so
that others who guess at the same account, or behind the same address, cannot lock its owner out.
"""

from __future__ import annotations

import hmac
import os
import secrets
from hashlib import sha256
from pathlib import Path

KEY_BYTES = 32


class Devices:
    """Issues and checks the cookies of browsers that are known.

    Parameters
    ----------
    key
        What signs them.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def issue(self, account: str) -> str:
        """Return a new cookie for a browser that an account has signed in with."""
        nonce = secrets.token_hex(16)
        return f"{nonce}.{self._sign(account, nonce)}"

    def known(self, cookie: str, account: str) -> str | None:
        """Return what a browser is known by, if its cookie is this account's; else None."""
        nonce, _, signed = cookie.partition(".")
        fits = hmac.compare_digest(signed.encode(), self._sign(account, nonce).encode())
        return nonce if fits else None

    def _sign(self, account: str, nonce: str) -> str:
        return hmac.new(self._key, f"{account}\0{nonce}".encode(), sha256).hexdigest()


def load_key(path: Path) -> bytes:
    """Return the key that a file holds, made the first time; one of this run if it cannot be."""
    made = secrets.token_bytes(KEY_BYTES)
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(made)
    except FileExistsError:
        found = path.read_bytes()
        return found if len(found) == KEY_BYTES else made
    except OSError:
        return made
    return made
