"""Split a table into systems, each alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sunveil.errors import MeterError
from sunveil.household_keys import keys_of
from sunveil.meters.build_record import RawSystem, added_up, matched
from sunveil.meters.csv_parquet_excel import RoleCells, RowReadings
from sunveil.meters.file_types import coded, decoded
from sunveil.meters.find_columns import kind_of_rows, kinds_of_flows, suggest_systems
from sunveil.meters.header_and_units import find_unit, missing_unit, unit_in_name, units_in
from sunveil.meters.numbers_and_dates import (
    NO_TIME,
    POINT,
    POINT_OR_THOUSANDS,
    CellNumbers,
    Rows,
    WrittenStamps,
    cell_numbers,
    count,
    decimal_evidence,
    decimal_mark,
    name_rows,
)
from sunveil.meters.reading_options import AUTO, MeterOptions, Unit
from sunveil.meters.record import Label, RefusedSystem
from sunveil.meters.time_steps import Stamps

# Rows without a stamp above the first and below the last one that has any are no readings.
_MOST_AROUND = 10

# More stamps or lines than this that cannot be read are no accident. [share]
_FEW = 0.01

# So few rows without a stamp are no system.
_REMAINS = 3
_NETTED = "It is what was given to the grid less what was taken from it."

# So many rows show whether there are several for each time.
_SEVERAL = 48

# The different texts of a column, and the number of each row's.
_Coded = tuple[pa.StringArray, NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class TableReadings:
    """A table after its cells were read: private."""

    table: RoleCells  # its cells
    readings: RowReadings  # its readings, row by row
    stamps: _RowStamps  # its stamps, row by row
    unit: tuple[Unit | None, tuple[str, ...]]
    options: MeterOptions  # the options that hold: the curator's, and what the file says of itself
    notes: tuple[str, ...]  # what was assumed
    kinds: _Coded | None = None
    units: _Coded | None = None

    def __repr__(self) -> str:
        return f"TableReadings({self.table.where}, private)"

    def systems(self) -> Iterator[tuple[RawSystem | RefusedSystem, MeterOptions]]:
        # No row of one has a say in how those of another are read.
        table = self.table
        nothing = MeterError(
            f"{table.where} has no times that can be read in its column of times; say how they are"
            " written with option `time_format`"
        )
        if table.system is None:
            found = _read_rows(self, np.arange(len(table.rows)), table.stem, where=table.where)
            if found is None:
                raise nothing
            yield found
            return
        names, codes = _names(table.system)
        order = np.argsort(codes, kind="stable")
        edges = np.searchsorted(codes[order], np.arange(len(names) + 1))
        none = True
        for code, name in sorted(enumerate(names), key=lambda each: each[1]):
            part = order[edges[code] : edges[code + 1]]
            try:
                where = f"{table.where}, system {name},"
                found = _read_rows(self, part, name, where=where) if len(part) else None
            except MeterError as error:
                found = RefusedSystem(name, "meter", str(error)), self.options
            if found is not None:
                none = False
                yield found
        if none:
            raise nothing


def read_table(table: RoleCells, options: MeterOptions) -> TableReadings:
    """Return the stamps and numbers of a table, each cell read by itself."""
    if not len(table.rows):
        raise MeterError(f"{table.where} has a header but no readings")
    options = _with_said(options, table)
    notes: tuple[str, ...] = ()
    if table.roles.imported:
        notes = (_NETTED,)
    elif table.roles.net and not options.net:
        notes = ("Its column is what was given to the grid: taken for a net meter.",)
    by_row = not options.declared_only and options.known_unit is None and "unit" not in table.said
    return TableReadings(
        table,
        _readings(table, options),
        _RowStamps.of_table(table, options),
        _unit(table, options),
        options,
        notes,
        None if table.kind is None else coded(table.kind),
        coded(table.unit) if table.unit is not None and by_row else None,
    )


def _read_rows(
    found: TableReadings, part: Rows, name: str, *, where: str
) -> tuple[RawSystem | RefusedSystem, MeterOptions] | None:
    """Return the system that some rows are of, None where they are none."""
    if found.kinds is None:
        return _system(found, part, name, where=where)
    texts, codes = found.kinds
    own, codes = np.unique(codes[part], return_inverse=True)
    kinds = texts.take(pa.array(own)).to_pylist()
    strict = found.table.roles.minutes is not None
    flows = kinds_of_flows(kinds, found.options, strict=strict)
    if flows is None:
        kind = kind_of_rows(kinds, found.options, where=where, strict=strict)
        return _system(found, part[kind[codes]], name, where=where)
    given, taken = (
        _of_tariffs([_system(found, part[kind[codes]], name, where=where) for kind in way])
        for way in flows
    )
    if given is None:
        return taken
    return _netted(given[0], None if taken is None else taken[0]), given[1]


def _of_tariffs(
    tariffs: Sequence[tuple[RawSystem | RefusedSystem, MeterOptions] | None],
) -> tuple[RawSystem | RefusedSystem, MeterOptions] | None:
    """Return a system of the rows of all its tariffs."""
    found = [each for each in tariffs if each is not None]
    if not found:
        return None
    raws = [each for each, _ in found if isinstance(each, RawSystem)]
    if len(raws) < len(found):
        return next(each for each in found if isinstance(each[0], RefusedSystem))
    return (added_up(raws) if len(raws) > 1 else raws[0]), found[0][1]


def _netted(
    given: RawSystem | RefusedSystem, taken: RawSystem | RefusedSystem | None
) -> RawSystem | RefusedSystem:
    """Return a net meter of its rows of what was given to the grid and of what was taken."""
    if isinstance(given, RefusedSystem):
        return given
    if isinstance(taken, RefusedSystem):
        return taken
    if taken is None:
        reason = f"{given.where} has no rows of what is taken from the grid; add them"
        return RefusedSystem(given.system_id, "meter", reason)
    try:
        notes = (*given.notes, _NETTED)
        return replace(given, net=True, imported=matched(given, taken), notes=notes)
    except MeterError as error:
        return RefusedSystem(given.system_id, "meter", str(error))


def _refuse_homes_without_names(table: RoleCells, wall: NDArray[np.int64]) -> None:
    """Refuse a table with many rows for each time, where a column may name several systems."""
    if table.system is not None or len(wall) < _SEVERAL:
        return
    if 2 * len(np.unique(wall)) > len(wall):
        return
    taken = {table.roles.time, table.roles.date, *table.roles.counted}
    others = [each for at, each in enumerate(table.columns) if at not in taken]
    if listed := suggest_systems(others):
        raise MeterError(
            f"{table.where} has several rows for each time: if these are several systems, name the"
            f" column that tells them apart with option `system_column`, such as {listed}"
        )


def _with_said(options: MeterOptions, table: RoleCells) -> MeterOptions:
    """Return the options with what the header and the file say, where the curator does not."""
    changes: dict[str, object] = {}
    label = table.said.get("label") or table.roles.label
    if options.label == AUTO and label is not None:
        changes["label"] = label
    if options.decimal == AUTO and "decimal" in table.said:
        changes["decimal"] = table.said["decimal"]
    if options.timezone is None:
        clock = table.columns[table.roles.time].folded.split()
        named = "UTC" if {"utc", "gmt"} & set(clock) else None
        changes["timezone"] = table.said.get("timezone", named)
    # in a long record the readings show whether a column with a register's number counts up
    shows = table.roles.numbered and not options.declared_only and len(table.rows) > _SEVERAL
    if options.register == AUTO and table.roles.register is not None and not shows:
        changes["register"] = table.roles.register
    return options.changed(changes)


@dataclass(frozen=True, slots=True, eq=False)
class _RowStamps:
    """The stamps of a table, row by row, as far as they can be read without choosing a way."""

    zone: str | None = None  # the clock that the file states beside its instants
    wall: NDArray[np.int64] | None = None  # what the clock showed, where the file has types
    texts: WrittenStamps | None = None
    codes: NDArray[np.int64] | None = None
    first: NDArray[np.bool_] | None = None  # rows with an hour 0, or 24, of its own beside the date
    last: NDArray[np.bool_] | None = None  # rows with an hour 0, or 24, of its own beside the date

    @classmethod
    def of_table(cls, table: RoleCells, options: MeterOptions) -> _RowStamps:
        """Return the stamps of a table."""
        time, first, last = table.time, None, None
        if _is_typed(time):
            zoned = getattr(time.type, "tz", None) is not None
            return cls(table.zone or "UTC" if zoned else None, _micros(time))
        if table.date is not None:
            time, first, last = _joined(table.date, time)
        texts, codes = coded(time)
        return cls(None, None, WrittenStamps(texts, options.time_format), codes, first, last)

    def of(self, part: Rows, options: MeterOptions, *, where: str) -> tuple[Stamps, MeterOptions]:
        """Return the stamps of some rows, and the options with what these stamps say."""
        if self.wall is not None:
            offset = np.full(len(part), np.nan if self.zone is None else 0.0)
            return Stamps(self.wall[part], offset, self.zone), options
        assert self.texts is not None
        assert self.codes is not None
        own, codes = np.unique(self.codes[part], return_inverse=True)
        read = self.texts.read(own, where=where)
        label = Label.START if read.ranged else None
        if self.first is not None and self.last is not None:
            ending = self.last[part].any() and not self.first[part].any()
            label = label or (Label.END if ending else None)
        said = {"time_format": read.form}
        if options.label == AUTO and label is not None:
            said["label"] = label
        return Stamps(read.wall[codes], read.offset[codes], None), options.changed(said)


def _is_typed(time: pa.Array) -> bool:
    return bool(pa.types.is_timestamp(time.type) or pa.types.is_date(time.type))


# What one count of each unit is. [µs]
_UNITS = {"s": 1_000_000, "ms": 1000, "us": 1, "D": 86_400_000_000}


def _micros(time: pa.Array) -> NDArray[np.int64]:
    """Return times or dates as microseconds, none where that takes more than 64 bits."""
    days = pa.types.is_date32(time.type)
    counts = time.view(pa.int32() if days else pa.int64())
    found = np.asarray(pc.fill_null(counts.cast(pa.int64()), NO_TIME).to_numpy())
    unit = "D" if days else getattr(time.type, "unit", "ms")
    if unit == "ns":
        return np.where(found == NO_TIME, NO_TIME, found // 1000)
    most = np.iinfo(np.int64).max // _UNITS[unit]
    return np.where((found < -most) | (found > most), NO_TIME, found * _UNITS[unit])


def _joined(
    date: pa.Array, time: pa.Array
) -> tuple[pa.Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return dates and times of day as one text, and which rows have the hours 0 and 24."""
    clock = pc.utf8_trim_whitespace(decoded(time))
    day = pc.utf8_trim_whitespace(decoded(date))
    # A spreadsheet's date comes with a midnight of its own.
    day = pc.replace_substring_regex(day, r"[ T]00:00(:00)?$", "")
    clock = pc.replace_substring_regex(clock, r"^(\d{1,2})(\d\d)(\.0)?$", r"\1:\2")
    clock = pc.replace_substring_regex(clock, r"^(\d{1,2}) ?[-–] ?(\d{1,2})$", r"\1:00 - \2:00")
    first, last = (
        np.asarray(pc.match_substring_regex(clock, rf"^{hour}(\.0)?$")) for hour in ("0?0", "24")
    )
    clock = pc.replace_substring_regex(clock, r"^(\d{1,2})(\.0)?$", r"\1:00")
    joined = pc.binary_join_element_wise(day, clock, " ")
    missing = pc.or_(pc.equal(day, ""), pc.equal(clock, ""))
    return pc.if_else(missing, "", joined), first, last


