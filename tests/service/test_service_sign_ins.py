from __future__ import annotations

import logging

import httpx
import pytest
from service_makers import PASSWORD, csrf, new_curator, new_token, post, quick_settings, running

from sunveil.service.settings import Rates, parse_network

PROXY = {"trusted_proxies": (parse_network("127.0.0.1"),), "address": "http://sunveil.example"}
# of an address five, of an account three failures at once, and next to none more later
RATES = Rates(1e6, 1e6, 1e6, 1e6, 0.001, 5.0, 0.001, 3.0, 0.001, 200.0)


@pytest.fixture(scope="module")
def proxied(start):
    """Return a service that believes a proxy at 127.0.0.1, and nobody else."""
    found = start(rates=RATES, **PROXY)
    for name in ("cora", "dora", "elsa"):
        new_curator(found.service, name)
    return found


def tries(running, addresses, *, peer="127.0.0.1", path="/analyst/login", **fields):
    """Send a form once for each address that is claimed, and return the statuses."""
    with httpx.Client(
        base_url=running.base, transport=httpx.HTTPTransport(local_address=peer), timeout=60.0
    ) as client:
        fields["csrf"] = csrf(client, path)
        return [
            client.post(path, data=fields, headers={"X-Forwarded-For": each}).status_code
            for each in addresses
        ]


def test_forged_addresses_are_limited_as_one(proxied):
    forged = [f"198.51.100.{number}" for number in range(60)]
    assert tries(proxied, forged, peer="127.0.0.2", token="sv_no") == [403] * 5 + [429] * 55


def test_addresses_forged_before_a_proxy_are_limited_as_one_and_others_are_not(proxied):
    forged = [f"198.51.100.{number}, 203.0.113.66" for number in range(60)]
    assert tries(proxied, forged, token="sv_no") == [403] * 5 + [429] * 55
    token = new_token(proxied.service)
    others = [f"203.0.113.66, 192.0.2.{number}" for number in range(30)]
    assert tries(proxied, others, token=token) == [303] * 30


def test_sign_ins_that_succeed_count_for_nothing(proxied):
    token = new_token(proxied.service)
    assert tries(proxied, ["192.0.2.200"] * 12, token=token) == [303] * 12


def test_guessing_at_one_account_from_many_addresses_is_limited_but_its_owner_gets_in(proxied):
    owner = proxied.client()
    owner.headers["X-Forwarded-For"] = "192.0.2.100"
    assert post(owner, "/curator/login", name="Dora ", password="no").status_code == 403
    assert post(owner, "/curator/login", name="dora", password=PASSWORD).status_code == 303
    asked = {"path": "/curator/login", "name": "dora"}
    guesses = [f"192.0.2.{110 + number}" for number in range(4)]
    assert tries(proxied, guesses, password="guess", **asked) == [403, 403, 429, 429]
    # a browser that the account never signed in with has to wait, whoever it is
    assert tries(proxied, ["192.0.2.120"], password=PASSWORD, **asked) == [429]
    # the owner's is known, and is not held up
    assert post(owner, "/curator/login", name="dora", password=PASSWORD).status_code == 303
    # for this account only, and for so many failures of its own
    stolen = dict(owner.cookies) | {"sunveil-guest": "g" * 43}
    other = proxied.client(cookies=stolen)
    other.headers["X-Forwarded-For"] = "192.0.2.130"
    statuses = [
        post(other, "/curator/login", name="dora", password="no").status_code for _ in range(4)
    ]
    assert statuses == [403, 403, 403, 429]
    assert post(owner, "/curator/login", name="elsa", password=PASSWORD).status_code == 303


def test_a_limit_is_told_once_in_the_audit_log_without_what_was_entered(proxied, caplog):
    with caplog.at_level(logging.INFO, "sunveil.audit"):
        asked = {"path": "/curator/login", "name": "hunter2", "password": "hunter3"}
        tries(proxied, ["192.0.2.140"] * 6, **asked)
    (told,) = [record for record in caplog.records if record.msg == "sign-ins-limited"]
    assert told.facts == {"address": "192.0.2.140", "limit": "account"}
    assert "hunter" not in caplog.text


def test_a_known_browser_is_known_for_one_account_and_after_a_restart(tmp_path):
    settings = quick_settings(tmp_path / "data", rates=RATES, **PROXY)
    first = running(settings)
    for name in ("cora", "dora"):
        new_curator(first.service, name)
    owner = first.client()
    assert post(owner, "/curator/login", name="cora", password=PASSWORD).status_code == 303
    cookie = owner.cookies["sunveil-device"]
    first.stop()
    again = running(settings)
    try:
        for name in ("cora", "dora"):
            guesses = [f"192.0.2.{number}" for number in range(4)]
            asked = {"path": "/curator/login", "name": name, "password": "guess"}
            tries(again, guesses, **asked)
        known, forged = again.client(), again.client()
        known.cookies["sunveil-device"] = cookie
        forged.cookies["sunveil-device"] = cookie[:-1] + ("0" if cookie[-1] != "0" else "1")
        for number, (client, name, status) in enumerate(
            [(known, "dora", 429), (forged, "cora", 429), (known, "cora", 303)]
        ):
            client.headers["X-Forwarded-For"] = f"192.0.2.{100 + number}"
            answer = post(client, "/curator/login", name=name, password=PASSWORD)
            assert (name, answer.status_code) == (name, status)
    finally:
        again.stop()
