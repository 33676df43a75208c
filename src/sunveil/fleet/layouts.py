"""How the columns of Parquet files hold a fleet: one reading per row, or one system per row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from sunveil.errors import MeterError, ParameterError, ask
from sunveil.fleet.database import named
from sunveil.fleet.systems import SYSTEM_NAMES
from sunveil.keys import EXACT, WHOLE_FLOAT
from sunveil.meters.arrowfile import typed_column
from sunveil.meters.columns import find_roles
from sunveil.meters.header import TableColumn
from sunveil.meters.options import MeterOptions, Unit, parse_timezone
from sunveil.meters.reading_columns import find_readings
from sunveil.meters.units import find_unit, missing_unit

_STARTS = ("start", "start_time", "first", "first_time", "time", "timestamp")
_LENGTHS = ("interval_minutes", "interval", "minutes", "step_minutes")


class FileLayout(StrEnum):
    """How readings lie in files.

    ``long``: a system, a time and a reading in each row. ``lists``: a system in each row, with
    lists. ``files``: anything that the readers of single files know.
    """

    LONG = "long"
    LISTS = "lists"
    FILES = "files"


class Stamp(StrEnum):
    """What a time is: an instant, or what a clock on a wall showed."""

    INSTANT = "instant"
    WALL = "wall"


@dataclass(frozen=True, slots=True)
class Columns:
    """What to read from the files of a fleet.

    Parameters
    ----------
    layout
        How the readings lie.
    system, time, power
        Names of columns; without a time, lists begin at ``start`` and step by ``length``.
    stamp
        What a time is.
    unit
        What a reading counts.
    hive
        Names of the keys in the folders' names.
    power_kind, zone
        The type of a reading in the file, and the name of the clock beside instants.
    system_kind
        How names of systems are stored: as ``text``, ``integer``, ``decimal``, or a float's type.
    net
        Whether the files say that their meters are net meters.
    taken
        The column of what was taken from the grid, where ``power`` is what was given to it: a meter
        that is not said to read generation is then a net meter, and settled by the reader of single
        files.
    """

    layout: FileLayout
    system: str = ""
    time: str | None = None
    power: str = ""
    start: str | None = None
    length: str | None = None
    stamp: Stamp = Stamp.INSTANT
    unit: Unit = Unit.KW
    hive: tuple[str, ...] = ()
    power_kind: str = "float"
    zone: str = "UTC"
    notes: tuple[str, ...] = ()
    net: bool = False
    taken: str | None = None
    system_kind: str = "text"

    def name_sql(self, of: str = "") -> str:
        """Return the name of a row's system as SQL, in the form that :mod:`sunveil.keys` gives it.

        ``of`` goes before the column, such as ``r.`` for a table of that name.
        """
        system = f"{of}{named(self.system)}"
        if self.system_kind == "text":
            return rf"regexp_replace(trim(nfc_normalize({system})), '{WHOLE_FLOAT}', '\1')"
        if self.system_kind == "integer":
            return f"{system}::VARCHAR"
        whole = f"{system} = trunc({system})"
        if self.system_kind != "decimal":
            whole += f" AND abs({system}) < {EXACT[self.system_kind]}"
        return f"CASE WHEN {whole} THEN {system}::HUGEINT::VARCHAR END"

    @property
    def in_files(self) -> tuple[str, ...]:
        """The names of all columns that are read."""
        named = (self.system, self.time, self.power, self.taken, self.start, self.length)
        return tuple(name for name in named if name)

    def key_of(self, name: str) -> str | None:
        """Return the system that a file's folders name."""
        return dict(_hive_pairs(name)).get(self.system) if self.system in self.hive else None

    def missing_in(self, schema: Any, name: str) -> bool:
        """Whether a file lacks one of the columns."""
        has = {*schema.names, *(key for key, _ in _hive_pairs(name))}
        return any(column not in has for column in self.in_files)


def find_columns(schema: Any, options: MeterOptions, *, name: str) -> Columns:
    """Return what to read from a Parquet file.

    Parameters
    ----------
    schema
        The file's columns, as Arrow names them.
    options
        What the curator said of them.
    name
        The file's path within the source.
    """
    hive = tuple(key for key, _ in _hive_pairs(name) if key not in schema.names)
    lists = [field for field in schema if _is_list(field.type)]
    where = PurePosixPath(name).name
    if any(_is_numbers(field.type) for field in schema):
        return _lists(schema, lists, options, hive=hive, where=where)
    return _long(schema, options, hive=hive, where=where)


