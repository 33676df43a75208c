"""A whole fleet, written to a folder as fast as two cores can.

Systems are drawn cell by cell, made in parts of 128, and each part is a Parquet file of whole
systems. Threads take parts as they come: a sky is made by the first thread that needs it and
dropped with the last, so that memory does not grow with the fleet but for the table of systems
(some 200 bytes each, as much again with households). Every cell and every part has random numbers
of its own: the files are the same whatever the number of threads.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil.arguments import whole
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.files import real_path, write_whole
from sunveil.simulate.blocks import CellDaylight, Single, block_power, dc_power
from sunveil.simulate.description import KIND, make_description, make_readme
from sunveil.simulate.filesky import sky_from_weather
from sunveil.simulate.fleet_spec import FleetSpec, ReadingsLayout
from sunveil.simulate.haze import draw_traits
from sunveil.simulate.household_times import HouseholdTimes
from sunveil.simulate.households import (
    SimulatedHouseholds,
    draw_households,
    without_wrong_signs,
)
from sunveil.simulate.net_meters import Behind, Generation, read_net_meters
from sunveil.simulate.outages import add_meter_faults
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.roster import draw_roster
from sunveil.simulate.sky import TrueSky, interval_middles, simulate_true_sky
from sunveil.simulate.stamps import Index, clock_sources
from sunveil.simulate.sunpath import SunPath
from sunveil.simulate.tables import connect, write_lists, write_long, write_table
from sunveil.simulate.truth import NET_TRUTH_SELECT, TRUTH_SELECT, truth_columns
from sunveil.simulate.wear import CellDays, draw_cell_days, wear_down

PART_SYSTEMS = 128
# Spacing of the true sky for each interval of the meters, as fine as the time allows. [minutes]
SKY_MINUTES = {15: 5, 30: 10, 60: 15}
# Columns of the truth that are known when a part is made, by their names.
Measured = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Piece:
    """Systems of one cell within a part: the cell's place, and the first and last of them."""

    cell: int
    start: int
    stop: int


# More threads than any machine has use for.
MOST_WORKERS = 10_000


@checked
def write_fleet(
    folder: Path, spec: FleetSpec, *, replace: bool = False, workers: int | None = None
) -> Generator[int, None, None]:
    """Write a fleet to a folder, whole or not at all, and yield after each part.

    Parameters
    ----------
    folder
        Where; made if need be. One that holds anything is refused.
    spec
        What the fleet is: its cells, its year, its meters.
    replace
        Whether a simulated fleet that stands there is replaced.
    workers
        How many threads; one for each core when left out.

    Yields
    ------
    int
        How many systems the part has; the parts are :func:`count_parts` in number.
    """
    if workers is not None:
        whole("workers", workers, low=1, high=MOST_WORKERS)
    target = real_path(folder)
    check_folder(folder, replace=replace)
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        (made / "readings").mkdir(parents=True)
        yield from _Run(made, spec).make(workers or os.cpu_count() or 1)
        _put_in_place(made, target)
    finally:  # an interrupt too must leave nothing behind
        shutil.rmtree(made, ignore_errors=True)


def count_parts(spec: FleetSpec) -> int:
    """Return how many parts a fleet is written in."""
    return -(-spec.systems // PART_SYSTEMS)


def check_folder(folder: Path, *, replace: bool) -> None:
    """Refuse a folder that a fleet must not be written to."""
    target = real_path(folder)
    if not target.exists():
        return
    if not target.is_dir():
        raise ParameterError(f"{folder} is a file; name a folder to be made")
    if not any(target.iterdir()):
        return
    ours = False
    with suppress(OSError):
        ours = KIND in (target / "fleet.json").read_text(encoding="utf-8")[:200]
    if not ours:
        raise ParameterError(f"{folder} holds other files; name a folder that is empty or new")
    if not replace:
        raise ParameterError(
            f"{folder} holds a simulated fleet; name another folder, or replace it (--replace)"
        )


def split_parts(cells: Sequence[SimulatedCell]) -> list[list[Piece]]:
    """Return the pieces of each part, cell after cell."""
    parts: list[list[Piece]] = [[]]
    free = PART_SYSTEMS
    for place, cell in enumerate(cells):
        start = 0
        while start < cell.systems:
            if free == 0:
                parts.append([])
                free = PART_SYSTEMS
            stop = min(start + free, cell.systems)
            parts[-1].append(Piece(place, start, stop))
            free -= stop - start
            start = stop
    return parts


def _put_in_place(made: Path, target: Path) -> None:
    if not target.exists():
        made.rename(target)
        return
    old = target.with_name(made.name + ".old")
    target.rename(old)
    try:
        made.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old)


