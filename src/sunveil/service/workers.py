"""Several processes that serve, and the one that stands over them.

The parent listens, starts the workers and starts anew whichever ends. It holds no connection to
the database and answers nothing. A worker's socket stays open in the parent, so that connections
which come while it is started anew wait for it. Which of the workers charges and draws, they settle
among themselves (:mod:`sunveil.service.leading`).
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType

from sunveil.errors import SunveilError, log_unforeseen

# A worker that ends sooner than this has failed to start; so many times in a row, and all end. [s]
SHORT_LIFE, MOST_FAILURES = 2.0, 5
# How long workers may take to end before they are killed. [s]
GRACE = 20.0
log = logging.getLogger("sunveil.service")


class Workers:
    """Processes that serve, started anew whenever one ends.

    Parameters
    ----------
    sockets
        One for each worker, listening.
    serve
        Serves on a socket until it is told to end by SIGTERM; called in the worker.
    """

    def __init__(
        self, sockets: Sequence[socket.socket], serve: Callable[[socket.socket], None]
    ) -> None:
        self._sockets, self._serve = sockets, serve
        self._running: dict[int, tuple[int, float]] = {}
        self._ending = False

    def run(self) -> None:
        """Start all, and stand over them until SIGTERM or SIGINT ends the service."""
        # a worker that outlives this process reads the end of this pipe, and ends too
        read, write = os.pipe()
        before = {each: signal.signal(each, self._end) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            for number in range(len(self._sockets)):
                self._start(number, read, write)
            self._watch(read, write)
        finally:
            self._stop()
            os.close(read)
            os.close(write)
            for each, handler in before.items():
                signal.signal(each, handler)

    def _watch(self, read: int, write: int) -> None:
        failures = 0
        while not self._ending:
            found, _ = os.waitpid(-1, os.WNOHANG)
            if found not in self._running:
                time.sleep(0.05)
                continue
            number, started = self._running.pop(found)
            short = time.monotonic() - started < SHORT_LIFE
            failures = failures + 1 if short else 0
            if failures >= MOST_FAILURES:
                raise SunveilError(
                    "the workers end as soon as they are started; see what they said above"
                )
            log.warning("worker %d ended; it is started anew", number)
            self._start(number, read, write)

    def _start(self, number: int, read: int, write: int) -> None:
        child = os.fork()
        if child:
            self._running[child] = number, time.monotonic()
            return
        code = 1
        try:
            os.close(write)
            for name in (signal.SIGTERM, signal.SIGINT):
                signal.signal(name, signal.SIG_DFL)
            threading.Thread(target=_end_with_parent, args=(read,), daemon=True).start()
            self._serve(self._sockets[number])
            code = 0
        except SunveilError as error:
            log.error("worker %d: %s", number, error)  # noqa: TRY400, no traceback
        except Exception as error:
            log_unforeseen(log, f"worker {number}", error)
        finally:
            os._exit(code)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self._ending = True

    def _stop(self) -> None:
        """End all workers: ask them to, and kill those that do not."""
        until = time.monotonic() + GRACE
        for number in (signal.SIGTERM, signal.SIGKILL):
            for child in self._running:
                os.kill(child, number)
            while self._running and (number == signal.SIGKILL or time.monotonic() < until):
                found, _ = os.waitpid(-1, os.WNOHANG)
                self._running.pop(found, None)
                if not found:
                    time.sleep(0.02)


def _end_with_parent(read: int) -> None:
    os.read(read, 1)
    os.kill(os.getpid(), signal.SIGTERM)
