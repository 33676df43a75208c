"""A cache of limited size: what was used last, up to a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Value = TypeVar("Value")
MEGABYTE = 1024 * 1024


class SizedCache(Generic[Value]):
    """Values by name; the longest unused are dropped first.

    Parameters
    ----------
    limit
        How large all of them may be together. [bytes]
    """

    def __init__(self, limit: int = 256 * MEGABYTE) -> None:
        self._limit, self._held = limit, 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, tuple[Value, int]] = OrderedDict()

    def get(self, name: str) -> Value | None:
        """Return a value, or None if it is not in the cache."""
        with self._lock:
            found = self._entries.get(name)
            if found is None:
                return None
            self._entries.move_to_end(name)
            return found[0]

    def put(self, name: str, value: Value, size: int) -> None:
        """Keep a value, unless it is larger than the whole cache.

        Parameters
        ----------
        name
            What it is found by; an earlier value of this name is dropped.
        value
            What is kept.
        size
            How large it is. [bytes]
        """
        with self._lock:
            _, old = self._entries.pop(name, (None, 0))
            self._held += (size if size <= self._limit else 0) - old
            if size <= self._limit:
                self._entries[name] = value, size
            while self._held > self._limit:
                _, (_, gone) = self._entries.popitem(last=False)
                self._held -= gone
