"""The time that answers take: whole multiples of a fixed one, whatever was drawn."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable


async def pad_duration(
    started: float,
    pad: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Wait until a whole multiple of a time has passed, at least one.

    Parameters
    ----------
    started
        When the work began, by the clock. [s]
    pad
        The time. [s]
    clock, sleep
        What tells the time and what waits; the monotonic clock and asyncio's when left out.
    """
    passed = clock() - started
    await sleep(max(1, math.ceil(passed / pad)) * pad - passed)
