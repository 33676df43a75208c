"""What every worker of a run knows: small enough to send, opened once in each process."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import SourceError, SunveilError
from sunveil.estimates.inference_options import InferOptions
from sunveil.fleet.duckdb_reader import EARLIEST, LATEST, hashes
from sunveil.fleet.file_layouts import FleetSource, Stamp
from sunveil.fleet.run_plan import IDENTITY, Cells, find_cells
from sunveil.fleet.survey import SystemIndex, ZoneTable
from sunveil.fleet.systems_table import SystemTable, read_systems
from sunveil.meters.reading_options import MeterOptions, parse_timezone
from sunveil.meters.time_steps import FARTHEST, hours_apart
from sunveil.site import Site


@dataclass(frozen=True)
class FleetJob:
    """A run over a fleet, as its workers receive it."""

    out: str  # the folder that is written
    systems: str  # the table of systems, on a disk that every worker reads, and its fingerprint
    source: FleetSource  # the readings; its files are named by the parts
    reading: MeterOptions
    options: InferOptions
    weather: str
    cell: float  # [degrees] width of a weather cell
    fingerprint: str  # the plan's
    digest: str = ""  # the table of systems, on a disk that every worker reads, and its fingerprint
    gathered: bool = False  # whether readings are brought together first
    span: tuple[int, int] | None = None  # [µs] first and last stamp of the fleet, where known
    server: tuple[tuple[str, Any], ...] = ()
    identity: tuple[str, str] = IDENTITY  # version and engine of the process that planned the run

    @property
    def folder(self) -> Path:
        """The folder that is written."""
        return Path(self.out)

    @property
    def work(self) -> Path:
        """The folder for what is needed on the way only."""
        return self.folder / ".work"

    def __repr__(self) -> str:
        return f"Job({self.out!r})"


class RunContext:
    """A run as one process has it open: the job, the systems, their cells and clocks."""

    def __init__(self, job: FleetJob, systems: SystemTable, cells: Cells) -> None:
        self.job, self.systems, self.cells = job, systems, cells
        self.clocks, self.clock = self._clocks()
        self.zones = ZoneTable.of(
            self.clocks if job.source.columns.stamp is Stamp.WALL else ["UTC"] * len(self.clocks),
            self.span_seconds,
        )

    @property
    def span_seconds(self) -> tuple[int, int]:
        """First and last stamp. [s]"""
        span = self.job.span
        if span is None:
            return EARLIEST, LATEST
        return max(EARLIEST, span[0] // 1_000_000), min(LATEST, -(-span[1] // 1_000_000))

    @cached_property
    def index(self) -> SystemIndex:
        """The numbers of the systems by the hash of their names."""
        return SystemIndex.of(hashes(self.systems.ids))

    @cached_property
    def names(self) -> list[str]:
        """The systems' names."""
        return [str(name) for name in self.systems.ids.to_pylist()]

    @cached_property
    def weather_sites(self) -> list[Site]:
        """The centres of the weather cells."""
        return [cell.site for cell in self.cells.cells]

    @property
    def place(self) -> dict[str, int]:
        """The number of each system by its name."""
        return self.systems.numbers

    @cached_property
    def refused(self) -> frozenset[str]:
        """Systems that are named by the table but refused."""
        return frozenset(each.system_id for each in self.systems.refused)

    def _clocks(self) -> tuple[list[str], NDArray[np.int32]]:
        """Return names of clocks, and the number of each system's."""
        declared = self.job.reading.timezone
        columns = self.job.source.columns
        fallback = "UTC" if columns.stamp is Stamp.WALL else columns.zone
        usual = fallback if declared is None else parse_timezone(declared)[1]
        own = self.systems.zone
        number = np.where(own < 0, 0, own + 1)
        # a file of systems in many places keeps one zone, in which it is shown
        far = hours_apart(usual, self.systems.longitude) > FARTHEST
        number[far & (number == 0)] = len(self.systems.zones) + 1
        return [usual, *self.systems.zones, "UTC"], number.astype(np.int32)

    @cached_property
    def net(self) -> NDArray[np.bool_]:
        """Which systems are said to have net meters."""
        every = self.job.reading.net or self.job.source.columns.net
        return self.systems.read_as_net(all_said=every)

    @cached_property
    def clockless(self) -> NDArray[np.uint8]:
        """Which systems have no clock: nobody named it, or the file's is of the mirrored place."""
        columns, longitude = self.job.source.columns, self.systems.longitude
        if self.job.reading.timezone is not None:
            return np.zeros(len(self.systems), dtype=np.uint8)
        if columns.stamp is Stamp.WALL:
            without = np.ones(len(self.systems), dtype=bool)
        else:
            without = hours_apart(columns.zone, longitude) > FARTHEST
            without &= hours_apart(columns.zone, -longitude) <= FARTHEST
        return (without & (self.systems.zone < 0)).astype(np.uint8)


_open: dict[tuple[str, str], RunContext] = {}

_lock = threading.Lock()


def context_of(job: FleetJob) -> RunContext:
    """Return the process's context of a run, opened when first asked for."""
    if job.identity != IDENTITY:
        raise SunveilError("a worker has another version of Sunveil; install the same everywhere")
    with _lock:
        context = _open.get((job.out, job.fingerprint))
        if context is None:
            systems = read_systems(job.systems, job.reading)
            if systems.digest != job.digest:
                raise SourceError(f"{job.systems} was changed while a run was reading it")
            context = RunContext(job, systems, find_cells(systems, job.cell))
            _keep(context)
        return context


def keep_context(context: RunContext) -> None:
    """Let the parts of a run that are worked on in this process have its context."""
    with _lock:
        _keep(context)


def _keep(context: RunContext) -> None:
    _open.clear()  # one run at a time keeps its skies
    _open[context.job.out, context.job.fingerprint] = context


def close_context(job: FleetJob) -> None:
    """Forget what a process keeps for a job."""
    with _lock:
        _open.pop((job.out, job.fingerprint), None)


def check_clocks(job: FleetJob, systems: SystemTable) -> None:
    """Refuse a fleet with stamps of an unknown clock."""
    unknown = job.reading.timezone is None and not systems.zones
    if job.source.columns.stamp is Stamp.WALL and unknown:
        raise SourceError(
            "the fleet has times without a UTC offset: name their clock with option `timezone`,"
            " such as UTC, UTC-07:00 or America/Denver, or give the table of systems a column"
            " timezone"
        )
