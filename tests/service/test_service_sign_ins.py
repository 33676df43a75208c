from __future__ import annotations

import logging
import re

import httpx
import pytest
from service_makers import PASSWORD, csrf, new_curator, new_token, post, quick_settings, running

from sunveil.errors import ParameterError
from sunveil.service.settings import Rates, ServiceSettings, limit_key, mapped, parse_network

ADDRESS = "http://sunveil.example.org"
PROXIES = (parse_network("127.0.0.1"), parse_network("10.0.0.0/8"))
PROXY = {"trusted_proxies": (parse_network("127.0.0.1"),), "address": "http://sunveil.example"}

# of an address five, of an account three failures at once, and next to none more later
FEW = Rates(1e6, 1e6, 1e6, 1e6, 0.001, 5.0, 0.001, 3.0, 0.001, 200.0)


@pytest.fixture(scope="module")
def limited(start):
    """Return a service that believes a proxy at 127.0.0.1, and nobody else."""
    found = start(rates=FEW, **PROXY)
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


def test_forged_addresses_are_limited_as_one(limited):
    forged = [f"198.51.100.{number}" for number in range(60)]
    assert tries(limited, forged, peer="127.0.0.2", token="sv_no") == [403] * 5 + [429] * 55


def test_addresses_forged_before_a_proxy_are_limited_as_one_and_others_are_not(limited):
    forged = [f"198.51.100.{number}, 203.0.113.66" for number in range(60)]
    assert tries(limited, forged, token="sv_no") == [403] * 5 + [429] * 55
    token = new_token(limited.service)
    others = [f"203.0.113.66, 192.0.2.{number}" for number in range(30)]
    assert tries(limited, others, token=token) == [303] * 30


def test_sign_ins_that_succeed_count_for_nothing(limited):
    token = new_token(limited.service)
    assert tries(limited, ["192.0.2.200"] * 12, token=token) == [303] * 12


def test_guessing_at_one_account_from_many_addresses_is_limited_but_its_owner_gets_in(limited):
    owner = limited.client()
    owner.headers["X-Forwarded-For"] = "192.0.2.100"
    assert post(owner, "/curator/login", name="Dora ", password="no").status_code == 403
    assert post(owner, "/curator/login", name="dora", password=PASSWORD).status_code == 303
    asked = {"path": "/curator/login", "name": "dora"}
    guesses = [f"192.0.2.{110 + number}" for number in range(4)]
    assert tries(limited, guesses, password="guess", **asked) == [403, 403, 429, 429]
    # a browser that the account never signed in with has to wait, whoever it is
    assert tries(limited, ["192.0.2.120"], password=PASSWORD, **asked) == [429]
    # the owner's is known, and is not held up
    assert post(owner, "/curator/login", name="dora", password=PASSWORD).status_code == 303
    # for this account only, and for so many failures of its own
    stolen = dict(owner.cookies) | {"sunveil-guest": "g" * 43}
    other = limited.client(cookies=stolen)
    other.headers["X-Forwarded-For"] = "192.0.2.130"
    statuses = [
        post(other, "/curator/login", name="dora", password="no").status_code for _ in range(4)
    ]
    assert statuses == [403, 403, 403, 429]
    assert post(owner, "/curator/login", name="elsa", password=PASSWORD).status_code == 303


def test_a_limit_is_told_once_in_the_audit_log_without_what_was_entered(limited, caplog):
    with caplog.at_level(logging.INFO, "sunveil.audit"):
        asked = {"path": "/curator/login", "name": "hunter2", "password": "hunter3"}
        tries(limited, ["192.0.2.140"] * 6, **asked)
    (told,) = [record for record in caplog.records if record.msg == "sign-ins-limited"]
    assert told.facts == {"address": "192.0.2.140", "limit": "account"}
    assert "hunter" not in caplog.text


def test_a_known_browser_is_known_for_one_account_and_after_a_restart(tmp_path):
    settings = quick_settings(tmp_path / "data", rates=FEW, **PROXY)
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


@pytest.fixture(scope="module")
def proxied(start):
    """Return a service that believes a proxy at 127.0.0.1, and one behind it."""
    found = start(trusted_proxies=PROXIES, address=ADDRESS)
    new_curator(found.service)
    return found


