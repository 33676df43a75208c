"""Processes that work on parts of a fleet beside the one that planned it.

Threads of one process wait for each other's interpreter; processes do not. A helper is started
before anything heavy is loaded, so that it loads beside the process that plans. It is told the run
and then part after part, reads and writes these itself, and sends back counts: no reading goes from
one process to another. It ends with the process that started it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from sunveil.collector import collect_seldom

if TYPE_CHECKING:
    from sunveil.fleet.done import Done
    from sunveil.fleet.job import Job
    from sunveil.fleet.plan import Part

# Less than this is done before a helper is ready. [bytes]
WORTH = 8 << 20
_STANDARD_OUT, _STANDARD_ERROR = 1, 2


class HelperLostError(Exception):
    """A helper has ended, or what it says is not understood."""


class Helper:
    """One such process."""

    def __init__(self) -> None:
        # it finds the same modules as this process, and is not interrupted with it
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "sunveil.fleet.helpers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            process_group=0,
        )
        self._told: Job | None = None

    def run(self, job: Job, part: Part) -> Done:
        """Let the helper work through a part, and return what it came to.

        Raises
        ------
        HelperLostError
            When it has ended; the part may be done, or not.
        """
        orders, replies = self._process.stdin, self._process.stdout
        assert orders is not None
        assert replies is not None
        try:
            pickle.dump((None if job is self._told else job, part), orders)
            orders.flush()
            self._told = job
            reply = pickle.load(replies)  # noqa: S301 - from our own process
        except Exception:  # whatever it is, the part can be done without it
            raise HelperLostError from None
        if isinstance(reply, Exception):
            raise reply
        found: Done = reply
        return found

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # an order that it never took
                pipe.close()  # type: ignore[union-attr]
        self._process.wait()


@contextlib.contextmanager
def started(count: int) -> Iterator[list[Helper]]:
    """Yield so many helpers, none where they cannot be started, and end them."""
    helpers: list[Helper] = []
    try:
        with contextlib.suppress(OSError, ValueError):
            while len(helpers) < count:
                helpers.append(Helper())
        yield helpers
    finally:
        for helper in helpers:
            helper.end()


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def are_worth_it(fleet: Path) -> bool:
    """Return whether there is so much to read that helpers are ready before it is done."""
    try:
        if not fleet.is_dir():
            return fleet.stat().st_size >= WORTH
        total = 0
        for folder, _, names in os.walk(fleet):
            for name in names:
                total += os.stat(os.path.join(folder, name)).st_size
                if total >= WORTH:
                    return True
    except OSError:
        pass  # whoever reads it says so
    return False


def _listen(orders: IO[bytes], waiting: queue.SimpleQueue[Any]) -> None:
    """Hand over what is asked; end the process when nobody can ask any more."""
    with contextlib.suppress(BaseException):
        while True:
            waiting.put(pickle.load(orders))  # noqa: S301 - from our own process
    os._exit(0)


def main() -> None:
    """Work on what is asked for, until the process that asks ends."""
    collect_seldom()
    replies = os.fdopen(os.dup(_STANDARD_OUT), "wb")
    os.dup2(_STANDARD_ERROR, _STANDARD_OUT)  # what is printed by mistake is no reply
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, waiting), daemon=True).start()
    from dataclasses import replace

    from sunveil.fleet.database import cursor
    from sunveil.fleet.task import run_part

    cursor()
    job: Job | None = None
    while True:
        told, part = waiting.get()
        job = told or job
        assert job is not None
        reply: Any
        try:
            reply = replace(run_part(job, part), rows=None)
        except Exception as error:  # whoever asked is to hear of it
            reply = error
        pickle.dump(reply, replies)
        replies.flush()


if __name__ == "__main__":
    main()
