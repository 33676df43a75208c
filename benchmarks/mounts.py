"""How the unknown mount shows in the capacity: ``python -m benchmarks.mounts``."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from benchmarks.measure import ours
from benchmarks.simulated import fleet, truth_of

SYSTEMS = 100


def main() -> None:
    """Print the median signed error of capacity for each mount."""
    errors: dict[str, list[float]] = defaultdict(list)
    for system, power, satellite in fleet(SYSTEMS):
        found = ours(power, system.site, truth_of(system), weather=satellite)
        errors[system.mount.name.lower()].append(found.capacity)
    for mount, values in errors.items():
        print(f"{mount}: {np.median(values):+.1f}% (n={len(values)})")


if __name__ == "__main__":
    main()
