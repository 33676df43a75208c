"""Report of what was read from a file; proposed schema."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sunveil._options import check_fields, checked
from sunveil.errors import MeterError
from sunveil.meters.build_record import RawSystem
from sunveil.meters.csv_parquet_excel import read_arrow, read_text, read_workbook
from sunveil.meters.file_types import Content, FileKind, contents_of, read_head
from sunveil.meters.find_columns import ColumnRoles, find_roles
from sunveil.meters.header_and_units import TableColumn, TableHead, find_head
from sunveil.meters.json_files import read_json
from sunveil.meters.nem12 import is_nem12
from sunveil.meters.numbers_and_dates import decimal_mark
from sunveil.meters.quality_rules import TURNED, drop_missing
from sunveil.meters.read_files import iter_systems, record_or_refusal
from sunveil.meters.reading_options import ADDED, AUTO, MeterOptions, Register, parse_timezone
from sunveil.meters.record import Record
from sunveil.meters.registers import find_register
from sunveil.meters.split_systems import TableReadings, read_table
from sunveil.meters.time_steps import RawReadings

# Shorter records miss a season, and their estimates say so. [days]
SHORT_DAYS = 90

# More missing than this is worth a look, as a share; so is a gap of more than this. [days]
MUCH_MISSING, LONG_GAP = 0.2, 14.0

# Between these hours of its own clock a meter of generation reads its most. [h]
BRIGHT_HOURS = (9.5, 15.5)

# The brightest powers of a record: that share of them has the rest below.
TOP = 0.995

# What the highest power of a system usually lies between. [kW]
USUAL_PEAK = (0.1, 5000.0)


@dataclass(frozen=True, slots=True)
class SystemCheckup:
    """What was read of one system: private to the curator."""

    system_id: str  # the curator's name of the system
    readings: int  # how many there are
    first: str  # the first and the last instant, in UTC
    last: str  # the first and the last instant, in UTC
    interval_minutes: float  # [minutes] length of an interval
    unit: str  # what the readings were taken to count in, and whether anybody said so
    unit_known: bool  # what the readings were taken to count in, and whether anybody said so
    timezone: str  # the clock of the stamps
    label: str  # which instant of its interval a stamp names, and whether anybody said so
    label_known: bool  # which instant of its interval a stamp names, and whether anybody said so
    net: bool  # whether it is a net meter
    missing: float  # share of the intervals of the span that have no reading
    longest_gap_days: float  # [days] the longest time without one
    peak_kw: float  # [kW] nearly its highest power
    brightest_hour: float | None  # [h]
    warnings: tuple[str, ...]  # what looks wrong, one sentence each
    notes: tuple[str, ...]  # what the reader did, one sentence each

    @property
    def days(self) -> float:
        """Length of the span. [days]"""
        return float(
            (np.datetime64(self.last) - np.datetime64(self.first)) / np.timedelta64(1, "D")
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        named = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**named, "warnings": list(self.warnings), "notes": list(self.notes)}


def check_record(record: Record) -> SystemCheckup:
    """Return what was read of a system, and what looks wrong with it."""
    # Private: it looks at readings.
    step = np.timedelta64(round(60.0 * record.interval_minutes), "s")
    days = np.diff(record.times) / np.timedelta64(1, "D")
    whole = int((record.times[-1] - record.times[0]) / step) + 1
    found = SystemCheckup(
        system_id=record.system_id,
        readings=len(record.times),
        first=str(record.times[0].astype("M8[m]")),
        last=str((record.times[-1] + step).astype("M8[m]")),
        interval_minutes=float(record.interval_minutes),
        unit=record.unit,
        unit_known=record.unit_known,
        timezone=record.timezone,
        label=record.label.value,
        label_known=record.label_known,
        net=record.net,
        missing=round(1.0 - len(record.times) / whole, 4),
        longest_gap_days=round(float(days.max(initial=record.interval_minutes / 1440.0)), 3),
        peak_kw=float(f"{np.quantile(record.power_kw, TOP):.4g}"),
        brightest_hour=_brightest_hour(record),
        warnings=(),
        notes=record.notes,
    )
    object.__setattr__(found, "warnings", tuple(_warnings(found)))
    return found


def _brightest_hour(record: Record) -> float | None:
    """Return the hour by which half of a mean day's generation is over, on the declared clock."""
    zone, _ = parse_timezone(record.timezone)
    middles = pd.DatetimeIndex(record.middles).tz_localize("UTC").tz_convert(zone)
    hours = (middles.hour + middles.minute / 60.0).to_numpy(np.float64)
    power = np.maximum(record.power_kw, 0.0)
    angle = hours * np.pi / 12.0
    east, north = float(power @ np.sin(angle)), float(power @ np.cos(angle))
    if np.hypot(east, north) <= 0.0:
        return None
    return round(float(np.arctan2(east, north) * 12.0 / np.pi) % 24.0, 1)


