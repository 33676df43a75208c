"""Fleet folder: readings, systems, truth, description."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil import __version__
from sunveil._extras import optional_package
from sunveil._files import real_path, write_whole
from sunveil._options import checked, whole
from sunveil.errors import ParameterError
from sunveil.simulate.block_power import (
    CellDaylight,
    Single,
    add_meter_faults,
    block_power,
    dc_power,
)
from sunveil.simulate.fault_rates import CLEAN_FLEET, MIX, REALISM, FaultRates
from sunveil.simulate.household_loads import (
    Behind,
    Generation,
    HouseholdTimes,
    SimulatedHouseholds,
    draw_households,
    read_net_meters,
    without_wrong_signs,
)
from sunveil.simulate.places import FleetSpec, NetColumns, NetMix, ReadingsLayout, SimulatedCell
from sunveil.simulate.roster import (
    CLOCKS,
    FIXED,
    MOUNTS,
    TWO_AXES,
    YEAR_DAYS,
    CellDays,
    Index,
    SimulatedRoster,
    Skyline,
    clock_sources,
    draw_cell_days,
    draw_roster,
    wear_down,
)
from sunveil.simulate.simulated_sky import (
    SunPath,
    TrueSky,
    draw_traits,
    interval_middles,
    simulate_true_sky,
    sky_from_weather,
)
from sunveil.site import Array, normals
from sunveil.weather.weather_data import utc_index

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = optional_package("duckdb", purpose="a simulated fleet")

KIND = "simulated fleet of sunveil"

_README = """\
# A simulated fleet

{systems:,} PV systems that do not exist, in {cells:,} weather cells of 0.1 by 0.1 degrees, over
{year}. Made by Sunveil {version} with seed {seed}: the same command writes the same bytes.

| file | what |
|---|---|
| `readings/part-*.parquet` | {layout} |
| `systems.parquet` | what a utility knows: `system_id`, `latitude`, `longitude`, `altitude` [m], \
`timezone`, and the public key `feeder` |
| `truth.parquet` | what is true of each system: to measure an inference with, never its input |
| `fleet.json` | how the fleet was made, for machines |

Readings are mean AC power over {interval} minutes in kW, in whole watts. Stamps name the start of
the interval in UTC, as declared; a wrong clock shows in what stands at which stamp. Missing
readings {missing}. Systems of a cell share one sky, that over its centre, every {sky} minutes:
{weather}. Power is PVWatts with Perez-Driesse's sky, incidence losses and cell temperature.

## How it is spread