def _readings(table: RoleCells, options: MeterOptions) -> RowReadings:
    blank = _is_blank_stamp(table)

    def read(column: pa.Array, *added: pa.Array) -> RowReadings:
        numbers, commas, evidence = _numbers(column, table.separator, options)
        return RowReadings(
            table.rows, numbers, commas, evidence, blank, table.torn, added=tuple(map(read, added))
        )

    if table.roles.minutes is not None:
        return read(pa.concat_arrays(table.power))
    found = read(*table.power)
    return replace(found, imported=read(*table.imported)) if table.imported else found


def _names(cells: pa.Array) -> tuple[list[str], NDArray[np.int64]]:
    """Return the different systems that cells name, and the number of each cell's: "" for none."""
    known = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
    keys = [*(key or "" for key in keys_of(known.dictionary, each_alone=True)), ""]
    place = {name: at for at, name in enumerate(dict.fromkeys(keys))}
    at_key = np.array([place[key] for key in keys], dtype=np.int64)
    codes = np.asarray(pc.fill_null(known.indices, len(keys) - 1).to_numpy(), dtype=np.int64)
    return list(place), at_key[codes]


def _is_blank_stamp(table: RoleCells) -> NDArray[np.bool_]:
    """Return which rows have no stamp at all, or words where it should be."""
    if _is_typed(table.time):
        return np.asarray(pc.is_null(table.time))
    texts, codes = coded(table.time if table.date is None else table.date)
    return ~np.asarray(pc.match_substring_regex(texts, r"\d"))[codes]


