"""The parts of a plan on this machine.

One worker is this process; the others are helpers, processes of their own, or threads where there
are none. Each works through neighbours, which share skies: no reading is sent from one to another.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from sunveil.fleet.done import PartResult, rows_of
from sunveil.fleet.helpers import Helper, HelperLostError
from sunveil.fleet.job import FleetJob
from sunveil.fleet.plan import Part
from sunveil.fleet.task import run_part

# Parts at the end of a plan that are smaller than this share of the largest are left for the end.
_SMALL = 0.7


class Shares:
    """Who works on which parts: each on neighbours, then on what others have left.

    Parameters
    ----------
    parts
        What is to be done, in the order of the plan.
    workers
        How many work on it.
    """

    def __init__(self, parts: Sequence[Part], workers: int) -> None:
        rest = deque(parts)
        most = max((part.rows for part in parts), default=0)
        self._last: deque[Part] = deque()
        while rest and rest[-1].rows < _SMALL * most:
            self._last.appendleft(rest.pop())
        ends = [len(rest) * number // workers for number in range(workers + 1)]
        whole = list(rest)
        self._own = [deque(whole[a:b]) for a, b in pairwise(ends)]
        self._lock = threading.Lock()

    def take(self, worker: int) -> Part | None:
        """Return the next part of a worker, None when there is no more."""
        with self._lock:
            if self._own[worker]:
                return self._own[worker].popleft()
            longest = max(self._own, key=len)
            if longest:
                return longest.pop()
            return self._last.popleft() if self._last else None

    def next(self, worker: int) -> Part | None:
        """Return what a worker will most likely take next."""
        with self._lock:
            own = self._own[worker] or self._last
            return own[0] if own else None


def run_local(
    job: FleetJob, parts: Sequence[Part], *, workers: int, helpers: Sequence[Helper] = ()
) -> Iterator[PartResult]:
    """Yield what parts came to, as they get done.

    Parameters
    ----------
    job
        The run.
    parts
        What is left to do, in the order of the plan.
    workers
        How many parts are worked on at a time.
    helpers
        Processes that work on them too; where there are fewer than workers, threads do.
    """
    shares = Shares(parts, workers)
    if workers == 1:
        while (part := shares.take(0)) is not None:
            _announce(job, shares.next(0))
            yield run_part(job, part)
        return
    ended: queue.SimpleQueue[PartResult | BaseException | None] = queue.SimpleQueue()
    stop = threading.Event()

    def work(number: int) -> None:
        helper = helpers[number - 1] if 1 <= number <= len(helpers) else None
        try:
            while not stop.is_set() and (part := shares.take(number)) is not None:
                _announce(job, shares.next(number))
                try:
                    ended.put(run_part(job, part) if helper is None else _helped(job, part, helper))
                except HelperLostError:
                    helper = None  # which costs its part, and no more
                    ended.put(run_part(job, part))
        except BaseException as error:
            ended.put(error)
        finally:
            ended.put(None)

    threads = [
        threading.Thread(target=work, args=(number,), name=f"sunveil_{number}")
        for number in range(workers)
    ]
    for thread in threads:
        thread.start()
    working = workers
    try:
        while working:
            found = ended.get()
            if found is None:
                working -= 1
            elif isinstance(found, BaseException):
                raise found
            else:
                yield found
    finally:
        # an error or an interrupt waits for what is worked on, and no more
        stop.set()
        for thread in threads:
            thread.join()


def _helped(job: FleetJob, part: Part, helper: Helper) -> PartResult:
    done = helper.run(job, part)
    return replace(done, rows=rows_of(job, done))


def _announce(job: FleetJob, part: Part | None) -> None:
    """Tell the disk what will be read next."""
    if part is None or job.gathered or not hasattr(os, "posix_fadvise"):
        return
    if part.low is not None or part.high is not None:
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
