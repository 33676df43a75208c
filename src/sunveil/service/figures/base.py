"""What all figures of the pages have in common."""

from __future__ import annotations

from typing import Any

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
    """Return an axis with its title, which names the unit."""
    return {"title": {"text": title}, "automargin": True, "zeroline": False, **more}


def compass_polar(radial: dict[str, Any]) -> dict[str, Any]:
    """Return polar axes laid out as a compass: north up, and clockwise."""
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