def _numbers(
    cells: pa.Array, separator: str | None, options: MeterOptions
) -> tuple[CellNumbers, NDArray[np.float64] | None, NDArray[np.int8] | None]:
    """Return the numbers of cells; where both marks are possible, also those by a comma."""
    if not pa.types.is_string(cells.type):
        # whole numbers beyond what doubles hold are rounded
        numbers = pc.cast(cells, pa.float64(), safe=False)
        values = np.asarray(numbers.to_numpy(zero_copy_only=False))
        none = np.zeros(len(values), dtype=bool)
        return CellNumbers(values.astype(np.float64), none, none, none), None, None
    if options.decimal != AUTO:
        return cell_numbers(cells, options.decimal), None, None
    points = cell_numbers(cells, ".")
    plain = separator == "," and not pc.any(pc.match_substring(cells, ",")).as_py()
    if options.declared_only or plain:
        return points, None, None
    evidence = decimal_evidence(cells)
    if separator == ",":
        # between commas a number with a point has it for its decimals: only commas of its own, in
        # quotes, speak against that, and no other system's
        evidence[evidence == POINT_OR_THOUSANDS] = POINT
    return points, cell_numbers(cells, ",").values, evidence


def _unit(table: RoleCells, options: MeterOptions) -> tuple[Unit | None, tuple[str, ...]]:
    """Return the unit that is declared, in the header or beside the table, and what was assumed."""
    if options.known_unit is not None:
        return options.known_unit, ()
    if "unit" in table.said:
        return unit_in_name(table.said["unit"]), ()
    if {"consumption category", "generator capacity"} <= {each.folded for each in table.columns}:
        return Unit.KWH, ()  # Ausgrid's solar homes
    roles = table.roles
    if roles.minutes is None and len(roles.counted) > 1:
        return _unit_of_flows(table), ()
    if len({unit_in_name(table.columns[at].label) for at in roles.power}) > 1:
        return None, ()
    return find_unit(table.columns[table.roles.power[0]].label)


