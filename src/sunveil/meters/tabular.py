"""From the columns of a table to its systems: stamps, numbers and units, each system alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sunveil.errors import MeterError, ask
from sunveil.keys import keys_of
from sunveil.meters.assemble import RawSystem, added_up, matched
from sunveil.meters.cells import RoleCells, RowReadings
from sunveil.meters.clock import Stamps
from sunveil.meters.dates import NO_TIME, read_stamps
from sunveil.meters.days import rows_of_flows, rows_of_one_kind
from sunveil.meters.named_columns import suggest_systems
from sunveil.meters.numbers import (
    POINT,
    POINT_OR_THOUSANDS,
    CellNumbers,
    cell_numbers,
    decimal_evidence,
    decimal_mark,
)
from sunveil.meters.options import AUTO, MeterOptions, Unit
from sunveil.meters.record import Label
from sunveil.meters.refusals import RefusedSystem
from sunveil.meters.textcells import coded, decoded
from sunveil.meters.units import find_unit, missing_unit, unit_in_name, units_in
from sunveil.meters.wording import Rows, count, name_rows

# Rows without a stamp above the first and below the last one that has any are no readings.
_MOST_AROUND = 10
# More stamps or lines than this that cannot be read are no accident. [share]
_FEW = 0.01
# So few rows without a stamp are no system.
_REMAINS = 3
_NETTED = "It is what was given to the grid less what was taken from it."
# So many rows show whether there are several for each time.
_SEVERAL = 48


@dataclass(frozen=True, slots=True, eq=False)
class TableReadings:
    """A table whose stamps and cells have been read: private.

    Parameters
    ----------
    table
        Its cells.
    readings
        Its readings, row by row.
    names
        Its systems, None where the whole table is one.
    unit
        The unit that is declared or in the header; None where each system's cells must say it.
    options
        The options that hold: the curator's, and what the file says of itself.
    time_format
        How its stamps are written, where they are texts.
    notes
        What was assumed.
    imported
        The rows of what was taken from the grid, where the others are what was given to it.
    added
        The rows of further tariffs that are added to these.
    units
        The different texts in a column of units, and the number of each row's text.
    """

    table: RoleCells
    readings: RowReadings
    names: list[str] | None
    unit: Unit | None
    options: MeterOptions
    time_format: str | None
    notes: tuple[str, ...]
    imported: TableReadings | None = None
    added: tuple[TableReadings, ...] = ()
    units: tuple[pa.StringArray, NDArray[np.int64]] | None = None

    def __repr__(self) -> str:
        return f"TableReadings({self.table.where}, private)"

    def systems(self) -> Iterator[RawSystem | RefusedSystem]:
        """Yield its systems, in the order of their names."""
        if self.imported is None:
            yield from self._of_all_tariffs()
            return
        taken = {each.system_id: each for each in self.imported.systems()}
        for given in self._of_all_tariffs():
            yield _netted(given, taken.get(given.system_id))

    def _of_all_tariffs(self) -> Iterator[RawSystem | RefusedSystem]:
        if not self.added:
            yield from self._systems()
            return
        found: dict[str, list[RawSystem | RefusedSystem]] = {}
        for table in (self, *self.added):
            for each in table._systems():
                found.setdefault(each.system_id, []).append(each)
        for _, parts in sorted(found.items()):
            yield _added_up(parts)

    def _systems(self) -> Iterator[RawSystem | RefusedSystem]:
        readings, where = self.readings, self.table.where
        if self.names is None:
            yield _system(self, None, self.table.stem)
            return
        assert readings.codes is not None
        order = np.argsort(readings.codes, kind="stable")
        if self.options.declared_only:
            # what has no stamp is no row, and names no system either
            order = order[readings.wall[order] != NO_TIME]
        edges = np.searchsorted(readings.codes[order], np.arange(len(self.names) + 1))
        for code, name in sorted(enumerate(self.names), key=lambda each: each[1]):
            part = order[edges[code] : edges[code + 1]]
            if len(part) <= _REMAINS and (readings.wall[part] == NO_TIME).all():
                continue  # remains of a torn line, whose name is some other cell
            if name != "" and len(part):
                yield _system(self, part, name)
            elif (readings.wall[part] != NO_TIME).any():
                reason = (
                    f"{where} has rows that name no system: write a text or a whole number into its"
                    " column of systems"
                )
                yield RefusedSystem("", "unknown", reason)


def read_table(table: RoleCells, options: MeterOptions) -> TableReadings:
    """Return the stamps and numbers of a table, each cell read by itself."""
    if not len(table.rows):
        raise MeterError(f"{table.where} has a header but no readings")
    if table.kind is not None:
        wide = table.roles.minutes is not None
        if (flows := rows_of_flows(table.kind, options, strict=wide)) is not None:
            given, taken = (
                _of_tariffs([read_table(_of_flow(table, rows), options) for rows in way])
                for way in flows
            )
            return replace(given, imported=taken, notes=(*given.notes, _NETTED))
        table = table.keep(rows_of_one_kind(table.kind, options, where=table.where, strict=wide))
    stamps, label, form = _stamps(table, options)
    if table.short is not None:  # without a stamp, the remains of a cell with a line break
        kept = ~table.short | (stamps.wall != NO_TIME)
        table, stamps = table.keep(kept), stamps.keep(kept)
    if not (stamps.wall != NO_TIME).any():
        raise MeterError(
            f"{table.where} has no times that can be read in its column of times; say how they are"
            f" written with {ask('time_format')}"
        )
    _refuse_homes_without_names(table, stamps)
    options = _with_said(options, table, label)
    names, readings = _readings(table, options, stamps)
    unit, notes = _unit(table, options)
    if table.roles.imported:
        notes = (*notes, _NETTED)
    elif table.roles.net and not options.net:
        notes = (*notes, "Its column is what was given to the grid: taken for a net meter.")
    units = None if table.unit is None else coded(table.unit)
    return TableReadings(table, readings, names, unit, options, form, notes, units=units)


def _of_tariffs(tables: list[TableReadings]) -> TableReadings:
    """Return the first of some tables with the others to be added to it."""
    return replace(tables[0], added=tuple(tables[1:]))


def _added_up(parts: list[RawSystem | RefusedSystem]) -> RawSystem | RefusedSystem:
    """Return a system of the rows of all its tariffs."""
    raws = [each for each in parts if isinstance(each, RawSystem)]
    if len(raws) < len(parts):
        return next(each for each in parts if isinstance(each, RefusedSystem))
    try:
        return added_up(raws)
    except MeterError as error:
        return RefusedSystem(raws[0].system_id, "meter", str(error))


def _of_flow(table: RoleCells, rows: NDArray[np.bool_]) -> RoleCells:
    """Return the rows of a table that count one way, as a net meter's."""
    kept = table.keep(rows)
    return replace(kept, kind=None, roles=replace(kept.roles, kind=None))


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
        return replace(given, net=True, imported=matched(given, taken))
    except MeterError as error:
        return RefusedSystem(given.system_id, "meter", str(error))