def _warnings(found: SystemCheckup) -> list[str]:
    warnings = []
    if found.days < SHORT_DAYS:
        warnings.append(f"only {found.days:.0f} days: estimates need a season or more to be sure")
    if found.missing > MUCH_MISSING:
        warnings.append(f"{100.0 * found.missing:.0f}% of the intervals have no reading")
    if found.longest_gap_days > LONG_GAP:
        warnings.append(f"a gap of {found.longest_gap_days:.0f} days")
    if not found.unit_known:
        warnings.append(f"unit not certain: taken as {found.unit}; set option `power_unit`")
    if not USUAL_PEAK[0] <= found.peak_kw <= USUAL_PEAK[1]:
        warnings.append(f"the highest power is {found.peak_kw:.3g} kW: check the unit")
    hour = found.brightest_hour
    if hour is None:
        warnings.append("nothing is generated")
    # of stamps in UTC, the place decides when noon is
    elif found.timezone != "UTC" and not BRIGHT_HOURS[0] <= hour <= BRIGHT_HOURS[1]:
        warnings.append(f"days are brightest at {hour:.1f} h of their clock: check the time zone")
    return warnings


# Where a proposal comes from: what only readings say must be checked by the curator.
DECLARED, HEADER, FORMAT, STAMPS, READINGS = "declared", "header", "format", "stamps", "readings"

# What a format that is defined to the last sign leaves nobody to declare.
_DEFINED = ("decimal", "time_format", "timezone", "label", "power_unit", "register")


@dataclass(frozen=True, slots=True)
class SourceDescription:
    """A file as the reader found it: private to the curator, like the readings it looked at."""

    format: str  # what kind of file it is, in a few words
    options: MeterOptions  # everything that reading it needs, as far as the file says it
    # where each of these comes from: ``declared``, ``header``, ``format``, ``stamps`` or
    # ``readings``
    origins: dict[str, str]
    systems: int  # how many systems it has

    def __post_init__(self) -> None:
        check_fields(self)


@checked
def describe_source(path: Path | str, options: MeterOptions | None = None) -> SourceDescription:
    """Return how a file is written, found from all of its content: private.

    What readings alone say is marked for the curator to check.
    """
    options = options or MeterOptions()
    contents = list(contents_of(Path(path)))
    first = next((each for each in contents if each.problem is None), contents[0])
    found = _describe(first, Path(path), options)
    if len(contents) == 1:
        return found
    # the others have stamps of their own
    span = {"first": options.first, "last": options.last}
    return replace(found, options=found.options.changed(span))


def _describe(content: Content, path: Path, options: MeterOptions) -> SourceDescription:
    kind = content.kind
    if kind is FileKind.TEXT:
        with content.open() as file:
            lines = read_head(file)
        if is_nem12(lines):
            return _defined("NEM12", path, options)
        head = find_head(lines, options, where=content.name)
        found = read_table(read_text(content, options), options)
        return _described(_text_format(lines), found, options, head)
    if kind is FileKind.XML:
        return _defined("Green Button", path, options)
    return _described(kind.value, _typed(content, kind, options), options, None)


def _typed(content: Content, kind: FileKind, options: MeterOptions) -> TableReadings:
    if kind in (FileKind.PARQUET, FileKind.FEATHER):
        return read_table(read_arrow(content, options), options)
    if kind is FileKind.WORKBOOK:
        return read_table(read_workbook(content, options), options)
    if kind is FileKind.JSON:
        return read_table(read_json(content, options)[0], options)
    raise MeterError(f"{content.name} is no table of readings, so it has no schema")


def _text_format(lines: list[str]) -> str:
    if any("Version CSV" in line for line in lines[:3]):
        return "SMA CSV"
    return "text table"


def _defined(name: str, path: Path, options: MeterOptions) -> SourceDescription:
    """Describe a file of a format that defines columns, units and times."""
    systems = sum(isinstance(each, Record) for each in iter_systems(path, options))
    origins = dict.fromkeys(_DEFINED, FORMAT) | _declared(options)
    return SourceDescription(name, options, origins, systems)


def _declared(options: MeterOptions) -> dict[str, str]:
    plain = MeterOptions()
    fields = MeterOptions.__dataclass_fields__
    return {name: DECLARED for name in fields if getattr(options, name) != getattr(plain, name)}


