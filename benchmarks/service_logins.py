"""Whether forged addresses get around limits: ``python -m benchmarks.service_logins``.

A service with its usual limits trusts a proxy at 127.0.0.1, and nobody else. Somebody who guesses
sends 60 sign-ins, each with another forged ``X-Forwarded-For``: from elsewhere, then through the
proxy, then at one account from 60 true addresses. Meanwhile 1,000 users sign in through the same
proxy, each from an address of their own. The aim: the 60 are limited as one, the 1,000 all get in,
and so does the owner of the account in a browser that has signed in before.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

from benchmarks.service_bars import put_reached
from sunveil.service.app import bind, create_app, server_of
from sunveil.service.settings import ServiceSettings, parse_network
from sunveil.service.store.accounts import issue_token, set_password

TRIES, USERS, PASSWORD = 60, 1000, "correct horse battery staple"
PROXY, ELSEWHERE = "127.0.0.1", "127.0.0.2"
# How many of many tries of one address are looked at: the burst, and what comes back meanwhile.
AS_ONE = 25


class Client:
    """Somebody who sends forms, by way of a proxy that says for whom.

    Parameters
    ----------
    base
        The service's address.
    peer
        The address that the connection comes from.
    """

    def __init__(self, base: str, peer: str = PROXY) -> None:
        transport = httpx.HTTPTransport(local_address=peer)
        self._http = httpx.Client(base_url=base, transport=transport, timeout=60.0)
        self._csrf: dict[str, str] = {}

    def sign_in(self, path: str, forwarded: str, **fields: str) -> int:
        """Send a form with what it says of where it comes from, and return the status."""
        headers = {"X-Forwarded-For": forwarded}
        if path not in self._csrf:
            page = self._http.get(path, headers=headers).text
            found = re.search(r'name="csrf" value="([0-9a-f]+)"', page)
            assert found is not None
            self._csrf[path] = found[1]
        sent = {"csrf": self._csrf[path], **fields}
        return self._http.post(path, data=sent, headers=headers).status_code


def report(what: str, statuses: list[int], *, held: bool) -> bool:
    """Print what became of some tries, and return whether it is as it should be."""
    counted = Counter(statuses)
    print(
        f"| {what} | {len(statuses):,} | {counted[303]:,} | {counted[403]:,} | {counted[429]:,} |"
        f" {'held' if held else 'NOT held'} |",
        flush=True,
    )
    return held


def trials(base: str, token: str) -> tuple[bool, str]:
    """Run all of them; return whether all held, and what became of the forged and the many."""
    print("| who | tries | signed in | refused after a look | refused at once | |")
    print("|---|---|---|---|---|---|")
    guesser, proxied, owner = Client(base, ELSEWHERE), Client(base), Client(base)
    owned = owner.sign_in("/curator/login", "192.0.2.1", name="cora", password=PASSWORD)
    forged = [f"198.51.100.{number}" for number in range(TRIES)]
    tried = [guesser.sign_in("/analyst/login", each, token="sv_no") for each in forged]
    good = report("forged addresses", tried, held=tried.count(403) <= AS_ONE)
    looked = f"{tried.count(403)} of {len(tried)} looked at"
    guesses = [f"{each}, 203.0.113.66" for each in forged]
    tried = [proxied.sign_in("/analyst/login", each, token="sv_no") for each in guesses]
    good &= report("the same through the proxy", tried, held=tried.count(403) <= AS_ONE)
    tried = [
        proxied.sign_in("/analyst/login", f"10.7.{n // 250}.{n % 250 + 1}", token=token)
        for n in range(USERS)
    ]
    good &= report("users behind that proxy", tried, held=set(tried) == {303})
    looked += f"; {tried.count(303):,} of {len(tried):,} signed in"
    asked = {"name": "cora", "password": "a guess"}
    tried = [proxied.sign_in("/curator/login", each, **asked) for each in forged]
    good &= report("guesses at one account", tried, held=tried.count(403) <= AS_ONE)
    tried = [owned, owner.sign_in("/curator/login", "192.0.2.1", name="cora", password=PASSWORD)]
    good &= report("its owner, before and after", tried, held=tried == [303, 303])
    return good, looked


def main() -> None:
    """Start a service, try, and end with 1 if a limit did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write its row to docs/measured")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        proxy = {"trusted_proxies": (parse_network(PROXY),), "address": "http://sunveil.example"}
        settings = ServiceSettings(data=Path(folder), port=0, **proxy)
        app, bound = create_app(settings), bind(settings)
        with app.state.service.store.changing() as connection:
            set_password(connection, "cora", PASSWORD)
            token = issue_token(connection, "ann").text
        server = server_of(app)
        thread = threading.Thread(target=server.run, args=([bound],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            held, looked = trials(f"http://127.0.0.1:{bound.getsockname()[1]}", token)
        finally:
            server.should_exit = True
            thread.join()
            bound.close()
    put_reached(given.write, "logins", looked)
    sys.exit(not held)


if __name__ == "__main__":
    main()