def _refuse_homes_without_names(table: RoleCells, stamps: Stamps) -> None:
    """Refuse a table with many rows for each time, where a column may name several systems."""
    if table.system is not None or len(stamps.wall) < _SEVERAL:
        return
    if 2 * len(np.unique(stamps.wall)) > len(stamps.wall):
        return
    taken = {table.roles.time, table.roles.date, *table.roles.counted}
    others = [each for at, each in enumerate(table.columns) if at not in taken]
    if listed := suggest_systems(others):
        raise MeterError(
            f"{table.where} has several rows for each time: if these are several systems, name the"
            f" column that tells them apart with {ask('system_column')}, such as {listed}"
        )


def _with_said(options: MeterOptions, table: RoleCells, label: Label | None) -> MeterOptions:
    """Return the options with what the header and the file say, where the curator does not."""
    changes: dict[str, object] = {}
    label = table.roles.label or label
    if options.label == AUTO and ("label" in table.said or label is not None):
        changes["label"] = table.said.get("label") or label
    if options.decimal == AUTO and "decimal" in table.said:
        changes["decimal"] = table.said["decimal"]
    if options.timezone is None:
        clock = table.columns[table.roles.time].folded.split()
        named = "UTC" if {"utc", "gmt"} & set(clock) else None
        changes["timezone"] = table.said.get("timezone", named)
    if options.register == AUTO and table.roles.register is not None:
        changes["register"] = table.roles.register
    return options.changed(changes)


