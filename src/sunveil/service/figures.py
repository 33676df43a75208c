"""Figures of pages: charts, compasses and maps, as plotly takes them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sunveil.service.page_rendering import literal

Table = dict[str, Any]
Figure = dict[str, Any]
COMPASS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


def figure(data: list[dict[str, Any]], **layout: Any) -> Figure:
    """Return a figure; the page gives its colours and its letters."""
    return {"data": data, "layout": {"showlegend": False, "dragmode": False, **layout}}


def axis(title: str, **more: Any) -> dict[str, Any]:
    return {"title": {"text": title}, "zeroline": False, **more}


def compass(radial: dict[str, Any]) -> dict[str, Any]:
    """Return the layout of polar axes with the points of the compass."""
    ticks = {"tickmode": "array", "tickvals": [45 * i for i in range(8)], "ticktext": COMPASS}
    return {
        "polar": {"angularaxis": ticks, "radialaxis": {"angle": 67.5, "tickangle": 0, **radial}},
        "margin": {"l": 32, "r": 32, "t": 28, "b": 28},
    }


# Seen on white and on black. All other colours are the page's own.
GREY = "#7A7A7A"

# One lightness all around, so that no direction stands out: north blue, east green, south amber.
AROUND = (
    "#398ad6", "#009dae", "#019f68", "#848f02", "#bb7400", "#cd605a", "#bc61a0", "#8d73d1",
    "#398ad6",
)  # fmt: skip

CYCLE = [[place / 8.0, colour] for place, colour in enumerate(AROUND)]

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
    return figure([points], **compass(radial))


def rose(counts: Sequence[float]) -> Figure:
    """Return how many systems face each of sixteen sectors, the first centred on north."""
    width = 360.0 / len(counts)
    colours = [AROUND[round(place * 8 / len(counts)) % 8] for place in range(len(counts))]
    drawn = {
        "type": "barpolar",
        "theta": [place * width for place in range(len(counts))],
        "r": list(counts),
        "width": [width * 0.94] * len(counts),
        "marker": {"color": colours},
        "hovertemplate": "%{r:,} systems around %{theta}°<extra></extra>",
    }
    return figure([drawn], **compass({"nticks": 4, "rangemode": "tozero", **_whole(counts)}))


def bars(edges: Sequence[float], counts: Sequence[float], *, title: str, unit: str) -> Figure:
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


# Figures of published tables.
UNKNOWN = "unknown"

# Values below this many standard deviations of the noise are drawn pale.
SURE = 2.0
PALE = 0.28
NOISE_LEGEND = "pale: indistinguishable from noise"

# Groups that share a chart; more get a panel each, so that colours do not repeat.
MOST_GROUPS = 4
MOST_PANELS = 24


@dataclass(frozen=True, slots=True)
class CaptionedFigure:
    """A figure with its caption, or small figures of many groups with one caption."""

    id: str
    caption: str
    made: Figure  # as plotly takes it
    panels: tuple[tuple[str, Figure], ...] = ()  # of each group


def column(table: Table, name: str) -> list[Any]:
    place = column_names(table).index(name)
    return [row[place] for row in table["rows"]]


def column_names(table: Table) -> list[str]:
    return [each[0] for each in table["columns"]]


def grouped(table: Table, first: str) -> dict[str, Table]:
    """Split a table by its public key; one part without a key.

    Names of groups are escaped for plotly.
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
    """Return the opacity of a value: pale where it is indistinguishable from noise."""
    return 1.0 if abs(value) >= SURE * deviation else PALE


def whiskers(deviations: list[float]) -> dict[str, Any]:
    reach = [SURE * each for each in deviations]
    return {"type": "data", "array": reach, "thickness": 1.2, "width": 4}


def noise_legend(kind: str) -> dict[str, Any]:
    """Return an empty trace for the legend entry that explains pale colours."""
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


INTERVALS = "±2 SD of the noise. Pale: indistinguishable from noise"

BLUE = [[0.0, "rgba(0,114,178,0.15)"], [1.0, "rgb(0,114,178)"]]

# Pale on light and dark paper alike.
GREYS = [[0.0, "rgba(128,128,128,0.10)"], [1.0, "rgba(128,128,128,0.25)"]]


