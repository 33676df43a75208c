"""Simulated fleets, cost and speed: ``python -m benchmarks`` writes them to ``docs/measured``."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

# one thread for every tool: CPU seconds are compared, and two processes share two cores
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from benchmarks import cost, fleets, realism, simulated  # noqa: E402
from benchmarks.csv_tables import save  # noqa: E402
from benchmarks.measure import (  # noqa: E402
    Outcome,
    coverage,
    middle,
    number,
    tail,
)
from sunveil.estimates.flags_and_quality import Flag  # noqa: E402

# Flags of what is not one fixed plane, whatever can be told of it.
MANY = frozenset({Flag.NOT_ONE_PLANE, Flag.TWO_PLANES, Flag.TRACKER})
TOOLS = ("sunveil", "pvanalytics", "solar-data-tools")
Results = list[dict[str, Outcome]]


FLEETS = (
    ("fleet, satellite-like weather", "satellite", "1.5/6, 1/4, 2/6", simulated.SATELLITE),
    ("fleet, clear sky only", "clear sky", "2.5/8, 2/6, 4/10", simulated.SATELLITE),
    (
        "fleet, satellite with calibration biases",
        "satellite",
        "none",
        simulated.CALIBRATED_BADLY,
    ),
)


def say(text: str) -> None:
    """Tell the person who waits how far the benchmark is."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def peer_cells(results: Results) -> str:
    """Return the cells of a row that compare the tools on the systems that all of them ran."""
    cells = []
    for tool in TOOLS[1:]:
        both = [one for one in results if tool in one]
        mine, its = [one["sunveil"] for one in both], [one[tool] for one in both]
        if not its:
            cells += ["-", "-"]
            continue
        failed = sum(math.isnan(one.azimuth) for one in its)
        note = f", {failed} failed" if failed else ""
        pair = [
            f"{number(middle(group, 'azimuth'))}/{number(middle(group, 'tilt'))}"
            for group in (mine, its)
        ]
        cells += [
            f"{pair[0]} against {pair[1]} (n={len(its)}{note})",
            f"{number(middle(mine, 'cpu'), 2)} against {number(middle(its, 'cpu'), 1)}",
        ]
    return " | ".join(cells)


def simulated_row(name: str, bar: str, results: Results, *, tails: bool) -> str:
    """Return one row of the table of simulated fleets."""
    mine = [one["sunveil"] for one in results]

    def cell(quantity: str) -> str:
        half = number(middle(mine, quantity))
        return f"{half} / {number(tail(mine, quantity))}" if tails else half

    cells = " | ".join(cell(name) for name in ("azimuth", "tilt", "capacity", "angle"))
    return f"| {name} | {len(mine)} | {cells} | {bar} | {peer_cells(results)} |"