def _described(
    name: str, found: TableReadings, given: MeterOptions, head: TableHead | None
) -> SourceDescription:
    table, roles = found.table, found.table.roles
    changes: dict[str, Any] = {}
    origins: dict[str, str] = {}

    def propose(field: str, value: Any, origin: str) -> None:
        if value is not None and getattr(given, field) == getattr(MeterOptions(), field):
            changes[field], origins[field] = value, origin

    wide = roles.minutes is not None
    said = _roles_in_header(found, given)
    timed = said is not None and (said.time, said.date) == (roles.time, roles.date)
    propose("time_column", _name(table.columns, roles.time), HEADER if timed else STAMPS)
    propose("date_column", _name(table.columns, roles.date), HEADER if timed else STAMPS)
    propose("system_column", _name(table.columns, roles.system), HEADER)
    if not wide:
        named = said is not None and said.power == roles.power
        flows = bool(roles.imported)
        propose(
            "export_column" if flows else "power_column",
            _names(table.columns, roles.power),
            HEADER if named else READINGS,
        )
        propose("import_column", _names(table.columns, roles.imported), HEADER)
        propose("net", roles.net or None, HEADER)
    if head is not None:
        propose("skip_rows", head.above, HEADER)
        propose("separator", head.separator, HEADER)
        stated = table.said.get("decimal")
        mark = "." if found.readings.evidence is None else decimal_mark(found.readings.evidence)
        # a comma between cells leaves the point
        clear = stated or (head.separator, mark) == (",", ".")
        propose("decimal", stated or mark, HEADER if clear else READINGS)
    propose("timezone", found.options.timezone, HEADER)
    read = [(raw, own) for raw, own in found.systems() if isinstance(raw, RawSystem)]
    raws = [raw for raw, _ in read]
    # what the stamps of some systems say and those of others do not is nothing of the file
    for field in ("time_format", "label"):
        ways = {getattr(own, field) for _, own in read} - {AUTO}
        origin = HEADER if field == "label" else STAMPS
        propose(field, ways.pop() if len(ways) == 1 else None, origin)
    if raws:
        propose("power_unit", raws[0].unit, HEADER if found.unit[0] is not None else READINGS)
        stamps = np.concatenate([raw.stamps.wall for raw in raws]).view("M8[us]").astype("M8[s]")
        propose("first", str(stamps.min()), STAMPS)
        propose("last", str(stamps.max()), STAMPS)
        if all(np.isfinite(raw.stamps.offset).all() for raw in raws):
            origins.setdefault("timezone", STAMPS)
    record = next((each for raw, own in read if (each := _record(raw, own))), None)
    if record is not None:
        propose("interval_minutes", record.interval_minutes, STAMPS)
        if record.net and not roles.net:
            propose("net", True, HEADER if raws[0].imported is not None else READINGS)
        propose("negate", (TURNED in record.notes) or None, READINGS)
        if found.options.register == AUTO:
            propose("register", _register(raws[0], found.options), READINGS)
        else:
            propose("register", found.options.register, HEADER)
    return SourceDescription(
        name, given.changed(changes), {**_declared(given), **origins}, len(raws)
    )


def _roles_in_header(found: TableReadings, given: MeterOptions) -> ColumnRoles | None:
    """Return what the header alone says of the columns, None where it does not say enough."""
    blind = [replace(column, cells=()) for column in found.table.columns]
    try:
        return find_roles(blind, given, where=found.table.where)
    except MeterError:
        return None


def _record(raw: RawSystem, options: MeterOptions) -> Record | None:
    found = record_or_refusal(raw, options, name=raw.system_id)
    return found if isinstance(found, Record) else None


def _register(raw: RawSystem, options: MeterOptions) -> Register:
    """Return which register the readings of a system run like."""
    order = np.argsort(raw.stamps.wall, kind="stable")
    seconds = raw.stamps.wall[order] // 1_000_000
    readings = RawReadings(seconds, raw.values[order], raw.rows[order], raw.where)
    return find_register(drop_missing(readings), options, raw.unit)


def _names(columns: tuple[TableColumn, ...], places: tuple[int, ...]) -> str | None:
    """Return the names of columns that are added up, as options take them; None without any."""
    names = [name for at in places if (name := _name(columns, at)) is not None]
    if len(names) > 1 and any(ADDED in name for name in names):
        names = [str(at + 1) for at in places]
    return ADDED.join(names) or None


def _name(columns: tuple[TableColumn, ...], place: int | None) -> str | None:
    """Return a column's name, or its number where it has none or shares it."""
    if place is None:
        return None
    name = columns[place].name
    alone = [each.name for each in columns].count(name) == 1
    return name if name and alone else str(place + 1)
