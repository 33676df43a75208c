"""What is kept in memory: the last things used, up to a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Value = TypeVar("Kept")
MEGABYTE = 1024 * 1024


class SizedCache(Generic[Value]):
    """Things by name, the longest unused of which are forgotten first.

    Parameters
    ----------
    most
        How many bytes all of them may have together.
    """

    def __init__(self, limit: int = 256 * MEGABYTE) -> None:
        self._limit, self._held = limit, 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, tuple[Value, int]] = OrderedDict()

    def get(self, name: str) -> Value | None:
        """Return a thing, or None if it is not in memory."""
        with self._lock:
            found = self._entries.get(name)
            if found is None:
                return None
            self._entries.move_to_end(name)
            return found[0]

    def put(self, name: str, value: Value, size: int) -> None:
        """Keep a thing of a size, unless it is larger than all of the room. [bytes]"""
        with self._lock:
            _, old = self._entries.pop(name, (None, 0))
            self._held += (size if size <= self._limit else 0) - old
            if size <= self._limit:
                self._entries[name] = value, size
            while self._held > self._limit:
                _, (_, gone) = self._entries.popitem(last=False)
                self._held -= gone