def _unit_of_flows(table: RoleCells) -> Unit | None:
    """Return the unit of columns that are added up, or taken from each other."""
    units = units_in(*(table.columns[at].label for at in table.roles.counted))
    if len(units) > 1:
        raise MeterError(
            f"{table.where} has columns of different units to add up or to take from each other,"
            " one of them in another unit than the first: bring them to one unit"
        )
    return units.pop() if units else None


def _stated_units(found: TableReadings, part: Rows) -> set[Unit | None]:
    """Return the units that a column of units states for a system."""
    if found.units is None:
        return set()
    texts, codes = found.units
    return units_in(*map(str, texts.take(pa.array(np.unique(codes[part]))).to_pylist()))


def _own_unit(numbers: CellNumbers) -> Unit | None:
    """Return the unit that most cells of a system carry themselves."""
    with_unit = numbers.with_unit
    bright = ~np.isnan(numbers.values) & (numbers.values != 0)
    if 2 * with_unit.sum() <= bright.sum() or not with_unit.any():
        return None
    return Unit.KWH if numbers.energy[with_unit].mean() > 0.5 else Unit.KW


def _system(
    found: TableReadings, part: Rows, name: str, *, where: str
) -> tuple[RawSystem | RefusedSystem, MeterOptions] | None:
    """Return the system of some rows, or why they cannot be used; None where they are no rows."""
    table = found.table
    stamps, options = found.stamps.of(part, found.options, where=where)
    lost = stamps.wall == NO_TIME
    remains = lost & (options.declared_only or (table.short is not None and table.short[part]))
    part, stamps, lost = part[~remains], stamps.keep(~remains), lost[~remains]
    if table.system is None:
        if lost.all():
            return None
        _refuse_homes_without_names(table, stamps.wall)
    elif not len(part) or (lost.all() and (len(part) <= _REMAINS or not name)):
        return None  # remains of a torn line, with another cell in place of the name
    if not name:
        reason = (
            f"{table.where} has rows that name no system: write a text or a whole number into its"
            " column of systems"
        )
        return RefusedSystem("", "unknown", reason), options
    wide = table.roles.minutes
    own = found.readings.of(part, len(wide or (0,)))
    if wide is not None:
        stamps = stamps.of_days(wide)
    (unit, notes), known = found.unit, stamps.wall != NO_TIME
    if stated := _stated_units(found, part):
        unit, notes = (stated.pop() if len(stated) == 1 else None), ()
    if unit is None and not options.declared_only:
        unit = _own_unit(own.numbers)
    if unit is None:
        column = "" if wide else table.columns[table.roles.power[0]].shown
        units = table.roles.unit if options.declared_only else None
        named = "" if units is None else table.columns[units].shown
        return RefusedSystem(name, "meter", str(missing_unit(table.where, column, named))), options
    notes = (*notes, *found.notes)
    values, words = _values(own, unit)
    imported = None
    if own.imported is not None:
        imported, more = _values(own.imported, unit)
        words += more
    if not options.declared_only:
        problem = _problem(own, known, where=where)
        if problem is not None:
            return RefusedSystem(name, "meter", problem), options
        if words:
            notes = (*notes, f"{count(words, 'cell')} without a number, dropped.")
        if timeless := int((~known & ~np.isnan(values)).sum()):
            notes = (*notes, f"{count(timeless, 'row')} without a time, dropped.")
    raw = RawSystem(
        name,
        where,
        own.rows[known],
        stamps.keep(known),
        values[known],
        unit,
        notes,
        net=table.roles.net,
        imported=None if imported is None else imported[known],
    )
    return raw, options


