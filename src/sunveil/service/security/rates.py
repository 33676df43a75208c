"""How often may be asked: a bucket that fills at a steady rate, for each token or address."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

# Beyond this many, the ones that were quiet longest are forgotten: they are full again anyway.
MOST_BUCKETS = 20_000


class RateLimit:
    """Buckets of one size.

    Parameters
    ----------
    rate
        How many requests per second come back into a bucket.
    burst
        How many a full one holds.
    clock
        The time. [s]
    """

    def __init__(
        self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> int:
        """Take one, and return 0; or return after how many whole seconds to ask again."""
        now = self._clock()
        left, seen = self._buckets.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - seen) * self._rate)
        granted = left >= 1.0
        self._buckets[who] = (left - 1.0 if granted else left, now)
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return 0 if granted else max(1, math.ceil((1.0 - left) / self._rate))