def draw_sectors(table: Table) -> list[CaptionedFigure]:
    """Return systems by direction as a compass rose; pale: indistinguishable from noise."""
    parts = grouped(table, "sector")
    if len(parts) > MOST_GROUPS:
        return _bars(table, "sector", "direction", "Systems by direction")
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
        **compass({"nticks": 4, "tickfont": {"size": 10}, "rangemode": "nonnegative"}),
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.14, "yanchor": "bottom"},
    )
    error = table["rows"][0][-1]
    shown = INTERVALS if len(parts) == 1 else NOISE_LEGEND.capitalize()
    caption = f"Systems by direction; SD of the noise {error:.1f} systems. {shown}."
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
    """Return systems by direction and tilt as a heat map; grey: indistinguishable from noise."""
    parts = grouped(table, "sector")
    if "" not in parts:  # a map for each group would be a wall of maps
        return []
    rows = [row for row in parts[""]["rows"] if row[0] != UNKNOWN]
    sure = {(row[0], row[1]): strength(row[3], row[4]) == 1.0 for row in rows}
    traces = [_heat(rows, sure, wanted=True), _heat(rows, sure, wanted=False)]
    made = figure(
        traces, xaxis=axis("sector", type="category"), yaxis=axis("tilt [degrees]", type="category")
    )
    error = rows[0][4]
    caption = (
        f"Systems by direction and tilt; SD of the noise {error:.1f} systems. Grey:"
        " indistinguishable from noise (below 2 SD)."
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
        "colorscale": BLUE if wanted else GREYS,
        "showscale": wanted,
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "colorbar": {"title": {"text": "systems"}, "thickness": 12},
        "hovertemplate": "%{x}, tilt %{y}°: %{z} systems"
        + ("" if wanted else ", indistinguishable from noise")
        + "<extra></extra>",
    }


def _bars(table: Table, label: str, title: str, caption: str) -> list[CaptionedFigure]:
    """Return the systems in each bin as bars: groups side by side, or a panel for each group."""
    parts = grouped(table, label)
    traces = {group: _bar_trace(group, part["rows"]) for group, part in parts.items()}
    layout = {
        "xaxis": axis(title, type="category"),
        "yaxis": axis("systems", rangemode="nonnegative"),
    }
    if len(parts) > MOST_GROUPS:
        return [_panels(table["name"], f"{caption}, {INTERVALS}.", traces, layout)]
    drawn = [{**each, "showlegend": len(traces) > 1} for each in traces.values()]
    made = figure([*drawn, noise_legend("bar")], barmode="group", showlegend=True, **layout)
    return [CaptionedFigure(table["name"], f"{caption}, {INTERVALS}.", made)]


def _bar_trace(group: str, found: list[list[Any]]) -> dict[str, Any]:
    rows = [row for row in found if row[0] != UNKNOWN]
    return {
        "type": "bar",
        "name": group,
        "x": [literal(row[0]) for row in rows],
        "y": [row[1] for row in rows],
        "error_y": whiskers([row[3] for row in rows]),
        "marker": {"opacity": [strength(row[2], row[3]) for row in rows]},
        "hovertemplate": "%{x}: %{y} systems<extra></extra>",
    }


def _panels(
    name: str, caption: str, traces: dict[str, dict[str, Any]], layout: dict[str, Any]
) -> CaptionedFigure:
    """Return a small figure for each group, all on the same vertical axis."""
    caption += f" Axes: {layout['xaxis']['title']['text']}, {layout['yaxis']['title']['text']}."
    shown = dict(list(traces.items())[:MOST_PANELS])
    if len(shown) < len(traces):
        caption += f" The first {MOST_PANELS} of {len(traces)} groups; the table has all."
    top = 1.05 * max(
        (
            value + error
            for trace in shown.values()
            for value, error in zip(
                trace["y"],
                trace.get("error_y", {}).get("array", [0.0] * len(trace["y"])),
                strict=True,
            )
        ),
        default=1.0,
    )
    yaxis = {"range": [0, max(top, 1.0)], "nticks": 4, **layout["yaxis"], "title": {"text": ""}}
    xaxis = {"nticks": 5, **layout["xaxis"], "title": {"text": ""}}
    small = {"xaxis": xaxis, "yaxis": yaxis, "margin": {"l": 36, "r": 8, "t": 8, "b": 32}}
    panels = tuple((group, figure([trace], **small)) for group, trace in shown.items())
    return CaptionedFigure(name, caption, {}, panels)


