"""What a meter file turns out to be, as a schema that its curator can check and keep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.errors import MeterError
from sunveil.meters.arrowfile import read_arrow
from sunveil.meters.assemble import RawSystem
from sunveil.meters.columns import ColumnRoles, find_roles
from sunveil.meters.contents import Content, FileKind, contents_of
from sunveil.meters.grid import RawReadings
from sunveil.meters.header import TableColumn, TableHead, find_head
from sunveil.meters.jsonfile import read_json
from sunveil.meters.negatives import TURNED
from sunveil.meters.nem12 import is_nem12
from sunveil.meters.numbers import decimal_mark
from sunveil.meters.options import ADDED, AUTO, MeterOptions, Register
from sunveil.meters.quality import drop_missing
from sunveil.meters.read import iter_systems, settle
from sunveil.meters.record import Record
from sunveil.meters.registers import find_register
from sunveil.meters.sheets import read_workbook
from sunveil.meters.tabular import TableReadings, read_table
from sunveil.meters.textcells import read_head
from sunveil.meters.textfile import read_text

# Where a proposal comes from: what only readings say must be checked by the curator.
DECLARED, HEADER, FORMAT, STAMPS, READINGS = "declared", "header", "format", "stamps", "readings"
# What a format that is defined to the last sign leaves nobody to declare.
_DEFINED = ("decimal", "time_format", "timezone", "label", "power_unit", "register")


@dataclass(frozen=True, slots=True)
class SourceDescription:
    """A file as the reader found it: private to the curator, like the readings it looked at.

    Parameters
    ----------
    format
        What kind of file it is, in a few words.
    options
        Everything that reading it needs, as far as the file says it.
    origins
        Where each of these comes from: ``declared``, ``header``, ``format``, ``stamps`` or
        ``readings``.
    systems
        How many systems it has.
    """

    format: str
    options: MeterOptions
    origins: dict[str, str]
    systems: int

    def __post_init__(self) -> None:
        check_fields(self)


@checked
def describe_source(path: Path | str, options: MeterOptions | None = None) -> SourceDescription:
    """Return how a file is written, found from all of its content.

    Parameters
    ----------
    path
        A file; of an archive the first one in it that can be unpacked, without its span.
    options
        What is known of it already.

    Privacy
    -------
    None: readings are looked at. What they alone say is marked for the curator to check.
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
    """Describe a file whose format says everything by its own definition."""
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
    found = settle(raw, options, name=raw.system_id)
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
