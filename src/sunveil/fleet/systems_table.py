"""Table of systems: places, time zones, public keys."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sunveil.errors import MeterError, ParameterError, SourceError
from sunveil.estimates.estimates_table import RESERVED, as_numbers
from sunveil.estimates.read_write import table_keys
from sunveil.grids import Places
from sunveil.meters.build_record import RawSystem
from sunveil.meters.csv_parquet_excel import read_workbook_table
from sunveil.meters.file_types import Content, FileKind, kind_of, read_text_table
from sunveil.meters.read_files import at_longitude, record_or_refusal
from sunveil.meters.reading_options import MeterOptions, parse_timezone
from sunveil.meters.record import Record, RefusedSystem
from sunveil.meters.time_steps import FARTHEST, clock_elsewhere, hours_apart


@cache
def clock_of(name: str) -> tuple[str | None, str | None]:
    """Return the name of a clock, or why it is none; neither where nothing is said."""
    if not name.strip():
        return None, None
    try:
        return parse_timezone(name)[1], None
    except ParameterError as error:
        return None, str(error)


def misplaced(picked: dict[str, pa.ChunkedArray]) -> dict[int, str]:
    """Return what is wrong with the places of some rows, by row."""
    found: dict[int, str] = {}
    if "altitude" in picked:
        height = as_numbers(picked["altitude"])
        blank = np.array([each in (None, "") for each in picked["altitude"].to_pylist()])
        for row in np.flatnonzero(~((height >= -500.0) & (height <= 9000.0)) & ~blank).tolist():
            found[row] = (
                "its altitude is not between -500 and 9000 metres; correct it or leave it empty"
            )
    # of several reasons the first is given
    for name, limit in (("longitude", 180.0), ("latitude", 90.0)):
        value = as_numbers(picked[name])
        for row in np.flatnonzero(np.abs(value) > limit).tolist():
            found[row] = f"its {name} is not between {-limit:g} and {limit:g} degrees; correct it"
        for row in np.flatnonzero(np.isnan(value)).tolist():
            found[row] = f"it has no {name} that is a number; give it in degrees"
    return found


SYSTEM_NAMES = (
    "system_id",
    "systemid",
    "system",
    "meter_id",
    "site_id",
    "plant_id",
    "ss_id",
    "meter",
)

_LATITUDES = ("latitude", "lat")

_LONGITUDES = ("longitude", "lon", "lng", "long")

_ALTITUDES = ("altitude", "altitude_m", "elevation", "elevation_m")

_ZONES = ("timezone", "time_zone", "tz")

# What a meter reads: generation, or generation less a household's load. Not meter, the column of
# serial numbers.
_METERING, _GENERATION, _NET = "metering", "generation", "net"

_DEFAULTS = MeterOptions()

# Makes the record of a system, named, or says why there is none.
Settle = Callable[..., Record | RefusedSystem]


@dataclass(frozen=True, eq=False)
class SystemTable:
    """Where the systems are, in the order of their names: public."""

    ids: pa.Array  # their names, distinct, sorted
    latitude: NDArray[np.float64]  # [degrees] their places
    longitude: NDArray[np.float64]  # [degrees] their places
    altitude: NDArray[np.float64]  # [m] heights above the sea, NaN where not given
    zones: tuple[str, ...]
    zone: NDArray[np.int32]
    net: NDArray[np.bool_]
    generation: NDArray[np.bool_]
    keys: pa.Table  # all other columns, one row per system
    refused: tuple[RefusedSystem, ...]
    refused_keys: pa.Table
    notes: tuple[str, ...]  # what was done about rows that are there twice
    digest: str  # A fingerprint of the file

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each system by its name."""
        return {name: number for number, name in enumerate(self.ids.to_pylist())}

    def places(self, numbers: NDArray[np.int32]) -> Places:
        """Return where some systems stand."""
        return Places(self.latitude[numbers], self.longitude[numbers], self.altitude[numbers])

    def place(self, index: int) -> tuple[float, float, float | None]:
        """Return latitude, longitude and, where given, altitude of a system."""
        height = float(self.altitude[index])
        return (
            float(self.latitude[index]),
            float(self.longitude[index]),
            None if np.isnan(height) else height,
        )

    def read_as_net(self, *, all_said: bool) -> NDArray[np.bool_]:
        """Return which systems have net meters."""
        return np.asarray((self.net | all_said) & ~self.generation)

    def options_of(self, index: int, options: MeterOptions) -> MeterOptions:
        """Return how the meters of a system are read: as its own row says of clock and meter."""
        zone = int(self.zone[index])
        own: dict[str, Any] = {} if zone < 0 else {"timezone": self.zones[zone]}
        if self.net[index]:
            own["net"] = True
        elif self.generation[index]:
            own |= {"net": False, "export_column": None, "import_column": None}
        return options.changed(own)

    def record_at(
        self,
        index: int,
        raw: RawSystem | MeterError,
        options: MeterOptions,
        clean: Settle = record_or_refusal,
    ) -> Record | RefusedSystem:
        """Return the record of a system as its own row says of place, clock and meter."""
        name, longitude = str(self.ids[index]), float(self.longitude[index])
        if not isinstance(raw, MeterError):
            raw = self._as_shown(raw, longitude)
            if self.generation[index]:  # what was given to the grid is its generation
                raw = replace(raw, net=False, imported=None)
        return at_longitude(clean(raw, self.options_of(index, options), name=name), longitude)

    @staticmethod
    def _as_shown(raw: RawSystem, longitude: float) -> RawSystem:
        """Return a system with a stored zone that says where it is, or nothing."""
        # A file of systems in many places keeps one zone, in which it is shown.
        zone = raw.stamps.zone
        if zone is None or min(hours_apart(zone, [longitude, -longitude])) <= FARTHEST:
            return raw
        return replace(raw, stamps=replace(raw.stamps, zone=None))