def _stamps(table: RoleCells, options: MeterOptions) -> tuple[Stamps, Label | None, str | None]:
    """Return the stamps of the rows, which instant they turn out to name, and their format."""
    time = table.time
    if pa.types.is_timestamp(time.type) or pa.types.is_date(time.type):
        zoned = getattr(time.type, "tz", None) is not None
        wall = _micros(time)
        offset = np.full(len(wall), 0.0 if zoned else np.nan)
        return Stamps(wall, offset, table.zone if zoned else None), None, None
    label = None
    if table.date is not None:
        time, label = _joined(table.date, time)
    texts, code = coded(time)
    read = read_stamps(texts, options.time_format, where=table.where)
    label = Label.START if read.ranged else label
    return Stamps(read.wall[code], read.offset[code], None), label, read.form


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


def _joined(date: pa.Array, time: pa.Array) -> tuple[pa.Array, Label | None]:
    """Return dates and times of day as one text, and the label that hours from 1 to 24 say."""
    clock = pc.utf8_trim_whitespace(decoded(time))
    day = pc.utf8_trim_whitespace(decoded(date))
    # A spreadsheet's date comes with a midnight of its own.
    day = pc.replace_substring_regex(day, r"[ T]00:00(:00)?$", "")
    clock = pc.replace_substring_regex(clock, r"^(\d{1,2})(\d\d)(\.0)?$", r"\1:\2")
    hours = pc.match_substring_regex(clock, r"^\d{1,2}(\.0)?$")
    last = bool(pc.any(pc.match_substring_regex(clock, r"^24(\.0)?$")).as_py())
    first = bool(pc.any(pc.match_substring_regex(clock, r"^0?0(\.0)?$")).as_py())
    clock = pc.replace_substring_regex(clock, r"^(\d{1,2})(\.0)?$", r"\1:00")
    ending = bool(pc.any(hours).as_py()) and last and not first
    joined = pc.binary_join_element_wise(day, clock, " ")
    missing = pc.or_(pc.equal(day, ""), pc.equal(clock, ""))
    return pc.if_else(missing, "", joined), Label.END if ending else None


def _readings(
    table: RoleCells, options: MeterOptions, stamps: Stamps
) -> tuple[list[str] | None, RowReadings]:
    names, codes = None, None
    if table.system is not None:
        names, codes = _names(table.system)
    blank = _is_blank_stamp(table)

    def read(column: pa.Array, *added: pa.Array) -> RowReadings:
        numbers, commas, evidence = _numbers(column, table.separator, options)
        wall, offset = stamps.wall, stamps.offset
        return RowReadings(
            table.rows,
            wall,
            offset,
            numbers,
            commas,
            evidence,
            codes,
            blank,
            table.torn,
            added=tuple(map(read, added)),
        )

    if table.roles.minutes is not None:
        return names, read(pa.concat_arrays(table.power)).by_interval(table.roles.minutes)
    found = read(*table.power)
    if table.imported:
        found = replace(found, imported=read(*table.imported))
    return names, found


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
    if pa.types.is_timestamp(table.time.type) or pa.types.is_date(table.time.type):
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
    """Return the unit that is declared, in the header or beside the table, None without any."""
    if options.known_unit is not None:
        return options.known_unit, ()
    if "unit" in table.said:
        return unit_in_name(table.said["unit"]), ()
    if {"consumption category", "generator capacity"} <= {each.folded for each in table.columns}:
        return Unit.KWH, ()  # Ausgrid's solar homes
    if table.unit is not None and not options.declared_only:
        stated = units_in(*map(str, coded(table.unit)[0].to_pylist()))
        if stated:  # by several each system has its own
            return (stated.pop() if len(stated) == 1 else None), ()
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
            f"{table.where} has columns of different units that are added up or taken from each"
            " other: bring them to one unit"
        )
    return units.pop() if units else None


