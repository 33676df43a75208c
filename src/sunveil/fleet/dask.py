"""The parts of a plan on many machines: one Dask task each.

Workers read the fleet and write their own part's file to folders that all of them share, and send
back counts alone. A worker that is killed costs the part that it was working on.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sunveil.errors import ParameterError, SunveilError, ask
from sunveil.extras import require_extras
from sunveil.fleet.done import PartResult
from sunveil.fleet.job import FleetJob
from sunveil.fleet.plan import Part
from sunveil.fleet.task import run_part

# A part that keeps killing its worker is given up after so many.
_RETRIES = 3


def run_dask(
    job: FleetJob, parts: Sequence[Part], *, workers: int, scheduler: str | None = None
) -> Iterator[PartResult]:
    """Yield what parts came to, as they get done.

    Parameters
    ----------
    job
        The run.
    parts
        What is left to do, in the order of the plan.
    workers
        How many processes to start, where there is no scheduler yet.
    scheduler
        Address of a scheduler that runs already.
    """
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
                    f" command again with fewer workers, or with {ask('engine', 'local')}"
                ) from None
    return None
