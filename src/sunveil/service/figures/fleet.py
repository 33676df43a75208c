"""Figures of a fleet's estimates: private, for the curator alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from sunveil.service.figures.base import (
    AROUND,
    CYCLE,
    Figure,
    axis,
    compass_polar,
    figure,
)
from sunveil.service.plotly_text import literal

SECTORS = 16


def plane_map(azimuth: Sequence[float], tilt: Sequence[float], *, names: Sequence[str]) -> Figure:
    """Return the planes on a compass: the azimuth around, the tilt outwards.

    Parameters
    ----------
    azimuth, tilt
        The planes. [degrees]
    names
        The systems' names, shown beside the pointer.
    """
    points = {
        "type": "scatterpolar",
        "mode": "markers",
        "theta": list(azimuth),
        "r": list(tilt),
        "text": [literal(name) for name in names],
        "hovertemplate": "%{text}<br>azimuth %{theta:.0f}°, tilt %{r:.0f}°<extra></extra>",
        "marker": {
            "size": _size(len(names)),
            "color": list(azimuth),
            "cmin": 0,
            "cmax": 360,
            "colorscale": CYCLE,
            "opacity": 0.8,
        },
    }
    radial = {"range": [0, 90], "tickvals": [30, 60, 90], "ticksuffix": "°"}
    return figure(
        [points],
        polar=compass_polar(radial),
        margin={"l": 36, "r": 36, "t": 28, "b": 28},
    )


def rose(counts: Sequence[float]) -> Figure:
    """Return how many systems face each of sixteen sectors, the first centred on north."""
    width = 360.0 / len(counts)
    colours = [AROUND[round(place * 8 / len(counts)) % 8] for place in range(len(counts))]
    bars = {
        "type": "barpolar",
        "theta": [place * width for place in range(len(counts))],
        "r": list(counts),
        "width": [width * 0.94] * len(counts),
        "marker": {"color": colours},
        "hovertemplate": "%{r:,} systems around %{theta}°<extra></extra>",
    }
    return figure(
        [bars],
        polar=compass_polar({"nticks": 4, "rangemode": "tozero", **_whole(counts)}),
        margin={"l": 36, "r": 36, "t": 28, "b": 28},
    )


def bars(edges: Sequence[float], counts: Sequence[float], *, title: str, unit: str) -> Figure:
    """Return how many systems fall between each two edges.

    Parameters
    ----------
    edges
        One more than there are counts; the last may be infinite.
    counts
        How many systems.
    title, unit
        What is counted over.
    """
    spans = [
        f"{low:g}–{high:g}" if math.isfinite(high) else f"{low:g}+"
        for low, high in itertools.pairwise(edges)
    ]
    drawn = {
        "type": "bar",
        "x": spans,
        "y": list(counts),
        "hovertemplate": f"%{{y:,}} systems of %{{x}} {unit}<extra></extra>",
    }
    return figure(
        [drawn],
        xaxis=axis(f"{title} [{unit}]", type="category"),
        yaxis=axis("Systems", rangemode="tozero", **_whole(counts)),
        bargap=0.12,
    )


def _whole(counts: Sequence[float]) -> dict[str, Any]:
    """Return ticks at whole numbers, where there are so few that others would be drawn."""
    return {"dtick": 1} if max(counts, default=0) < 5 else {}


def _size(count: int) -> int:
    return 9 if count <= 200 else 6 if count <= 1500 else 4
