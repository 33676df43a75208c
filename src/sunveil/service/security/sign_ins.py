"""Limits of sign-ins: by address, by account, and for all together. Only failures count.

- **By address**, or by an IPv6 household's network: one who guesses is slowed down, whichever
  accounts are tried.
- **By account**: many who guess at one account are slowed down, whichever addresses they have.
- **For all together**: many who guess at many are slowed down, and hashing cannot take all of the
  machine.
- **A browser that an account has signed in with before** counts by itself, and by nothing else: its
  owner is not locked out by those who guess, at the account or from the same address.

What a try takes is given back when it succeeds, so that a thousand users behind one address can
sign in as long as they know their passwords.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from sunveil.service.security.rates import RateLimit
from sunveil.service.settings import Rates

# How many passwords are hashed at the same time; each takes 32 MB and a tenth of a second.
CHECKS_AT_ONCE = 4
# How often a limit that was reached is told of again. [1/s]
TOLD_RATE = 1.0 / 60.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """A try to sign in.

    Parameters
    ----------
    wait
        How long to wait before the next; 0 if this one may go on. [s]
    limit
        Which limit it met: ``address``, ``account``, ``all`` or ``browser``; empty if none.
    taken
        What it took, by limit and key.
    """

    wait: int = 0
    limit: str = ""
    taken: tuple[tuple[RateLimit, str], ...] = field(default=(), repr=False)

    def succeeded(self) -> None:
        """Give back what the try took: it was no failure."""
        for limit, key in self.taken:
            limit.give_back(key)


class KnownBrowsers:
    """Cookies of browsers that an account has signed in with before. They open nothing.

    A cookie is a random name and its signature for one account.
    """

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def issue(self, account: str) -> str:
        """Return a new cookie for a browser that an account has signed in with."""
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
    """How often sign-ins may fail.

    Parameters
    ----------
    rates
        How often, by each limit.
    addresses
        The limit by address, which tokens that are not known count against as well.
    known
        Tells browsers that an account has signed in with before.
    """

    def __init__(self, rates: Rates, *, addresses: RateLimit, known: KnownBrowsers) -> None:
        self.known = known
        self.checks = asyncio.Semaphore(CHECKS_AT_ONCE)
        self._addresses = addresses
        self._accounts = RateLimit(rates.account_failures, rates.account_failures_burst)
        self._browsers = RateLimit(rates.account_failures, rates.account_failures_burst)
        self._all = RateLimit(rates.all_failures, rates.all_failures_burst)
        self._told = RateLimit(TOLD_RATE, 1.0)

    def begin(self, *, address: str, account: str, cookie: str) -> Attempt:
        """Return a try, which may go on unless it has to wait.

        Parameters
        ----------
        address
            What the client's address is limited as.
        account
            The account's name as it was entered; empty where none is asked for.
        cookie
            The cookie that tells a browser that is known; empty if there is none.
        """
        name = account.strip().casefold()
        browser = self.known.name_of(cookie, name) if name and cookie else None
        if browser is not None:
            return _take([("browser", self._browsers, browser)])
        wanted = [("address", self._addresses, address), ("all", self._all, "all")]
        if name:
            wanted.append(("account", self._accounts, name))
        return _take(wanted)

    def is_news(self, limit: str, address: str) -> bool:
        """Return whether a limit that was reached should be told of: once a minute for each."""
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
