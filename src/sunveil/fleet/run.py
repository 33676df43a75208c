"""Inferring a whole fleet: look, plan, work through the parts, close."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sunveil.arguments import check_fields, shown
from sunveil.checked import checked
from sunveil.errors import ParameterError, ask, spoken
from sunveil.fleet import folder as place
from sunveil.fleet.closing import close
from sunveil.fleet.dask import run_dask
from sunveil.fleet.done import PartResult, finished
from sunveil.fleet.gather import gather
from sunveil.fleet.job import FleetJob, RunContext, check_clocks, close_context, context_of
from sunveil.fleet.local import refuse_unguarded, run_local
from sunveil.fleet.order import find_order, find_span
from sunveil.fleet.plan import FleetPlan, Part, find_cells, make_plan
from sunveil.fleet.progress import ProgressCounter, Tell
from sunveil.fleet.settings import IDENTITY, FleetSettings
from sunveil.fleet.source import look_at
from sunveil.fleet.systems import read_systems

ENGINES = ("local", "dask")


@dataclass(frozen=True, slots=True)
class FleetResult:
    """What a run came to.

    Parameters
    ----------
    folder
        Where it is written.
    inferred, refused
        How many systems have an estimate, and how many have a reason instead.
    parts
        How many parts the estimates are written in.
    resumed
        How many of these an earlier run had done.
    """

    folder: Path
    inferred: int
    refused: int
    parts: int
    resumed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)


@checked
def infer_fleet(
    fleet: Path | str,
    systems: Path | str,
    out: Path | str,
    *,
    settings: FleetSettings | None = None,
    engine: str = "local",
    workers: int | None = None,
    scheduler: str | None = None,
    restart: bool = False,
    server: Mapping[str, Any] | None = None,
    tell: Tell | None = None,
) -> FleetResult:
    """Infer every system of a fleet, and write what was found into a folder.

    A run that was stopped at any instant is taken up by the same call: parts that are done stay
    done. One bad system, or one bad file, never stops a fleet.

    With several workers, parts are worked on by processes that Python starts from scratch (the
    method ``"spawn"``), since a forked process could not use the database that this one has open.
    Such a process imports the script that was started: call this under
    ``if __name__ == "__main__":`` there. From a script that does not, from a fleet of a few
    megabytes, and with ``workers=1``, all parts are worked on in this process.

    Parameters
    ----------
    fleet
        Parquet, long or with lists, or a folder of files.
    systems
        Where the systems are; see :func:`~sunveil.fleet.systems.read_systems`.
    out
        The folder to write: a new one, or one that a run of the same inputs was writing.
    settings
        How to read the meters, and what is assumed.
    engine
        ``"local"``: processes of this machine. ``"dask"``: those of a Dask scheduler, or of one
        that is started here.
    workers
        How many parts are worked on at a time; as many as there are processors when left out.
    scheduler
        Address of a Dask scheduler that runs already.
    restart
        Throw away what the folder holds of another run.
    server
        What a server of weather must be told: ``api_key``, ``email``.
    tell
        Called with a :class:`~sunveil.fleet.progress.FleetProgress` whenever a part is done.

    Privacy
    -------
    None: the folder is as private as the readings.
    """
    refuse_unguarded()
    settings = settings or FleetSettings()
    count = _processors() if workers is None else workers
    if not 1 <= count <= 1024:
        raise ParameterError(f"workers must be between 1 and 1024, and {workers} is not")
    if engine not in ENGINES:
        raise ParameterError(f"engine must be one of local, dask, and {shown(engine)} is not")
    if scheduler is not None and engine != "dask":
        raise ParameterError(
            f"a scheduler is for the engine dask; give {ask('engine', 'dask')} with it"
        )
    target = Path(os.path.realpath(out))
    if target.exists() and not target.is_dir():
        raise ParameterError(f"{out} is not a folder; name a folder to be written")
    context, plan = _opened(
        Path(fleet), Path(systems), target, settings, server=dict(server or {}), workers=count
    )
    try:
        with place.held(target):
            resumed = place.begin(target, _description(context.job, plan), restart=restart)
            return _run(
                context,
                plan,
                engine=engine,
                workers=count,
                scheduler=scheduler,
                tell=tell or (lambda _: None),
                whole=resumed and (target / place.SUMMARY).is_file(),
            )
    finally:
        close_context(context.job)


def _opened(
    fleet: Path,
    systems: Path,
    target: Path,
    settings: FleetSettings,
    *,
    server: dict[str, Any],
    workers: int,
) -> tuple[RunContext, FleetPlan]:
    """Look at the inputs and plan the run; nothing is written yet."""
    table = read_systems(systems, settings.meters)
    source = look_at(fleet, settings.meters, aside=[systems, target])
    cells = find_cells(table, settings.cell)
    ordering = find_order(source, table, settings.meters, workers=workers)
    plan = make_plan(source, table, settings, ordering=ordering, cells=cells)
    job = FleetJob(
        out=str(target),
        systems=os.path.realpath(systems),
        source=source,
        settings=settings,
        fingerprint=plan.fingerprint,
        digest=table.digest,
        gathered=plan.bucket is not None,
        span=find_span(source),
        server=tuple(server.items()),
        interface=spoken(),
    )
    check_clocks(job, table)
    return context_of(job, systems=table, cells=cells), plan


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _description(job: FleetJob, plan: FleetPlan) -> dict[str, Any]:
    """Return what ``run.json`` says of a run."""
    version, engine = IDENTITY
    return {
        "fingerprint": plan.fingerprint,
        "version": version,
        "engine": engine,
        "settings": job.settings.to_dict(),
        "layout": job.source.columns.layout.value,
        "files": len(job.source.files),
        "parts": len(plan.parts),
        "gathered": job.gathered,
    }


def _run(
    context: RunContext,
    plan: FleetPlan,
    *,
    engine: str,
    workers: int,
    scheduler: str | None,
    tell: Tell,
    whole: bool,
) -> FleetResult:
    job = context.job
    if whole:
        # everything was written before: only what a kill left in the last instant is cleared
        place.finish(job.folder)
        return _result(job.folder, plan, resumed=len(plan.parts))
    counter = ProgressCounter(tell, len(plan.parts), len(context.systems))
    ended = {done.number: done for part in plan.parts if (done := finished(job, part)) is not None}
    left = [part for part in plan.parts if part.number not in ended]
    for done in ended.values():
        counter.before(done)
    if plan.bucket is not None and left:
        counter.say("gathering")
        gather(context, plan.bucket, workers=workers)
    with closing(
        _engine(job, left, engine=engine, workers=workers, scheduler=scheduler)
    ) as results:
        for done in results:
            counter.add(done)
    close(context, [part.number for part in plan.parts])
    place.finish(job.folder)
    return _result(job.folder, plan, resumed=len(plan.parts) - len(left))


def _engine(
    job: FleetJob, parts: Sequence[Part], *, engine: str, workers: int, scheduler: str | None
) -> Generator[PartResult, None, None]:
    """Yield what parts came to; when it is closed, nothing is worked on any more."""
    if not parts:
        return
    if engine == "dask":
        yield from run_dask(job, parts, workers=workers, scheduler=scheduler)
    else:
        yield from run_local(job, parts, workers=workers)


def _result(folder: Path, plan: FleetPlan, *, resumed: int) -> FleetResult:
    summary = json.loads((folder / place.SUMMARY).read_text(encoding="utf-8"))
    return FleetResult(folder, summary["inferred"], summary["refused"], len(plan.parts), resumed)