# Most points of a chart, for phones.
MOST_POINTS = 5000


def draw_totals(table: Table) -> list[CaptionedFigure]:
    by_group = column_names(table)[0] != "systems"
    names = [literal(str(each)) for each in column(table, column_names(table)[0])]
    noise = column(table, "total_sd_kw")
    trace = {
        "type": "bar",
        "x": names if by_group else ["all"],
        "y": column(table, "total_kw"),
        "width": [min(0.8, 0.2 * len(names))] * len(names),
        "error_y": whiskers(noise),
        "marker": {"opacity": list(map(strength, column(table, "noisy_total_kw"), noise))},
        "hovertemplate": "%{x}: %{y:.0f} kW<extra></extra>",
        "showlegend": False,
    }
    made = figure(
        [trace, noise_legend("bar")],
        xaxis=axis("group", type="category"),
        yaxis=axis("total DC capacity [kW]", rangemode="nonnegative"),
        showlegend=True,
    )
    group = f" by {column_names(table)[0]}" if by_group else ""
    caption = f"Total DC capacity{group}, {INTERVALS}. Capacity above the cap excluded."
    return [CaptionedFigure("totals", caption, made)]


def draw_quantiles(table: Table) -> list[CaptionedFigure]:
    titles = {
        "dc_capacity_kw": ("DC capacity [kW]", "capacity"),
        "surface_tilt": ("tilt [degrees]", "tilt"),
    }
    worst = max((row[-1] for row in table["rows"]), default=0.0)
    drawn = []
    for quantity, (title, word) in titles.items():
        traces = {}
        for group, part in grouped(table, "quantity").items():
            rows = [row for row in part["rows"] if row[0] == quantity and row[2] is not None]
            traces[group] = {
                "type": "scatter",
                "mode": "lines+markers",
                "name": group,
                "x": [row[2] for row in rows],
                "y": [100.0 * row[1] for row in rows],
                "customdata": [row[3] for row in rows],
                "hovertemplate": f"%{{y:.0f}}% of systems have less {word} than %{{x}},"
                " rank error %{customdata:.3g} systems<extra></extra>",
            }
        layout = {"xaxis": axis(title), "yaxis": axis("systems below [%]", range=[0, 100])}
        name = f"quantiles-{word}"
        caption = f"Percentiles of {word}; mean rank error up to {worst:.3g} systems of a group."
        if len(traces) > MOST_GROUPS:
            drawn.append(_panels(name, caption, traces, layout))
        else:
            made = figure(list(traces.values()), showlegend=len(traces) > 1, **layout)
            drawn.append(CaptionedFigure(name, caption, made))
    return drawn


def draw_systems(table: Table) -> list[CaptionedFigure]:
    """Return rows of systems on a compass, and how large they are."""
    rows = {name: column(table, name)[:MOST_POINTS] for name in column_names(table)}
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
        **compass({"range": [0, 90], "ticksuffix": "°", "nticks": 4}),
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
        yaxis=axis("systems at or below [%]", range=[0, 100]),
    )
    return [
        CaptionedFigure(
            "compass", "Azimuth around the circle, tilt from the centre, size: capacity.", polar
        ),
        CaptionedFigure("sizes", "Systems by DC capacity, cumulative.", sizes),
    ]


_DRAW: dict[str, Callable[[Table], list[CaptionedFigure]]] = {
    "sectors": draw_sectors,
    "planes": draw_planes,
    "tilts": lambda table: _bars(table, "tilt_band", "tilt [degrees]", "Systems by tilt"),
    "capacities": lambda table: _bars(
        table, "capacity_class", "DC capacity [kW]", "Systems by capacity"
    ),
    "mounts": lambda table: _bars(table, "mount", "mounting", "Systems by mounting"),
    "totals": draw_totals,
    "quantiles": draw_quantiles,
    "synthetic-systems": draw_systems,
    "systems": draw_systems,
}


def figures_of(body: dict[str, Any]) -> list[CaptionedFigure]:
    found: list[CaptionedFigure] = []
    for table in body["tables"]:
        draw = _DRAW.get(table["name"])
        if draw is not None:
            found += draw(table)
    return found
