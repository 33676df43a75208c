"""The time that answers take: whole multiples of a fixed one, whatever was drawn."""

from __future__ import annotations

import asyncio
import math
import time


async def pad_duration(started: float, pad: float) -> None:
    """Wait until the work has taken a whole multiple of a fixed time, at least one.

    Parameters
    ----------
    started
        When the work began, by the monotonic clock. [s]
    pad
        The fixed time. [s]
    """
    passed = time.monotonic() - started
    await asyncio.sleep(max(1, math.ceil(passed / pad)) * pad - passed)
