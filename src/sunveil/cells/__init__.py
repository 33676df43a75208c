"""The public sky of a weather cell, computed once for all systems that stand in it."""

from __future__ import annotations

from sunveil.cells.axis import Axis
from sunveil.cells.place import Cell, cell_of
from sunveil.cells.sky import CellSky, make_cell_sky

__all__ = ["Axis", "Cell", "CellSky", "cell_of", "make_cell_sky"]
