"""What all figures of releases have in common: axes, legends, and how noise is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sunveil.service.plotly_text import literal

Table = dict[str, Any]
Figure = dict[str, Any]
UNKNOWN = "unknown"
COMPASS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
# A value below so many standard deviations of its noise may be noise alone, and is drawn pale.
SURE = 2.0
PALE = 0.28
NOISE_LEGEND = "pale: may be noise alone"


@dataclass(frozen=True, slots=True)
class CaptionedFigure:
    """A figure with its caption.

    Parameters
    ----------
    id
        Its name in the page.
    caption
        What it shows.
    made
        The figure as plotly takes it: ``data`` and ``layout``.
    """

    id: str
    caption: str
    made: Figure


def figure(data: list[dict[str, Any]], **layout: Any) -> Figure:
    """Return a figure; the page gives its colours and its letters."""
    return {"data": data, "layout": {"showlegend": False, "dragmode": False, **layout}}


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis with its title, which names the unit."""
    return {"title": {"text": title}, "zeroline": False, **more}


def compass_polar(radial: dict[str, Any]) -> dict[str, Any]:
    """Return polar axes with the points of the compass."""
    ticks = {"tickmode": "array", "tickvals": [45 * i for i in range(8)], "ticktext": COMPASS}
    return {"angularaxis": ticks, "radialaxis": {"angle": 67.5, "tickangle": 0, **radial}}


def column(table: Table, name: str) -> list[Any]:
    """Return the values of a column."""
    place = column_names(table).index(name)
    return [row[place] for row in table["rows"]]


def column_names(table: Table) -> list[str]:
    """Return the names of a table's columns."""
    return [each[0] for each in table["columns"]]


def grouped(table: Table, first: str) -> dict[str, Table]:
    """Return a table's parts by its public key, or all of it where there is none.

    Names of groups come escaped, as figures show them.

    Parameters
    ----------
    table
        The table.
    first
        Its first column where it has no key.
    """
    if column_names(table)[0] == first:
        return {"": table}
    parts: dict[str, Table] = {}
    for row in table["rows"]:
        name = literal(str(row[0]))
        part = parts.setdefault(name, {**table, "columns": table["columns"][1:], "rows": []})
        part["rows"].append(row[1:])
    return parts


def strength(value: float, deviation: float) -> float:
    """Return how opaque a value is drawn: pale where it may be noise alone.

    Parameters
    ----------
    value
        As drawn: unbiased.
    deviation
        The standard deviation of its noise.
    """
    return 1.0 if abs(value) >= SURE * deviation else PALE


def whiskers(deviations: list[float]) -> dict[str, Any]:
    """Return error bars of two standard deviations on either side."""
    reach = [SURE * each for each in deviations]
    return {"type": "data", "array": reach, "thickness": 1.2, "width": 4}


def noise_legend(kind: str) -> dict[str, Any]:
    """Return a trace without data whose entry in the legend says what pale means.

    Parameters
    ----------
    kind
        ``bar`` or ``barpolar``: the legend shows a pale one.
    """
    empty: dict[str, Any] = (
        {"x": [None], "y": [None]} if kind == "bar" else {"theta": [None], "r": [None]}
    )
    return {
        "type": kind,
        "name": NOISE_LEGEND,
        "marker": {"color": f"rgba(128,128,128,{PALE})"},
        "showlegend": True,
        "hoverinfo": "skip",
        **empty,
    }
