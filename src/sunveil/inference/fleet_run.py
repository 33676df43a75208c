"""A run over a fleet: plan, run, resume; its folder."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from sunveil import _files
from sunveil._files import write_whole
from sunveil._options import check_fields, checked, shown, split_options
from sunveil.errors import ParameterError, SourceError
from sunveil.estimates import read_write
from sunveil.estimates.inference_options import InferOptions, SystemKeywords
from sunveil.estimates.read_write import RUN, SUMMARY
from sunveil.fleet.open import FleetOfFiles, plan_fleet
from sunveil.fleet.run_context import FleetJob, close_context, keep_context
from sunveil.fleet.run_plan import IDENTITY, PART_ROWS, Part
from sunveil.grids import SIZE
from sunveil.inference.fleet_part import PartResult, finished
from sunveil.inference.run_summary import as_json, close
from sunveil.inference.workers import refuse_unguarded, run_dask, run_local
from sunveil.meters.reading_options import MeterOptions

PAGE = "summary.html"

_WORK = ".work"

README = """\
# Estimates of a fleet: private

Everything in this folder was inferred from meter readings and is as private as they are: do not
publish it or pass it on. `sunveil publish` makes tables from it that may be.

| file | what it holds |
|---|---|
| `estimates/part-*.parquet` | one row per inferred system, with planes, 90% intervals and flags |
| `refused.parquet` | one row per system without an estimate, with the reason |
| `summary.html`, `summary.json` | what the run came to, as a page and as numbers |
| `run.json` | what was assumed; the fingerprint of inputs and settings |
"""


def begin(folder: Path, description: dict[str, Any], *, restart: bool) -> bool:
    """Make a folder ready, and return whether a run that was stopped is taken up."""
    if restart:
        _clear(folder)
    before = _before(folder)
    if before is None:
        # what a run was writing when it was killed, before anything else was there
        for path in folder.glob(".run.json.*.part"):
            path.unlink()
        others = [path.name for path in folder.iterdir() if path.name != ".lock"]
        if others:
            raise ParameterError(
                f"{folder} holds {others[0]}, which no run over a fleet wrote; name a new folder"
            )
    if before is not None and before["fingerprint"] != description["fingerprint"]:
        other = "over other readings, systems or settings"
        if any(before.get(name) != description[name] for name in ("version", "engine")):
            other = f"of another version of Sunveil ({before.get('version', 'unknown')})"
        raise ParameterError(
            f"{folder} holds a run {other}; name a new folder, or throw that run away with"
            " option `restart`"
        )
    if before is None:
        write_whole(folder / RUN, as_json(description))
    write_whole(folder / "README.md", README)
    (folder / _WORK).mkdir(mode=0o700, exist_ok=True)  # it may hold readings
    (folder / _WORK / "refused").mkdir(exist_ok=True)
    (folder / "estimates").mkdir(exist_ok=True)
    _sweep(folder)
    return before is not None


_OURS = {RUN, SUMMARY, _WORK, ".lock", "estimates", "refused.parquet", PAGE, "README.md"}


def _before(folder: Path) -> dict[str, Any] | None:
    """Return what ``run.json`` says of the run that a folder holds; None where there is none."""
    try:
        found = json.loads((folder / RUN).read_text(encoding="utf-8"))
        return {**found, "fingerprint": str(found["fingerprint"])}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise SourceError(
            f"{folder / RUN} cannot be read; throw that run away with option `restart`, or name a"
            " new folder"
        ) from None


def _clear(folder: Path) -> None:
    for name in sorted(_OURS - {".lock"}):
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove what a killed run left half-written."""
    for place in (folder, folder / "estimates", folder / _WORK / "refused"):
        for path in place.glob(".*.part"):
            path.unlink(missing_ok=True)
    for path in (folder / _WORK / "gathered").glob(".*.part"):
        shutil.rmtree(path, ignore_errors=True)