def _long(schema: Any, options: MeterOptions, *, hive: tuple[str, ...], where: str) -> Columns:
    described = [
        *(typed_column(f.name, f.type) for f in schema),
        *(TableColumn(key) for key in hive if key.lower() in SYSTEM_NAMES),
    ]
    roles = find_roles(described, options, where=where)
    if roles.system is None:
        return Columns(FileLayout.FILES)
    both_ways = roles.kind is not None and (roles.net or options.net)  # import and export as rows
    places = (roles.system, roles.time, roles.power[0])
    system, time, power = (described[at].name for at in places)
    kinds = {field.name: field.type for field in schema}
    system_kind = _system_kind(kinds.get(system))
    added = max(len(roles.power), len(roles.imported)) > 1
    if added or roles.date is not None or both_ways or system_kind is None:
        return Columns(FileLayout.FILES)  # a row that is a day has many columns, too
    numbers = [described[at].name for at in roles.counted]
    if not (_is_time(kinds[time]) and all(_is_number(kinds[name]) for name in numbers)):
        # text, or numbers for times: the reader of single files knows how those are written
        return Columns(FileLayout.FILES, system=system, time=time, power=power, hive=hive)
    taken = described[roles.imported[0]].name if roles.imported else None
    unit, notes = _unit(power, options, where)
    return Columns(
        FileLayout.LONG,
        system,
        time,
        power,
        stamp=_stamp(kinds[time]),
        unit=unit,
        hive=hive,
        power_kind=str(kinds[power]),
        zone=_zone(schema, time),
        notes=notes,
        net=roles.net,
        taken=taken,
        system_kind=system_kind,
    )


def _unit(power: str, options: MeterOptions, where: str) -> tuple[Unit, tuple[str, ...]]:
    """Return the unit of the readings: declared, or in the name of their column."""
    unit, notes = (options.known_unit, ()) if options.known_unit else find_unit(power)
    if unit is None:
        raise missing_unit(where, power)
    return unit, notes


def _lists(
    schema: Any, lists: list[Any], options: MeterOptions, *, hive: tuple[str, ...], where: str
) -> Columns:
    system = options.system_column or _named(schema, SYSTEM_NAMES, lambda kind: not _is_list(kind))
    if system is None:
        raise MeterError(
            f"{where} has lists of readings and no column of systems known by its name: name it"
            f" with {ask('system_column')}"
        )
    power, taken, net = _list_readings(schema, options, where)
    times = [field for field in lists if _is_time(field.type.value_type)]
    unit, notes = _unit(power, options, where)
    kinds = {field.name: field.type for field in schema}
    system_kind = _system_kind(kinds.get(system))
    if system_kind is None:
        raise MeterError(
            f"{where} has names of systems in {system!r} that are neither texts nor numbers; write"
            " them as texts"
        )
    common: dict[str, Any] = {
        "system_kind": system_kind,
        "unit": unit,
        "hive": hive,
        "power_kind": str(kinds[power].value_type),
        "notes": notes,
        "net": net,
        "taken": taken,
    }
    named = options.time_column
    if times and (named is None or named in {field.name for field in times}):
        time = named or times[0].name
        inner = kinds[time].value_type
        common |= {"stamp": _stamp(inner), "zone": _zone(schema, time)}
        return Columns(FileLayout.LISTS, system, time, power, **common)
    start = named or _named(schema, _STARTS, _is_time)
    length = _named(schema, _LENGTHS, _is_number)
    if start is None or length is None:
        raise MeterError(
            f"{where} has lists of readings without their times: add a list of times, or columns"
            " start and interval_minutes"
        )
    common |= {"stamp": _stamp(kinds[start]), "zone": _zone(schema, start)}
    return Columns(FileLayout.LISTS, system, None, power, start=start, length=length, **common)


def _list_readings(schema: Any, options: MeterOptions, where: str) -> tuple[str, str | None, bool]:
    """Return the list of readings, that of what was taken from the grid, and whether it is net."""
    columns = [TableColumn(field.name, is_number=_is_numbers(field.type)) for field in schema]
    others = {at for at, column in enumerate(columns) if not column.is_number}
    power, taken, net = find_readings(columns, options, {*others}, where)
    if max(len(power), len(taken)) > 1:
        raise MeterError(
            f"{where} has several lists of readings that are to be added up: write one list, or a"
            " row for each time"
        )
    return columns[power[0]].name, columns[taken[0]].name if taken else None, net


def _named(schema: Any, usual: tuple[str, ...], fits: Callable[[Any], bool]) -> str | None:
    folded = {field.name.strip().lower(): field for field in schema}
    return next((folded[n].name for n in usual if n in folded and fits(folded[n].type)), None)


def _system_kind(kind: Any) -> str | None:
    """Return how names of systems are stored, None where only the reader of single files knows."""
    if kind is None:  # in the names of folders
        return "text"
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_decimal(kind):
        return "decimal"
    # footers state the ends of halves as bytes
    return str(kind) if str(kind) in ("float", "double") else None


def _hive_pairs(name: str) -> list[tuple[str, str]]:
    parts = PurePosixPath(name).parent.parts
    return [(key, value) for key, mark, value in (part.partition("=") for part in parts) if mark]


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_numbers(kind: Any) -> bool:
    return _is_list(kind) and _is_number(kind.value_type)


def _is_time(kind: Any) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _is_number(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind))


def _stamp(kind: Any) -> Stamp:
    return Stamp.INSTANT if getattr(kind, "tz", None) else Stamp.WALL


def _zone(schema: Any, name: str) -> str:
    """Return the zone that pandas wrote beside a column of instants, or UTC."""
    described = (schema.pandas_metadata or {}).get("columns", ())
    try:
        zone = next(
            each["metadata"]["timezone"] for each in described if each["field_name"] == name
        )
        return parse_timezone(str(zone))[1]
    except (StopIteration, KeyError, TypeError, ParameterError):
        return "UTC"
