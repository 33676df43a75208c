"""Who asks, behind proxies, and by which name."""

from __future__ import annotations

import logging
import re

import httpx
import pytest
from service_makers import PASSWORD, csrf, new_curator, post

from sunveil.errors import ParameterError
from sunveil.service.settings import ServiceSettings, limit_key, mapped, parse_network

ADDRESS = "http://sunveil.example.org"
PROXIES = (parse_network("127.0.0.1"), parse_network("10.0.0.0/8"))


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
