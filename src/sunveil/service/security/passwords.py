"""Curators' passwords, kept as scrypt hashes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from sunveil.errors import ParameterError

# 32 MB and about a tenth of a second for each try.
COST, BLOCK, PARALLEL = 2**15, 8, 1
SHORTEST, LONGEST = 12, 200
_MEMORY = 64 * 1024 * 1024


def hash_password(password: str) -> str:
    """Return a password's hash, or refuse one that is easily guessed."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise ParameterError(
            f"a password has {SHORTEST} to {LONGEST} letters; a sentence is a good one"
        )
    salt = secrets.token_bytes(16)
    return f"scrypt${COST}${BLOCK}${PARALLEL}${_base64(salt)}${_base64(_scrypt(password, salt))}"


def password_fits(password: str, kept: str | None) -> bool:
    """Return whether a password is the kept one, in the same time whether there is one or not."""
    found = kept or f"scrypt${COST}${BLOCK}${PARALLEL}${_base64(bytes(16))}${_base64(bytes(32))}"
    _, cost, block, parallel, salt, digest = found.split("$")
    known = base64.b64decode(digest)
    made = _scrypt(
        password[:LONGEST],
        base64.b64decode(salt),
        cost=int(cost),
        block=int(block),
        parallel=int(parallel),
    )
    return hmac.compare_digest(made, known) and kept is not None


def _scrypt(
    password: str, salt: bytes, *, cost: int = COST, block: int = BLOCK, parallel: int = PARALLEL
) -> bytes:
    return hashlib.scrypt(
        password.encode(), salt=salt, n=cost, r=block, p=parallel, maxmem=_MEMORY, dklen=32
    )


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
