"""Open connections: how many there may be, and how long one may keep the service waiting.

uvicorn waits for ever: for the rest of a request's head, for the rest of its body, and for somebody
who does not read an answer. A few hundred such connections take every file descriptor, and nobody
else gets in. Here every connection is in one of three states, and none can last:

- **idle**: it has been answered and keeps still. uvicorn closes it after a while, and it is the
  first to go when there are too many connections.
- **head**: it is new or has begun to send a request, whose head is not whole. It has some seconds
  for all of the head, however it divides it.
- **busy**: a request is at work. While the service waits for its body, the body must come at a
  least rate, and while an answer waits to be sent, it must be read at all.

When there are more than there may be, one is closed so that the newest gets in: the longest idle
one, else the one whose client has kept the service waiting longest. One address has half of the
connections at most, unless it is a proxy's that is trusted: beyond that it gets no new one as long
as its own have not kept the service waiting, which costs next to nothing to see.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sunveil.service.security.networks import Network, is_within, limit_key, parse_address

# Where a request's ASGI scope holds the connection that it came by, among its state.
STATE_KEY = "connection"
# How often it is looked whether a connection is overdue. [s]
SWEEP_SECONDS = 1.0
# For so long nothing is held against a new connection, as long as others keep waiting. [s]
NEW_SECONDS = 2.0
# How many of the oldest connections of an address are looked at for one to close.
LOOKED_AT = 8
# How much of an answer is handed on at once. [bytes]
PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be, and what each of them must keep to.

    Parameters
    ----------
    most
        How many are open at once; of one address, half of them.
    head_seconds
        Within this, the head of a request must be whole. [s]
    body_seconds, body_rate
        In every so many seconds of waiting for a body, it must come at this rate, and never stand
        still for as long. [s], [bytes/s]
    read_seconds
        Within this, a client that is being answered must read something. [s]
    trusted
        Proxies, which may have all of them.
    """

    most: int
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    body_rate: float = 1000.0
    read_seconds: float = 60.0
    trusted: tuple[Network, ...] = ()

    @property
    def share(self) -> int:
        """How many connections one address may have."""
        return max(1, self.most // 2)


class State(StrEnum):
    """What a connection is doing."""

    IDLE = "idle"
    HEAD = "head"
    BUSY = "busy"


class Closed(StrEnum):
    """Why the service closed a connection."""

    HEAD = "head"
    BODY = "body"
    UNREAD = "unread"
    CROWDED = "crowded"
    SHARE = "share"


@dataclass(slots=True, eq=False)
class Connection:
    """One open connection.

    Parameters
    ----------
    transport
        What closes it.
    registry
        All connections of the server.
    address
        What limits count the other end as; empty for a proxy that is trusted.
    state, since
        What it does, and since when. [s]
    """

    transport: asyncio.Transport
    registry: ConnectionRegistry
    address: str
    state: State
    since: float
    _requests: int = 0
    _awaited: float | None = None
    _waited: float = 0.0
    _body: int = 0
    _sent: int = 0
    _drained: int = -1
    _progress: float = 0.0

    def data_came(self) -> None:
        """Note that bytes came: where none were awaited, they begin the head of a request."""
        if self.state is State.IDLE:
            self.registry.move(self, State.HEAD)

    def request_began(self) -> None:
        """Note that the head of a request is whole."""
        self._requests += 1
        self._progress = self.registry.now()
        self._awaited, self._waited, self._body = None, 0.0, 0
        self.registry.move(self, State.BUSY)

    def request_ended(self) -> None:
        """Note that a request has been answered; the answer may wait to be sent yet."""
        self._requests -= 1
        if not self._requests:  # the next one may have begun before this one was over
            self._awaited = None
        self.rest()

    def rest(self) -> None:
        """Become idle, unless a request or the rest of an answer is at work."""
        if self.state is State.BUSY and not self._requests and not self._unsent:
            self.registry.move(self, State.IDLE)

    async def receive(self, receive: Receive) -> Message:
        """Receive a part of a body, and note how long it took to come."""
        began = self._awaited = self.registry.now()
        try:
            message = await receive()
        finally:
            now = self.registry.now()
            self._waited += now - began
            self._awaited = None
        self._body += len(message.get("body", b""))
        self._progress = now
        if self._waited >= self.registry.limits.body_seconds:
            # what came in these seconds was enough, or the connection would be closed
            self._waited, self._body = 0.0, 0
        return message

    async def send(self, send: Send, message: Message) -> None:
        """Send a part of an answer, a large one in pieces: the next when the one before has left.

        All of it at once would lie in memory for as long as a client does not read it.
        """
        body, more = message.get("body", b""), message.get("more_body", False)
        for start in range(0, len(body) - PIECE, PIECE):
            self._sent += PIECE
            await send({**message, "body": body[start : start + PIECE], "more_body": True})
        last = body[len(body) - (len(body) - 1) % PIECE - 1 :] if body else body
        self._sent += len(last)
        await send({**message, "body": last, "more_body": more} if body else message)

    def stuck(self, now: float) -> float:
        """Return for how long the client has kept the service waiting. [s]

        A body that comes fast enough and an answer that is being read keep nobody waiting.
        """
        if self.state is not State.BUSY:
            return now - self.since
        if self._awaited is not None:
            waited = self._waited + now - self._awaited
            return waited if self._body < self.registry.limits.body_rate * waited else 0.0
        quiet = now - self._progress if self._unsent else 0.0
        return quiet if quiet > 2.0 * SWEEP_SECONDS else 0.0

    def overdue(self, now: float) -> Closed | None:
        """Return why the connection must be closed, or None."""
        limits = self.registry.limits
        if self.state is State.HEAD:
            return Closed.HEAD if now - self.since > limits.head_seconds else None
        if self._awaited is not None:
            still = now - self._awaited
            waited = self._waited + still
            slow = waited > limits.body_seconds and self._body < limits.body_rate * waited
            if slow or still > limits.body_seconds:
                return Closed.BODY
        return self._unread(now)

    def _unread(self, now: float) -> Closed | None:
        unsent = self._unsent
        if not unsent:
            self._drained = -1
            return None
        if self._sent - unsent != self._drained:
            self._drained, self._progress = self._sent - unsent, now
        late = now - self._progress > self.registry.limits.read_seconds
        return Closed.UNREAD if late else None

    @property
    def _unsent(self) -> int:
        return self.transport.get_write_buffer_size()


@dataclass(slots=True)
class ConnectionRegistry:
    """All open connections of a server.

    Parameters
    ----------
    limits
        How many there may be, and what each must keep to.
    now
        Returns the present time. [s]
    closed
        How many the service closed, by reason.
    """

    limits: ConnectionLimits
    now: Callable[[], float] = time.monotonic
    closed: Counter[Closed] = field(default_factory=Counter)
    # by state, each in the order in which they came into it
    _open: dict[State, dict[Connection, None]] = field(
        default_factory=lambda: {state: {} for state in State}
    )
    # by address, in the order in which they were opened
    _by_address: dict[str, dict[Connection, None]] = field(default_factory=dict)
    _sweeping: bool = False

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def __iter__(self) -> Iterator[Connection]:
        for each in self._open.values():
            yield from list(each)

    def add(self, transport: asyncio.Transport) -> Connection:
        """Take up a new connection, closing another or itself if there are too many."""
        made = Connection(transport, self, self._address(transport), State.HEAD, self.now())
        self._open[State.HEAD][made] = None
        mine = self._by_address.setdefault(made.address, {})
        mine[made] = None
        if made.address and len(mine) > self.limits.share:
            self.close(self._stuck_among(mine, made), Closed.SHARE)
        elif len(self) > self.limits.most:
            self.close(self._longest_stuck(), Closed.CROWDED)
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)
        return made

    def move(self, connection: Connection, state: State) -> None:
        """Change what a connection is doing, as long as it is open."""
        if connection in self._open[connection.state]:
            del self._open[connection.state][connection]
            connection.state, connection.since = state, self.now()
            self._open[state][connection] = None

    def remove(self, connection: Connection) -> None:
        """Forget a connection that has been closed."""
        self._open[connection.state].pop(connection, None)
        mine = self._by_address.get(connection.address, {})
        mine.pop(connection, None)
        if not mine:
            self._by_address.pop(connection.address, None)

    def close(self, connection: Connection, why: Closed) -> None:
        """Close a connection at once."""
        self.closed[why] += 1
        self.remove(connection)
        connection.transport.abort()

    def _address(self, transport: asyncio.Transport) -> str:
        peer = transport.get_extra_info("peername")
        found = parse_address(str(peer[0])) if isinstance(peer, tuple) else None
        if found is None or is_within(found, self.limits.trusted):
            return ""
        return limit_key(str(found))

    def _stuck_among(self, mine: dict[Connection, None], newest: Connection) -> Connection:
        """Return one of an address's oldest that has kept the service waiting, else its newest."""
        now = self.now()
        for connection in islice(mine, LOOKED_AT):
            if connection.state is State.IDLE or connection.stuck(now) > NEW_SECONDS:
                return connection
        return newest

    def _longest_stuck(self) -> Connection:
        for connection in self._open[State.IDLE]:
            return connection
        now = self.now()
        # a new connection is among them, so there always is one
        oldest = next(iter(self._open[State.HEAD]))
        busy = max(self._open[State.BUSY], key=lambda each: each.stuck(now), default=oldest)
        # what a new one has sent may not have been read yet, which is not its fault
        least = 0.0 if oldest.stuck(now) < NEW_SECONDS else oldest.stuck(now)
        return busy if busy.stuck(now) > least else oldest

    def _sweep(self) -> None:
        now = self.now()
        for connection in self:
            why = connection.overdue(now)
            if why is not None:
                self.close(connection, why)
            else:
                connection.rest()
        self._sweeping = len(self) > 0
        if self._sweeping:
            asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)


class RequestPhases:
    """ASGI middleware that tells connections when their requests begin, wait and end.

    Parameters
    ----------
    app
        The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, telling its connection; under another server there is none."""
        connection = scope.get("state", {}).get(STATE_KEY)
        if not isinstance(connection, Connection):
            await self._app(scope, receive, send)
            return
        whole = False

        async def receiving() -> Message:
            nonlocal whole
            if whole:  # nothing is to come but the end of the connection
                return await receive()
            message = await connection.receive(receive)
            whole = not message.get("more_body", False)
            return message

        async def sending(message: Message) -> None:
            await connection.send(send, message)

        connection.request_began()
        try:
            await self._app(scope, receiving, sending)
        finally:
            connection.request_ended()
