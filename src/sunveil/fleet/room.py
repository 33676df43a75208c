"""Memory that a thread takes again for each part: fresh pages take longer than what fills them."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

# More than this is given back: a fleet in a few large parts is read once. [numbers]
_KEPT = 16_000_000


class _Shelf(threading.local):
    """What a thread keeps, by what it is for."""

    def __init__(self) -> None:
        self.kept: dict[str, NDArray[np.float32]] = {}


_shelf = _Shelf()


def room_for(use: str, size: int) -> NDArray[np.float32]:
    """Return memory of the calling thread, which holds anything.

    It is the caller's until the same thread asks again for the same use.

    Parameters
    ----------
    use
        What it is for.
    size
        How many numbers.
    """
    kept = _shelf.kept.get(use)
    if kept is None or len(kept) < size:
        # a tenth more, since the next part may be a little larger
        kept = np.empty(size + size // 10, dtype=np.float32)
        _shelf.kept.pop(use, None)
        if len(kept) <= _KEPT:
            _shelf.kept[use] = kept
    return kept[:size]


class Values:
    """The readings of a part, one after another, in the calling thread's own memory.

    Parameters
    ----------
    expected
        About how many there will be.
    """

    def __init__(self, expected: int) -> None:
        self._room = room_for("values", max(expected, 1))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, values: NDArray[np.float32]) -> None:
        """Put readings behind the others. [the unit of the source]"""
        end = self._count + len(values)
        if end > len(self._room):
            wider = np.empty(2 * end, dtype=np.float32)
            wider[: self._count] = self._room[: self._count]
            self._room = wider
        self._room[self._count : end] = values
        self._count = end

    @property
    def all(self) -> NDArray[np.float32]:
        """All of them."""
        return self._room[: self._count]
