"""How the unknown mount shows in the capacity: ``python -m benchmarks.mounts``."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from benchmarks.measure import ours
from benchmarks.simulated import fleet, truth_of
from sunveil.site import Mount

SYSTEMS = 100


def main() -> None:
    """Print the errors of capacity by mount, untold and told."""
    errors: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for system, power, satellite in fleet(SYSTEMS):
        mount = system.mount
        both = [
            ours(power, system.site, truth_of(system), weather=satellite, mount=given).capacity
            for given in (Mount.UNKNOWN, mount)
        ]
        errors[mount.value].append((both[0], both[1]))
    for mount, pairs in errors.items():
        untold, told = np.median(pairs, axis=0)
        print(f"{mount} (n={len(pairs)}): {untold:+.1f}% untold, {told:+.1f}% told")
    everyone = np.abs(np.concatenate([np.array(pairs) for pairs in errors.values()]))
    middle, tail = np.median(everyone, axis=0), np.quantile(everyone, 0.95, axis=0)
    for column, name in enumerate(("untold", "told")):
        print(f"median / 95th percentile {name}: {middle[column]:.1f}% / {tail[column]:.1f}%")


if __name__ == "__main__":
    main()
