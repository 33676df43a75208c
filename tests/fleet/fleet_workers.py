"""What workers of a pool do in tests: these are imported by processes of their own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from sunveil.errors import SourceError
from sunveil.fleet.run_context import FleetJob
from sunveil.fleet.run_plan import Part
from sunveil.inference.fleet_part import PartResult, run_part


def die(job: FleetJob, part: Part) -> PartResult:
    """End the worker, whatever it is given."""
    os.kill(os.getpid(), signal.SIGKILL)
    return run_part(job, part)


def die_once(job: FleetJob, part: Part) -> PartResult:
    """End the worker at the second part, the first time it comes."""
    before = Path(job.out) / "died"
    if part.number == 1 and not before.exists():
        before.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return PartResult(part.number, 1, os.getpid())


def fail(job: FleetJob, part: Part) -> PartResult:
    """Say that a part cannot be worked on."""
    raise SourceError(f"part {part.number} is not there")
