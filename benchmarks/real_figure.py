"""The figure of real systems: errors of azimuth and tilt by system, with 90% intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from benchmarks.measure import turned, wedge_width
from benchmarks.real_scores import DECLARED, REPAIRED, RealAnswer, errors
from sunveil.plots.style import ACCENT, CONTRAST, FAINT, INK, QUIET, SMALL, USUAL

TITLES = {
    "serf_east": "SERF East, Colorado",
    "serf_dst": "SERF East, one inverter",
    "garage": "Parking garage, Colorado",
    "sanyo": "Sanyo array, Colorado",
    "fsec": "Cocoa, Florida",
    "nist_ground": "NIST, Maryland",
    "vermont": "Vermont",
    "stanford": "Stanford, California",
    "almeria": "Almería",
    "turin": "Turin",
    "utrecht": "Utrecht",
    "heggelbach": "Heggelbach, Germany",
    "pvod_01": "Hebei 1, smog",
    "pvod_05": "Hebei 5, smog",
    "pvod_07": "Hebei 7, smog",
}
# What lies further out is drawn at the edge, with its value. [degrees]
REACH = {"azimuth": 20.0, "tilt": 20.0}
ASIDE = {"ha": "left", "va": "center", "fontsize": SMALL, "style": "italic", "zorder": 5}


def draw(seen: Sequence[RealAnswer], apart: Sequence[RealAnswer], path: Path) -> None:
    """Draw the figure into an SVG file.

    Parameters
    ----------
    seen
        The systems that are judged.
    apart
        Systems that stand below a line of their own: those under smog.
    path
        The file.
    """
    rows = [*seen, *apart]
    height = 1.5 + 0.32 * len(rows)
    figure, panels = plt.subplots(
        1, 2, figsize=(9.0, height), sharey=True, gridspec_kw={"wspace": 0.06}
    )
    for ax, quantity in zip(panels, REACH, strict=True):
        _dress(ax, quantity, rows, len(seen))
        for place, one in enumerate(rows):
            _draw_row(ax, place, one, quantity)
    _title(figure, height)
    figure.subplots_adjust(left=0.215, right=0.985, top=1.0 - 0.78 / height, bottom=0.52 / height)
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "sunveil"}):
        figure.savefig(path, metadata={"Date": None}, facecolor="white")
    plt.close(figure)


def _dress(ax: Axes, quantity: str, rows: Sequence[RealAnswer], seen: int) -> None:
    reach = REACH[quantity]
    ax.set_xlim(-reach, reach)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_yticks(range(len(rows)))
    ax.set_yticklabels([TITLES.get(one.case.name, one.case.name) for one in rows])
    ticks = [-15, -10, -5, 0, 5, 10, 15]
    ax.set_xticks(ticks)
    ax.set_xticklabels([f"{tick:+d}°".replace("-", "−") if tick else "0" for tick in ticks])
    ax.set_xlabel(f"Error of {quantity}", fontsize=USUAL, color=INK, labelpad=6)
    ax.tick_params(axis="x", length=0, labelcolor=QUIET, labelsize=SMALL, pad=4)
    ax.tick_params(axis="y", length=0, labelcolor=INK, labelsize=USUAL, pad=8)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.grid(axis="x", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    for place in range(0, len(rows), 2):
        ax.axhspan(place - 0.5, place + 0.5, color="#F7F7F7", linewidth=0, zorder=0)
    ax.axvline(0.0, color=QUIET, linewidth=0.9, zorder=1)
    if seen < len(rows):
        ax.axhline(seen - 0.5, color=QUIET, linewidth=0.6, linestyle=(0, (2, 3)), zorder=1)


def _draw_row(ax: Axes, place: int, one: RealAnswer, quantity: str) -> None:
    if quantity not in one.case.counts:
        note = "no label" if getattr(one.case, quantity) is None else "not judged: clock unsure"
        ax.text(0.6, place, note, color=QUIET, **ASIDE)
        return
    declared, repaired = (errors(one, tool).get(quantity) for tool in (DECLARED, REPAIRED))
    if declared is not None and declared != repaired:
        _mark(ax, place + 0.2, declared, quantity, face="white", marker="D", size=4.6)
    if repaired is not None:
        _mark(ax, place + 0.2, repaired, quantity, face=CONTRAST, marker="D", size=4.6)
    found = errors(one).get(quantity)
    if found is None:
        ax.text(0.6, place - 0.12, "refused", color=ACCENT, **ASIDE)
        return
    low, high = _bounds(one, quantity, found)
    bar = {"color": ACCENT, "alpha": 0.32, "linewidth": 5.5, "solid_capstyle": "butt"}
    ax.plot([low, high], [place - 0.12] * 2, zorder=2, **bar)
    _mark(ax, place - 0.12, found, quantity, face=ACCENT, marker="o", size=6.2)


def _bounds(one: RealAnswer, quantity: str, error: float) -> tuple[float, float]:
    """Return the ends of the 90% interval, counted from the label. [degrees]"""
    found = one.estimate
    if quantity == "azimuth":
        below = -turned(found.azimuth_interval.low, found.surface_azimuth)
        return error - below, error - below + wedge_width(found.azimuth_interval)
    shift = error - found.surface_tilt
    return found.tilt_interval.low + shift, found.tilt_interval.high + shift


def _mark(
    ax: Axes, place: float, error: float, quantity: str, *, face: str, marker: str, size: float
) -> None:
    """Draw one error, or an arrow with its value at the edge where it lies beyond."""
    colour = ACCENT if marker == "o" else CONTRAST
    reach = REACH[quantity]
    if abs(error) <= reach:
        style = {"markeredgecolor": colour, "markeredgewidth": 1.1, "markersize": size}
        ax.plot(error, place, marker=marker, markerfacecolor=face, zorder=4, **style)
        return
    side = 1.0 if error > 0.0 else -1.0
    arrow = ">" if side > 0.0 else "<"
    style = {"markerfacecolor": face, "markeredgecolor": colour, "markersize": 5.0}
    ax.plot(side * (reach - 0.5), place, marker=arrow, zorder=4, **style)
    text = f"{error:+.0f}°".replace("-", "−")
    align = "right" if side > 0.0 else "left"
    spot = side * (reach - 1.2)
    ax.text(spot, place, text, ha=align, va="center", fontsize=SMALL - 0.5, color=colour)


def _title(figure: plt.Figure, height: float) -> None:
    dot = {"linestyle": "none", "markeredgewidth": 1.1}
    orange = dot | {"marker": "D", "markeredgecolor": CONTRAST, "markersize": 5}
    handles = [
        Line2D([], [], marker="o", markersize=6.2, color=ACCENT, **dot, label="Sunveil"),
        Line2D([], [], color=ACCENT, alpha=0.32, linewidth=5.5, label="its 90% interval"),
        Line2D([], [], markerfacecolor=CONTRAST, **orange, label="pvanalytics, clear days"),
        Line2D([], [], markerfacecolor="white", **orange, label="the same, declared clock"),
    ]
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.21, 1.0 - 0.36 / height),
        ncols=4,
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        handletextpad=0.5,
        columnspacing=1.8,
        borderpad=0,
    )
    figure.text(
        0.215,
        1.0 - 0.1 / height,
        "Real systems under a clear sky alone, against their labels",
        ha="left",
        va="top",
        fontsize=11.5,
        fontweight="bold",
        color=INK,
    )
