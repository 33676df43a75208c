"""Local processes and Dask."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import secrets
import signal
import sys
import threading
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from sunveil._extras import require_extras
from sunveil.engine import infer
from sunveil.errors import ParameterError, SunveilError
from sunveil.fleet import blocks, survey, unusual_records
from sunveil.fleet.run_context import FleetJob, context_of
from sunveil.fleet.run_plan import Part
from sunveil.inference.fleet_part import PartResult, run_part

# Tries of a part that keeps killing its worker.
_RETRIES = 3


def run_dask(
    job: FleetJob, parts: Sequence[Part], *, workers: int, scheduler: str | None = None
) -> Iterator[PartResult]:
    """Yield what parts came to, as they get done."""
    require_extras("dask", purpose="the engine dask")
    import distributed

    with _client(distributed, workers, scheduler) as client:
        run = secrets.token_hex(6)  # two runs at one scheduler never share a task
        ahead = len(parts)  # earlier parts first, as neighbours share skies
        futures = [
            client.submit(
                run_part,
                job,
                part,
                key=f"sunveil-{run}-{part.number:05d}",
                priority=ahead - place,
                retries=_RETRIES,
                pure=False,
            )
            for place, part in enumerate(parts)
        ]
        try:
            completed: Any = distributed.as_completed
            for future in completed(futures, loop=client.loop):
                yield _result(distributed, future)
        finally:
            client.cancel(futures)


def _result(distributed: Any, future: Any) -> PartResult:
    try:
        done = future.result()
    except distributed.scheduler.KilledWorker:
        raise SunveilError(
            "a part of the fleet kills every worker that takes it, most likely for want of memory;"
            " start the same command again with fewer workers or more memory"
        ) from None
    if not isinstance(done, PartResult):
        raise SunveilError("a worker runs another version of Sunveil; install the same everywhere")
    return done


@contextmanager
def _client(distributed: Any, workers: int, scheduler: str | None) -> Iterator[Any]:
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout="10s", set_as_default=False)
        except (OSError, TimeoutError, ValueError):
            raise ParameterError(
                f"there is no Dask scheduler at {scheduler}; give its address as it prints it, such"
                " as tcp://10.0.0.1:8786"
            ) from None
        with client:
            yield client
        return
    with (
        _cluster(distributed, workers) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _cluster(distributed: Any, workers: int) -> Any:
    """Return a cluster of processes on this machine; a start that fails is tried once more."""
    for last in (False, True):
        try:
            return distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                worker_dashboard_address=None,
                silence_logs=50,
            )
        except (RuntimeError, OSError, TimeoutError):
            if last:
                raise SunveilError(
                    f"{workers} Dask workers could not be started on this machine; start the same"
                    " command again with fewer workers, or with option `engine` set to local"
                ) from None
    return None


# A smaller fleet is done before the workers of a pool have loaded. [bytes]
SMALL_FLEET = 8 << 20

# So many parts for each worker are handed to the pool at a time.
_AHEAD = 2

# A part that lost this many workers is not begun again.
_MOST_LOSSES = 3

Work = Callable[[FleetJob, Part], PartResult]

Result = TypeVar("Result")


def run_local(job: FleetJob, parts: Sequence[Part], *, workers: int) -> Iterator[PartResult]:
    """Yield what parts came to, as they get done."""
    # One worker is this process. So it is for a small fleet, for a single part, and in a process
    # that may have no children.
    small = sum(file.size for file in job.source.files) < SMALL_FLEET
    count = min(workers, len(parts))
    if count <= 1 or small or multiprocessing.current_process().daemon:
        return (run_part(job, part) for part in parts)
    compile_before_workers(net=bool(context_of(job).net.any()))
    return run_in_pool(job, parts, workers=count)


def compile_before_workers(*, net: bool = True) -> None:
    """Compile the kernels that workers call, once, so that each worker finds them compiled."""
    infer.compile_kernels(net=net)
    survey.compile_kernels()
    blocks.compile_kernels()
    unusual_records.compile_kernels()


def run_in_pool(
    job: FleetJob, parts: Sequence[Part], *, workers: int, work: Work = run_part
) -> Iterator[PartResult]:
    """Yield what parts came to, each worked on by a process of a pool."""
    waiting = deque(parts)
    losses: Counter[Part] = Counter()
    while waiting:
        running: dict[Future[PartResult], Part] = {}
        with _pool(job, workers, work) as pool:
            first = _submit(pool, os.getpid)
            try:
                while waiting or running:
                    while waiting and len(running) < _AHEAD * workers:
                        running[_submit(pool, _work_on, waiting[0])] = waiting[0]
                        waiting.popleft()
                    ended, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in ended:
                        result = future.result()
                        del running[future]
                        yield result
            except BrokenProcessPool:
                lost = sorted(running.values(), key=lambda part: part.number)
                losses.update(lost)
                waiting.extendleft(reversed(lost))
        if waiting and first.exception() is not None:
            warnings.warn(
                "no worker process could be started, so one part is worked on at a time; a script"
                " that calls infer_fleet with several workers must do so under"
                ' if __name__ == "__main__":',
                RuntimeWarning,
                stacklevel=2,
            )
            yield from (work(job, part) for part in waiting)
            return
        if losses and max(losses.values()) >= _MOST_LOSSES:
            raise SunveilError(
                "a part of the fleet ends every worker that takes it, most likely for want of"
                " memory; start the same command again with fewer workers or more memory"
            )


@contextmanager
def _pool(job: FleetJob, workers: int, work: Work) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool; when it is left, what is being worked on ends and nothing else is begun."""
    # Workers are started from scratch: a fork would inherit this process's database without
    # its threads.
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin_worker,
        initargs=(job, work),
    )
    # every processor has a worker; more threads of numpy's would wait in loops, and take theirs
    given = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
        if given is None:
            os.environ.pop("OPENBLAS_NUM_THREADS", None)