def finish(folder: Path) -> None:
    """Remove what was needed on the way only, and what a killed worker left half-written."""
    _sweep(folder)
    shutil.rmtree(folder / _WORK, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class FleetProgress:
    """What is done of a run, and how long the rest will take."""

    done: int  # parts that are done, and all of them
    total: int  # parts that are done, and all of them
    systems: int
    all_systems: int  # how many the table has
    rate: float  # systems a second in this run
    seconds_left: float | None  # [s]
    doing: str = "inferring"  # `"gathering"` or `"inferring"`

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        return {
            "event": "progress",
            "doing": self.doing,
            "done": self.done,
            "total": self.total,
            "systems": self.systems,
            "of": self.all_systems,
            "rate": round(self.rate, 1),
            "seconds_left": None if self.seconds_left is None else round(self.seconds_left, 1),
        }


Tell = Callable[[FleetProgress], None]


@dataclass(slots=True)
class ProgressCounter:
    """Counts parts and systems as they get done, and reports them."""

    tell: Tell
    total: int
    all_systems: int
    done: int = 0
    systems: int = 0
    _new_parts: int = 0
    _new_systems: int = 0
    _begun: float = field(default_factory=time.monotonic)

    def before(self, done: PartResult) -> None:
        """Count a part that an earlier run has done."""
        self.done += 1
        self.systems += done.inferred + done.refused

    def add(self, done: PartResult) -> None:
        """Count a part, and tell."""
        self.before(done)
        self._new_parts += 1
        self._new_systems += done.inferred + done.refused
        self.say()

    def say(self, doing: str = "inferring") -> None:
        """Tell what is done so far, of all there is to do."""
        passed = max(time.monotonic() - self._begun, 1e-9)
        left = None
        if self._new_parts:
            left = passed / self._new_parts * (self.total - self.done)
        self.tell(
            FleetProgress(
                self.done,
                self.total,
                self.systems,
                self.all_systems,
                self._new_systems / passed,
                left,
                doing,
            )
        )


ENGINES = ("local", "dask")


@dataclass(frozen=True, slots=True)
class FleetResult:
    """What a run came to."""

    folder: Path  # where it is written
    inferred: int  # how many systems have an estimate, and how many have a reason instead
    refused: int
    parts: int  # how many parts the estimates are written in
    resumed: int = 0  # how many of these an earlier run had done

    def __post_init__(self) -> None:
        check_fields(self)


@checked
def infer_fleet(
    fleet: Path | str,
    systems: Path | str,
    out: Path | str,
    *,
    weather: str = "clearsky",
    cell: float = SIZE,
    part_rows: int = PART_ROWS,
    engine: str = "local",
    workers: int | None = None,
    scheduler: str | None = None,
    restart: bool = False,
    server: Mapping[str, Any] | None = None,
    tell: Tell | None = None,
    **options: Unpack[SystemKeywords],
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
        Where the systems are; see :func:`~sunveil.fleet.systems_table.read_systems`.
    out
        The folder to write: a new one, or one that a run of the same inputs was writing.
    weather
        ``"clearsky"``, ``"nsrdb"`` or ``"pvgis"``, at the place of each system.
    cell
        Width of a weather cell; the systems of a cell share its sky. [degrees]
    part_rows
        About how many readings are worked on at a time.
    engine
        ``"local"``: processes of this machine. ``"dask"``: those of a Dask scheduler, or of one
        that is started here.
    workers
        How many parts are worked on at a time; the number of processors by default.
    scheduler
        Address of a Dask scheduler that runs already.
    restart
        Start over: delete any run in the folder, unfinished or complete.
    server
        What a weather server needs: ``api_key``, ``email``.
    tell
        Called with a :class:`~sunveil.inference.fleet_run.FleetProgress` whenever a part is done.
    **options
        Options of :class:`~sunveil.meters.MeterOptions` and
        :class:`~sunveil.estimates.inference_options.InferOptions`, as for :func:`sunveil.infer`.

    Privacy
    -------
    No protection: the folder is as private as the readings.
    """
    refuse_unguarded()
    reading, inference = split_options(options, MeterOptions, InferOptions)
    count = _processors() if workers is None else workers
    if not 1 <= count <= 1024:
        raise ParameterError(f"workers must be between 1 and 1024, and {workers} is not")
    if engine not in ENGINES:
        raise ParameterError(f"engine must be one of local, dask, and {shown(engine)} is not")
    if scheduler is not None and engine != "dask":
        raise ParameterError(
            "a scheduler is for the engine dask; set option `engine` to dask with it"
        )
    target = Path(os.path.realpath(out))
    if target.exists() and not target.is_dir():
        raise ParameterError(f"{out} is not a folder; name a folder to be written")
    opened = plan_fleet(
        Path(fleet),
        Path(systems),
        target,
        reading=reading,
        options=inference,
        weather=weather,
        cell=cell,
        part_rows=part_rows,
        server=server,
        workers=count,
    )
    keep_context(opened.context)
    job = opened.context.job
    try:
        with _files.held(target):
            resumed = begin(target, _description(opened), restart=restart)
            return _run(
                opened,
                engine=engine,
                workers=count,
                scheduler=scheduler,
                tell=tell or (lambda _: None),
                whole=resumed and (target / read_write.SUMMARY).is_file(),
            )
    finally:
        close_context(job)


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _description(fleet: FleetOfFiles) -> dict[str, Any]:
    """Return what ``run.json`` says of a run."""
    version, engine = IDENTITY
    job = fleet.context.job
    return {
        "fingerprint": job.fingerprint,
        "version": version,
        "engine": engine,
        "settings": dict(fleet.settings),
        "layout": job.source.columns.layout.value,
        "files": len(job.source.files),
        "parts": len(fleet.parts),
        "gathered": job.gathered,
    }


def _run(
    fleet: FleetOfFiles,
    *,
    engine: str,
    workers: int,
    scheduler: str | None,
    tell: Tell,
    whole: bool,
) -> FleetResult:
    context, job = fleet.context, fleet.context.job
    if whole:
        # everything was written before: only what a kill left in the last instant is cleared
        finish(job.folder)
        return _result(job.folder, fleet, resumed=len(fleet.parts))
    counter = ProgressCounter(tell, len(fleet.parts), len(context.systems))
    ended = {done.number: done for part in fleet.parts if (done := finished(job, part)) is not None}
    left = [part for part in fleet.parts if part.number not in ended]
    for done in ended.values():
        counter.before(done)
    if job.gathered and left:
        counter.say("gathering")
        fleet.gather(workers)
    with closing(
        _engine(job, left, engine=engine, workers=workers, scheduler=scheduler)
    ) as results:
        for done in results:
            counter.add(done)
    close(context, [part.number for part in fleet.parts])
    finish(job.folder)
    return _result(job.folder, fleet, resumed=len(fleet.parts) - len(left))


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


def _result(folder: Path, fleet: FleetOfFiles, *, resumed: int) -> FleetResult:
    summary = json.loads((folder / read_write.SUMMARY).read_text(encoding="utf-8"))
    return FleetResult(folder, summary["inferred"], summary["refused"], len(fleet.parts), resumed)
