"""Curator figures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sunveil.service.page_rendering import literal

Figure = dict[str, Any]

# Seen on white and on black. All other colours are the page's own.
GREY = "#7A7A7A"
COMPASS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")

# One lightness all around, so that no direction stands out: north blue, east green, south amber.
AROUND = (
    "#398ad6", "#009dae", "#019f68", "#848f02", "#bb7400", "#cd605a", "#bc61a0", "#8d73d1",
    "#398ad6",
)  # fmt: skip

CYCLE = [[place / 8.0, colour] for place, colour in enumerate(AROUND)]
CLEAR = "rgba(0,0,0,0)"


def figure(data: list[dict[str, Any]], **layout: Any) -> Figure:
    """Return a figure; its paper is clear, and the page gives the colours of its text."""
    common: dict[str, Any] = {
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "margin": {"l": 56, "r": 12, "t": 12, "b": 48},
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
    }
    return {"data": data, "layout": {**common, **layout}}


def axis(title: str, **more: Any) -> dict[str, Any]:
    return {"title": {"text": title}, "automargin": True, "zeroline": False, **more}


def compass_polar(radial: dict[str, Any]) -> dict[str, Any]:
    return {
        "bgcolor": CLEAR,
        "angularaxis": {
            "rotation": 90,
            "direction": "clockwise",
            "tickmode": "array",
            "tickvals": [45 * place for place in range(8)],
            "ticktext": list(COMPASS),
        },
        "radialaxis": {"angle": 90, "tickangle": 90, **radial},
    }


# More labels than this stand in one another's way.
MOST_TICKS = 6

# First digits of the labels of a logarithmic axis, from dense to sparse.
TICK_DIGITS = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,))
DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True, slots=True)
class ErrorCurve:
    name: str  # what is answered, for people
    epsilons: tuple[float, ...]  # where the errors were computed
    errors: tuple[float, ...]  # the error at each


def error_figure(curves: Sequence[ErrorCurve], *, unit: str, marked: float | None = None) -> Figure:
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": literal(curve.name),
            "x": list(curve.epsilons),
            "y": [float(f"{each:.4g}") for each in curve.errors],
            "line": {"dash": DASHES[place % 4], "width": 2.5},
            "meta": literal(curve.name),
            "hovertemplate": "%{meta}: %{y:.3g} at ε = %{x:.3g}<extra></extra>",
        }
        for place, curve in enumerate(curves)
    ]
    shapes = [] if marked is None else [_mark(marked)]
    return figure(
        traces,
        xaxis=axis("Privacy loss ε", type="log", tickvals=_ticks(_all("epsilons", curves))),
        yaxis=axis(unit, type="log", tickvals=_ticks(_all("errors", curves)), tickformat=",~r"),
        shapes=shapes,
        showlegend=len(curves) > 1,
    )


def _mark(epsilon: float) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": epsilon,
        "x1": epsilon,
        "y0": 0,
        "y1": 1,
        "line": {"color": GREY, "width": 1.5, "dash": "dot"},
    }


def _all(name: str, curves: Sequence[ErrorCurve]) -> list[float]:
    return [value for curve in curves for value in getattr(curve, name)]


def _ticks(values: Sequence[float]) -> list[float]:
    """Return where a logarithmic axis is labelled: as densely as can be read."""
    low, high = 0.99 * min(values), 1.01 * max(values)
    found: list[float] = []
    for digits in TICK_DIGITS:
        every = [float(f"{digit}e{power}") for power in range(-9, 10) for digit in digits]
        found = [spot for spot in every if low <= spot <= high]
        if len(found) <= MOST_TICKS:
            break
    return found


SECTORS = 16


def plane_map(azimuth: Sequence[float], tilt: Sequence[float], *, names: Sequence[str]) -> Figure:
    """Return the planes on a compass: the azimuth around, the tilt outwards."""
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
        [points], polar=compass_polar(radial), margin={"l": 36, "r": 36, "t": 28, "b": 28}
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
    """Return how many systems fall between each two edges."""
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
    """Return systems as points on a map, in the colour of where they face or of their quality."""
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
