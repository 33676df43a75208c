"""Skies of weather cells that a worker keeps, made once however many threads ask."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from sunveil.engine.sky_tables import SkyTable, make_sky_table
from sunveil.site import Site, TimeGrid
from sunveil.weather.sources import get_weather
from sunveil.weather.weather_data import utc_index

_MARGIN = np.timedelta64(2, "D")


class CellSkies:
    """The public skies of weather cells, the latest used ones kept."""

    def __init__(self, weather: str, *, keep: int, server: Mapping[str, Any]) -> None:
        self._weather, self._keep, self._server = weather, keep, dict(server)
        self._lock = threading.Lock()
        self._making: dict[tuple[Site, TimeGrid], threading.Lock] = {}
        self._kept: OrderedDict[tuple[Site, TimeGrid], SkyTable] = OrderedDict()

    def over(self, site: Site, grid: TimeGrid) -> SkyTable:
        """Return the sky of a place over a grid of times."""
        key = site, grid
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            turn = self._making.setdefault(key, threading.Lock())
        with turn:  # whoever comes second finds it made
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            sky = self._made(site, grid)
            with self._lock:
                self._kept[key] = sky
                self._making.pop(key, None)
                while len(self._kept) > self._keep:
                    self._kept.popitem(last=False)
            return sky

    def _made(self, site: Site, grid: TimeGrid) -> SkyTable:
        """Return the sky of a place, under its weather."""
        if self._weather == "clearsky":
            return make_sky_table(site, grid)
        first, last = (np.datetime64(int(grid.first + grid.step * k), "s") for k in (0, grid.count))
        span = utc_index(np.array([first - _MARGIN, last + _MARGIN]))
        found = get_weather(self._weather, site, span[0], span[1], **self._server)
        return make_sky_table(site, grid, found)
