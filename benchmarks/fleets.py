"""Whole fleets: what takes the time, what it takes, and how it grows.

``python -m benchmarks --only fleets`` measures this part alone;
``python -m benchmarks.fleets`` prints it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb
import pandas as pd

from benchmarks.measure import Outcome, Truth, middle, number, run_peers
from sunveil.site import Plane, Site

SEED = 2026
PER_CELL = 100
RUNS = 3
# What is compared is run in turns, so many times: a ratio of neighbours outlives a bad minute.
TURNS = 7


@dataclass(frozen=True, slots=True)
class Run:
    """What one command took: wall and CPU time [s], and the most memory of all its processes."""

    wall: float
    cpu: float
    megabytes: float


def say(text: str) -> None:
    """Tell the person who waits how far the benchmark is."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def _family(root: int) -> list[int]:
    """Return a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    out, waiting = [], [root]
    while waiting:
        one = waiting.pop()
        out.append(one)
        waiting += children.get(one, [])
    return out


def _resident(process: int) -> float:
    """Return the memory of a process, shared pages counted in proportion. [MiB]"""
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return float(line.split()[1]) / 1024.0
    except OSError:
        pass
    return 0.0


def _as_installed() -> dict[str, str]:
    """Return an environment in which Python keeps its modules compiled, as it does for users."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(command: Sequence[str], *, watched: bool = False) -> Run:
    """Run a command to its end and measure it.

    Watching its memory takes a good part of a core, so times are those of runs that are not.
    """
    before = os.times()
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_as_installed()
    )
    most = 0.0 if watched else math.nan
    while watched and process.poll() is None:
        most = max(most, sum(_resident(one) for one in _family(process.pid)))
        time.sleep(0.1)
    told = process.communicate()[1]
    wall = time.perf_counter() - began
    after = os.times()
    if process.returncode:
        raise RuntimeError(told.decode())
    cpu = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return Run(wall, cpu, most)


def sunveil(*arguments: str | Path | int) -> list[str]:
    """Return a command of this very environment."""
    return [sys.executable, "-m", "sunveil", *(str(one) for one in arguments)]


