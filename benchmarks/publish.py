"""What publishing rows of systems costs: ``python -m benchmarks.publish``.

Publishes 1,000 simulated systems of one place under a ledger, and takes off what scoring takes.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from sunveil.fleet.open import open_fleet
from sunveil.ledger.hash_chain import HighWaterMarks
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.promises import Promise
from sunveil.privacy.guarantees import System
from sunveil.publication.publication_folder import write_publication
from sunveil.publish.publisher import Publisher
from sunveil.publish.system_rows import SystemRows
from sunveil.releases.fleet_releases import ReleaseTerms, SystemsToRelease
from sunveil.releases.scores import placement
from sunveil.releases.utility_curves import simulated_systems
from sunveil.site import Site

SYSTEMS, BASES = 1000, 10


def main() -> None:
    """Print the milliseconds of each step, per system."""
    bases = simulated_systems(Site(39.74, -105.17), systems=BASES, seed=1)
    frame = bases[0].frame
    records = [replace(bases[i % BASES].record, system_id=f"s{i:04}") for i in range(SYSTEMS)]
    placement(frame, records[0])
    begun = time.perf_counter()
    for record in records[:100]:
        placement(frame, record)
    scoring = (time.perf_counter() - begun) / 100
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with Ledger(path / "l.db", create=True, marks=HighWaterMarks(path / "l.mark")) as ledger:
            ledger.create_dataset("homes", Promise(System(), 2.0))
            begun = time.perf_counter()
            weather = frame.weather
            with open_fleet(records, site=weather.site, weather=weather) as fleet:
                systems = SystemsToRelease.of(fleet)
            terms = ReleaseTerms.of(System(), 1.0)
            publication = Publisher(ledger, "homes").publish(SystemRows(systems, terms))
            whole = (time.perf_counter() - begun) / SYSTEMS
            begun = time.perf_counter()
            write_publication(path / "rows", publication)
            writing = (time.perf_counter() - begun) / SYSTEMS
    print("| step | ms per system |")
    print("|---|---|")
    print(f"| scoring | {1e3 * scoring:.1f} |")
    print(
        f"| publishing, ledger and draws included, beyond scoring | {1e3 * (whole - scoring):.1f} |"
    )
    print(f"| writing the folder | {1e3 * writing:.2f} |")


if __name__ == "__main__":
    main()