SIMULATED_HEAD = (
    "| where | n | azimuth [°] | tilt [°] | capacity [%] | plane [°] | bar |"
    " Sunveil against pvanalytics: azimuth/tilt | CPU [s] |"
    " Sunveil against solar-data-tools: azimuth/tilt | CPU [s] |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)


def simulated_part(count: int, stress: int, peers: int, slow: int) -> list[str]:
    """Measure the simulated fleets."""
    lines = ["## Simulated fleets", "", SIMULATED_HEAD]
    covered = []
    for name, weather, bar, errors in FLEETS:
        say(name)
        few = 0 if errors is simulated.CALIBRATED_BADLY else peers
        results = simulated.measure(
            simulated.fleet(count, errors=errors), weather, peers=few, slow=min(slow, few)
        )
        lines.append(simulated_row(name, bar, results, tails=True))
        mine = [one["sunveil"] for one in results]
        covered.append((name, coverage(mine)))
    for name, make in simulated.STRESSES.items():
        for weather in ("clear sky", "satellite"):
            say(f"{name}, {weather}")
            few = max(1, peers // 4) if weather == "clear sky" else 0
            results = simulated.measure(
                islice(make(stress), stress), weather, peers=few, slow=min(1, slow, few)
            )
            lines.append(simulated_row(f"{name}, {weather}", "4, 4, 6", results, tails=False))
    lines += ["", "Median / 95th percentile for fleets, medians for stresses.", ""]
    return lines + coverage_lines(covered)


def coverage_lines(covered: list[tuple[str, tuple[float, ...]]]) -> list[str]:
    """Return the table of how often the intervals held the truth."""
    lines = [
        "## Coverage of the 90% intervals",
        "",
        "| where | azimuth [%] | tilt [%] | capacity [%] | plane [%] |",
        "|---|---|---|---|---|",
    ]
    for name, values in covered:
        lines.append(f"| {name} | " + " | ".join(f"{value:.0f}" for value in values) + " |")
    return lines


def coverage_part(count: int) -> list[str]:
    """Measure the coverage of the intervals on the fleets, without the peers."""
    covered = []
    for name, weather, _, errors in FLEETS:
        say(f"coverage: {name}")
        results = simulated.measure(simulated.fleet(count, errors=errors), weather)
        covered.append((name, coverage([one["sunveil"] for one in results])))
    return coverage_lines(covered)


def flags_part(count: int) -> list[str]:
    """Measure how often systems are said not to be one fixed plane."""
    lines = [
        "## Not one fixed plane",
        "",
        "| what | n | flagged, clear sky [%] | bar |",
        "|---|---|---|---|",
    ]
    for name, make in simulated.NOT_ONE_PLANE.items():
        say(name)
        results = simulated.measure(make(count), "clear sky")
        flagged = [not MANY.isdisjoint(one["sunveil"].flags) for one in results]
        bar = "at most 5" if name.startswith("fixed") else "at least 90"
        lines.append(
            f"| {name} | {len(flagged)} | {100.0 * sum(flagged) / len(flagged):.0f} | {bar} |"
        )
    return lines


def cost_part() -> list[str]:
    """Measure CPU and memory of one system."""
    say("cost of one system")
    reading, inferring, megabytes = cost.measure()
    return [
        "## Cost",
        "",
        "| one hourly system-year, new sky | reached | bar |",
        "|---|---|---|",
        f"| CPU of the inference | {1e3 * inferring:.0f} ms | 30 ms |",
        f"| CPU of reading the CSV file | {1e3 * reading:.0f} ms | |",
        f"| memory at the peak | {megabytes:.0f} MB | 600 MB |",
    ]


def finish(lines: list[str]) -> None:
    """Print tables and write them."""
    print("\n".join(lines))
    save(lines, "simulated")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and write its tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=300)
    parser.add_argument("--stress", type=int, default=30)
    parser.add_argument("--peers", type=int, default=24, help="systems that the peers run too")
    parser.add_argument("--slow", type=int, default=4, help="of those, with solar-data-tools")
    parser.add_argument("--data", type=Path, default=None, help="folder of real series")
    parser.add_argument(
        "--only",
        choices=("coverage", "flags", "realism", "cost", "fleets"),
        help="measure this part alone",
    )
    options = parser.parse_args(arguments)
    flagged = max(20, options.systems // 3)
    if options.only:
        parts = {
            "coverage": lambda: coverage_part(options.systems),
            "flags": lambda: flags_part(flagged),
            "realism": lambda: realism.realism_part(options.data),
            "cost": cost_part,
            "fleets": lambda: fleets.fleets_part(peers=options.peers, slow=options.slow),
        }
        finish(parts[options.only]())
        return
    cores = cost_part()
    lines = simulated_part(options.systems, options.stress, options.peers, options.slow)
    lines += ["", *flags_part(flagged), ""]
    lines += [*realism.realism_part(options.data), "", *cores, ""]
    lines += [*fleets.fleets_part(peers=options.peers, slow=options.slow), ""]
    finish(lines)


if __name__ == "__main__":
    main()
