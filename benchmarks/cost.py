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

from sunveil.infer import Options, infer_record, record_span
from sunveil.meters import read_meters
from sunveil.site import Site
from sunveil.weather import get_weather

RUNS = 9
SITE = Site(39.74, -105.18, 1800.0)


def file_to_estimate(path: Path) -> tuple[float, float]:
    """Return the median CPU seconds of a warm run and the peak memory of this process in MB."""
    times = []
    for _ in range(RUNS + 1):
        began = time.process_time()
        record = read_meters(path)[0]
        weather = get_weather("clearsky", SITE, *record_span(record))
        infer_record(record, weather, options=Options())
        times.append(time.process_time() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return statistics.median(times[1:]), peak


def measure() -> tuple[float, float]:
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
    seconds, megabytes = json.loads(done.stdout)
    return seconds, megabytes


if __name__ == "__main__":
    print(json.dumps(file_to_estimate(Path(sys.argv[1]))))
