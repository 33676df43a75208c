"""Small fleets of roofs on disk, for tests and for the script that is killed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sunveil.fleet.open import open_fleet
from sunveil.meters import MeterOptions
from sunveil.privacy import System
from sunveil.releases import Choices
from sunveil.releases.fleet_releases import ReleaseTerms, SystemsToRelease
from sunveil.releases.score_kernels import Capacities

sys.path.append(str(Path(__file__).parents[1] / "fleet"))
import fleet_folders
from fleet_folders import PLACES, long_frame, write_files, write_layouts

__all__ = ["long_frame", "write_files", "write_layouts"]
HERE = (39.742, -105.1727)
PLANES = {
    "a1": (105.0, 30.0),
    "a2": (180.0, 30.0),
    "a3": (255.0, 30.0),
    "b1": (195.0, 30.0),
    "b2": (120.0, 30.0),
    "b3": (225.0, 45.0),
}
CHOICES = Choices(step=15.0, capacities=Capacities(1.0, 30.0, 0.05))
TERMS = ReleaseTerms.of(System(), 28.0, choices=CHOICES)


@contextmanager
def open_to_release(fleet, systems, *, reading=None, **options):
    """Open a fleet for releases, each reading taken alone."""
    reading = replace(reading or MeterOptions(), cleaning="each")
    with open_fleet(fleet, systems, reading=reading, **options) as opened:
        yield SystemsToRelease.of(opened)


def in_memory(records, weather):
    """Return records of one place for releases."""
    with open_fleet(records, site=weather.site, weather=weather) as opened:
        return SystemsToRelease.of(opened)


def write_systems(path: Path, names: Iterable[str] = PLANES) -> Path:
    """Write the table of systems, which stand in two weather cells."""
    return fleet_folders.write_systems(path, {name: PLACES.get(name, HERE) for name in names})
