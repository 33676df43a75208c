"""Figures of totals, quantiles and rows of systems, with their noise."""

from __future__ import annotations

from sunveil.service.analyst.figures.base import (
    CaptionedFigure,
    Table,
    axis,
    column,
    column_names,
    compass_polar,
    figure,
    grouped,
    noise_legend,
    strength,
    whiskers,
)
from sunveil.service.plotly_text import literal

# A page that is drawn by a phone has enough of these.
MOST_POINTS = 5000


def draw_totals(table: Table) -> list[CaptionedFigure]:
    """Return total capacities by group as bars; what may be noise alone is pale."""
    by_group = column_names(table)[0] != "systems"
    names = [literal(str(each)) for each in column(table, column_names(table)[0])]
    noise = column(table, "total_sd_kw")
    bars = {
        "type": "bar",
        "x": names if by_group else ["all"],
        "y": column(table, "total_kw"),
        "width": [min(0.8, 0.2 * len(names))] * len(names),
        "error_y": whiskers(noise),
        "marker": {
            "opacity": list(map(strength, column(table, "noisy_total_kw"), noise)),
        },
        "hovertemplate": "%{x}: %{y:.0f} kW<extra></extra>",
        "showlegend": False,
    }
    made = figure(
        [bars, noise_legend("bar")],
        xaxis=axis("group", type="category"),
        yaxis=axis("total DC capacity [kW]", rangemode="nonnegative"),
        showlegend=True,
    )
    caption = (
        "Total capacity by group; lines reach two standard deviations of the noise to either side,"
        " without what is cut off above the limit, and what is below two is pale."
    )
    return [CaptionedFigure("totals", caption, made)]


def draw_quantiles(table: Table) -> list[CaptionedFigure]:
    """Return quantiles of capacity and of tilt, each with the ranks it may be off by."""
    titles = {
        "dc_capacity_kw": ("DC capacity [kW]", "capacity"),
        "surface_tilt": ("tilt [degrees]", "tilt"),
    }
    drawn = []
    for quantity, (title, word) in titles.items():
        traces = []
        for group, part in grouped(table, "quantity").items():
            rows = [row for row in part["rows"] if row[0] == quantity and row[2] is not None]
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": group,
                    "x": [row[2] for row in rows],
                    "y": [100.0 * row[1] for row in rows],
                    "customdata": [row[3] for row in rows],
                    "hovertemplate": f"%{{y:.0f}}% of systems have less {word} than %{{x}},"
                    " give or take %{customdata:.3g} places<extra></extra>",
                }
            )
        made = figure(
            traces,
            xaxis=axis(title),
            yaxis=axis("share of systems below [%]", range=[0, 100]),
            showlegend=len(traces) > 1,
        )
        worst = max((row[-1] for row in table["rows"]), default=0.0)
        caption = (
            f"Quantiles of {word}; each may be off by up to {worst:.3g} places, on average, in the"
            " sorted list of a group’s systems."
        )
        drawn.append(CaptionedFigure(f"quantiles-{word}", caption, made))
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
