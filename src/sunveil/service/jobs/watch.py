"""The service's watch over background jobs: a thread that notes which have ended."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from sunveil.errors import log_unforeseen
from sunveil.service.context import Service

# How often it is looked whether work has ended. [s]
PAUSE = 1.0
log = logging.getLogger("sunveil.service")


def watch_jobs(service: Service) -> Callable[[], None]:
    """Watch over jobs, also those of an earlier run, and return what ends the watch.

    The work itself is done by processes of their own, which neither begin nor end with the service.
    Of several workers, the leader watches.
    """
    ending = threading.Event()
    thread = threading.Thread(target=_watch, args=(service, ending), daemon=True)
    thread.start()
    service.checks["job runner"] = thread.is_alive

    def end() -> None:
        """End the watch; the jobs' own processes go on."""
        ending.set()
        thread.join()

    return end


def _watch(service: Service, ending: threading.Event) -> None:
    # here, so that the service answers before what reads tables is loaded
    from sunveil.service.curator.inference import update_states
    from sunveil.service.uploads.staging import remove_abandoned

    remove_abandoned(service.settings.datasets)
    while not ending.wait(PAUSE):
        try:
            if service.leadership.leading:
                update_states(service)
        except Exception as error:
            log_unforeseen(log, "the watch over jobs", error)
