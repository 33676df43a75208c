"""The skies that a worker keeps: made once per cell, however many threads ask."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sunveil.cells import Cell, CellSky
    from sunveil.timegrid import TimeGrid


class Skies:
    """The public skies of weather cells, the latest used ones kept.

    Parameters
    ----------
    weather
        Where the weather comes from.
    keep
        How many skies to keep.
    server
        What a server of weather must be told.
    """

    def __init__(self, weather: str, *, keep: int, server: Mapping[str, Any]) -> None:
        self._weather, self._keep, self._server = weather, keep, dict(server)
        self._lock = threading.Lock()
        self._making: dict[tuple[Cell, TimeGrid], threading.Lock] = {}
        self._kept: OrderedDict[tuple[Cell, TimeGrid], CellSky] = OrderedDict()

    def over(self, cell: Cell, axis: TimeGrid) -> CellSky:
        """Return the sky of a cell over an axis of time."""
        key = cell, axis
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            turn = self._making.setdefault(key, threading.Lock())
        with turn:  # whoever comes second finds it made
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            from sunveil.cells import make_cell_sky  # compiled, which the plan has no need of

            sky = make_cell_sky(cell, axis, weather=self._weather, **self._server)
            with self._lock:
                self._kept[key] = sky
                self._making.pop(key, None)
                while len(self._kept) > self._keep:
                    self._kept.popitem(last=False)
            return sky
