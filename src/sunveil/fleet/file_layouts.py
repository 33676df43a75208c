"""Files of a fleet and their column layouts, from footers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sunveil.errors import MeterError, ParameterError, SunveilError
from sunveil.fleet.systems_table import SYSTEM_NAMES
from sunveil.household_keys import EXACT, WHOLE_FLOAT
from sunveil.meters.build_record import RawSystem
from sunveil.meters.csv_parquet_excel import typed_column
from sunveil.meters.file_types import ENDINGS, READABLE, stem
from sunveil.meters.find_columns import find_readings, find_roles
from sunveil.meters.header_and_units import TableColumn, find_unit, missing_unit
from sunveil.meters.read_files import iter_raw_systems, joined
from sunveil.meters.reading_options import MeterOptions, Unit, parse_timezone
from sunveil.meters.record import UNREAD, RefusedSystem


def named(name: str) -> str:
    """Return the name of a column as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


_STARTS = ("start", "start_time", "first", "first_time", "time", "timestamp")

_LENGTHS = ("interval_minutes", "interval", "minutes", "step_minutes")


class FileLayout(StrEnum):
    """How readings lie in files."""

    # `long`: a system, a time and a reading in each row. `lists`: a system in each row, with lists.
    # `files`: anything that the readers of single files know.

    LONG = "long"
    LISTS = "lists"
    FILES = "files"


class Stamp(StrEnum):
    """What a time is: an instant, or what a clock on a wall showed."""

    INSTANT = "instant"
    WALL = "wall"


@dataclass(frozen=True, slots=True)
class Columns:
    """What to read from the files of a fleet."""

    layout: FileLayout  # how the readings lie
    system: str = ""
    time: str | None = None
    power: str = ""  # names of columns; without a time, lists begin at `start` and step by `length`
    start: str | None = None
    length: str | None = None
    stamp: Stamp = Stamp.INSTANT  # what a time is
    unit: Unit = Unit.KW  # what a reading counts
    hive: tuple[str, ...] = ()  # names of the keys in the folders' names
    power_kind: str = "float"
    zone: str = "UTC"
    notes: tuple[str, ...] = ()
    net: bool = False  # whether the files say that their meters are net meters
    taken: str | None = None
    system_kind: str = "text"

    def name_sql(self, of: str = "") -> str:
        # `of` goes before the column, such as `r.` for a table of that name.
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
    """Return what to read from a Parquet file."""
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
            " with option `system_column`"
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


# A system as its files have it, and how it is read; or files that cannot be read.
FileSystem = tuple[str, RawSystem | MeterError, MeterOptions]

# So many files tell whether each of a folder is one system, named after its file.
_LOOKED_AT = 5


def iter_file_systems(
    paths: Sequence[Path], options: MeterOptions
) -> Iterator[FileSystem | RefusedSystem]:
    """Yield the systems of files in the order of their names, and the files that cannot be read."""
    # The rows of a system that is in several files are joined, in the order of the files.
    found: dict[str, list[tuple[RawSystem, MeterOptions]]] = {}
    for path in paths:
        for each in _iter_file(path, options):
            if isinstance(each, RefusedSystem):
                yield each
            else:
                found.setdefault(each[0].system_id, []).append(each)
    for name in sorted(found):
        raw, own = joined(found.pop(name))
        yield name, raw, own


def _iter_file(
    path: Path, options: MeterOptions
) -> Iterator[tuple[RawSystem, MeterOptions] | RefusedSystem]:
    try:
        for raw, own in iter_raw_systems(path, options):
            yield raw if isinstance(raw, RefusedSystem) else (raw, own)
    except SunveilError as error:
        yield RefusedSystem(stem(path), UNREAD, str(error))
    except OSError:
        reason = f"{path.name} cannot be read; check its rights and the disk"
        yield RefusedSystem(stem(path), UNREAD, reason)


