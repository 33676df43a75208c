"""Where the time of a fleet goes, and what this machine could do at best.

``python -m benchmarks.stages --write`` writes both tables to ``docs/measured``.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

# as the command has it: more threads of numpy's would wait in loops, and count as work
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import duckdb
import numpy as np

from benchmarks.csv_tables import save
from benchmarks.fleets import simulate

# Functions whose time is told, by the module that calls them; none of them calls another.
STAGES = {
    "reading the columns": [("sunveil.fleet.open", "_surveyed")],
    "laying them onto time grids, checking them": [("sunveil.fleet.open", "usual_blocks")],
    "skies of cells, by pvlib": [("sunveil.inference.fleet_part", "make_sky_table")],
    "the same half an hour earlier, for wrong clocks": [
        ("sunveil.engine.shading", "make_sky_table")
    ],
    "what follows from a sky: groups and planes": [
        ("sunveil.engine.shading", "make_groups"),
        ("sunveil.engine.shading", "flat_daylight"),
    ],
    "readings onto the sky, limits": [
        ("sunveil.engine.coarse_search", "lay_out"),
        ("sunveil.engine.coarse_search", "find_limits"),
    ],
    "bright envelopes and starts": [
        ("sunveil.engine.coarse_search", "bright_envelope"),
        ("sunveil.engine.coarse_search", "find_starts"),
    ],
    "steps of fits": [("sunveil.engine.coarse_search", "refine")],
    "first and last light": [
        ("sunveil.engine.clock_faults", "measured_daylight"),
        ("sunveil.engine.clock_faults", "planes_light"),
        ("sunveil.engine.clock_faults", "leads_by_season"),
        ("sunveil.engine.clock_faults", "measured_daylight"),
        ("sunveil.engine.clock_faults", "modelled_daylight"),
        ("sunveil.engine.clock_faults", "planes_light"),
    ],
    "which days are clear": [("sunveil.engine.final_fit", "find_clear_days")],
    "what hides the sun": [("sunveil.engine.final_fit", "find_shade")],
    "is it PV, and here": [("sunveil.engine.infer", "find_doubts")],
    "one plane, or a mixture": [
        ("sunveil.engine.final_fit", "screen"),
        ("sunveil.engine.final_fit", "several_planes"),
    ],
    "two planes, of suspects": [
        ("sunveil.engine.two_planes", "find_pairs"),
        ("sunveil.engine.two_planes", "refine_pair"),
    ],
    "trackers, of suspects": [
        ("sunveil.engine.infer", "tracker_likeness"),
        ("sunveil.engine.trackers", "fit_tracker"),
    ],
    "intervals": [
        ("sunveil.engine.final_fit", "inform"),
        ("sunveil.engine.final_fit", "covariances"),
        ("sunveil.engine.infer", "intervals_of"),
    ],
    "writing": [
        ("sunveil.inference.fleet_part", "write_table"),
        ("sunveil.inference.fleet_part", "estimates_table"),
    ],
}


def _watched(function: Callable[..., Any], spent: Counter[str], name: str) -> Callable[..., Any]:
    lock = threading.Lock()

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        began = time.thread_time()
        try:
            return function(*given, **named)
        finally:
            with lock:
                spent[name] += time.thread_time() - began

    return call


def stages(fleet: Path, out: Path) -> tuple[dict[str, float], float]:
    """Return the CPU seconds of each stage of a run with one worker, and of the whole."""
    from sunveil.inference.fleet_run import infer_fleet

    spent: Counter[str] = Counter()
    kept = []
    for stage, places in STAGES.items():
        for module, name in places:
            home = importlib.import_module(module)
            kept.append((home, name, getattr(home, name)))
            setattr(home, name, _watched(getattr(home, name), spent, stage))
    began = time.process_time()
    try:
        infer_fleet(
            fleet / "readings", fleet / "systems.parquet", out, workers=1, restart=out.exists()
        )
    finally:
        for home, name, function in kept:
            setattr(home, name, function)
    return dict(spent), time.process_time() - began


def _best(measure: Callable[[], float], times: int = 3) -> float:
    return max(measure() for _ in range(times))


def copied() -> float:
    """Return how many bytes a second one core copies. [GB/s]"""
    there = np.ones(50_000_000, dtype=np.float32)
    other = np.empty_like(there)
    began = time.perf_counter()
    np.copyto(other, there)
    return 2.0 * there.nbytes / (time.perf_counter() - began) / 1e9


def multiplied() -> float:
    """Return how many multiply-adds a second the model's own loop does on one core. [10^9/s]"""
    from benchmarks.atlases import daylight
    from sunveil.engine.bright_envelope import points_of, profiles_of, starting_grid
    from sunveil.engine.constants import numbers_of
    from sunveil.engine.sky_tables import in_blocks, make_rows
    from sunveil.estimates.inference_options import InferOptions

    sky = daylight()
    sheet = in_blocks(make_rows((sky, sky), np.zeros(len(sky))))
    points, numbers = points_of(starting_grid()), numbers_of(InferOptions(), clear=True)
    profiles_of(sheet, points, numbers)
    began = time.perf_counter()
    profiles_of(sheet, points, numbers)
    seconds = time.perf_counter() - began
    # about 45 multiplications and additions for each of two instants of an interval
    return len(points) * len(sky) * 2 * 45 / seconds / 1e9


def page(systems: int) -> list[str]:
    """Return the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fleet = simulate(folder, systems)
        stages(fleet, folder / "warm")
        spent, whole = stages(fleet, folder / "out")
        size = sum(one.stat().st_size for one in (fleet / "readings").glob("*.parquet"))
        ((rows,),) = duckdb.sql(f"SELECT count(*) FROM '{fleet}/readings/*.parquet'").fetchall()
        began = time.perf_counter()
        duckdb.sql(f"SELECT sum(power_kw) FROM '{fleet}/readings/*.parquet'").fetchall()
        touched = time.perf_counter() - began
    lines = [
        "## Where the time goes",
        "",
        f"| stage, {systems:,} systems, one worker | CPU [s] | per system [ms] | share [%] |",
        "|---|---|---|---|",
    ]
    spent["everything else: plan, Python, records that are read anew"] = whole - sum(spent.values())
    for stage, seconds in spent.items():
        lines.append(
            f"| {stage} | {seconds:.1f} | {1e3 * seconds / systems:.3f} |"
            f" {100.0 * seconds / whole:.0f} |"
        )
    lines += [f"| all | {whole:.1f} | {1e3 * whole / systems:.3f} | 100 |", ""]
    lines += [
        "",
        "| at best, on this machine | |",
        "|---|---|",
        f"| {rows / 1e6:.0f} million readings in {size / 1e6:.0f} MB of Parquet, added up by"
        f" DuckDB on both cores | {touched:.1f} s |",
        f"| copied by one core | {_best(copied):.0f} GB/s |",
        f"| multiply-adds of the model's loop on one core | {_best(multiplied):.0f} x 10⁹/s |",
    ]
    return lines


def main() -> None:
    """Print the tables, and write them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=10_000)
    parser.add_argument("--write", action="store_true", help="write its tables to docs/measured")
    options = parser.parse_args()
    text = "\n".join(page(options.systems))
    print(text)
    if options.write:
        save(text.splitlines(), "stages")


if __name__ == "__main__":
    main()
