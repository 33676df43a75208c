"""Inferring a whole fleet: look, plan, work through the parts, close."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sunveil import __version__
from sunveil.errors import ParameterError
from sunveil.fleet import folder as place
from sunveil.fleet.closing import close
from sunveil.fleet.done import PartResult, finished
from sunveil.fleet.gather import gather
from sunveil.fleet.helpers import Helper, processors
from sunveil.fleet.job import RunContext, FleetJob, check_clocks, close_context, context_of
from sunveil.fleet.order import find_order, find_span
from sunveil.fleet.page import write_page
from sunveil.fleet.plan import Part, FleetPlan, find_cells, make_plan
from sunveil.fleet.progress import ProgressCounter, Tell
from sunveil.fleet.settings import FleetSettings
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
    helpers: Sequence[Helper] = (),
) -> FleetResult:
    """Infer every system of a fleet, and write what was found into a folder.

    A run that was stopped at any instant is taken up by the same call: parts that are done stay
    done. One bad system, or one bad file, never stops a fleet.

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
        ``"local"``: threads of this process. ``"dask"``: a scheduler, or processes started here.
    workers
        How many parts are worked on at a time; as many as there are processors when left out.
    scheduler
        Address of a Dask scheduler that runs already.
    restart
        Throw away what the folder holds of another run.
    server
        What a server of weather must be told: ``api_key``, ``email``.
    tell
        Called with a :class:`~sunveil.fleet.progress.Progress` whenever a part is done.
    helpers
        Processes that work beside this one; see :func:`~sunveil.fleet.helpers.started`. Threads do
        where there are fewer than workers.

    Privacy
    -------
    None: the folder is as private as the readings.
    """
    settings = settings or FleetSettings()
    count = processors() if workers is None else workers
    if not 1 <= count <= 1024:
        raise ParameterError(f"workers must be between 1 and 1024, and {workers} is not")
    if engine not in ENGINES:
        raise ParameterError(f"engine must be one of local, dask, and {engine!r} is not")
    if scheduler is not None and engine != "dask":
        raise ParameterError("a scheduler is for the engine dask; give --engine dask with it")
    target = Path(os.path.realpath(out))
    if target.exists() and not target.is_dir():
        raise ParameterError(f"{out} is not a folder; name a folder to be written")
    context, plan = _opened(
        Path(fleet), Path(systems), target, settings, server=dict(server or {}), workers=count
    )
    try:
        with place.held(target):
            resumed = place.begin(target, _told(context.job, plan), restart=restart)
            return _run(
                context,
                plan,
                engine=engine,
                workers=count,
                scheduler=scheduler,
                tell=tell or (lambda _: None),
                helpers=helpers,
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
    table = read_systems(systems, system_column=settings.meters.system_column)
    source = look_at(fleet, settings.meters, aside=[systems, target])
    cells = find_cells(table, settings.cell)
    ordering = find_order(source, table, workers=workers)
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
    )
    check_clocks(job, table)
    return context_of(job, systems=table, cells=cells), plan


def _told(job: FleetJob, plan: FleetPlan) -> dict[str, Any]:
    return {
        "fingerprint": plan.fingerprint,
        "version": __version__,
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
    helpers: Sequence[Helper],
    whole: bool,
) -> FleetResult:
    job = context.job
    if whole:
        # everything was written before: only what a kill left in the last instant is cleared
        write_page(job.folder)
        place.finish(job.folder)
        return _result(job.folder, plan, resumed=len(plan.parts))
    meter = ProgressCounter(tell, len(plan.parts), len(context.systems))
    ended = {done.number: done for part in plan.parts if (done := finished(job, part)) is not None}
    left = [part for part in plan.parts if part.number not in ended]
    for done in ended.values():
        meter.before(done)
    if plan.bucket is not None and left:
        meter.say("gathering")
        gather(context, plan.bucket, workers=workers)
    for done in _engine(
        job, left, engine=engine, workers=workers, scheduler=scheduler, helpers=helpers
    ):
        meter.add(done)
        ended[done.number] = done
    close(context, [ended[part.number] for part in plan.parts])
    write_page(job.folder)
    place.finish(job.folder)
    return _result(job.folder, plan, resumed=len(plan.parts) - len(left))


def _engine(
    job: FleetJob,
    parts: Sequence[Part],
    *,
    engine: str,
    workers: int,
    scheduler: str | None,
    helpers: Sequence[Helper],
) -> Iterator[PartResult]:
    if not parts:
        return iter(())
    if engine == "dask":
        from sunveil.fleet.dask import run_dask

        return run_dask(job, parts, workers=workers, scheduler=scheduler)
    from sunveil.fleet.local import run_local

    return run_local(job, parts, workers=workers, helpers=helpers)


def _result(folder: Path, plan: FleetPlan, *, resumed: int) -> FleetResult:
    import json

    summary = json.loads((folder / place.SUMMARY).read_text(encoding="utf-8"))
    return FleetResult(folder, summary["inferred"], summary["refused"], len(plan.parts), resumed)
