"""The parts of a plan on this machine.

They run in threads of one process, which compiled loops and DuckDB let run beside each other: no
reading is sent from one process to another.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from sunveil.fleet.done import Done
from sunveil.fleet.job import Job
from sunveil.fleet.plan import Part
from sunveil.fleet.task import run_part


def run_local(job: Job, parts: Sequence[Part], *, workers: int) -> Iterator[Done]:
    """Yield what parts came to, as they get done.

    Parameters
    ----------
    job
        The run.
    parts
        What is left to do, in the order of the plan.
    workers
        How many parts are worked on at a time.
    """
    waiting = _announced(job, parts, workers)
    if workers == 1:
        for part in waiting:
            yield run_part(job, part)
        return
    running: set[Future[Done]] = set()
    with ThreadPoolExecutor(workers, thread_name_prefix="sunveil") as pool:
        try:
            while True:
                # never more than are worked on: an error or an interrupt waits for these alone
                for part in waiting:
                    running.add(pool.submit(run_part, job, part))
                    if len(running) >= workers:
                        break
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for each in sorted(finished, key=lambda one: one.result().number):
                    yield each.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _announced(job: Job, parts: Sequence[Part], workers: int) -> Iterator[Part]:
    """Yield parts; the disk is told meanwhile what will be read next."""
    for later in parts[1:workers]:
        _announce(job, later)
    for place, part in enumerate(parts):
        for later in parts[place + workers : place + workers + 1]:
            _announce(job, later)
        yield part


def _announce(job: Job, part: Part) -> None:
    whole = part.low is None and part.high is None
    if job.gathered or not whole or not hasattr(os, "posix_fadvise"):
        return
    for path in job.source.paths(part.files):
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError:
            continue  # whoever reads it says so
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(handle)
