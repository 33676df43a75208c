"""Passwords, secrets, headers, rate limits."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import math
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from zxcvbn import zxcvbn

from sunveil.errors import ParameterError
from sunveil.service.settings import Rates

# Plotly makes empty style elements and fills them rule by rule, which scripts of ours may do; only
# an empty one has this digest. Its marks on the page are styled by attributes.
EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"

# No script or style of another origin, no script in the page itself, and no frame around it.
# Plotly puts images of figures together as data and blobs.
POLICY = (
    "default-src 'self'; script-src 'self';"
    f" style-src 'self' {EMPTY_STYLE}; style-src-attr 'unsafe-inline';"
    " img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; object-src 'none';"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

# The script that draws maps works in a worker, which it makes from its own text.
MAP_PAGE = re.compile(r"/curator/datasets/[^/]+/map")
MAP_POLICY = f"{POLICY}; worker-src blob:"

FIXED = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}

CACHE_CONTROL = b"cache-control"
HSTS = {"strict-transport-security": "max-age=31536000"}


class SecurityHeaders:
    """ASGI middleware that puts the security headers on every response."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self._app = app
        fixed = {**FIXED, **(HSTS if https else {})}
        self._usual = _encoded(fixed)
        self._of_maps = _encoded({**fixed, "content-security-policy": MAP_POLICY})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = self._of_maps if MAP_PAGE.fullmatch(scope["path"]) else self._usual
                message["headers"] = _merged(message["headers"], ours)
            await send(message)

        await self._app(scope, receive, sending)


def _encoded(headers: dict[str, str]) -> dict[bytes, bytes]:
    return {name.encode(): value.encode() for name, value in headers.items()}


def _merged(
    given: Iterable[tuple[bytes, bytes]], ours: dict[bytes, bytes]
) -> list[tuple[bytes, bytes]]:
    """Return an answer's headers with ours, which go before its own."""
    kept = [pair for pair in given if pair[0] not in ours]
    # what was answered is for the one who asked, unless the answer says otherwise
    if not any(name == CACHE_CONTROL for name, _ in kept):
        kept.append((CACHE_CONTROL, b"no-store"))
    return [*kept, *ours.items()]


# 32 MB and about a tenth of a second for each try.
COST, BLOCK, PARALLEL = 2**15, 8, 1
SHORTEST, LONGEST = 12, 200
_MEMORY = 64 * 1024 * 1024

# zxcvbn's time grows with the square of the length, and what is strong by then stays strong.
JUDGED = 64

# The highest of zxcvbn's scores, 10^10 guesses or more: what holds if hashes were ever taken.
LEAST_SCORE = 4

# Words that a guesser tries first here.
OWN_WORDS = ("sunveil", "curator", "auditor", "analyst", "solar", "ledger", "privacy")
OWN_ADVICE = "Add another word or two, and leave out names and years"

# zxcvbn keeps a user's words in a table of its module while it judges.
_judging = threading.Lock()


def check_strength(password: str, names: Sequence[str] = ()) -> None:
    """Refuse a password that is too short, too long or easily guessed, and say what makes it so."""
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


# Beyond this many, the ones that were quiet longest are forgotten: they are full again anyway.
MOST_BUCKETS = 20_000


