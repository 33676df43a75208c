"""Figures of counts: compass roses, maps of planes and bars, with their noise."""

from __future__ import annotations

from typing import Any

from sunveil.service.analyst.figures.base import (
    SURE,
    UNKNOWN,
    CaptionedFigure,
    Table,
    axis,
    compass_polar,
    figure,
    grouped,
    noise_legend,
    strength,
    whiskers,
)
from sunveil.service.plotly_text import literal

INTERVALS = (
    "lines reach two standard deviations of the noise to either side, and what is below two is pale"
)
BLUE = [[0.0, "rgba(0,114,178,0.15)"], [1.0, "rgb(0,114,178)"]]
# Pale on light and dark paper alike.
GREY = [[0.0, "rgba(128,128,128,0.10)"], [1.0, "rgba(128,128,128,0.25)"]]


def draw_sectors(table: Table) -> list[CaptionedFigure]:
    """Return systems by sector as a compass rose; what may be noise alone is pale."""
    parts = grouped(table, "sector")
    traces: list[dict[str, Any]] = []
    for group, part in parts.items():
        rows = [row for row in part["rows"] if row[0] != UNKNOWN]
        turns = [360.0 * i / len(rows) for i in range(len(rows))]
        traces.append(
            {
                "type": "barpolar",
                "name": group,
                "theta": turns,
                "width": [0.92 * 360.0 / len(rows)] * len(rows),
                "r": [row[1] for row in rows],
                "marker": {"opacity": [strength(row[2], row[3]) for row in rows]},
                "customdata": [[row[0], SURE * row[3]] for row in rows],
                "hovertemplate": "%{customdata[0]}: %{r} systems ± %{customdata[1]:.1f}"
                "<extra></extra>",
                "showlegend": len(parts) > 1,
            }
        )
        if len(parts) == 1:
            traces.append(_spokes(turns, rows))
    made = figure(
        [*traces, noise_legend("barpolar")],
        polar=compass_polar({"nticks": 4, "tickfont": {"size": 10}, "rangemode": "nonnegative"}),
        margin={"l": 32, "r": 32, "t": 28, "b": 28},
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.14, "yanchor": "bottom"},
    )
    error = table["rows"][0][-1]
    shown = f"; {INTERVALS}" if len(parts) == 1 else "; what is below two of them is pale"
    caption = (
        "Systems by the sector that they face, each with noise of one standard deviation of"
        f" {error:.1f} systems{shown}."
    )
    return [CaptionedFigure("sectors", caption, made)]


def _spokes(turns: list[float], rows: list[list[Any]]) -> dict[str, Any]:
    """Return the interval of every sector as a line along its middle."""
    theta: list[float | None] = []
    reach: list[float | None] = []
    for turn, row in zip(turns, rows, strict=True):
        theta += [turn, turn, None]
        reach += [max(row[1] - SURE * row[3], 0.0), row[1] + SURE * row[3], None]
    return {
        "type": "scatterpolar",
        "mode": "lines",
        "theta": theta,
        "r": reach,
        "line": {"width": 1.2},
        "meta": "interval",
        "hoverinfo": "skip",
        "showlegend": False,
    }


def draw_planes(table: Table) -> list[CaptionedFigure]:
    """Return systems by sector and tilt as a map; what may be noise alone is grey."""
    parts = grouped(table, "sector")
    if "" not in parts:  # a map for each group would be a wall of maps
        return []
    rows = [row for row in parts[""]["rows"] if row[0] != UNKNOWN]
    sure = {(row[0], row[1]): strength(row[3], row[4]) == 1.0 for row in rows}
    traces = [_heat(rows, sure, wanted=True), _heat(rows, sure, wanted=False)]
    made = figure(
        traces,
        xaxis=axis("sector", type="category"),
        yaxis=axis("tilt [degrees]", type="category"),
    )
    error = rows[0][4]
    caption = (
        f"Systems by sector and tilt, each cell with noise of one standard deviation of {error:.1f}"
        " systems. Grey cells are below two standard deviations: they may be noise alone."
    )
    return [CaptionedFigure("planes", caption, made)]


def _heat(
    rows: list[list[Any]], sure: dict[tuple[str, str], bool], *, wanted: bool
) -> dict[str, Any]:
    sectors = list(dict.fromkeys(row[0] for row in rows))
    bands = list(dict.fromkeys(row[1] for row in rows))
    counts = {(row[0], row[1]): row[2] for row in rows}
    shown = [[counts[s, b] if sure[s, b] is wanted else None for s in sectors] for b in bands]
    return {
        "type": "heatmap",
        "x": sectors,
        "y": bands,
        "z": shown,
        "zmin": 0,
        "zmax": max([*counts.values(), 1]),
        "colorscale": BLUE if wanted else GREY,
        "showscale": wanted,
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "colorbar": {"title": {"text": "systems"}, "thickness": 12},
        "hovertemplate": "%{x}, tilt %{y}°: %{z} systems"
        + ("" if wanted else ", may be noise alone")
        + "<extra></extra>",
    }


def draw_tilts(table: Table) -> list[CaptionedFigure]:
    """Return systems by band of tilt as bars."""
    return _bars(table, "tilt_band", "tilt [degrees]", "Systems by tilt")


def draw_capacities(table: Table) -> list[CaptionedFigure]:
    """Return systems by class of capacity as bars."""
    return _bars(table, "capacity_class", "DC capacity [kW]", "Systems by capacity")


def draw_mounts(table: Table) -> list[CaptionedFigure]:
    """Return systems by what they stand on as bars."""
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
    parts = grouped(table, label)
    traces = []
    for group, part in parts.items():
        rows = [row for row in part["rows"] if row[0] != UNKNOWN]
        traces.append(
            {
                "type": "bar",
                "name": group,
                "x": [literal(row[0]) for row in rows],
                "y": [row[1] for row in rows],
                "error_y": whiskers([row[3] for row in rows]),
                "marker": {"opacity": [strength(row[2], row[3]) for row in rows]},
                "hovertemplate": "%{x}: %{y} systems<extra></extra>",
                "showlegend": len(parts) > 1,
            }
        )
    made = figure(
        [*traces, noise_legend("bar")],
        xaxis=axis(title, type="category"),
        yaxis=axis("systems", rangemode="nonnegative"),
        barmode="group",
        showlegend=True,
    )
    return [CaptionedFigure(table["name"], f"{caption}; {INTERVALS}.", made)]
