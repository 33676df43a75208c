"""Households of known loads, and what the meters between them and their PV read."""

from __future__ import annotations

import numpy as np

from sunveil.engine.net_load import LoadCells, load_cells
from sunveil.engine.shading import PreparedSky
from sunveil.estimates.planes_and_intervals import HOURS

ZONE = "America/Denver"


def cells_of(prepared: PreparedSky) -> LoadCells:
    return load_cells(prepared, ZONE)


def load_of(prepared: PreparedSky, *, mean: float = 0.8, width: float = 0.5) -> np.ndarray:
    """Return a year of lognormal load, higher in the evening. [kW]"""
    cells, count = cells_of(prepared), prepared.sky.grid.long.count
    hour = np.full(count, 12)
    hour[prepared.slot], hour[cells.night] = cells.usable % HOURS, cells.dark % HOURS
    usual = mean * (1.0 + 0.5 * np.exp(-0.5 * ((hour - 19.0) / 2.0) ** 2))
    noise = np.random.default_rng(5).standard_normal(count)
    return usual * np.exp(width * noise - 0.5 * width**2)