class RateLimit:
    """How often each of many askers may ask: one bucket each, all of one size."""

    def __init__(
        self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        # pages are made in threads, and lines of the log come from all of them
        self._lock = Lock()

    def take(self, who: str) -> int:
        """Take one request off somebody's bucket and return 0, or return the wait. [s]"""
        with self._lock:
            left, now = self._left(who)
            granted = left >= 1.0
            self._buckets[who] = (left - 1.0 if granted else left, now)
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        return 0 if granted else max(1, math.ceil((1.0 - left) / self._rate))

    def give_back(self, who: str) -> None:
        """Put one request back into somebody's bucket: it was none of those that are counted."""
        with self._lock:
            left, now = self._left(who)
            self._buckets[who] = (min(self._burst, left + 1.0), now)

    def _left(self, who: str) -> tuple[float, float]:
        now = self._clock()
        left, seen = self._buckets.pop(who, (self._burst, now))
        return min(self._burst, left + (now - seen) * self._rate), now


# How many passwords are hashed at the same time; each takes 32 MB and a tenth of a second.
CHECKS_AT_ONCE = 4

# [1/s] How often a reached limit is logged again.
TOLD_RATE = 1.0 / 60.0


@dataclass(frozen=True, slots=True)
class Attempt:
    wait: int = 0  # [s] how long to wait before the next; 0 if this one may go on
    limit: str = ""  # which limit it met: `address`, `account`, `all` or `browser`; empty if none
    taken: tuple[tuple[RateLimit, str], ...] = field(default=(), repr=False)

    def succeeded(self) -> None:
        """Give back what the try took: it was no failure."""
        for limit, key in self.taken:
            limit.give_back(key)


class KnownBrowsers:
    """Cookies of browsers that an account has signed in with before. They open nothing."""

    # A cookie is a random name and its signature for one account.

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def issue(self, account: str) -> str:
        name = secrets.token_hex(16)
        return f"{name}.{self._sign(account, name)}"

    def name_of(self, cookie: str, account: str) -> str | None:
        """Return the name of a browser, if its cookie is this account's; else None."""
        name, _, signed = cookie.partition(".")
        fits = hmac.compare_digest(signed.encode(), self._sign(account, name).encode())
        return name if fits else None

    def _sign(self, account: str, name: str) -> str:
        return hmac.new(self._key, f"{account}\0{name}".encode(), sha256).hexdigest()


class SignInLimits:
    def __init__(self, rates: Rates, *, addresses: RateLimit, known: KnownBrowsers) -> None:
        self.known = known
        self.checks = asyncio.Semaphore(CHECKS_AT_ONCE)
        self._addresses = addresses
        self._accounts = RateLimit(rates.account_failures, rates.account_failures_burst)
        self._browsers = RateLimit(rates.account_failures, rates.account_failures_burst)
        self._all = RateLimit(rates.all_failures, rates.all_failures_burst)
        self._told = RateLimit(TOLD_RATE, 1.0)

    def begin(self, *, address: str, account: str, cookie: str) -> Attempt:
        """Return a try, which may go on unless it has to wait."""
        name = account.strip().casefold()
        browser = self.known.name_of(cookie, name) if name and cookie else None
        if browser is not None:
            return _take([("browser", self._browsers, browser)])
        wanted = [("address", self._addresses, address), ("all", self._all, "all")]
        if name:
            wanted.append(("account", self._accounts, name))
        return _take(wanted)

    def is_news(self, limit: str, address: str) -> bool:
        """Return whether to log that a limit was reached: once a minute for each."""
        return not self._told.take(f"{limit} {address}")


def _take(wanted: Sequence[tuple[str, RateLimit, str]]) -> Attempt:
    taken: list[tuple[RateLimit, str]] = []
    for name, limit, key in wanted:
        wait = limit.take(key)
        if wait:
            Attempt(taken=tuple(taken)).succeeded()
            return Attempt(wait, name)
        taken.append((limit, key))
    return Attempt(taken=tuple(taken))


# 256 bits of chance
_BYTES = 32
_TOKEN = re.compile(r"sv_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Token:
    """An analyst's token: a public half that finds it, and a secret half that opens."""

    id: str  # the public half
    secret: str = field(repr=False)  # the other half

    @property
    def text(self) -> str:
        return f"sv_{self.id}_{self.secret}"

    @property
    def digest(self) -> str:
        """What is kept of the secret."""
        return digest_of(self.secret)

    def fits(self, digest: str) -> bool:
        """Return whether the secret is the one that a digest was kept of, in constant time."""
        return hmac.compare_digest(self.digest.encode(), digest.encode())


def make_token() -> Token:
    return Token(secrets.token_hex(8), random_secret())


def read_token(text: str) -> Token | None:
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
