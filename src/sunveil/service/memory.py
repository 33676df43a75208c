"""What is kept in memory: the last things used, up to a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Kept = TypeVar("Kept")
MEGABYTE = 1024 * 1024


class Memory(Generic[Kept]):
    """Things by name, the longest unused of which are forgotten first.

    Parameters
    ----------
    most
        How many bytes all of them may have together.
    """

    def __init__(self, most: int = 256 * MEGABYTE) -> None:
        self._most, self._held = most, 0
        self._lock = threading.Lock()
        self._things: OrderedDict[str, tuple[Kept, int]] = OrderedDict()

    def get(self, name: str) -> Kept | None:
        """Return a thing, or None if it is not in memory."""
        with self._lock:
            found = self._things.get(name)
            if found is None:
                return None
            self._things.move_to_end(name)
            return found[0]

    def put(self, name: str, thing: Kept, size: int) -> None:
        """Keep a thing of a size, unless it is larger than all of the room. [bytes]"""
        with self._lock:
            _, old = self._things.pop(name, (None, 0))
            self._held += (size if size <= self._most else 0) - old
            if size <= self._most:
                self._things[name] = thing, size
            while self._held > self._most:
                _, (_, gone) = self._things.popitem(last=False)
                self._held -= gone
