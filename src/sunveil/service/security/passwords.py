"""Passwords of accounts, kept as scrypt hashes; those that are easily guessed are refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
from collections.abc import Sequence

from zxcvbn import zxcvbn

from sunveil.errors import ParameterError

# 32 MB and about a tenth of a second for each try.
COST, BLOCK, PARALLEL = 2**15, 8, 1
SHORTEST, LONGEST = 12, 200
_MEMORY = 64 * 1024 * 1024
# zxcvbn's time grows with the square of the length, and what is strong by then stays strong.
JUDGED = 64
# The highest of zxcvbn's scores, 10^10 guesses or more: what holds if hashes were ever taken.
LEAST_SCORE = 4
# Words that whoever guesses tries first here.
OWN_WORDS = ("sunveil", "curator", "auditor", "analyst", "solar", "ledger", "privacy")
OWN_ADVICE = "Add another word or two, and leave out names and years"
# zxcvbn keeps a user's words in a table of its module while it judges.
_judging = threading.Lock()


def check_strength(password: str, names: Sequence[str] = ()) -> None:
    """Refuse a password that is too short, too long or easily guessed, and say what makes it so.

    Parameters
    ----------
    password
        In the clear.
    names
        What is known of the account, such as its name: a guesser tries these first.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise ParameterError(
            f"a password has {SHORTEST} to {LONGEST} letters; a sentence is a good one"
        )
    words = [word for name in names for word in (name, *name.replace("@", " ").split())]
    with _judging:
        found = zxcvbn(password[:JUDGED], user_inputs=[*OWN_WORDS, *words], max_length=JUDGED)
    if found["score"] < LEAST_SCORE:
        said = [found["feedback"]["warning"], *found["feedback"]["suggestions"]]
        advice = " ".join(each.rstrip(".") + "." for each in said if each) or OWN_ADVICE
        raise ParameterError(f"this password is easily guessed. {advice.rstrip('.')}")


def hash_password(password: str) -> str:
    """Return a password's scrypt hash, as it is kept."""
    salt = secrets.token_bytes(16)
    made = _scrypt(password, salt, cost=COST, block=BLOCK, parallel=PARALLEL)
    return f"scrypt${COST}${BLOCK}${PARALLEL}${_base64(salt)}${_base64(made)}"


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


def _scrypt(password: str, salt: bytes, *, cost: int, block: int, parallel: int) -> bytes:
    return hashlib.scrypt(
        password.encode(), salt=salt, n=cost, r=block, p=parallel, maxmem=_MEMORY, dklen=32
    )


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
