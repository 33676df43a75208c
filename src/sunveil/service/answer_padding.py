"""Answers in fixed time."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# The part of the time that is left for keeping an answer and responding once its draw is let go.
RESERVE = 0.2
_held: ContextVar[tuple[float, float] | None] = ContextVar("held", default=None)
_drawn: ContextVar[list[bool] | None] = ContextVar("drawn", default=None)


async def pad_duration(
    started: float,
    pad: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Wait until a whole multiple of a time has passed, at least one."""
    passed = clock() - started
    await sleep(max(1, math.ceil(passed / pad)) * pad - passed)


@contextmanager
def draws_held(started: float, pad: float) -> Iterator[None]:
    """Have draws within the block, and in threads that it starts, held by :func:`hold_draw`."""
    token = _held.set((started, pad))
    try:
        yield
    finally:
        _held.reset(token)


@contextmanager
def draws_noted() -> Iterator[list[bool]]:
    """Yield a list that is empty unless something is drawn within the block."""
    drawn: list[bool] = []
    token = _drawn.set(drawn)
    try:
        yield drawn
    finally:
        _drawn.reset(token)


def hold_draw() -> None:
    """Wait until shortly before a whole multiple of the time that :func:`draws_held` was given."""
    held, drawn = _held.get(), _drawn.get()
    if drawn is not None:
        drawn.append(True)
    if held is not None:
        started, pad = held
        passed = time.monotonic() - started
        multiples = max(1, math.ceil(passed / pad + RESERVE))
        time.sleep((multiples - RESERVE) * pad - passed)
