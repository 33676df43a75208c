"""What one worker does for all: it notes which jobs have ended, and finishes what was cut short.

Whoever holds the lock on a file in the data folder does it; the lock ends with its process, and
another worker has it at its next look.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

from sunveil.errors import log_unforeseen
from sunveil.service.context import Service

# How often it is looked whether jobs have ended, and whether a charge has no answer. [s]
JOBS_PAUSE, RECOVERY_PAUSE = 1.0, 5.0
log = logging.getLogger("sunveil.service")


def watch_jobs(service: Service) -> Callable[[], None]:
    """Watch over jobs and charges, also those of an earlier run, and return what ends the watch.

    The jobs' work itself is done by processes of their own, which neither begin nor end with the
    service.
    """
    ending, folder = threading.Event(), service.settings.data

    def look_at_jobs(first: bool) -> None:
        # here, so that the service answers before what reads tables is loaded
        from sunveil.service.curator.inference import update_states
        from sunveil.service.uploads.staging import remove_abandoned

        if first:
            remove_abandoned(service.settings.datasets)
        update_states(service)

    def look_at_charges(first: bool) -> None:
        if first:  # also what is answered in the ledger, and not kept where it is served from
            service.broker.recover(after=0.0)
        elif service.broker.unanswered():
            service.broker.recover()

    threads = [
        threading.Thread(target=_watch, args=(folder / name, look, pause, ending), daemon=True)
        for name, look, pause in (
            ("jobs.lock", look_at_jobs, JOBS_PAUSE),
            ("recovery.lock", look_at_charges, RECOVERY_PAUSE),
        )
    ]
    for thread in threads:
        thread.start()
    service.checks["job runner"] = threads[0].is_alive

    def end() -> None:
        """End the watch; the jobs' own processes go on."""
        ending.set()
        for thread in threads:
            thread.join()

    return end


def _watch(path: Path, look: Callable[[bool], None], pause: float, ending: threading.Event) -> None:
    """Look now and then while the lock can be had; say whether it is the first look since."""
    lock = FileLock(path, mode=0o600, timeout=0)
    while not ending.is_set():
        first = not lock.is_locked
        try:
            if first:
                lock.acquire()
            look(first)
        except Timeout:
            pass  # another worker watches
        except Exception as error:
            lock.release()
            log_unforeseen(log, "the watch over jobs and charges", error)
        ending.wait(pause)
    lock.release()
