"""Figures of releases, from their published tables alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Table = dict[str, Any]
Figure = dict[str, Any]
UNKNOWN = "unknown"
# A page that is drawn by a phone has enough of these.
MOST_POINTS = 5000
COMPASS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


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


def legend_below() -> dict[str, Any]:
    """Return a legend below the figure, where it has room on a phone too."""
    return {"orientation": "h", "y": -0.22, "x": 0.0, "xanchor": "left", "yanchor": "top"}


def figures_of(body: dict[str, Any]) -> list[CaptionedFigure]:
    """Return the figures of all tables of a release that have one."""
    found: list[CaptionedFigure] = []
    for table in body["tables"]:
        draw = _DRAW.get(table["name"])
        if draw is not None:
            found += draw(table)
    return found


def column(table: Table, name: str) -> list[Any]:
    """Return the values of a column."""
    place = _names(table).index(name)
    return [row[place] for row in table["rows"]]


def _names(table: Table) -> list[str]:
    return [each[0] for each in table["columns"]]


def _grouped(table: Table, first: str) -> dict[str, Table]:
    """Return a table's parts by its public key, or all of it where there is none."""
    if _names(table)[0] == first:
        return {"": table}
    parts: dict[str, Table] = {}
    for row in table["rows"]:
        part = parts.setdefault(str(row[0]), {**table, "columns": table["columns"][1:], "rows": []})
        part["rows"].append(row[1:])
    return parts


def _sectors(table: Table) -> list[CaptionedFigure]:
    traces = []
    for group, part in _grouped(table, "sector").items():
        rows = [row for row in part["rows"] if row[0] != UNKNOWN]
        count = len(rows)
        traces.append(
            {
                "type": "barpolar",
                "name": group,
                "theta": [360.0 * i / count for i in range(count)],
                "width": [0.92 * 360.0 / count] * count,
                "r": [row[1] for row in rows],
                "customdata": [[row[0], row[3]] for row in rows],
                "hovertemplate": "%{customdata[0]}: %{r} systems ± %{customdata[1]:.1f}"
                "<extra></extra>",
            }
        )
    made = figure(
        traces,
        polar=compass_polar({"nticks": 4, "tickfont": {"size": 10}}),
        margin={"l": 32, "r": 32, "t": 28, "b": 28},
        showlegend=len(traces) > 1,
        legend=legend_below(),
    )
    error = table["rows"][0][-1]
    caption = (
        f"Systems by the sector that they face; every sector is noisy by ±{error:.1f} systems."
    )
    return [CaptionedFigure("sectors", caption, made)]


def _planes(table: Table) -> list[CaptionedFigure]:
    parts = _grouped(table, "sector")
    if len(parts) > 1:  # a map for each group would be a wall of maps
        return []
    rows = [row for row in parts[""]["rows"] if row[0] != UNKNOWN]
    sectors = list(dict.fromkeys(row[0] for row in rows))
    bands = list(dict.fromkeys(row[1] for row in rows))
    counts = {(row[0], row[1]): row[2] for row in rows}
    made = figure(
        [
            {
                "type": "heatmap",
                "x": sectors,
                "y": bands,
                "z": [[counts[sector, band] for sector in sectors] for band in bands],
                "colorscale": [[0.0, "rgba(0,114,178,0.06)"], [1.0, "rgb(0,114,178)"]],
                "xgap": 2,
                "ygap": 2,
                "colorbar": {"title": {"text": "systems"}, "thickness": 12},
                "hovertemplate": "%{x}, tilt %{y}°: %{z} systems<extra></extra>",
            }
        ],
        xaxis=axis("sector", type="category"),
        yaxis=axis("tilt [degrees]", type="category"),
    )
    error = rows[0][4]
    caption = f"Systems by sector and tilt; every cell is noisy by ±{error:.1f} systems."
    return [CaptionedFigure("planes", caption, made)]


def _capacities(table: Table) -> list[CaptionedFigure]:
    return _bars(table, "capacity_class", "DC capacity [kW]", "Systems by capacity")


def _mounts(table: Table) -> list[CaptionedFigure]:
    return _bars(table, "mount", "what modules stand on", "Systems by what they stand on")


