"""What the first look costs: ``python -m benchmarks.service_demo``.

``sunveil serve --demo`` is run in an empty folder, with nothing compiled and again with all of it:
how soon it says something, how long until it is ready, and the time of the
processor that it and all its processes have used by then.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.service_bars import put_reached

PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Look:
    """What one start took.

    Parameters
    ----------
    said
        Until the first line. [s]
    ready
        Until it printed its credentials. [s]
    processor
        What all of its processes have used. [s]
    """

    said: float
    ready: float
    processor: float


def look(folder: Path, compiled: Path) -> Look:
    """Start a demo, wait until it is ready, end it, and return what it took.

    Parameters
    ----------
    folder
        Where the demo is made.
    compiled
        Where numba keeps what it has compiled.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(compiled),
        "XDG_STATE_HOME": str(folder / "state"),
        "PYTHONUNBUFFERED": "1",
    }
    options = ["--demo", "--data", str(folder / "data"), "--port", str(port)]
    used = processor()
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "sunveil", "serve", *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said = ready = None
    assert process.stdout is not None
    for line in process.stdout:
        said = said or time.perf_counter() - begun
        print(f"  {time.perf_counter() - begun:5.1f} s  {line.rstrip()[:90]}")
        if line.startswith("Analyst:"):
            ready = time.perf_counter() - begun
            break
    process.send_signal(signal.SIGTERM)
    process.stdout.read()
    process.wait()
    while True:  # what was left by it is a child of this process now
        try:
            os.wait()
        except ChildProcessError:
            break
    assert said is not None
    assert ready is not None
    return Look(said, ready, processor() - used)


def processor() -> float:
    """Return what ended children of this process have used. [s]"""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure a first look and a second one, and print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write its row to docs/measured")
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    looks = []
    with tempfile.TemporaryDirectory() as name:
        for title in ("nothing compiled", "all compiled"):
            folder = Path(name) / title.replace(" ", "-")
            folder.mkdir()
            found = look(folder, Path(name) / "compiled")
            print(
                f"{title}: first line after {found.said:.2f} s, ready after {found.ready:.1f} s"
                f" with {found.processor:.1f} s of the processor"
            )
            looks.append(found)
    first, second = looks
    reached = f"{first.said:.1f} s; {first.processor:.0f} s, and {second.processor:.0f} s when"
    put_reached(given.write, "demo", f"{reached} compiled")


if __name__ == "__main__":
    main()