def _values(readings: RowReadings, unit: Unit) -> tuple[NDArray[np.float64], int]:
    """Return the readings of a system in its table's unit, and how many cells are no numbers."""
    numbers = readings.numbers
    values = numbers.values
    # every system's own cells tell its decimal mark
    if readings.evidence is not None and decimal_mark(readings.evidence) == ",":
        assert readings.commas is not None
        values = readings.commas
    own = numbers.with_unit
    if own.any():
        fits = own & (numbers.energy == unit.is_energy)
        with np.errstate(over="ignore"):
            converted = np.where(fits, values / unit.kilo, np.nan)
        values = np.where(own, converted, values)
    if readings.torn is not None:
        values = np.where(readings.torn, np.nan, values)
    without = int(numbers.text.sum())
    for each in readings.added:
        more, lost = _values(each, unit)
        values, without = values + more, without + lost
    return values, without


def _problem(readings: RowReadings, known: NDArray[np.bool_], *, where: str) -> str | None:
    """Return what is wrong with the lines and stamps of a system, for an inference."""
    rows = readings.rows
    if readings.torn is not None and readings.torn.mean() > _FEW:
        return (
            f"{where} has more cells than its header at {name_rows(rows[readings.torn])}: numbers"
            " with the separator in them must stand in quotes, or name it with option `separator`"
        )
    if not known.any():
        return f"{where} has no times that can be read; say how with option `time_format`"
    blank = readings.blank_stamp
    ends = np.flatnonzero(known)[[0, -1]]
    inside = np.arange(len(known))
    around = (inside < ends[0]) | (inside > ends[1])
    wrong = ~known & ~blank
    few = around.sum() <= _MOST_AROUND
    if few:
        wrong = wrong & ~around
    if wrong.any():
        return (
            f"{where} has times that cannot be read at {name_rows(rows[wrong])};"
            " say how they are written with option `time_format`"
        )
    lost = blank & ~np.isnan(readings.numbers.values) & (~around | (not few))
    if lost.mean() > _FEW:
        return f"{where} has readings without a time at {name_rows(rows[lost])}; remove them"
    return None