def read_systems(path: Path | str, options: MeterOptions = _DEFAULTS) -> SystemTable:
    """Read a table of systems."""
    path = Path(path)
    table = read_plain_table(path)
    where = path.name
    roles = _roles(table.column_names, options.system_column, where)
    picked = {role: table.column(name) for role, name in roles.items() if name is not None}
    if options.timezone is not None:
        picked["zone"] = pa.chunked_array([[options.timezone] * table.num_rows], pa.string())
    ids = [name or "" for name in table_keys(picked["id"], str(roles["id"]), where)]
    rest = [name for name in table.column_names if name not in roles.values()]
    clashing = sorted(RESERVED & set(rest))
    if clashing:
        raise SourceError(
            f"{where} has a column {clashing[0]!r}, as what is inferred has too; rename it"
        )
    rows, refused, notes = _one_each(table, ids, where)
    chosen, zones, kinds, more = _usable(picked, rows, ids, where)
    chosen.sort(key=lambda row: ids[row])
    own = [None if options.timezone is not None else zones[row] for row in chosen]
    names = tuple(sorted({zone for zone in own if zone is not None}))
    number: dict[str | None, int] = {None: -1, **{name: at for at, name in enumerate(names)}}
    turned_away = sorted((*refused, *more), key=lambda each: each.system_id)
    first = {name: row for row, name in reversed(list(enumerate(ids)))}
    away = [first[each.system_id] for each in turned_away]
    keys = table.select(rest).combine_chunks()
    return SystemTable(
        ids=pa.array([ids[row] for row in chosen], pa.string()),
        latitude=as_numbers(picked["latitude"])[chosen],
        longitude=as_numbers(picked["longitude"])[chosen],
        altitude=as_numbers(picked["altitude"])[chosen]
        if "altitude" in picked
        else np.full(len(chosen), np.nan),
        zones=names,
        zone=np.array([number[zone] for zone in own], dtype=np.int32),
        net=np.array([kinds[row] == _NET for row in chosen], dtype=bool),
        generation=np.array([kinds[row] == _GENERATION for row in chosen], dtype=bool),
        keys=keys.take(pa.array(chosen, pa.int64())),
        refused=tuple(turned_away),
        refused_keys=keys.take(pa.array(away, pa.int64())),
        notes=notes,
        digest=hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def read_plain_table(path: Path) -> pa.Table:
    """Return a table as it is written: of a CSV file, every cell is a text, such as the id 007."""
    if not path.is_file():
        raise SourceError(
            f"there is no table of systems {str(path)!r}; give a CSV, Parquet or .xlsx file"
        )
    try:
        kind = kind_of(path)
        if kind is FileKind.PARQUET:
            table = pq.read_table(path, partitioning=None)
        elif kind is FileKind.WORKBOOK:
            table = pa.table(read_workbook_table(Content(path.name, path)))
        else:
            table = pa.table(read_text_table(path, where=path.name))
    except (MeterError, pa.ArrowException, OSError):
        raise SourceError(
            f"{path.name} cannot be read as a table of systems; give CSV with a header, Parquet or"
            " .xlsx"
        ) from None
    if not table.num_rows:
        raise SourceError(f"{path.name} names no system")
    return table


def _roles(names: list[str], system: str | None, where: str) -> dict[str, str | None]:
    folded = {name.strip().lower(): name for name in reversed(names)}
    if system is not None and system not in names:
        system = folded.get(system.strip().lower())
    found: dict[str, str | None] = {
        "id": system or _first(folded, SYSTEM_NAMES),
        "latitude": _first(folded, _LATITUDES),
        "longitude": _first(folded, _LONGITUDES),
        "altitude": _first(folded, _ALTITUDES),
        "zone": _first(folded, _ZONES),
    }
    # a column of that name that tells systems apart tells nothing else
    found[_METERING] = folded.get(_METERING) if folded.get(_METERING) != found["id"] else None
    words = {"id": "systems (system_id)", "latitude": "latitude", "longitude": "longitude"}
    for role, word in words.items():
        if found[role] is None:
            listed = ", ".join(repr(name[:60]) for name in names[:20])
            raise SourceError(f"{where} has no column of {word}: it has {listed}")
    return found


def _first(folded: dict[str, str], usual: tuple[str, ...]) -> str | None:
    return next((folded[name] for name in usual if name in folded), None)


def _one_each(
    table: pa.Table, ids: list[str], where: str
) -> tuple[list[int], list[RefusedSystem], tuple[str, ...]]:
    """Return one row per system, the systems with rows that contradict, and notes on both."""
    if len(set(ids)) == len(ids) and "" not in ids:
        return list(range(len(ids))), [], ()
    places: dict[str, list[int]] = {}
    for row, name in enumerate(ids):
        places.setdefault(name, []).append(row)
    notes = []
    unnamed = places.pop("", [])
    if unnamed:
        notes.append(f"{len(unnamed)} rows of {where} name no system and were dropped.")
    rows, refused, merged = [], [], 0
    for name, at in places.items():
        if len(at) > 1:
            contents = [tuple(repr(column[row].as_py()) for column in table.columns) for row in at]
            if len(set(contents)) > 1:
                reason = f"{where} has different rows for system {name}; leave the right one"
                refused.append(RefusedSystem(name, "duplicate", reason))
                continue
            merged += len(at) - 1
        rows.append(at[0])
    if merged:
        notes.append(f"{merged} rows of {where} repeat others and were merged with them.")
    if not rows and not refused:
        raise SourceError(f"{where} names no system")
    return rows, refused, tuple(notes)


def _usable(
    picked: dict[str, pa.ChunkedArray], rows: list[int], ids: list[str], where: str
) -> tuple[list[int], dict[int, str | None], dict[int, str], list[RefusedSystem]]:
    """Return which rows can be used, their clocks and meters, and why others are refused."""
    wrong = misplaced(picked)
    longitude = as_numbers(picked["longitude"])
    zone_names, meters = (_cells(picked, role) for role in ("zone", _METERING))
    kept: list[int] = []
    zones: dict[int, str | None] = {}
    kinds: dict[int, str] = {}
    refused: list[RefusedSystem] = []
    for row in rows:
        kind, reason = "location", wrong.get(row)
        zones[row] = None
        if reason is None and zone_names[row] is not None:
            kind = "timezone"
            zones[row], reason = clock_of(str(zone_names[row]))
            if (zone := zones[row]) is not None:
                reason = clock_elsewhere(zone, float(longitude[row]))
        if reason is None:
            kind = "meter kind"
            kinds[row], reason = _metering_of(meters[row])
        if reason is None:
            kept.append(row)
        else:
            refused.append(RefusedSystem(ids[row], kind, f"{where}, system {ids[row]}: {reason}"))
    return kept, zones, kinds, refused


def _cells(picked: dict[str, pa.ChunkedArray], role: str) -> list[Any]:
    """Return the cells of a column that need not be there, each None where it is not."""
    return picked[role].to_pylist() if role in picked else [None] * len(picked["id"])


def _metering_of(cell: Any) -> tuple[str, str | None]:
    """Return what a cell says that a meter reads, empty for nothing, or why it cannot be used."""
    said = "" if cell is None else str(cell).strip().lower()
    if said in ("", _GENERATION, _NET):
        return said, None
    return "", (
        f"its {_METERING} is neither {_GENERATION} nor {_NET}; write one of these, or nothing, or"
        " give the column another name"
    )
