"""The public sky of a weather cell, computed once for all systems that stand in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil.ondemand import on_demand

if TYPE_CHECKING:
    from sunveil.cells.place import Cell, cell_of
    from sunveil.cells.sky import CellSky, make_cell_sky

__all__ = ["Cell", "CellSky", "cell_of", "make_cell_sky"]

on_demand(
    __name__,
    {
        "sunveil.cells.place": ("Cell", "cell_of"),
        "sunveil.cells.sky": ("CellSky", "make_cell_sky"),
    },
)