def _bars(table: Table, label: str, title: str, caption: str) -> list[CaptionedFigure]:
    """Return the systems in each cell of a table as bars, those of each group beside the others.

    Parameters
    ----------
    table
        The table.
    label
        Its column that names the cells.
    title, caption
        What is written below the axis, and below the figure.
    """
    traces = []
    for group, part in _grouped(table, label).items():
        rows = [row for row in part["rows"] if row[0] != UNKNOWN]
        traces.append(
            {
                "type": "bar",
                "name": group,
                "x": [row[0] for row in rows],
                "y": [row[1] for row in rows],
                "error_y": {"type": "data", "array": [row[3] for row in rows], "thickness": 1},
                "hovertemplate": "%{x}: %{y} systems<extra></extra>",
            }
        )
    made = figure(
        traces,
        xaxis=axis(title, type="category"),
        yaxis=axis("systems", rangemode="nonnegative"),
        barmode="group",
        showlegend=len(traces) > 1,
        legend=legend_below(),
    )
    caption = f"{caption}; whiskers are one standard error."
    return [CaptionedFigure(table["name"], caption, made)]


def _totals(table: Table) -> list[CaptionedFigure]:
    names = column(table, _names(table)[0]) if _names(table)[0] != "systems" else ["all"]
    told = "error_kw" in _names(table)
    whisker = "error_kw" if told else "total_sd_kw"
    made = figure(
        [
            {
                "type": "bar",
                "x": names,
                "y": column(table, "total_kw"),
                "width": [min(0.8, 0.2 * len(names))] * len(names),
                "error_y": {"type": "data", "array": column(table, whisker), "thickness": 1},
                "hovertemplate": "%{x}: %{y:.0f} kW<extra></extra>",
            }
        ],
        xaxis=axis("group", type="category"),
        yaxis=axis("total DC capacity [kW]", rangemode="nonnegative"),
    )
    words = "the mean error, noise and what is cut off" if told else "one standard error of noise"
    return [CaptionedFigure("totals", f"Total capacity by group; whiskers are {words}.", made)]


def _quantiles(table: Table) -> list[CaptionedFigure]:
    titles = {
        "dc_capacity_kw": ("DC capacity [kW]", "capacity"),
        "surface_tilt": ("tilt [degrees]", "tilt"),
    }
    drawn = []
    for quantity, (title, word) in titles.items():
        traces = []
        for group, part in _grouped(table, "quantity").items():
            rows = [row for row in part["rows"] if row[0] == quantity and row[2] is not None]
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": group,
                    "x": [row[2] for row in rows],
                    "y": [100.0 * row[1] for row in rows],
                    "hovertemplate": f"%{{y:.0f}}% are below %{{x}} {title[-9:]}<extra></extra>",
                }
            )
        made = figure(
            traces,
            xaxis=axis(title),
            yaxis=axis("share of systems below [%]", range=[0, 100]),
            showlegend=len(traces) > 1,
            legend=legend_below(),
        )
        drawn.append(CaptionedFigure(f"quantiles-{word}", f"Quantiles of {word}.", made))
    return drawn


def _systems(table: Table) -> list[CaptionedFigure]:
    rows = {name: column(table, name)[:MOST_POINTS] for name in _names(table)}
    capacity = rows["dc_capacity_kw"]
    largest = max([*capacity, 1.0])
    polar = figure(
        [
            {
                "type": "scatterpolar",
                "mode": "markers",
                "theta": rows["surface_azimuth"],
                "r": rows["surface_tilt"],
                "marker": {
                    "size": [5.0 + 11.0 * (value / largest) ** 0.5 for value in capacity],
                    "opacity": 0.55,
                },
                "customdata": capacity,
                "hovertemplate": "azimuth %{theta:.0f}°, tilt %{r:.0f}°, %{customdata:.1f} kW"
                "<extra></extra>",
            }
        ],
        polar=compass_polar({"range": [0, 90], "ticksuffix": "°", "nticks": 4}),
        margin={"l": 32, "r": 32, "t": 28, "b": 28},
    )
    ordered = sorted(capacity)
    sizes = figure(
        [
            {
                "type": "scatter",
                "mode": "lines",
                "line": {"shape": "hv"},
                "x": ordered,
                "y": [100.0 * (i + 1) / len(ordered) for i in range(len(ordered))],
                "hovertemplate": "%{y:.0f}% are at most %{x:.3g} kW<extra></extra>",
            }
        ],
        xaxis=axis("DC capacity [kW]", type="log", dtick=1),
        yaxis=axis("share of systems at or below [%]", range=[0, 100]),
    )
    return [
        CaptionedFigure(
            "compass", "Azimuth around, tilt from the middle out, capacity as size.", polar
        ),
        CaptionedFigure("sizes", "How large the systems are.", sizes),
    ]


_DRAW: dict[str, Callable[[Table], list[CaptionedFigure]]] = {
    "sectors": _sectors,
    "planes": _planes,
    "capacities": _capacities,
    "mounts": _mounts,
    "totals": _totals,
    "quantiles": _quantiles,
    "synthetic-systems": _systems,
    "systems": _systems,
}
