"""Rate limits: for each token or address, a bucket of requests that fills at a steady rate."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

# Beyond this many, the ones that were quiet longest are forgotten: they are full again anyway.
MOST_BUCKETS = 20_000


class RateLimit:
    """How often each of many askers may ask: one bucket each, all of one size.

    Parameters
    ----------
    rate
        How many requests per second come back into a bucket.
    burst
        How many a full one holds.
    clock
        Returns the present time. [s]
    """

    def __init__(
        self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        # pages are made in threads, and lines of the log come from all of them
        self._lock = Lock()

    def take(self, who: str) -> int:
        """Take one request off somebody's bucket and return 0, or return the wait. [s]"""
        with self._lock:
            left, now = self._left(who)
            granted = left >= 1.0
            self._buckets[who] = (left - 1.0 if granted else left, now)
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        return 0 if granted else max(1, math.ceil((1.0 - left) / self._rate))

    def give_back(self, who: str) -> None:
        """Put one request back into somebody's bucket: it was none of those that are counted."""
        with self._lock:
            left, now = self._left(who)
            self._buckets[who] = (min(self._burst, left + 1.0), now)

    def _left(self, who: str) -> tuple[float, float]:
        now = self._clock()
        left, seen = self._buckets.pop(who, (self._burst, now))
        return min(self._burst, left + (now - seen) * self._rate), now
