"""The page and the figure of :mod:`benchmarks.power`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sunveil.plots.style import CONTRAST, INK, QUIET, dress, loose_figure, name_axes

if TYPE_CHECKING:
    from benchmarks.power import PowerCost

SHOWN = ("tables for power", "synthetic", "local releases, unmixed", "rows, one day")
PAGE = """# What privacy costs, in power

Simulated fleets of homes whose truth is known are published every way there is, and the power
that an analyst makes of each ([how](power.md)) is held against the true sum under the same
weather. Made by runs of `python -m benchmarks.power --json FILE` with 200 draws at ε = 1 and 100
elsewhere, put together by `--from-json FILE ... --page docs/power-benchmarks.md`; draws of
publications cannot be seeded, so that the last digits differ from run to run.

```{{figure}} {figure}
:alt: Error of yearly energy in kW against ε by size of a group, with the 15/15 rule as a line.

Median error of yearly energy, as mean power in kW, against ε, by the number of homes. The dashed
line is the 15/15 rule, which has no ε and [protects nobody](rule-15-15.md); the dotted one the
paper's mechanism.
```

The numbers of draws stand beside the errors; over 200 draws *in band* is uncertain by 4%, over 100
by 5%. Fleets and weather are of seeds from 3000 on; methods were made, and constants chosen, on
others. All draws are under the weather of one simulated year.

## What is compared

- **Fleets** are drawn as the simulator's roster draws homes: half of them about the US list, half
  about the European one, each with shares of sectors and bands and a median size of its own. One
  plane each. Publications say that no home is larger than 20 kW (US) or 10 kW (Europe), as a
  utility's rule for homes would.
- **Truth** is the sum over all homes, each with its own plane, capacity, DC to AC ratio and an
  error of 7% in what it gives, on every twelfth day of a simulated year with clouds, at quarter
  hours. The chain from light to power is the analyst's own: what is measured is what publishing
  costs, not what PVWatts is off by. *Other physics* is the error of energy, and how often the band
  held, where the truth is made by Perez' sky, Martin and Ruiz' glass, Faiman's temperatures and
  Huld's modules, with losses of 10%: the analyst's chain differs by about 4%, somewhat more than
  its stated error, and all homes share that.
- **Ways.** *Tables for power* are `--tables planes,totals --largest 20`; *usual tables*
  `counts,totals,quantiles`, with the same limit. Where the *largest* is *not said*, systems of up
  to 2000 kW are provided for (synthetic tables: 100 kW), as `sunveil publish` and the service do by
  themselves. Tables, synthetic tables and local releases protect whole records.
  *Rows* for one reading or one day do not hide a household; to infer 30,000 systems for each draw
  would take days, so rows are drawn with the errors that are stated beside releases
  (`releases/typical.json`); the errors of a fleet are drawn about the stated ones. *Local releases*
  are drawn from the window's exact law over the cells that they are unmixed in. The *paper's* rows
  are planes by chance, which is what [its mechanism
  gives](release-benchmarks.md) up to ε = 10; it releases no capacity, so the true total is given
  to it for nothing. The *15/15 rule* gives the exact total of the fleet, and the exact number of
  systems of each sector that passes.
- **Errors** are medians over draws: of yearly energy, of the mean power from 17 to 20 h in June
  to August, and of the ramp between quarter hours that 99% are below. *In band* is how often the
  stated 90% band held the truth over all daylight instants, with the model's common error drawn
  into the truth as it is stated.

{tables}
"""


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
