"""Maps of a fleet, drawn by the MapLibre in plotly's own script without tiles: private.

No ground is drawn: tiles would be fetched from elsewhere, which would learn what is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sunveil.service.figures.base import CYCLE, Figure, figure
from sunveil.service.plotly_text import literal

# What a map of one place spans, and the zoom at which the globe fits. [degrees, levels]
NARROWEST, GLOBE = 0.02, 0.6
COLOURS = {"good": "#009e73", "fair": "#e0a100", "poor": "#d55e00", "": "#7a7a7a"}


def system_map(
    longitude: Sequence[float],
    latitude: Sequence[float],
    *,
    azimuth: Sequence[float],
    qualities: Sequence[str | None],
    labels: Sequence[str],
    by_quality: bool,
) -> Figure:
    """Return systems as points on a map, in the colour of where they face or of their quality.

    Parameters
    ----------
    longitude, latitude, azimuth
        Where systems are, and where they face. [degrees]
    qualities, labels
        How good each estimate is, and what stands beside the pointer.
    by_quality
        Whether the colour tells the quality.
    """
    marker: dict[str, Any] = {"size": 9 if len(labels) <= 200 else 6, "opacity": 0.9}
    if by_quality:
        marker["color"] = [COLOURS.get(each or "", COLOURS[""]) for each in qualities]
    else:
        marker |= {
            "color": list(azimuth),
            "cmin": 0,
            "cmax": 360,
            "colorscale": CYCLE,
            "colorbar": {
                "title": {"text": "Faces", "side": "top"},
                "tickvals": [0, 90, 180, 270, 360],
                "ticktext": ["N", "E", "S", "W", "N"],
                "thickness": 12,
                "outlinewidth": 0,
            },
        }
    points = {
        "type": "scattermap",
        "mode": "markers",
        "lon": list(longitude),
        "lat": list(latitude),
        # a name is text, whatever it looks like
        "text": [literal(each) for each in labels],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": marker,
    }
    east, north, width = _span(longitude, latitude)
    return figure(
        [points],
        map={
            "center": {"lon": round(east, 5), "lat": round(north, 5)},
            "zoom": round(math.log2(360.0 / max(width, NARROWEST)) + GLOBE, 2),
        },
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        dragmode="pan",
    )


def _span(longitude: Sequence[float], latitude: Sequence[float]) -> tuple[float, float, float]:
    """Return the middle of some places, and how wide they are spread. [degrees]"""
    if not longitude:
        return 0.0, 0.0, 360.0
    east, north = max(longitude), max(latitude)
    west, south = min(longitude), min(latitude)
    middle = (south + north) / 2.0
    tall = (north - south) / max(0.2, math.cos(math.radians(middle)))
    return (west + east) / 2.0, middle, 1.25 * max(east - west, 2.0 * tall)
