"""What reading costs: ``python -m benchmarks.reading`` reads 200 meters of one long CSV file.

The file is a year of hours of 200 simulated systems in long form. It is read in a process of its
own, as whole as the command takes it, and inferred by the command from start to end.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from sunveil.meters import read_meters
from sunveil.simulate import draw_systems, simulate_power, simulate_sky
from sunveil.site import Site

SITE = Site(39.74, -105.18, 1800.0)
SEED = 16
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def write_long_csv(path: Path, count: int) -> int:
    """Write a year of hours of some systems, and return how many bytes that is."""
    sky = simulate_sky(SITE, 2019, seed=SEED)
    frames = []
    for system in draw_systems(count, seed=SEED):
        power = simulate_power(system, sky, seed=SEED)
        hourly = power.resample("60min").mean().round(4)
        frames.append(
            pd.DataFrame(
                {"system_id": system.system_id, "time": hourly.index, "power_kw": hourly.to_numpy()}
            )
        )
    pd.concat(frames).to_csv(path, index=False)
    return path.stat().st_size


def read_alone(path: Path) -> dict[str, float]:
    """Return the seconds that reading takes here, and the peak memory. [s, MB]"""
    began = time.perf_counter()
    records = read_meters(path, label="start")
    took = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return {"seconds": took, "megabytes": peak, "records": len(records)}


def run_command(path: Path) -> tuple[float, float]:
    """Return wall and CPU seconds of ``sunveil infer`` over the file."""
    command = [sys.executable, "-m", "sunveil", "infer", str(path), "--json", "--label", "start"]
    place = ["--latitude", str(SITE.latitude), "--longitude", str(SITE.longitude)]
    out = ["--out", str(path.with_suffix(".json"))]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run([*command, *place, *out], check=True, capture_output=True)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--meters", type=int, default=200, help="how many systems")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read is not None:
        print(json.dumps(read_alone(given.read)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "meters.csv"
        size = write_long_csv(path, given.meters)
        command = [sys.executable, "-m", "benchmarks.reading", "--read", str(path)]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env={**os.environ, **ONE_THREAD}
        )
        read = json.loads(done.stdout)
        run_command(path)  # compiles, where that is still to do
        wall, cpu = run_command(path)
    print(f"{given.meters} meters, a year of hours in one CSV file of {size / 1e6:.0f} MB")
    print(f"read_meters: {read['seconds']:.1f} s, {read['megabytes']:.0f} MB at most")
    print(f"sunveil infer, from start to end: {wall:.1f} s, {cpu:.1f} s of CPU")


if __name__ == "__main__":
    main()
