"""Kills runs over a fleet at instants all along and takes them up: FLEET SYSTEMS FOLDER TRIALS.

Runs are forked from one process that has everything loaded, so that each costs next to nothing
beside its own work. A run that ends before it is killed does not count. Prints how many were.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

from sunveil.fleet import duckdb_reader
from sunveil.inference import infer_fleet


def forked(fleet: str, systems: str, out: Path) -> int:
    """Start a run in a process of its own, and return its number."""
    number = os.fork()
    if number:
        return number
    try:
        infer_fleet(fleet, systems, out, part_rows=1, workers=2)
        os._exit(0)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)


def main(fleet: str, systems: str, folder: str, trials: str) -> int:
    """Run all trials."""
    root = Path(folder)
    # loads and compiles everything, so that the children need not
    infer_fleet(fleet, systems, root / "reference", part_rows=1)
    # a child of a process with a database open cannot use one
    duckdb_reader._parent().close()
    duckdb_reader._parent.cache_clear()
    begun = time.monotonic()
    _, code = os.waitpid(forked(fleet, systems, root / "timed"), 0)
    usual = time.monotonic() - begun
    chance = random.Random(6)
    count = int(trials)
    for trial in range(count):
        out = root / f"trial{trial}"
        # each trial has its own share of a run to be killed in, so that few reach every part of it
        while not killed(forked(fleet, systems, out), (trial + chance.random()) / count * usual):
            shutil.rmtree(out)
            usual *= 0.9
        _, status = os.waitpid(forked(fleet, systems, out), 0)
        code |= status
    print(trials)
    return int(code != 0)


def killed(number: int, seconds: float) -> bool:
    """Kill a run after some time, and return whether it was still running."""
    time.sleep(seconds)
    os.kill(number, signal.SIGKILL)
    _, status = os.waitpid(number, 0)
    return os.WIFSIGNALED(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