def _submit(pool: ProcessPoolExecutor, work: Callable[..., Result], *given: Part) -> Future[Result]:
    """Hand work to a pool, which may start a worker for it."""
    # A terminal interrupts all processes at once. Workers are started with interrupts blocked,
    # which they inherit: this process alone hears of one, and ends them.
    if not hasattr(signal, "pthread_sigmask"):
        return pool.submit(work, *given)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(work, *given)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# Orders of a worker process, from its start.
_orders: tuple[FleetJob, Work] | None = None


def _begin_worker(job: FleetJob, work: Work) -> None:
    """Keep the run for the parts to come, and end with the process that started this one."""
    # The table of systems is opened with the first part, so that what is wrong with it is said by
    # that part's result.
    global _orders
    _orders = job, work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ending = threading.Event()
    watching = threading.Thread(target=_end_with_parent, args=(ending,), daemon=True)
    watching.start()

    def stop_watching() -> None:
        ending.set()
        watching.join()

    # a thread that still runs while Python ends would keep DuckDB's objects, which it complains of
    atexit.register(stop_watching)


def _end_with_parent(ending: threading.Event) -> None:
    """End this process once its parent is gone: a pool's worker would wait for orders for ever."""
    parent = multiprocessing.parent_process()
    while parent is not None and not ending.wait(1.0):
        if not parent.is_alive():
            os._exit(1)


def _work_on(part: Part) -> PartResult:
    """Work on a part in a worker process."""
    assert _orders is not None
    job, work = _orders
    return work(job, part)


def refuse_unguarded() -> None:
    """End a worker that, while it starts, runs its parent's script as far as here."""
    # A worker imports the script that started it, under the name `__mp_main__`. Where that script
    # infers a fleet as it is imported, the worker would begin the same run again. Notebooks and
    # galleries put a module of their own in the place of `__main__`, and are no workers.
    imported = sys.modules.get("__mp_main__")
    # outside workers multiprocessing gives the script itself that name, which stays __main__ to it
    importing = getattr(imported, "__name__", None) == "__mp_main__"
    if importing and sys.modules.get("__main__") is not imported:
        raise SystemExit(1)
