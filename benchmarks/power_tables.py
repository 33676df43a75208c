"""The tables and the figure of :mod:`benchmarks.power`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sunveil.plots.style import CONTRAST, INK, QUIET, dress, loose_figure, name_axes

if TYPE_CHECKING:
    from benchmarks.power import PowerCost

SHOWN = ("tables for power", "synthetic", "local releases, unmixed", "rows, one day")


def page_tables(found: Sequence[PowerCost]) -> str:
    """Return one table for each size."""
    parts = []
    for size in sorted({each.systems for each in found}):
        rows = [
            f"## {size:,} homes\n",
            "| way | ε | energy | evening peak | ramp | energy, as mean power | in band | other"
            " physics: energy, in band | draws |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for each in (one for one in found if one.systems == size):
            epsilon = "none" if each.way in ("15/15 rule",) else f"{each.epsilon:g}"
            told = " | ".join(_percent(one) for one in (each.energy, each.evening, each.ramp))
            held = "–" if each.way in ("15/15 rule", "paper") else f"{100 * each.covered:.0f}%"
            way = each.way
            if each.suppressed:
                way += f" (nothing published in {100 * each.suppressed:.0f}% of draws)"
            other = "–"
            if each.other_energy == each.other_energy and held != "–":
                other = f"{_percent(each.other_energy)}, {100 * each.other_covered:.0f}%"
            rows.append(
                f"| {way} | {epsilon} | {told} | {each.energy_kw:.3g} kW | {held} | {other}"
                f" | {each.draws} |"
            )
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def _percent(number: float) -> str:
    """Return a percentage of two digits, without an exponent."""
    return f"{float(f'{number:.2g}'):g}%"


def draw_figure(found: Sequence[PowerCost], path: Path) -> None:
    """Draw error against ε, one panel for each size."""
    sizes = sorted({each.systems for each in found})
    figure = loose_figure(3.0 * len(sizes), 3.6)
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    colours = (CONTRAST, "#CC79A7", "#0072B2", "#009E73")
    for ax, size in zip(panels, sizes, strict=True):
        for way, colour in zip(SHOWN, colours, strict=True):
            line = sorted(
                (each.epsilon, each.energy_kw) for each in found
                if each.systems == size and each.way == way
            )  # fmt: skip
            if line:
                ax.plot(*zip(*line, strict=True), marker="o", ms=3.5, lw=1.4, color=colour,
                        label=way)  # fmt: skip
        for way, style in (("15/15 rule", "--"), ("paper", ":")):
            for each in found:
                if (each.systems, each.way) == (size, way):
                    ax.axhline(each.energy_kw, color=INK if way == "paper" else QUIET, ls=style,
                               lw=1.2, label=way)  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        dress(ax)
        name_axes(ax, x="ε", y="Error, as mean power [kW]" if ax is panels[0] else "",
                  title=f"{size:,} homes")  # fmt: skip
    named = {
        label: line
        for ax in panels
        for line, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        named.values(), named, loc="outside lower center", ncols=6, fontsize=8.0, frameon=False
    )
    figure.savefig(path, dpi=150)
