"""The curator, the consumers and the analyst: the paper's figure 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproduction.artefact import Artefact
from sunveil.plots.style import ACCENT, CONTRAST, INK, QUIET, SMALL, USUAL, loose_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREEN = "#009E73"
HOMES = (0.82, 0.5, 0.18)


def trusted_curator() -> Artefact:
    """Draw who holds what, who asks, and where the noise is added: paper fig. 1."""
    figure = loose_figure(7.6, 3.3)
    ax = figure.subplots()
    ax.set_xlim(0.0, 2.4)
    ax.set_ylim(-0.16, 1.1)
    ax.set_axis_off()
    for height in HOMES:
        _home(ax, 0.2, height)
        _arrow(ax, (0.33, height), (0.72, 0.5 + 0.3 * (height - 0.5)), colour=QUIET)
    ax.text(0.2, 1.03, "consumers", ha="center", fontsize=USUAL, color=INK)
    ax.text(0.47, 0.86, "readings", fontsize=SMALL, color=QUIET, rotation=-24, ha="center")
    _box(ax, 1.05, "trusted curator", "utility or contractor:\nreadings, ledger,\nmechanism")
    _box(ax, 2.08, "untrusted analyst", "aggregator, researcher,\nregulator")
    _arrow(ax, (1.8, 0.62), (1.36, 0.62), colour=INK)
    _label(ax, 0.68, "query", INK)
    _arrow(ax, (1.36, 0.4), (1.8, 0.4), colour=GREEN)
    _label(ax, 0.29, "answer\nunder (ε, δ)", GREEN)
    ax.plot([1.58, 1.58], [-0.03, 0.97], color=CONTRAST, linewidth=1.0, linestyle=(0, (4, 3)))
    ax.text(1.58, 1.0, "what leaves here is public", ha="center", fontsize=SMALL, color=CONTRAST)
    ax.annotate(
        "",
        (2.08, 0.2),
        xytext=(0.33, 0.1),
        arrowprops={
            "arrowstyle": "-|>",
            "color": GREEN,
            "linewidth": 1.0,
            "linestyle": (0, (2, 2)),
            "connectionstyle": "arc3,rad=0.13",
        },
    )
    ax.text(
        0.35,
        -0.1,
        "or from the home itself: then a whole record is to be protected",
        fontsize=SMALL,
        color=GREEN,
        va="center",
    )
    return Artefact(
        name="1-trusted-curator",
        title="Data collection with a trusted curator (paper fig. 1)",
        words=(
            "Consumers' readings go to a curator whom they trust. An analyst whom nobody trusts"
            " asks, and what the mechanism answers is all that leaves. Where consumers hold their"
            " readings themselves, each answers for a whole record: the paper allows for it and"
            " gives no mechanism for it."
        ),
        figure=figure,
        data={"parties": ["consumers", "trusted curator", "untrusted analyst"]},
    )


def _label(ax: Axes, height: float, words: str, colour: str) -> None:
    """Write over the boundary, which stays out of the letters' way."""
    ax.text(
        1.58,
        height,
        words,
        ha="center",
        va="center",
        fontsize=SMALL,
        color=colour,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )


def _box(ax: Axes, middle: float, name: str, words: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0.02,rounding_size=0.04"
    ax.add_patch(
        FancyBboxPatch(
            (middle - 0.28, 0.24),
            0.56,
            0.52,
            boxstyle=style,
            facecolor="#F4F8FB",
            edgecolor=ACCENT,
            linewidth=1.2,
        )
    )
    ax.text(middle, 0.66, name, ha="center", fontsize=USUAL, color=INK, weight="bold")
    ax.text(middle, 0.58, words, ha="center", va="top", fontsize=SMALL, color=INK)


def _home(ax: Axes, middle: float, height: float) -> None:
    """Draw a house with modules on its roof."""
    from matplotlib.patches import Polygon, Rectangle

    wide, tall = 0.2, 0.13
    left, low = middle - wide / 2.0, height - tall / 2.0
    ax.add_patch(Rectangle((left, low), wide, tall, facecolor="white", edgecolor=INK, lw=1.0))
    roof = [
        (left - 0.02, low + tall),
        (middle, low + 1.85 * tall),
        (left + wide + 0.02, low + tall),
    ]
    ax.add_patch(Polygon(roof, facecolor="#E6E6E6", edgecolor=INK, lw=1.0))
    right = [(middle + 0.02, low + 1.66 * tall), (left + wide - 0.01, low + 1.12 * tall)]
    ax.plot(*zip(*right, strict=True), color=ACCENT, linewidth=3.2, solid_capstyle="butt")


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], *, colour: str) -> None:
    ax.annotate(
        "", end, xytext=start, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.2}
    )