def simulate(folder: Path, systems: int, *, per_cell: int = PER_CELL) -> Path:
    """Write a fleet, a hundred systems to a cell unless told otherwise."""
    out = folder / f"fleet-{systems}-{per_cell}"
    if not out.exists():
        say(f"simulating {systems:,} systems, {per_cell} to a cell")
        cells = max(1, systems // per_cell)
        command = sunveil("simulate", "--systems", systems, "--cells", cells, "--out", out)
        # plain, so that time and errors stay comparable with those measured before
        run([*command, "--seed", str(SEED), "--plain"])
    return out


def infer(fleet: Path, out: Path, *options: str | int, watched: bool = False) -> Run:
    """Infer a fleet anew."""
    command = sunveil("infer", fleet / "readings", "--systems", fleet / "systems.parquet")
    command += ["--out", str(out), "--restart", *(str(one) for one in options)]
    return run(command, watched=watched)


def growth(folder: Path, sizes: Sequence[int]) -> list[str]:
    """Measure time and memory at several sizes, in turns, since machines have bad minutes."""
    fleets = {size: simulate(folder, size) for size in sizes}
    infer(fleets[min(sizes)], folder / "warm")
    seen: dict[int, list[Run]] = {size: [] for size in sizes}
    for _ in range(RUNS):
        for size in sizes:
            say(f"inferring {size:,} systems")
            seen[size].append(infer(fleets[size], folder / "out"))
    runs = {
        size: Run(
            statistics.median(one.wall for one in each),
            statistics.median(one.cpu for one in each),
            infer(fleets[size], folder / "out", watched=True).megabytes,
        )
        for size, each in seen.items()
    }
    lines = [
        f"| {size:,} systems: time, and the most memory of all processes |"
        f" {one.wall:.1f} s ({one.cpu:.0f} s of CPU), {one.megabytes:,.0f} MB | under 1,500 MB |"
        for size, one in runs.items()
    ]
    slopes = [(runs[b].wall - runs[a].wall) / (b - a) for a, b in pairwise(sizes)]
    told = ", then ".join(f"{1e3 * slope:.2f}" for slope in slopes)
    change = 100.0 * (slopes[-1] / slopes[0] - 1.0)
    lines.append(
        f"| each further system, {' to '.join(f'{size:,}' for size in sizes)} | {told} ms"
        f" ({change:+.0f}%) | 0.4 ms, within 10% |"
    )
    return lines


def alone(folder: Path, systems: int) -> list[str]:
    """Measure what each further system takes where no two share a weather cell."""
    cpu = []
    for size in (systems, 2 * systems):
        fleet = simulate(folder, size, per_cell=1)
        infer(fleet, folder / "out")
        cpu.append(statistics.median(infer(fleet, folder / "out").cpu for _ in range(RUNS)))
    each = 1e3 * (cpu[1] - cpu[0]) / systems
    return [f"| each further system, one to a weather cell | {each:.1f} ms of CPU | |"]


def workers(folder: Path, systems: int) -> list[str]:
    """Compare two workers with one, and Dask with both."""
    fleet = simulate(folder, systems)
    walls: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(TURNS):
        for count, seen in walls.items():
            seen.append(infer(fleet, folder / "out", "--workers", count).wall)
    one, two = (statistics.median(seen) for seen in walls.values())
    times = statistics.median(a / b for a, b in zip(*walls.values(), strict=True))
    lines = [
        f"| 2 workers against 1, {systems:,} systems | {one:.1f} s against {two:.1f} s:"
        f" {times:.2f} times | at least 1.7 |",
    ]
    dask = infer(fleet, folder / "out-dask", "--engine", "dask", "--workers", 2, watched=True)
    lines.append(
        f"| Dask with 2 workers that it starts, {systems:,} systems | {dask.wall:.1f} s,"
        f" {dask.megabytes:,.0f} MB | |"
    )
    return lines


def against_peers(folder: Path, systems: int, *, peers: int, slow: int) -> list[str]:
    """Compare errors and time per system with the peers, on the same systems."""
    fleet, out = simulate(folder, systems), folder / "out"
    measured = infer(fleet, out)
    chosen = duckdb.sql(
        f"""
        SELECT t.system_id, t.surface_azimuth, t.surface_tilt, t.dc_capacity_kw,
               e.surface_azimuth AS a, e.surface_tilt AS b, e.dc_capacity_kw AS c,
               s.latitude, s.longitude, s.altitude
        FROM '{fleet}/truth.parquet' t
        JOIN '{fleet}/systems.parquet' s USING (system_id)
        JOIN '{out}/estimates/*.parquet' e USING (system_id)
        WHERE t.clock = 'declared' AND len(t.planes) = 1
              AND t.readings > 8000
        ORDER BY hash(t.system_id) LIMIT {peers}
        """
    ).df()
    results: list[dict[str, Outcome]] = []
    for place, row in enumerate(chosen.itertuples()):
        say(f"peers on {row.system_id}")
        power = duckdb.sql(
            f"SELECT time, power_kw FROM '{fleet}/readings/*.parquet'"
            f" WHERE system_id = '{row.system_id}' ORDER BY time"
        ).df()
        series = pd.Series(
            power["power_kw"].to_numpy(float),
            index=pd.DatetimeIndex(power["time"]).tz_convert("UTC"),
        ).asfreq("60min")
        truth = Truth(row.surface_azimuth, row.surface_tilt, row.dc_capacity_kw)
        site = Site(row.latitude, row.longitude, row.altitude)
        mine = _scored(row.a, row.b, row.c, truth, cpu=measured.cpu / systems)
        results.append(
            {"sunveil": mine} | run_peers(series.dropna(), site, truth, slow=place < slow)
        )
    lines = []
    for tool in ("pvanalytics", "solar-data-tools"):
        both = [one for one in results if tool in one and math.isfinite(one[tool].azimuth)]
        ours, its = [one["sunveil"] for one in both], [one[tool] for one in both]
        if not its:
            lines.append(f"| against {tool} | it failed on all | |")
            continue
        errors = [
            f"{number(middle(group, 'azimuth'))}°/{number(middle(group, 'tilt'))}°"
            for group in (ours, its)
        ]
        per = 1e3 * measured.cpu / systems
        lines.append(
            f"| CPU per system against {tool}, {len(its)} systems |"
            f" {per:.1f} ms against {middle(its, 'cpu'):.1f} s:"
            f" {1e3 * middle(its, 'cpu') / per:,.0f} times; median error {errors[0]} against"
            f" {errors[1]} | at least 300 times, error no larger |"
        )
    return lines


def _scored(azimuth: float, tilt: float, capacity: float, truth: Truth, *, cpu: float) -> Outcome:
    turn = (azimuth - truth.azimuth + 180.0) % 360.0 - 180.0
    dc = truth.dc_kw or math.nan
    angle = Plane(azimuth, tilt).angle_to(Plane(truth.azimuth, truth.tilt))
    return Outcome(turn, tilt - truth.tilt, 100.0 * (capacity / dc - 1.0), angle, cpu)


def atlas() -> list[str]:
    """Compare the atlas of a cell with pvlib plane by plane."""
    from benchmarks.atlases import compare

    say("atlas of a cell")
    found = compare()
    return [
        f"| atlas of {found.planes:,} planes x {found.instants:,} daylight hours |"
        f" {found.mine:.2f} s against {found.pvlib:.0f} s through pvlib:"
        f" {found.pvlib / found.mine:.0f} times; largest difference {found.difference:.0e} of"
        " the capacity | at least 10 times, 1e-4 |"
    ]


def fleets_part(
    *, sizes: Sequence[int] = (1_000, 10_000, 50_000), peers: int = 24, slow: int = 4
) -> list[str]:
    """Measure everything that is asked of fleets."""
    lines = [
        "## Whole fleets",
        "",
        "Simulated fleets with faults (`sunveil simulate --plain`, a hundred systems to a weather"
        " cell), hourly, one year, under the embedded clear sky, by `sunveil infer` as a command of"
        " its own, with what it compiles compiled before. What is compared runs in turns; ratios"
        f" are medians over {TURNS} of these, times at several sizes medians of {RUNS}.",
        "",
        "| what | reached | bar |",
        "|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines += against_peers(folder, sizes[1], peers=peers, slow=slow)
        lines += growth(folder, sizes)
        lines += alone(folder, sizes[0])
        lines += atlas()
        lines += workers(folder, sizes[1])
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=json.loads, default=[1000, 10000, 50000])
    parser.add_argument("--peers", type=int, default=24)
    parser.add_argument("--slow", type=int, default=4)
    parser.add_argument("--growth", action="store_true", help="time and memory by size alone")
    options = parser.parse_args()
    if options.growth:
        with tempfile.TemporaryDirectory() as name:
            print("\n".join(growth(Path(name), options.sizes)))
        return
    print("\n".join(fleets_part(sizes=options.sizes, peers=options.peers, slow=options.slow)))


if __name__ == "__main__":
    main()
