"""Pictures of units of protection and of the ledger."""

from __future__ import annotations

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, NullFormatter
from scenes import draw_carpet, scene

from sunveil.errors import BudgetExceeded
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.promises import Promise, Question
from sunveil.plots.style import ACCENT, CONTRAST, FAINT, INK, QUIET, SMALL, USUAL, dress, name_axes
from sunveil.privacy.guarantees import Days, Guarantee, Readings, System
from sunveil.releases.expected_errors import typical_errors
from sunveil.releases.release_choices import Choices
from sunveil.site import TimeGrid

GREEN = "#009E73"
UNITS = (
    (Readings(1), "Readings(1)", ACCENT),
    (Days(1), "Days(1)", CONTRAST),
    (System(), "System()", GREEN),
)
EPSILONS = np.geomspace(0.02, 10.0, 25)
# A year of hours.
YEAR = TimeGrid(1546300800, 3600, 8760)
PROMISED = 2.0
# Which tables are asked for one after another, and at which ε; the third is the first again.
ASKED = (
    ("sectors", 0.5),
    ("totals", 0.25),
    ("sectors", 0.5),
    ("tilts", 0.75),
    ("capacities", 0.75),
    ("quantiles", 0.5),
)


def draw_units() -> Figure:
    """Return one year of readings three times, with what each unit covers of it."""
    power = scene(4).day
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 2.9), layout="constrained", sharey=True)
    boxes = ((180.5, 11.5, 1, 1), (180.5, -0.5, 1, 24), (-0.5, -0.5, 365, 24))
    for ax, (unit, words, _), (x, y, width, height) in zip(axes, UNITS, boxes, strict=True):
        draw_carpet(ax, power, cmap="Greys")
        box = Rectangle(
            (x, y), width, height, facecolor=CONTRAST, edgecolor=CONTRAST, lw=1.5, zorder=3,
            alpha=0.45 if isinstance(unit, System) else 1.0,
        )  # fmt: skip
        ax.add_patch(box)
        ax.set_title(f"{words}: {unit}", fontsize=USUAL, color=INK, loc="left")
    axes[0].annotate(
        "this hour", (181, 12), (205, 1.5), fontsize=SMALL, color=INK,
        arrowprops={"arrowstyle": "->", "color": INK, "lw": 0.8},
    )  # fmt: skip
    axes[0].set_ylabel("hour of the day", fontsize=SMALL, color=INK)
    return figure


def draw_errors() -> Figure:
    """Return the errors to expect of one release against ε, for each unit."""
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.3), layout="constrained")
    names = (("azimuth", "Azimuth [°]"), ("tilt", "Tilt [°]"), ("capacity", "DC capacity [%]"))
    for unit, words, colour in UNITS:
        expected = [
            typical_errors(YEAR, Choices(), clear=True, protect=unit, epsilon=float(epsilon))
            for epsilon in EPSILONS
        ]
        for ax, (name, _) in zip(axes, names, strict=True):
            means = [getattr(each, name).mean for each in expected]
            ax.plot(EPSILONS, means, color=colour, lw=1.7, label=words)
    for ax, (_, title) in zip(axes, names, strict=True):
        dress(ax)
        ax.set_xscale("log")
        ax.set_xticks([0.1, 1.0, 10.0], ["0.1", "1", "10"])
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter("{x:,g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
        name_axes(ax, x="ε", y="Mean error to expect" if ax is axes[0] else "", title=title)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL
    )
    return figure


def ask_until_refused() -> list[tuple[str, float, float, bool]]:
    """Ask a real ledger, and return each table, its ε, what was spent then, and if refused."""
    out = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Ledger(Path(folder, "ledger.db"), create=True) as ledger,
    ):
        ledger.create_dataset("homes", Promise(System(), PROMISED))
        for table, epsilon in ASKED:
            holds = Guarantee(System(), epsilon, 0.0, "docs/proofs/counts.md")
            question = Question(table, {"epsilon": epsilon}, "discrete-laplace", holds)
            refused = False
            try:
                ledger.ask("homes", question, lambda: 0)
            except BudgetExceeded:
                refused = True
            out.append((table, epsilon, ledger.dataset("homes").spent, refused))
    return out


def draw_budget() -> Figure:
    """Return how a promise is spent, question by question."""
    steps = ask_until_refused()
    figure, ax = plt.subplots(figsize=(8.0, 3.4), layout="constrained")
    dress(ax)
    ax.grid(visible=False, axis="x")
    before = 0.0
    for place, (_, epsilon, spent, refused) in enumerate(steps):
        ax.bar(place, before, width=0.62, color=FAINT)
        if refused:
            ax.bar(
                place, epsilon, bottom=before, width=0.62, facecolor="none", edgecolor=CONTRAST,
                hatch="///", lw=1.0,
            )  # fmt: skip
            words, top = "refused", before + epsilon
        else:
            ax.bar(place, spent - before, bottom=before, width=0.62, color=ACCENT)
            words, top = (f"+{spent - before:g}" if spent > before else "asked before: free"), spent
        ax.text(place, top + 0.04, words, ha="center", fontsize=SMALL, color=INK)
        before = spent
    ax.axhline(PROMISED, color=CONTRAST, lw=1.4)
    ax.text(-0.45, PROMISED + 0.05, f"promised: ε = {PROMISED:g}", fontsize=SMALL, color=CONTRAST)
    labels = [f"{table}\nε = {epsilon:g}" for table, epsilon, _, _ in steps]
    ax.set_xticks(range(len(steps)), labels, fontsize=SMALL, color=INK)
    ax.set_ylim(0.0, 2.6)
    ax.tick_params(axis="x", length=0, color=QUIET)
    name_axes(ax, y="ε charged to every household")
    return figure
