"""Figures of releases, from their published tables alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sunveil.service.analyst.figures.base import CaptionedFigure, Table
from sunveil.service.analyst.figures.counts import (
    draw_capacities,
    draw_mounts,
    draw_planes,
    draw_sectors,
    draw_tilts,
)
from sunveil.service.analyst.figures.others import draw_quantiles, draw_systems, draw_totals

__all__ = ["CaptionedFigure", "figures_of"]

_DRAW: dict[str, Callable[[Table], list[CaptionedFigure]]] = {
    "sectors": draw_sectors,
    "planes": draw_planes,
    "tilts": draw_tilts,
    "capacities": draw_capacities,
    "mounts": draw_mounts,
    "totals": draw_totals,
    "quantiles": draw_quantiles,
    "synthetic-systems": draw_systems,
    "systems": draw_systems,
}


def figures_of(body: dict[str, Any]) -> list[CaptionedFigure]:
    """Return the figures of all tables of a release that have one."""
    found: list[CaptionedFigure] = []
    for table in body["tables"]:
        draw = _DRAW.get(table["name"])
        if draw is not None:
            found += draw(table)
    return found