def files_together(paths: Sequence[Path], options: MeterOptions) -> list[int]:
    """Return a number for each of some files, the same for files that share a system."""
    # Where some files, spread over all of them, are each one system named after its file, all are
    # taken to be so: reading every file only for its names would take as long as the work itself.
    few = paths[:: max(1, len(paths) // _LOOKED_AT)]
    if all(_names(path, options) <= {stem(path)} for path in few):
        names = [{stem(path)} for path in paths]
    else:
        names = [_names(path, options) for path in paths]
    group = list(range(len(paths)))
    home: dict[str, int] = {}
    for number, inside in enumerate(names):
        met = {_root(group, home[name]) for name in inside if name in home}
        first = min({number, *met})
        for other in (number, *met):
            group[other] = first
        home |= dict.fromkeys(inside, first)
    return [_root(group, number) for number in range(len(paths))]


def _root(group: list[int], number: int) -> int:
    while group[number] != number:
        number = group[number]
    return number


def _names(path: Path, options: MeterOptions) -> set[str]:
    """Return the systems of a file; none, where it cannot be read."""
    return {
        each[0].system_id
        for each in _iter_file(path, options)
        if not isinstance(each, RefusedSystem)
    }


_PARQUET = (".parquet", ".pq")


class FileOrder(StrEnum):
    """How systems lie in the files of a source."""

    # `sorted`: each file is a range of names, and ranges do not overlap but at their ends. `whole`:
    # each system is in one file. `spread`: some are in several.

    SORTED = "sorted"
    WHOLE = "whole"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group: how many readings it has, and its first and last system, a text or a number."""

    rows: int
    low: Any = None
    high: Any = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a source."""

    name: str  # its path within the source
    size: int  # bytes, and nanoseconds since 1970: what tells that it was changed
    modified: int  # bytes, and nanoseconds since 1970: what tells that it was changed
    groups: tuple[RowGroup, ...]  # its row groups; one without bounds for a file that has no footer
    span: tuple[int, int] | None = None  # [µs since 1970, on the source's clock]
    key: str | None = None  # the system that all of it belongs to, where its folder's name says so

    @property
    def rows(self) -> int:
        """How many readings it has."""
        return sum(group.rows for group in self.groups)

    @property
    def bounds(self) -> tuple[Any, Any] | None:
        """The first and last system, where every row group says so."""
        if self.key is not None:
            return self.key, self.key
        lows = [group.low for group in self.groups]
        highs = [group.high for group in self.groups]
        if not lows or None in lows or None in highs:
            return None
        return min(lows), max(highs)


@dataclass(frozen=True, slots=True)
class FleetSource:
    """The readings of a fleet, as their footers describe them."""

    root: str  # the folder that file names start from
    columns: Columns  # what to read, and how
    files: tuple[SourceFile, ...]  # the files that can be read
    unreadable: tuple[tuple[str, str], ...] = ()  # the files that cannot, each with the reason

    @property
    def rows(self) -> int:
        """How many readings there are; of files without a footer, their bytes over 30."""
        return sum(file.rows for file in self.files)

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last stamp of all files, where all say so. [µs]"""
        spans = [file.span for file in self.files]
        if not spans or None in spans:
            return None
        known = [span for span in spans if span is not None]
        return min(first for first, _ in known), max(last for _, last in known)

    def paths(self, names: Iterable[str]) -> list[Path]:
        """Return files of the source as paths."""
        return [Path(self.root) / name for name in names]


def look_at(fleet: Path | str, options: MeterOptions, *, aside: Iterable[Path] = ()) -> FleetSource:
    """Return what the footers of a fleet's files say."""
    fleet = Path(fleet)
    if not fleet.exists():
        raise MeterError(f"there is no file or folder {str(fleet)!r}")
    root = fleet if fleet.is_dir() else fleet.parent
    found = _found(fleet, {path.resolve() for path in aside})
    if not _is_parquet(found[0]):
        files = tuple(_plain(path, root) for path in found)
        return FleetSource(str(root.resolve()), Columns(FileLayout.FILES), files)
    return _from_footers(fleet, root, found, options)


def _found(fleet: Path, aside: set[Path]) -> list[Path]:
    if not fleet.is_dir():
        return [fleet]
    every = [
        path
        for path in sorted(fleet.rglob("*"))
        if path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(fleet).parts)
        and not ({path.resolve(), *path.resolve().parents} & aside)
    ]
    for endings in (_PARQUET, ENDINGS):
        found = [path for path in every if path.name.lower().endswith(endings)]
        if found:
            return found
    raise MeterError(f"the folder {str(fleet)!r} has no meter files: {READABLE} are read")


def _is_parquet(path: Path) -> bool:
    if path.name.lower().endswith(_PARQUET):
        return True
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _plain(path: Path, root: Path) -> SourceFile:
    status = path.stat()
    rows = max(1, status.st_size // 30)
    return SourceFile(_relative(path, root), status.st_size, status.st_mtime_ns, (RowGroup(rows),))


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _from_footers(fleet: Path, root: Path, found: list[Path], options: MeterOptions) -> FleetSource:
    footers: dict[str, Any] = {}
    unreadable: list[tuple[str, str]] = []
    for path in found:
        name = _relative(path, root)
        try:
            footers[name] = pq.read_metadata(path)
        except (pa.ArrowException, OSError):
            unreadable.append((name, f"{name} cannot be read: it is damaged, or not Parquet"))
    if not footers:
        raise MeterError(f"none of the {len(found)} Parquet files of {fleet.name} can be read")
    columns = _columns(footers, options)
    files = []
    for name, footer in footers.items():
        if columns.missing_in(footer.schema.to_arrow_schema(), name):
            unreadable.append((name, f"{name} has other columns than the files beside it"))
        else:
            files.append(_described(root / name, name, footer, columns))
    return FleetSource(str(root.resolve()), columns, tuple(files), tuple(sorted(unreadable)))


def _columns(footers: dict[str, Any], options: MeterOptions) -> Columns:
    """Return the columns to read, by the first file that has them."""
    first: MeterError | None = None
    for name, footer in footers.items():
        try:
            return find_columns(footer.schema.to_arrow_schema(), options, name=name)
        except MeterError as error:
            first = first or error
    assert first is not None
    raise first


def _described(path: Path, name: str, footer: Any, columns: Columns) -> SourceFile:
    status = path.stat()
    if not columns.power:  # nothing but the reader of single files knows what is in it
        whole = (RowGroup(max(1, footer.num_rows)),)
        return SourceFile(name, status.st_size, status.st_mtime_ns, whole)
    places = {footer.schema.column(i).path: i for i in range(len(footer.schema))}
    described, spans = [], []
    power = _leaf(places, columns.power)
    system = places.get(columns.system)
    time = None if columns.time is None else _leaf(places, columns.time)
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        low, high = _ends(group, system)
        described.append(RowGroup(group.column(power).num_values, low, high))
        spans.append(
            _ends(group, time) if columns.start is None else _reach(group, columns, places)
        )
    key = columns.key_of(name)
    groups = tuple(described)
    return SourceFile(name, status.st_size, status.st_mtime_ns, groups, _span(spans), key)


def _leaf(places: dict[str, int], name: str) -> int:
    """Return the place of a column, or of the values of a column of lists."""
    if name in places:
        return places[name]
    return next(place for path, place in places.items() if path.startswith(f"{name}."))


def _ends(group: Any, column: int | None) -> tuple[Any, Any]:
    if column is None:
        return None, None
    found = group.column(column).statistics
    if found is None or not found.has_min_max:
        return None, None
    try:
        return found.min, found.max
    except (OverflowError, ValueError):
        return None, None  # beyond any calendar


def _reach(group: Any, columns: Columns, places: dict[str, int]) -> tuple[Any, Any]:
    """Return the first and last time of lists that all are equally long."""
    assert columns.start is not None
    assert columns.length is not None
    first, last = _ends(group, places[columns.start])
    each = _ends(group, places[columns.length])
    number, rest = divmod(group.column(_leaf(places, columns.power)).num_values, group.num_rows)
    if last is None or each[0] is None or each[0] != each[1] or rest:
        return None, None
    return first, last + timedelta(minutes=float(each[0])) * (number - 1)


def _span(spans: list[tuple[Any, Any]]) -> tuple[int, int] | None:
    ends = [end for span in spans for end in span]
    # NaT is a datetime too, and unlike itself
    if not ends or not all(isinstance(end, datetime) and end == end for end in ends):
        return None
    return _micros(min(ends)), _micros(max(ends))


def _micros(end: datetime) -> int:
    plain = end.astimezone(UTC).replace(tzinfo=None) if end.tzinfo is not None else end
    return int((plain - datetime(1970, 1, 1)) // timedelta(microseconds=1))