Planes and capacities have the weights of two public lists of systems (OEDI's PVDAQ in the
Americas, Open Climate Fix's elsewhere). {faults}
{net}"""

_FAULTS = """\
`truth.parquet` tells which system has what.

| what | how much |
|---|---|
{rows}"""

_NET = """
## Net meters

`metering` in `systems.parquet` says of each system whether its meter sees its generation or only
the net of generation and the load of a household, above zero where power flows to the grid.
{share:.0%} of them see the net; of these {batteries:.0%} have a battery and {cars:.0%} of the homes
an electric car.

{columns}
Loads are simulated, with the shapes of real homes' and none of their values; `truth.parquet` has
their mean, what was used of the generation, batteries and cars.
"""

_COLUMNS = {
    NetColumns.SIGNED: "Readings are generation less load.",
    NetColumns.TWO: "Readings are import and export, both above zero where power flowed both ways"
    "\nwithin an interval; generation meters export all that they read.",
    NetColumns.EXPORT: "Readings are what flows to the grid alone; generation meters send all.",
}


def make_description(spec: FleetSpec, truth: dict[str, Any], *, sky_minutes: int) -> str:
    """Return how a fleet was made, as JSON; no time and no machine is in it."""
    clocks = truth["clock"]
    description: dict[str, Any] = {
        "kind": KIND,
        "sunveil": __version__,
        "systems": spec.systems,
        "seed": spec.seed,
        "year": spec.year,
        "interval_minutes": spec.interval_minutes,
        "label": "start",
        "timezone": "UTC",
        "layout": spec.layout.value,
        "realism": _realism(spec.rates),
        "weather": None if spec.weather is None else spec.weather.source,
        "sky_minutes": sky_minutes,
        "readings": int(np.sum(truth["readings"])),
        "habits": asdict(spec.rates),
        "found": {
            "clocks": {clock.value: clocks.count(clock.value) for clock in CLOCKS},
            "trackers": int(np.sum(truth["turning"])),
            "two_planes": int(np.sum(truth["first_share"] < 1.0)),
            "shaded": int(np.sum(~np.isnan(truth["shade_azimuth"]))),
            "skylines": int(np.sum(truth["skyline_highest"] > 0.0)),
            "snow": int(np.sum(truth["snow_days"] > 0)),
            "smog": int(np.sum(truth["smog"] > 0.0)),
            "clock_steps": int(np.sum(truth["clock_step"].notna())),
        },
        "cells": [
            {
                "name": cell.name,
                "latitude": cell.site.latitude,
                "longitude": cell.site.longitude,
                "altitude": cell.site.height,
                "timezone": cell.timezone,
                "systems": cell.systems,
            }
            for cell in spec.cells
        ],
    }
    if spec.net.share:
        description["net"] = asdict(spec.net)
        description["found"] |= {
            "net_meters": int(np.sum(truth["metering"] == "net")),
            "batteries": int(np.sum(truth["battery_kwh"] > 0.0)),
            "cars": sum(each is not None for each in truth["car"]),
        }
    return json.dumps(description, indent=1, ensure_ascii=False) + "\n"


def make_readme(spec: FleetSpec, *, sky_minutes: int) -> str:
    """Return the README of a fleet's folder; its sky is made every ``sky_minutes``."""
    rates = spec.rates
    long = spec.layout is ReadingsLayout.LONG
    names = " and ".join(f"`{name}`" for name in spec.net.columns.names)
    rows = "\n".join(
        f"| {each.metadata['words']} | {getattr(rates, each.name):g} |" for each in fields(rates)
    )
    return _README.format(
        systems=spec.systems,
        cells=len(spec.cells),
        year=spec.year,
        version=__version__,
        seed=spec.seed,
        interval=spec.interval_minutes,
        sky=sky_minutes,
        weather="simulated, with clouds"
        if spec.weather is None
        else f"the weather of {spec.weather.source}",
        layout=f"one row per reading: `system_id`, `time`, {names}; sorted, systems whole"
        if long
        else f"one row per system: `system_id`, `start`, `interval_minutes`, {names} as a list",
        net=_net_words(spec.net),
        missing="have no row" if long else "are null",
        faults=_FAULTS.format(rows=rows)
        if rates != CLEAN_FLEET
        else f"It is a clean fleet: noise of {rates.noise:.0%} and nothing else befalls it.",
    )


def _net_words(mix: NetMix) -> str:
    """Return what the README says of net meters, if there are any."""
    if not mix.share:
        return ""
    return _NET.format(
        share=mix.share, batteries=mix.batteries, cars=mix.cars, columns=_COLUMNS[mix.columns]
    )


def _realism(rates: FaultRates) -> str:
    """Return the name of the fault rates, ignoring the mix of planes and trackers."""
    mix = {name: getattr(rates, name) for name in MIX}
    return next((name for name, each in REALISM.items() if replace(each, **mix) == rates), "custom")


ROW_GROUP = 262_144

# DuckDB's smallest; a row holds a whole year.
LIST_ROW_GROUP = 2_048


def connect() -> duckdb.DuckDBPyConnection:
    """Open a database with one thread, so that rows keep their order."""
    return duckdb.connect(config={"threads": 1})


def write_long(
    database: duckdb.DuckDBPyConnection,
    path: Path,
    *,
    system_ids: Sequence[str],
    start: pd.Timestamp,
    interval_minutes: int,
    columns: Mapping[str, NDArray[np.float32]],
) -> None:
    """Write readings as one row each: system_id, time, power_kw; missing ones have no row."""
    first_column, *others = columns.values()
    n, readings = first_column.shape
    step = np.timedelta64(interval_minutes * 60_000_000, "us")
    first = np.datetime64(start.tz_localize(None), "us")
    stamps = np.broadcast_to(first + step * np.arange(readings), first_column.shape)
    kept = ~np.isnan(first_column)
    for other in others:
        kept |= ~np.isnan(other)
    rows = np.repeat(np.arange(n, dtype=np.int32), np.count_nonzero(kept, axis=1))
    frame = pd.DataFrame(
        {
            "system_id": _categorical(rows, system_ids),
            "time": pd.DatetimeIndex(stamps[kept]).tz_localize("UTC"),
            **{name: values[kept] for name, values in columns.items()},
        },
        copy=False,
    )
    query = f"SELECT system_id, time, {', '.join(columns)} FROM given"
    _copy(database, frame, query, path, ROW_GROUP)


def write_lists(
    database: duckdb.DuckDBPyConnection,
    path: Path,
    *,
    system_ids: Sequence[str],
    start: pd.Timestamp,
    interval_minutes: int,
    columns: Mapping[str, NDArray[np.float32]],
) -> None:
    """Write one row per system: system_id, start, interval_minutes, power_kw as a list."""
    n, readings = next(iter(columns.values())).shape
    names = _categorical(np.repeat(np.arange(n, dtype=np.int32), readings), system_ids)
    values = {name: each.ravel() for name, each in columns.items()}
    frame = pd.DataFrame({"system_id": names, **values}, copy=False)
    # one thread reads rows in their order, so the lists keep it; enums sort as they are listed
    query = (
        "SELECT system_id,"
        f" make_timestamptz({int(start.timestamp()) * 1_000_000}) AS start,"
        f" CAST({interval_minutes} AS INTEGER) AS interval_minutes,"
        f" {', '.join(f'list({name}) AS {name}' for name in columns)}"
        " FROM given GROUP BY system_id ORDER BY system_id"
    )
    _copy(database, frame, query, path, LIST_ROW_GROUP)


def write_table(
    database: duckdb.DuckDBPyConnection, path: Path, columns: dict[str, Any], *, select: str = "*"
) -> None:
    """Write a table; what is not a number becomes null."""
    _copy(database, pd.DataFrame(columns), f"SELECT {select} FROM given", path, ROW_GROUP)


def _categorical(rows: NDArray[np.int32], system_ids: Sequence[str]) -> pd.Categorical[str]:
    # DuckDB writes a categorical's names once, not once per row
    return pd.Categorical.from_codes(rows, pd.Index(system_ids))


def _copy(
    database: duckdb.DuckDBPyConnection, frame: pd.DataFrame, query: str, path: Path, rows: int
) -> None:
    database.register("given", frame)
    target = str(path).replace("'", "''")
    try:
        database.execute(
            f"COPY ({query}) TO '{target}'"
            f" (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE {rows})"
        )
    except duckdb.IOException as error:
        raise OSError(errno.EIO, "the file cannot be written", str(path)) from error
    finally:
        database.unregister("given")


# Fields of the roster that the lists of planes and the trackers of the truth are made of.
_MOUNTED = (
    "first_azimuth",
    "first_tilt",
    "second_azimuth",
    "second_tilt",
    "first_share",
    "turning",
    "dual_axis",
    "axis_azimuth",
    "backtrack",
    "gcr",
    "max_angle",
)

_PLANE = (
    "{{surface_azimuth: {0}_azimuth, surface_tilt: {0}_tilt, share: {1},"
    " dc_capacity_kw: {1} * dc_capacity_kw}}"
)

_FIRST, _SECOND = (
    _PLANE.format(*each) for each in (("first", "first_share"), ("second", "(1 - first_share)"))
)

_WRITTEN = f"""
    CASE WHEN turning THEN [] WHEN first_share < 1 THEN [{_FIRST}, {_SECOND}] ELSE [{_FIRST}] END
        AS planes,
    CASE WHEN turning THEN {{axis_azimuth: axis_azimuth, backtrack: backtrack, gcr: gcr,
        max_angle: max_angle, dual_axis: dual_axis}} END AS tracker
"""

# The truth as it is written, of its columns: planes and tracker named as those of estimates.
TRUTH_SELECT = f"* EXCLUDE ({', '.join(_MOUNTED)}), {_WRITTEN}"

# The same of fleets with net meters, where words may all be missing and are words nevertheless.
NET_TRUTH_SELECT = TRUTH_SELECT.replace(
    "),", ") REPLACE (CAST(household AS VARCHAR) AS household, CAST(car AS VARCHAR) AS car),", 1
)

# Fields of the roster that are columns of the truth as they are.
_PLAIN = (
    "dc_capacity_kw",
    "dc_ac_ratio",
    "losses",
    "gamma_pdc",
    "albedo",
    "noise",
    "shade_azimuth",
    "shade_width",
    "shade_elevation",
    "age_years",
    "degradation",
    "soiling",
    "dead_share",
    "scale_factor",
    "sentinel",
)

# Spells of the roster that are columns as their length, by the name of the column.
_SPELLS = {
    "dead_days": "dead",
    "negative_days": "negative",
    "stuck_days": "stuck",
    "scale_days": "scale",
}


def truth_columns(
    spec: FleetSpec,
    rosters: Sequence[SimulatedRoster],
    ids: Sequence[str],
    *,
    smog: Sequence[float],
    measured: dict[str, NDArray[Any]],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of the table of systems, and of the table of what is true of them."""
    cells = spec.cells
    counts = [len(roster) for roster in rosters]

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(roster, name) for roster in rosters])

    def spread(values: list[Any]) -> NDArray[Any]:
        return np.repeat(np.array(values), counts)

    altitude = spread([cell.site.height for cell in cells])
    number = spread([cell.number for cell in cells])
    feeders = zip(number, joined("feeder"), strict=True)
    systems = {
        "system_id": list(ids),
        "latitude": joined("latitude"),
        "longitude": joined("longitude"),
        "altitude": altitude,
        "timezone": spread([cell.timezone for cell in cells]).tolist(),
        "feeder": [f"feeder-{cell:05d}-{feeder:03d}" for cell, feeder in feeders],
    }
    if "metering" in measured:
        systems["metering"] = measured["metering"].tolist()
    values = {name: joined(name) for name in _PLAIN}
    mounted = _mounted(joined)
    truth = {
        "system_id": list(ids),
        "cell_latitude": spread([cell.site.latitude for cell in cells]),
        "cell_longitude": spread([cell.site.longitude for cell in cells]),
        **_effective(mounted),
        **values,
        "ac_limit_kw": values["dc_capacity_kw"] / values["dc_ac_ratio"],
        "mount": _names_of_codes(joined("mount"), [mount.value for mount in MOUNTS]),
        "clock": _names_of_codes(joined("clock"), [clock.value for clock in CLOCKS]),
        "later_clock": _names_of_codes(joined("later_clock"), [clock.value for clock in CLOCKS]),
        "clock_step": _instants(joined("clock_step"), spec.year),
        "skyline": _skylines(joined("skyline")),
        "skyline_highest": joined("skyline").max(axis=1),
        "smog": spread(list(smog)),
        **{name: _days(joined(f"{of}_begin"), joined(f"{of}_end")) for name, of in _SPELLS.items()},
        **measured,
        **mounted,
    }
    return systems, truth


def _mounted(joined: Callable[[str], NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the columns of ``_MOUNTED``."""
    names = {"first_azimuth": "surface_azimuth", "first_tilt": "surface_tilt"}
    kind = joined("tracker")
    found = {"turning": kind != FIXED, "dual_axis": kind == TWO_AXES}
    found |= {name: joined(names.get(name, name)) for name in _MOUNTED if name not in found}
    for name in ("axis_azimuth", "gcr", "max_angle"):
        found[name] = np.where(found["dual_axis"], np.nan, found[name])
    found["backtrack"] &= ~found["dual_axis"]
    return found


def _effective(mounted: dict[str, NDArray[Any]]) -> dict[str, Array]:
    """Return azimuth and tilt of systems: of two planes those of their summed normal."""
    share, second = mounted["first_share"][:, None], mounted["first_share"] < 1.0
    parts = [normals(mounted[f"{of}_azimuth"], mounted[f"{of}_tilt"]) for of in ("first", "second")]
    east, north, up = (share * parts[0] + (1.0 - share) * parts[1])[second].T
    azimuth, tilt = mounted["first_azimuth"].copy(), mounted["first_tilt"].copy()
    azimuth[second] = np.degrees(np.arctan2(east, north)) % 360.0
    tilt[second] = np.degrees(np.arctan2(np.hypot(east, north), up))
    fixed = ~mounted["turning"]
    return {
        "surface_azimuth": np.where(fixed, azimuth, np.nan),
        "surface_tilt": np.where(fixed, tilt, np.nan),
    }


def _names_of_codes(codes: NDArray[np.int64], names: Sequence[str]) -> list[str]:
    return [names[code] for code in codes]


def _instants(fractions: Array, year: int) -> pd.DatetimeIndex:
    """Return fractions of a year as UTC stamps; none where they are NaN."""
    start, end = np.datetime64(f"{year}", "s"), np.datetime64(f"{year + 1}", "s")
    seconds = np.nan_to_num(fractions) * (end - start).astype(np.float64)
    stamps = start + seconds.astype(np.int64).astype("timedelta64[s]")
    return utc_index(np.where(np.isnan(fractions), np.datetime64("NaT"), stamps))


def _skylines(skylines: Skyline) -> list[list[float] | None]:
    return [each.round(1).tolist() if each.any() else None for each in skylines]


def _days(begin: Array, end: Array) -> Array:
    return np.round(YEAR_DAYS * np.nan_to_num(end - begin), 1)


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
    """A cell's sky while parts need it: made once, by the first thread that asks."""

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
