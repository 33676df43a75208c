"""What tables of a fleet are worth, and what the 15/15 rule gives away.

``python -m benchmarks.fleet_tables`` prints the tables. With ``--write`` they go to
``docs/measured``, and the figure of the 15/15 rule to ``docs``. Draws cannot be seeded, so the last
digits differ from run to run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from benchmarks.csv_tables import save
from sunveil.estimates.read_write import FleetRows
from sunveil.plots.style import (
    ACCENT,
    CONTRAST,
    QUIET,
    SMALL,
    dress,
    mark_private,
    name_axes,
    new_row,
)
from sunveil.privacy.discrete_noise import Spending
from sunveil.publication.published_tables import PARTS, Bins
from sunveil.publish.fleet_tables import TableChoices, expected_tables, fleet_tables
from sunveil.publish.noisy_counts import agreed_counts, bin_counts, draw_counts, groups_of
from sunveil.publish.rule_15_15 import Recovered, differencing_attack, rule_15_15
from sunveil.simulate import draw_systems
from sunveil.site import Array

SYSTEMS, SEED, RUNS, EPSILON = 10_000, 606, 300, 1.0
FEEDERS, PER_FEEDER = 100, 10
HOME_KW = 20.0
BINS = Bins()
FIGURE = Path(__file__).parents[1] / "docs" / "rule-15-15.png"


@dataclass(frozen=True, slots=True)
class Case:
    """A fleet to measure with."""

    name: str
    rows: FleetRows


def fleet(*, homes: bool) -> FleetRows:
    """Return a simulated fleet on feeders, of homes only or of all kinds."""
    truths = draw_systems(SYSTEMS + SYSTEMS // 10, seed=SEED)
    kept = [each for each in truths if not homes or each.dc_capacity_kw <= HOME_KW][:SYSTEMS]
    feeders = np.random.default_rng(SEED).permutation(SYSTEMS) % FEEDERS
    return FleetRows(
        tuple(each.system_id for each in kept),
        np.array([each.plane.surface_azimuth for each in kept]),
        np.array([each.plane.surface_tilt for each in kept]),
        np.array([each.dc_capacity_kw for each in kept]),
        {"feeder": np.array([f"F{feeder:03d}" for feeder in feeders])},
    )


def feeder_rows(rows: FleetRows, feeder: str) -> FleetRows:
    """Return the rows of one feeder."""
    return rows.kept(rows.keys["feeder"] == feeder)


def cells(cases: list[Case]) -> Iterator[str]:
    """Yield the errors of every table of counts, by what is bought."""
    yield (
        "| fleet | bought | table | sd as drawn [systems] | rms error as drawn |"
        " rms error once consistent |"
    )
    yield "|---|---|---|---|---|---|"
    bought = (("counts",), ("planes",), ("sectors",), ("sectors", "tilts", "capacities"),
              ("counts", "sectors"))  # fmt: skip
    for case in cases:
        groups = groups_of(case.rows, key=None, keys=None)
        for names in bought:
            part = Spending(EPSILON / 2.0 / len(names))
            noisy: dict[str, list[float]] = {}
            final: dict[str, list[float]] = {}
            for _ in range(RUNS // 5):
                drawn = {
                    name: draw_counts(case.rows, BINS, groups, spending=part, table=name)
                    for name in names
                }
                found = agreed_counts(drawn, BINS, groups)
                for name, table in found.items():
                    true = bin_counts(case.rows, BINS, groups, table=name).values[:-1] / PARTS
                    noisy.setdefault(name, []).append(rms(table.drawn.noisy.ravel() - true))
                    final.setdefault(name, []).append(rms(table.systems.ravel() - true))
            for name, table in found.items():
                yield (
                    f"| {case.name} | {', '.join(names)} | {name} | {table.drawn.deviation:.1f} |"
                    f" {np.mean(noisy[name]):.1f} | {np.mean(final[name]):.1f} |"
                )


def rms(values: NDArray[np.float64]) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(values**2)))


def quantiles(cases: list[Case]) -> Iterator[str]:
    """Yield the errors of quantiles in ranks."""
    yield "| fleet | quantity | stated: at most [ranks] | mean error with the grid's [ranks] |"
    yield "|---|---|---|---|"
    for case in cases:
        stated = {
            each.value: each.error
            for each in expected_tables(TableChoices(bins=BINS, epsilon=EPSILON))
        }
        missed: dict[str, list[float]] = {}
        for _ in range(20):
            tables = fleet_tables(case.rows, TableChoices(bins=BINS, epsilon=EPSILON))
            for quantity, probability, value, _ in tables.tables[-1].rows:
                share = float(np.mean(getattr(case.rows, quantity) <= value))
                missed.setdefault(quantity, []).append(SYSTEMS * abs(share - probability))
        for quantity, errors in missed.items():
            yield f"| {case.name} | {quantity} | {stated[quantity]:.0f} | {np.mean(errors):.0f} |"


def costs(cases: list[Case]) -> Iterator[str]:
    """Yield how long the tables take."""
    rows = cases[0].rows
    keys = tuple(sorted(set(rows.keys["feeder"].tolist())))
    shape = " x ".join(map(str, BINS.shape))
    yield "| what | time [s] |"
    yield "|---|---|"
    spent = timed(
        lambda: fleet_tables(rows, TableChoices(bins=BINS, epsilon=EPSILON, tables=("counts",)))
    )
    yield f"| counts of {shape} cells, with margins | {spent:.3f} |"
    spent = timed(lambda: fleet_tables(rows, TableChoices(bins=BINS, epsilon=EPSILON)))
    yield f"| everything | {spent:.3f} |"
    spent = timed(
        lambda: fleet_tables(
            rows, TableChoices(bins=BINS, epsilon=EPSILON, key="feeder", keys=keys)
        )
    )
    yield f"| everything, for each of {FEEDERS} feeders | {spent:.3f} |"


def timed(work: Callable[[], object], *, times: int = 3) -> float:
    """Return the median time of some work, after one run that is not counted. [s]"""
    work()
    spans = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        spans.append(time.perf_counter() - begun)
    return float(np.median(spans))


def attacked(rows: FleetRows) -> Recovered:
    """Attack some households of every feeder."""
    found = [
        differencing_attack(
            feeder_rows(rows, feeder), range(PER_FEEDER), epsilon=EPSILON, clip_kw=(0.0, 25.0)
        )
        for feeder in sorted(set(rows.keys["feeder"].tolist()))
    ]
    return Recovered(
        np.concatenate([each.true_kw for each in found]),
        np.concatenate([each.rule_kw for each in found]),
        np.concatenate([each.private_kw for each in found]),
        found[0].stated_sd_kw,
    )


def rule(cases: list[tuple[str, FleetRows, Recovered]]) -> Iterator[str]:
    """Yield what the attack makes of both kinds of totals."""
    yield (
        "| fleet | feeders the rule publishes | capacities given away to the watt | error against"
        " private totals | it states | error of guessing the mean |"
    )
    yield "|---|---|---|---|---|---|"
    for name, rows, found in cases:
        keys = tuple(sorted(set(rows.keys["feeder"].tolist())))
        out = sum(not each.suppressed for each in rule_15_15(rows, key="feeder", keys=keys))
        home = found.true_kw <= HOME_KW
        missed = float(np.sqrt(np.mean((found.private_kw - found.true_kw)[home] ** 2)))
        yield (
            f"| {name} | {out} of {FEEDERS} | {100.0 * found.rule_exact:.1f}% | {missed:.1f} kW |"
            f" {found.stated_sd_kw:.1f} kW | {np.std(found.true_kw[home]):.1f} kW |"
        )


def write_figure(found: Recovered, path: Path) -> None:
    """Draw the attack into a file."""
    import matplotlib as mpl

    mpl.use("Agg")
    axes = draw_differencing(
        found.true_kw,
        found.rule_kw,
        found.private_kw,
        stated_sd_kw=found.stated_sd_kw,
        private=False,
    )
    axes[0].get_figure(root=True).savefig(path, dpi=110)


def collect(title: str, rows: Iterator[str]) -> list[str]:
    """Print the rows of a table, and return them under a heading."""
    lines = [f"## {title}", "", *rows]
    print("\n".join(lines), flush=True)
    return [*lines, ""]


def main() -> None:
    """Print the tables, and write them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write its tables to docs/measured")
    given = parser.parse_args()
    homes, mixed = fleet(homes=True), fleet(homes=False)
    cases = [Case("homes", homes), Case("mixed", mixed)]
    lines = collect("Counts", cells(cases[:1]))
    lines += collect("Quantiles", quantiles(cases))
    lines += collect("Time", costs(cases))
    found = [("homes", homes, attacked(homes)), ("mixed", mixed, attacked(mixed))]
    attack = collect("Measured", rule(found))
    if given.write:
        save(lines, "tables")
        save(attack, "rule")
        write_figure(found[0][2], FIGURE)


