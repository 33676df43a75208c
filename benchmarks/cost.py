"""What one hourly system-year costs, from file to estimate."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sunveil
from sunveil.meters import read_meters
from sunveil.site import Site

RUNS = 9
LATITUDE, LONGITUDE = 39.74, -105.18
SITE = Site(LATITUDE, LONGITUDE, 1800.0)


def file_to_estimate(path: Path) -> tuple[float, float, float]:
    """Return median CPU seconds of reading and of inferring, warm, and the peak memory in MB.

    Each inference is of another place, so that no sky is kept from the one before.
    """
    reading, inferring = [], []
    for run in range(RUNS + 1):
        began = time.process_time()
        record = read_meters(path)[0]
        read = time.process_time()
        sunveil.infer(record, latitude=LATITUDE + 0.1 * run, longitude=LONGITUDE, altitude=1800.0)
        reading.append(read - began)
        inferring.append(time.process_time() - read)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return statistics.median(reading[1:]), statistics.median(inferring[1:]), peak


def measure() -> tuple[float, float, float]:
    """Measure in a process of its own, which never saw the simulator."""
    from benchmarks.simulated import SEED
    from sunveil.simulate import draw_systems, simulate_power, simulate_sky

    system = draw_systems(1, seed=SEED)[0]
    power = simulate_power(system, simulate_sky(SITE, 2019, seed=SEED), seed=SEED)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "meter.csv"
        power.rename("power_kw").rename_axis("time").to_csv(path)
        command = [sys.executable, "-m", "benchmarks.cost", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    reading, inferring, megabytes = json.loads(done.stdout)
    return reading, inferring, megabytes


if __name__ == "__main__":
    print(json.dumps(file_to_estimate(Path(sys.argv[1]))))
