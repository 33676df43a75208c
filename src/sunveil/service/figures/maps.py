"""Maps of a fleet, drawn by the MapLibre in plotly's own script without tiles: private.

No ground is drawn, since tiles would be fetched from elsewhere, which would tell there what is
looked at; areas that the curator brings stand for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
    areas: Mapping[str, Any] | None,
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
    areas
        Areas whose outlines are drawn below the points.
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
    return _map([points], _span(longitude, latitude), areas=areas)


def area_map(
    areas: Mapping[str, Any], values: Mapping[str, float], *, title: str, unit: str
) -> Figure:
    """Return areas coloured by a number of each.

    Parameters
    ----------
    areas
        A GeoJSON FeatureCollection whose features have a ``name``.
    values
        The number of each area, by name; areas without one are left clear.
    title, unit
        What the numbers are.
    """
    names = [each["properties"]["name"] for each in areas["features"]]
    known = [name for name in names if name in values]
    drawn = {
        "type": "choroplethmap",
        "geojson": areas,
        "featureidkey": "properties.name",
        "locations": known,
        "z": [round(values[name], 3) for name in known],
        "text": [literal(name) for name in known],
        "hovertemplate": f"%{{text}}: %{{z:,.4~g}}{unit}<extra></extra>",
        "colorscale": "Viridis",
        "zmin": 0,
        "zmax": max((values[name] for name in known), default=0.0) or 1.0,
        "marker": {"opacity": 0.75},
        "colorbar": {
            "title": {"text": title, "side": "top"},
            "thickness": 12,
            "outlinewidth": 0,
        },
    }
    corners = [corner for each in areas["features"] for corner in _corners(each["geometry"])]
    spans = _span([each[0] for each in corners], [each[1] for each in corners])
    return _map([drawn], spans, areas=areas)


def _map(
    traces: list[dict[str, Any]],
    span: tuple[float, float, float],
    *,
    areas: Mapping[str, Any] | None,
) -> Figure:
    longitude, latitude, width = span
    outlines = {
        "sourcetype": "geojson", "source": areas, "type": "line", "line": {"width": 1},
        "color": "#7a7a7a", "below": "traces",
    }  # fmt: skip
    return figure(
        traces,
        map={
            "center": {"lon": round(longitude, 5), "lat": round(latitude, 5)},
            "zoom": round(math.log2(360.0 / max(width, NARROWEST)) + GLOBE, 2),
            "layers": [] if areas is None else [outlines],
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


def _corners(geometry: Mapping[str, Any]) -> list[list[float]]:
    rings = geometry["coordinates"]
    if geometry["type"] == "MultiPolygon":
        rings = [ring for polygon in rings for ring in polygon]
    return [corner for ring in rings for corner in ring]