def draw_differencing(
    true_kw: Array,
    rule_kw: Array,
    private_kw: Array,
    *,
    stated_sd_kw: float,
    private: bool,
) -> tuple[Axes, ...]:
    """Draw recovered against true capacity, under the 15/15 rule and under differential privacy."""
    panels = new_row(2, 8.6, 4.0)
    ends = np.array([0.0, 1.05 * float(np.max(true_kw))])
    for ax, found, colour in zip(panels, (rule_kw, private_kw), (CONTRAST, ACCENT), strict=True):
        dress(ax)
        ax.plot(ends, ends, color=QUIET, linewidth=0.9, linestyle=(0, (4, 2)), label="exact")
        ax.scatter(true_kw, found, s=9, color=colour, alpha=0.6, linewidths=0.0)
        name_axes(ax, x="True DC capacity [kW]", y="Recovered [kW]" if ax is panels[0] else "")
        ax.set_xlim(*ends)
    panels[1].fill_between(
        ends,
        ends - stated_sd_kw,
        ends + stated_sd_kw,
        color=ACCENT,
        alpha=0.12,
        linewidth=0.0,
        label=f"stated error, ±{stated_sd_kw:.3g} kW",
    )
    panels[0].set_title("15/15 rule", fontsize=9.5, loc="left")
    panels[1].set_title("Differentially private totals", fontsize=9.5, loc="left")
    for ax in panels:
        ax.legend(framealpha=0.85, edgecolor="none", fontsize=SMALL, loc="upper left")
    if private:
        mark_private(panels[0])
    return panels


if __name__ == "__main__":
    main()