def address_of(running, caplog, forwarded, *, peer="127.0.0.1"):
    """Fail to sign in, and return which address the audit log says it was."""
    transport = httpx.HTTPTransport(local_address=peer)
    with httpx.Client(base_url=running.base, transport=transport, timeout=60.0) as client:
        fields = {"csrf": csrf(client, "/analyst/login"), "token": "sv_no"}
        sent = [("X-Forwarded-For", each) for each in forwarded]
        caplog.clear()
        with caplog.at_level(logging.INFO, "sunveil.audit"):
            client.post("/analyst/login", data=fields, headers=sent)
    (event,) = [each for each in caplog.records if each.message == "sign-in-refused"]
    return event.facts["address"]


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ([], "127.0.0.1"),
        (["198.51.100.1"], "198.51.100.1"),
        # the left end is the client's own invention
        (["1.1.1.1, 2.2.2.2, 198.51.100.1"], "198.51.100.1"),
        (["1.1.1.1", "198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        (["198.51.100.1:4711"], "198.51.100.1"),
        (["[2001:db8::7]:4711"], "2001:db8::7"),
        (["198.51.100.1, <script>"], "unknown"),
    ],
)
def test_the_client_is_the_rightmost_address_that_is_not_trusted(
    proxied, caplog, forwarded, client
):
    assert address_of(proxied, caplog, forwarded) == client


def test_nobody_is_believed_who_is_not_trusted(proxied, caplog):
    assert address_of(proxied, caplog, ["198.51.100.1"], peer="127.0.0.2") == "127.0.0.2"


def test_all_addresses_of_an_ipv6_household_are_limited_as_one():
    assert limit_key("2001:db8:1:2::7") == limit_key("2001:db8:1:2:ffff::1")
    assert limit_key("2001:db8:1:2::7") != limit_key("2001:db8:1:3::7")
    assert limit_key("198.51.100.1") == "198.51.100.1"


def test_what_is_no_network_is_refused_in_one_sentence():
    assert str(parse_network("10.1.2.3/8")) == "10.0.0.0/8"
    assert str(mapped(parse_network("10.0.0.0/8"))) == "::ffff:a00:0/104"
    with pytest.raises(ParameterError, match="neither an address nor a network"):
        parse_network("proxy.example")


@pytest.mark.parametrize("name", ["evil.example", "evil.example:443", "sunveil.example.org.evil"])
def test_no_page_is_made_for_a_name_that_is_not_ours(proxied, name):
    client = proxied.client()
    for path in ("/", "/analyst/login", "/curator/login", "/livez"):
        answer = client.get(path, headers={"Host": name})
        assert (answer.status_code, "evil" in answer.text) == (400, False)
    for mine in ("sunveil.example.org", "localhost:8321", "[::1]:8321"):
        assert client.get("/", headers={"Host": mine}).status_code == 200


def test_links_begin_with_the_address_whatever_name_was_asked_for(proxied):
    curator = proxied.client()
    curator.headers["Host"] = "localhost"
    post(curator, "/curator/login", name="cora", password=PASSWORD)
    made = post(
        curator, "/curator/accounts", name="ann", role="analyst", analyst="ann", scope="ask"
    )
    assert re.findall(r"\w+://[^<\"]+/links/", made.text) == [f"{ADDRESS}/links/"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"host": "0.0.0.0"}, "without a proxy"),
        ({"host": "192.0.2.7"}, "on this machine only"),
        ({"trusted_proxies": PROXIES}, "give --address and --trusted-proxy"),
        ({"address": ADDRESS}, "give --address and --trusted-proxy"),
        ({"address": "sunveil.example.org", "trusted_proxies": PROXIES}, "a scheme and a name"),
        ({"address": f"{ADDRESS}/here", "trusted_proxies": PROXIES}, "a scheme and a name"),
    ],
)
def test_what_others_could_reach_or_forge_is_refused_in_one_sentence(tmp_path, given, words):
    with pytest.raises(ParameterError, match=words) as caught:
        ServiceSettings(data=tmp_path, **given)
    assert "\n" not in str(caught.value)
    ok = ServiceSettings(
        data=tmp_path, host="0.0.0.0", address=f"{ADDRESS}/", trusted_proxies=PROXIES
    )
    assert (ok.address, ok.https) == (ADDRESS, False)