def _unit_in_column(
    units: tuple[pa.StringArray, NDArray[np.int64]] | None, some: Rows | slice
) -> Unit | None:
    """Return the unit that the column of units states for a system, where it is one."""
    if units is None:
        return None
    texts, codes = units
    found = units_in(*map(str, texts.take(pa.array(np.unique(codes[some]))).to_pylist()))
    return found.pop() if len(found) == 1 else None


def _own_unit(numbers: CellNumbers, some: Rows | slice) -> Unit | None:
    """Return the unit that most cells of a system carry themselves."""
    values, told = numbers.values[some], numbers.with_unit[some]
    bright = ~np.isnan(values) & (values != 0)
    if 2 * told.sum() <= bright.sum() or not told.any():
        return None
    return Unit.KWH if numbers.energy[some][told].mean() > 0.5 else Unit.KW


def _system(found: TableReadings, part: Rows | None, name: str) -> RawSystem | RefusedSystem:
    """Return one system of a table, or why its rows cannot be used."""
    table, readings, options = found.table, found.readings, found.options
    some: Rows | slice = slice(None) if part is None else part
    where = table.where if part is None else f"{table.where}, system {name},"
    unit = found.unit
    if unit is None and not options.declared_only:
        unit = _unit_in_column(found.units, some) or _own_unit(readings.numbers, some)
    if unit is None:
        column = "" if table.roles.minutes else table.columns[table.roles.power[0]].shown
        return RefusedSystem(name, "meter", str(missing_unit(table.where, column)))
    rows, wall = readings.rows[some], readings.wall[some]
    values, told = _values(readings, some, unit)
    imported = None
    if readings.imported is not None:
        imported, more = _values(readings.imported, some, unit)
        told += more
    known = wall != NO_TIME
    notes = found.notes
    if not options.declared_only:
        problem = _problem(readings, some, rows, known, where=where)
        if problem is not None:
            return RefusedSystem(name, "meter", problem)
        if told:
            notes = (*notes, f"{count(told, 'cell')} without a number, left out.")
        lost = int((~known & ~np.isnan(values)).sum())
        if lost:
            notes = (*notes, f"{count(lost, 'row')} without a time, left out.")
    stamps = Stamps(
        wall[known], readings.offset[some][known], table.zone, table.roles.minutes is not None
    )
    return RawSystem(
        name,
        where,
        rows[known],
        stamps,
        values[known],
        unit,
        notes,
        net=table.roles.net,
        imported=None if imported is None else imported[known],
    )


def _values(
    readings: RowReadings, some: Rows | slice, unit: Unit
) -> tuple[NDArray[np.float64], int]:
    """Return the readings of a system in its table's unit, and how many cells are no numbers."""
    numbers = readings.numbers
    values, text = numbers.values[some], numbers.text[some]
    # every system's own cells tell its decimal mark
    if readings.evidence is not None and decimal_mark(readings.evidence[some]) == ",":
        assert readings.commas is not None
        values = readings.commas[some]
    own = numbers.with_unit[some]
    if own.any():
        fits = own & (numbers.energy[some] == unit.is_energy)
        with np.errstate(over="ignore"):
            converted = np.where(fits, values / unit.kilo, np.nan)
        values = np.where(own, converted, values)
    if readings.torn is not None:
        values = np.where(readings.torn[some], np.nan, values)
    without = int(text.sum())
    for each in readings.added:
        more, lost = _values(each, some, unit)
        values, without = values + more, without + lost
    return values, without


def _problem(
    readings: RowReadings, some: Rows | slice, rows: Rows, known: NDArray[np.bool_], *, where: str
) -> str | None:
    """Return what is wrong with the lines and stamps of a system, for an inference."""
    if readings.torn is not None and (torn := readings.torn[some]).mean() > _FEW:
        return (
            f"{where} has more cells than its header at {name_rows(rows[torn])}: numbers with the"
            f" separator in them must stand in quotes, or name it with {ask('separator')}"
        )
    if not known.any():
        return f"{where} has no times that can be read; say how with {ask('time_format')}"
    blank = readings.blank_stamp[some]
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
            f" say how they are written with {ask('time_format')}"
        )
    values = readings.numbers.values[some]
    lost = blank & ~np.isnan(values) & (~around | (not few))
    if lost.mean() > _FEW:
        return f"{where} has readings without a time at {name_rows(rows[lost])}; remove them"
    return None
