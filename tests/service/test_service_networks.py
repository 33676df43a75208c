from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.service.security.networks import client_of, limit_key, parse_network

PROXY = (parse_network("10.0.0.0/8"), parse_network("::1"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.9", [], "203.0.113.9"),
        # nobody is believed who is not trusted
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        # the left end is the client's own invention
        ("10.0.0.1", ["1.1.1.1, 2.2.2.2, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["1.1.1.1", "198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", ["198.51.100.1, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("::1", ["[2001:db8::7]:4711"], "2001:db8::7"),
        ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("", ["198.51.100.1"], "unknown"),
    ],
)
def test_the_client_is_the_rightmost_address_that_is_not_trusted(peer, forwarded, client):
    assert client_of(peer, forwarded, PROXY) == client


@given(forged=st.lists(st.text(max_size=30), max_size=4))
def test_whatever_a_client_writes_before_a_proxy_it_stays_the_same_client(forged):
    appended = [*forged, "198.51.100.1"]
    assert client_of("10.0.0.1", [", ".join(appended)], PROXY) == "198.51.100.1"
    assert client_of("198.51.100.1", forged, PROXY) == "198.51.100.1"


def test_all_addresses_of_an_ipv6_household_are_limited_as_one():
    assert limit_key("2001:db8:1:2::7") == limit_key("2001:db8:1:2:ffff::1")
    assert limit_key("2001:db8:1:2::7") != limit_key("2001:db8:1:3::7")
    assert limit_key("198.51.100.1") == "198.51.100.1"


def test_what_is_no_network_is_refused_in_one_sentence():
    assert str(parse_network("10.1.2.3/8")) == "10.0.0.0/8"
    with pytest.raises(ParameterError, match="neither an address nor a network"):
        parse_network("proxy.example")