@dataclass(frozen=True, slots=True, eq=False)
class _CellSky:
    """What the systems of a cell share: light, clocks, rain and snow, and households' year."""

    daylight: CellDaylight
    clocks: tuple[Index, Index]
    days: CellDays
    times: HouseholdTimes | None


@dataclass(slots=True, eq=False)
class _Shared:
    """A cell's sky while parts need it: made once, by whoever comes first."""

    parts_left: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    sky: _CellSky | None = None


class _Run:
    """One fleet being made in one folder."""

    def __init__(self, folder: Path, spec: FleetSpec) -> None:
        self.folder, self.spec = folder, spec
        self.rates = spec.rates
        self.step = SKY_MINUTES[spec.interval_minutes]
        self.path = SunPath.of(interval_middles(spec.year, self.step))
        self.start = pd.Timestamp(year=spec.year, month=1, day=1, tz="UTC")
        self.cells = spec.cells
        self.rosters = [
            draw_roster(cell, self.rates, rng=self._rng(2, *_seed_of(cell))) for cell in self.cells
        ]
        self.households = self._households() if spec.net.share else []
        self.traits = [
            draw_traits(self.rates, rng=self._rng(6, *_seed_of(cell))) for cell in self.cells
        ]
        self.parts = split_parts(self.cells)
        needs = np.bincount([piece.cell for part in self.parts for piece in part])
        self.skies = [_Shared(int(n)) for n in needs]
        self.local = threading.local()
        width = max(5, len(str(spec.systems)))
        self.ids = [f"sim-{number:0{width}d}" for number in range(1, spec.systems + 1)]

    def make(self, workers: int) -> Iterator[int]:
        """Make all parts and tables, and yield the number of systems of each part."""
        found: list[Measured] = [{}] * len(self.parts)
        pool = ThreadPoolExecutor(workers)
        running: dict[Future[Measured], int] = {}
        waiting = iter(range(len(self.parts)))
        try:
            while True:
                for number in waiting:
                    running[pool.submit(self._part, number)] = number
                    if len(running) >= workers + 1:
                        break
                if not running:
                    break
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    number = running.pop(done)
                    found[number] = done.result()
                    yield len(found[number]["readings"])
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        self._tables(_joined(found))

    def _households(self) -> list[SimulatedHouseholds]:
        """Return the households of each cell, and take from net meters what they cannot have."""
        found = [
            draw_households(
                roster.dc_capacity_kw,
                self.spec.net,
                cell.statistics,
                rng=self._rng(7, *_seed_of(cell)),
            )
            for cell, roster in zip(self.cells, self.rosters, strict=True)
        ]
        pairs = zip(self.rosters, found, strict=True)
        self.rosters = [without_wrong_signs(roster, each.net) for roster, each in pairs]
        return found

    def _part(self, number: int) -> Measured:
        """Write one part, and return what each of its systems came to."""
        pieces = [self._piece(piece) for piece in self.parts[number]]
        columns = _joined([rows for rows, _ in pieces])
        power = next(iter(columns.values()))
        first = number * PART_SYSTEMS
        write = write_long if self.spec.layout is ReadingsLayout.LONG else write_lists
        write(
            self._database(),
            self.folder / "readings" / f"part-{number:05d}.parquet",
            system_ids=self.ids[first : first + len(power)],
            start=self.start,
            interval_minutes=self.spec.interval_minutes,
            columns=columns,
        )
        readings = np.asarray(np.sum(~np.isnan(power), axis=1), dtype=np.int64)
        return {"readings": readings, **_joined([measured for _, measured in pieces])}

    def _piece(self, piece: Piece) -> tuple[dict[str, Single], Measured]:
        sky = self._sky(piece.cell)
        roster = self.rosters[piece.cell].rows(piece.start, piece.stop)
        interval = self.spec.interval_minutes
        wear = wear_down(roster, sky.days)
        dc = dc_power(roster, sky.daylight)
        how: dict[str, Any] = {"clocks": sky.clocks, "per_reading": interval // self.step}
        power = block_power(roster, sky.daylight, kept=wear.kept, dc=dc, **how)
        seed = (*_seed_of(self.cells[piece.cell]), piece.start)
        faults: dict[str, Any] = {"interval_minutes": interval, "rng": self._rng(3, *seed)}
        measured = {"snow_days": wear.snow_days, "soiling_loss": wear.soiling_loss}
        if sky.times is None:
            add_meter_faults(power, roster, self.rates, **faults)
            return {"power_kw": power}, measured
        exact, alive = power.copy(), np.ones_like(power)
        add_meter_faults(power, roster, self.rates, alive=alive, **faults)
        columns, truth = read_net_meters(
            power,
            Generation(roster, sky.daylight, dc=dc, ac=exact, kept=wear.kept, **how),
            Behind(
                self.households[piece.cell].take(slice(piece.start, piece.stop)),
                sky.times,
                self.cells[piece.cell].statistics,
            ),
            alive=alive,
            columns=self.spec.net.columns,
            rng=self._rng(8, *seed),
        )
        return columns, measured | truth

    def _sky(self, place: int) -> _CellSky:
        shared = self.skies[place]
        with shared.lock:
            sky = shared.sky or self._make_sky(place)
            shared.parts_left -= 1
            shared.sky = sky if shared.parts_left else None
        return sky

    def _make_sky(self, place: int) -> _CellSky:
        cell, sky = self.cells[place], self._true_sky(place)
        clocks = clock_sources(
            self.path.times,
            cell.timezone,
            interval_minutes=self.spec.interval_minutes,
            step_minutes=self.step,
        )
        days = draw_cell_days(sky, self.rates, rng=self._rng(5, *_seed_of(cell)))
        daylight = CellDaylight.of(sky.weather, whiteness=days.whiteness)
        times = HouseholdTimes.of(sky.weather, cell.timezone) if self.households else None
        return _CellSky(daylight, clocks, days, times)

    def _true_sky(self, place: int) -> TrueSky:
        cell, year = self.cells[place], self.spec.year
        how: dict[str, Any] = {"step_minutes": self.step, "path": self.path}
        if self.spec.weather is not None:
            return sky_from_weather(self.spec.weather, year, site=cell.site, **how)
        seed = int(self._rng(4, *_seed_of(cell)).integers(2**32))
        return simulate_true_sky(cell.site, year, seed=seed, traits=self.traits[place], **how)

    def _tables(self, measured: Measured) -> None:
        smog = [each.smog if self.spec.weather is None else 0.0 for each in self.traits]
        systems, truth = truth_columns(
            self.spec, self.rosters, self.ids, smog=smog, measured=measured
        )
        write_table(self._database(), self.folder / "systems.parquet", systems)
        select = NET_TRUTH_SELECT if self.households else TRUTH_SELECT
        write_table(self._database(), self.folder / "truth.parquet", truth, select=select)
        page = make_readme(self.spec, sky_minutes=self.step)
        description = make_description(self.spec, truth, sky_minutes=self.step)
        write_whole(self.folder / "README.md", page)
        write_whole(self.folder / "fleet.json", description)

    def _database(self) -> duckdb.DuckDBPyConnection:
        if not hasattr(self.local, "database"):
            self.local.database = connect()
        database: duckdb.DuckDBPyConnection = self.local.database
        return database

    def _rng(self, *numbers: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence([self.spec.seed, *numbers]))


def _joined(parts: Sequence[Measured]) -> Measured:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _seed_of(cell: SimulatedCell) -> tuple[int, int]:
    # a cell's sky and systems depend on where it is, not on its place among the others
    return cell.tenths[0] + 900, cell.tenths[1] + 1800
