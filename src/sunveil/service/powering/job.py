"""The command that makes power of a release: ``python -m sunveil.service.powering.job FOLDER``.

It is run as a background job, waits for its turn, holds and takes no more than it is told, and
writes what it found into the folder of its order. All that it reads is public: a release as it was
served, and weather.
"""

from __future__ import annotations

import fcntl
import json
import resource
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from sunveil.errors import Interface, ParameterError, SunveilError, speak
from sunveil.files import write_whole
from sunveil.service.powering.runs import FOUND, MADE, ORDER

MEMORY = 2048 * 1024 * 1024
# Of processor time, and on the clock once it is its turn. [s]
CPU_SECONDS, SECONDS = 600, 1800
# From when it is told that its processor time is over until the kernel ends it. [s]
GRACE_SECONDS = 10
REFUSED, TOO_MUCH = 2, 3
DRAWS = 100
SMALLER = "take a shorter span or longer intervals"


class OutOfTime(Exception):
    """The time that a run may take is over."""


def main(folder: Path) -> int:
    """Make the power that was ordered, and return the process's exit code.

    Parameters
    ----------
    folder
        Of the run: its order is in it, and what is made goes there.
    """
    speak(Interface.SERVICE)
    _say("waiting")
    with _turn(folder.parent / "turn"):
        _say("power")
        _limit()
        ordered = json.loads((folder / ORDER).read_text(encoding="utf-8"))
        try:
            found = make(ordered, folder / MADE)
        except MemoryError:
            print(f"sunveil: this takes more memory than the service allows, {MEMORY >> 20} MB;"
                  f" {SMALLER}", file=sys.stderr)  # fmt: skip
            return TOO_MUCH
        except OutOfTime:
            print("sunveil: this takes longer than the service allows,"
                  f" {CPU_SECONDS // 60} minutes of a processor and {SECONDS // 60} in all;"
                  f" {SMALLER}", file=sys.stderr)  # fmt: skip
            return TOO_MUCH
        except ParameterError as error:
            print(f"sunveil: {error}", file=sys.stderr)
            return REFUSED
        except SunveilError:  # of a weather file: its words may name where it lies
            print("sunveil: the weather of this name does not hold the whole span, or cannot be"
                  " read; take another span, or the clear sky", file=sys.stderr)  # fmt: skip
            return REFUSED
        write_whole(folder / FOUND, json.dumps(found, allow_nan=False))
    return 0


def make(ordered: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Make power, write its files, and return what a page shows of it.

    Parameters
    ----------
    ordered
        The order, the release's body, and where the weather is.
    folder
        Where the files go; what lies there is replaced.
    """
    # here, so that those who wait for their turn hold next to nothing
    import numpy as np

    from sunveil.power.exports import write_opendss
    from sunveil.power.make import divided, power_of
    from sunveil.power.reading import read_source
    from sunveil.power.skies import PowerChain, power_grid
    from sunveil.power.uncertainty import Unknowns
    from sunveil.power.writing import write_power
    from sunveil.service.answering.files import publication_of
    from sunveil.service.powering.shown import shown_power
    from sunveil.site import Site

    order = ordered["order"]
    # the same release and order give the same draws, whoever orders them
    rng = np.random.default_rng(int(ordered["release"][:12], 16))
    mixture = read_source(publication_of(ordered["body"]), by=None, draws=DRAWS, rng=rng)
    made = power_of(
        divided(mixture, "all" if order["whole"] else None),
        Site(order["latitude"], order["longitude"]),
        power_grid(order["start"], order["end"], order["step_minutes"]),
        weather=ordered["weather"] or "clearsky",
        rng=rng,
        chain=PowerChain(),
        unknowns=Unknowns(),
    )
    shutil.rmtree(folder, ignore_errors=True)
    write_power(made, folder)
    write_opendss(made, folder / "opendss")
    shutil.make_archive(str(folder / "opendss"), "zip", folder / "opendss")
    shutil.rmtree(folder / "opendss")
    return shown_power(made, zone=order["zone"])


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Wait until no other run is being made; the kernel ends the turn of one that dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _limit() -> None:
    """Hold this process to its memory and time, so that it can say which of them was too little."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + GRACE_SECONDS))
    for each in (signal.SIGXCPU, signal.SIGALRM):
        signal.signal(each, _stop)
    signal.alarm(SECONDS)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise OutOfTime


def _say(doing: str) -> None:
    print(json.dumps({"event": "progress", "doing": doing, "done": 0, "total": 0}), flush=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
