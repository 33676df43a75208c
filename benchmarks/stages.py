"""Where the time of a fleet goes, and what this machine could do at best.

``python -m benchmarks.stages --page docs/performance.md`` measures both anew and puts the tables
into the page.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks.fleets import read_to_memory, simulate, touch
from benchmarks.pieces import pieces

# Functions whose time is told, by module; none of them calls another.
STAGES = {
    "reading the columns": [("sunveil.fleet.task", "_surveyed")],
    "laying them onto axes, checking them": [("sunveil.fleet.task", "usual_matrices")],
    "skies of cells, and of some half an hour earlier": [
        ("sunveil.cells", "make_cell_sky"),
        ("sunveil.cells.sky", "make_cell_sky"),
    ],
    "what follows from a sky: groups, patches, planes": [
        ("sunveil.quick.prepared", "make_groups"),
        ("sunveil.quick.prepared", "patch_labels"),
        ("sunveil.quick.prepared", "make_mixture"),
        ("sunveil.quick.prepared", "neighbours_of"),
    ],
    "fits, first and last light among them": [("sunveil.quick.block", "fit_rows")],
    "trying other clocks": [("sunveil.quick.clocks", "settle_all")],
    "writing": [("sunveil.fleet.task", "write_table"), ("sunveil.fleet.task", "estimates_table")],
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
    from sunveil.fleet import infer_fleet

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
    from sunveil.cells.tables import make_sheet
    from sunveil.quick.constants import QuickOptions, constants_of
    from sunveil.quick.groups import plane_profiles, points_of, starting_grid

    sky = daylight()
    sheet = make_sheet((sky, sky))
    points, constants = points_of(starting_grid()), constants_of(QuickOptions(), clear=True)
    plane_profiles(sheet, points, constants)
    began = time.perf_counter()
    plane_profiles(sheet, points, constants)
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
        read, touched = read_to_memory(fleet, "long"), touch(fleet, "long")
        parts = pieces(fleet)
    lines = [
        f"| stage, {systems:,} systems, one worker | CPU [s] | per system [ms] | share [%] |",
        "|---|---|---|---|",
    ]
    spent["everything else: plan, Python, odd records"] = whole - sum(spent.values())
    for stage, seconds in spent.items():
        lines.append(
            f"| {stage} | {seconds:.1f} | {1e3 * seconds / systems:.3f} |"
            f" {100.0 * seconds / whole:.0f} |"
        )
    lines += [f"| all | {whole:.1f} | {1e3 * whole / systems:.3f} | 100 |", ""]
    lines += ["| pieces of one system's fit | CPU [µs] |", "|---|---|"]
    lines += [f"| {piece} | {each:.0f} |" for piece, each in parts.items()]
    lines += [
        "",
        "| at best, on this machine | |",
        "|---|---|",
        f"| {rows / 1e6:.0f} million readings in {size / 1e6:.0f} MB of Parquet, added up by"
        f" DuckDB on both cores | {touched:.1f} s |",
        f"| the same, handed over | {read:.1f} s |",
        f"| copied by one core | {_best(copied):.0f} GB/s |",
        f"| multiply-adds of the model's loop on one core | {_best(multiplied):.0f} x 10⁹/s |",
    ]
    return lines


def main() -> None:
    """Print the tables, or put them into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=10_000)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    text = "\n".join(page(options.systems))
    if options.page is None:
        print(text)
        return
    old = options.page.read_text(encoding="utf-8")
    head, _, rest = old.partition("<!-- measured -->\n")
    tail = rest.partition("<!-- end of measured -->\n")[2]
    options.page.write_text(
        f"{head}<!-- measured -->\n\n{text}\n\n<!-- end of measured -->\n{tail}", encoding="utf-8"
    )
    print(options.page)


if __name__ == "__main__":
    main()
