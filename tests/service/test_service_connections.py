from __future__ import annotations

import asyncio
import select
import socket
from contextlib import ExitStack, suppress

import pytest
from service_makers import PASSWORD, new_curator, post, quick_settings, running

from sunveil.service.network.connections import (
    STATE_KEY,
    Closed,
    ConnectionLimits,
    ConnectionRegistry,
    RequestPhases,
)
from sunveil.service.network.server import (
    FEWEST_CONNECTIONS,
    MOST_CONNECTIONS,
    most_connections,
)

LONG = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\ncsrf="
POST = b"POST /curator/login HTTP/1.1\r\nHost: here\r\n" + LONG
MOST = 40


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """Return a service that holds few connections."""
    found = running(quick_settings(tmp_path_factory.mktemp("crowded"), connections=MOST))
    new_curator(found.service)
    yield found
    found.stop()


@pytest.fixture
def limited(crowded):
    """Return what changes the limits of the service for a test."""
    registry = crowded.app.state.connections
    before = registry.limits

    def change(**changes):
        registry.limits = ConnectionLimits(**{"most": MOST, **changes})
        return registry

    yield change
    registry.limits = before


def half_sent(stack, running, count, begun, *, source="127.0.0.2"):
    """Open connections that have begun a request, from an address of their own."""
    address, end = ("127.0.0.1", running.socket.getsockname()[1]), (source, 0)
    made = [
        stack.enter_context(socket.create_connection(address, source_address=end))
        for _ in range(count)
    ]
    for each in made:
        with suppress(ConnectionError):  # one that was closed already
            each.sendall(begun)
    return made


def are_closed(made, count):
    """Wait until the service has closed so many of some connections."""
    left = list(made)
    while len(made) - len(left) < count:
        readable, _, _ = select.select(left, [], [])
        for each in readable:
            try:
                ended = each.recv(65536) == b""
            except ConnectionResetError:
                ended = True
            if ended:
                left.remove(each)


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nX-Slow: ", POST])
def test_others_are_answered_whatever_is_half_sent(crowded, begun):
    registry = crowded.app.state.connections
    with ExitStack() as stack:
        made = half_sent(stack, crowded, 60, begun)
        for _ in range(3):
            assert crowded.client().get("/curator/login").status_code == 200
        # one address has half of what there is
        are_closed(made, 60 - MOST // 2)
        assert len(registry) <= MOST


@pytest.mark.parametrize("begun", [b"", POST])
def test_others_are_answered_when_many_addresses_take_all_connections(crowded, begun):
    registry = crowded.app.state.connections
    before = registry.closed[Closed.CROWDED]
    with ExitStack() as stack:
        made = [
            each
            for number in range(4)
            for each in half_sent(stack, crowded, 15, begun, source=f"127.0.0.{number + 10}")
        ]
        for _ in range(3):
            assert crowded.client().get("/curator/login").status_code == 200
        are_closed(made, 60 - MOST)
        assert registry.closed[Closed.CROWDED] > before


def test_a_head_that_does_not_come_in_time_is_given_up(crowded, limited):
    registry = limited(head_seconds=0.0)
    with ExitStack() as stack:
        are_closed(half_sent(stack, crowded, 3, b"GET / HTTP/1.1\r\n"), 3)
    assert registry.closed[Closed.HEAD] >= 3


def test_a_body_that_stands_still_is_given_up_and_one_that_comes_is_taken(crowded, limited):
    registry = limited(body_seconds=0.0, body_rate=1e-9)
    with ExitStack() as stack:
        are_closed(half_sent(stack, crowded, 3, POST), 3)
        assert registry.closed[Closed.BODY] >= 3
    limited(body_seconds=1e-9, body_rate=1.0)
    signed_in = post(crowded.client(), "/curator/login", name="cora", password=PASSWORD)
    assert signed_in.status_code == 303


def test_an_answer_that_nobody_reads_is_given_up_and_one_that_is_read_is_whole(crowded, limited):
    whole = crowded.client().get("/static/plotly.min.js", headers={"Accept-Encoding": "identity"})
    assert len(whole.content) == int(whole.headers["content-length"]) > 1_000_000
    registry = limited(read_seconds=0.0)
    asked = b"GET /static/plotly.min.js HTTP/1.1\r\nHost: here\r\n\r\n"
    with ExitStack() as stack:
        half_sent(stack, crowded, 2, asked)
        while registry.closed[Closed.UNREAD] < 2:
            select.select([], [], [], 0.05)


def test_a_connection_that_is_answered_stays_open_for_the_next_request(crowded):
    with crowded.client() as client:
        ports = {
            client.get("/livez").extensions["network_stream"].get_extra_info("client_addr")
            for _ in range(3)
        }
    assert len(ports) == 1


class Unbound(asyncio.Transport):
    """A connection without a socket: nothing waits to be sent."""

    def get_write_buffer_size(self):
        return 0


def test_a_request_whose_body_comes_while_the_one_before_ends_is_read():
    """A client may send its next request as soon as it has its answer, before all is over."""
    read = []

    async def app(scope, receive, send):
        message = await receive()
        read.append(message["body"])
        await scope["ends"].wait()

    async def both():
        connection = ConnectionRegistry(ConnectionLimits(4)).add(Unbound())
        first_ends, second_comes, over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        over.set()

        async def at_once():
            return {"type": "http.request", "body": b"first"}

        async def later():
            await second_comes.wait()
            return {"type": "http.request", "body": b"second"}

        phases, state = RequestPhases(app), {STATE_KEY: connection}
        first = asyncio.create_task(phases({"state": state, "ends": first_ends}, at_once, None))
        await asyncio.sleep(0)
        second = asyncio.create_task(phases({"state": state, "ends": over}, later, None))
        await asyncio.sleep(0)
        first_ends.set()
        await first
        second_comes.set()
        await second

    asyncio.run(both())
    assert read == [b"first", b"second"]


def test_connections_leave_files_for_the_rest_of_the_service():
    assert most_connections(256) == 96
    assert most_connections(10) == FEWEST_CONNECTIONS
    assert most_connections(10**6) == MOST_CONNECTIONS
