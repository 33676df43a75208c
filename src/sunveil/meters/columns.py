"""Which column of a table holds the times, which the readings, which the systems."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sunveil.errors import MeterError, ask
from sunveil.meters import vocabulary
from sunveil.meters.dates import is_clock, is_stamp
from sunveil.meters.days import find_day_columns
from sunveil.meters.header import TableColumn, fold
from sunveil.meters.named_columns import find_position, first_named, list_columns, mostly_holds
from sunveil.meters.numbers import is_blank
from sunveil.meters.options import MeterOptions, Register
from sunveil.meters.reading_columns import find_readings, register_in
from sunveil.meters.record import Label


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """What the columns of a table hold, by their positions.

    Parameters
    ----------
    time
        Stamps, or times of day where ``date`` holds the dates.
    power
        Readings: one column, several that are added up, or many where each row is a day. What was
        given to the grid, where ``imported`` is what was taken from it.
    date
        Dates, where they stand apart.
    system
        Names of systems; None for a table of one system.
    minutes
        Where each row is a day, what the clock shows at each column of readings. [min]
    kind
        What the readings of a row count, where rows of several kinds stand in one table.
    unit
        The unit of a row, where a column says it.
    label
        Which instant of its interval a stamp names, where the header says it.
    register
        What the header says of a register that counts up.
    imported
        What a net meter counts as taken from the grid, where it counts both ways apart: one column,
        or several that are added up.
    net
        Whether the columns are a net meter's, as the curator or the header says.
    """

    time: int
    power: tuple[int, ...]
    date: int | None = None
    system: int | None = None
    minutes: tuple[float, ...] | None = None
    kind: int | None = None
    unit: int | None = None
    label: Label | None = None
    register: Register | None = None
    imported: tuple[int, ...] = ()
    net: bool = False

    @property
    def counted(self) -> tuple[int, ...]:
        """All columns of readings."""
        return (*self.power, *self.imported)


def find_roles(columns: Sequence[TableColumn], options: MeterOptions, *, where: str) -> ColumnRoles:
    """Return the columns to read, as the options say or as the header does.

    The cells of columns decide only where they are given, which they are not for private releases.

    Parameters
    ----------
    columns
        All columns of the table, in order.
    options
        Which columns the curator names.
    where
        The name of the table, for messages.
    """
    system = _find_system(columns, options, where)
    days = find_day_columns(columns)
    if (days is not None and options.power_column is None) or (days and _is_kind(columns, options)):
        return _roles_of_days(columns, options, days, system, where=where)
    time, date = _find_times(columns, options, where, taken=system)
    _refuse_flowing_times(columns[time].folded, options, where)
    taken = {time, date, system}
    # where several systems share a table, no cell of one decides on the others
    blind = columns if system is None else [replace(each, cells=()) for each in columns]
    power, imported, net = find_readings(blind, options, taken, where)
    picked = [at for at in (time, date, system, *power, *imported) if at is not None]
    if len(set(picked)) < len(picked):
        raise MeterError(f"{where} is asked to read one column as two things; name different ones")
    taken |= {*power, *imported}
    return ColumnRoles(
        time,
        power,
        date,
        system,
        kind=first_named(columns, vocabulary.KINDS, taken),
        unit=first_named(columns, vocabulary.UNITS, taken),
        label=_label_in(columns[time].folded),
        register=register_in(columns[power[0]]),
        imported=imported,
        net=net,
    )


def _refuse_flowing_times(name: str, options: MeterOptions, where: str) -> None:
    """Refuse readings of the grid that only the name of their times tells from generation."""
    found = vocabulary.FLOWING_TIMES.search(name)
    if found is None or (found[0] == "consumption" and options.net and options.negate):
        return
    if found[0] == "consumption":
        raise MeterError(
            f"{where} counts consumption: if that is what a net meter takes from the grid less what"
            f" it gives, say so with {ask('net')} and {ask('negate')}"
        )
    raise MeterError(
        f"{where} may have what is delivered and what is received in one column, block below block:"
        " make it a table with the columns time,export_kwh,import_kwh"
    )


def _label_in(name: str) -> Label | None:
    """Return which instant of its interval the name of a column of times speaks of."""
    if vocabulary.ENDING.search(name):
        return Label.END
    return Label.START if vocabulary.STARTING.search(name) else None


def _find_system(columns: Sequence[TableColumn], options: MeterOptions, where: str) -> int | None:
    if options.system_column is not None:
        return find_position(columns, options.system_column, "system_column", where)
    found = first_named(columns, vocabulary.SYSTEMS, set())
    return None if found is None or columns[found].is_time else found


def _find_times(
    columns: Sequence[TableColumn], options: MeterOptions, where: str, *, taken: int | None
) -> tuple[int, int | None]:
    if options.time_column is not None:
        time = find_position(columns, options.time_column, "time_column", where)
        if options.date_column is None:
            return time, None
        return time, find_position(columns, options.date_column, "date_column", where)
    date = (
        find_position(columns, options.date_column, "date_column", where)
        if options.date_column is not None
        else first_named(columns, vocabulary.DATES, {taken})
    )
    if date is None:
        date = _share_of(columns, _is_day, {taken})
    clock = first_named(columns, vocabulary.CLOCKS, {taken, date})
    if clock is None and date is not None:
        clock = _share_of(columns, is_clock, {taken, date})
    if date is not None and clock is not None and _is_apart(columns, date, clock, options):
        return clock, date
    return _find_time(columns, where, taken), None


def _is_apart(columns: Sequence[TableColumn], date: int, clock: int, options: MeterOptions) -> bool:
    """Whether one column holds dates and another the times of day."""
    if columns[date].is_time or columns[clock].is_time:
        return False
    days, hours = (
        [cell for cell in columns[at].cells if not is_blank(cell)] for at in (date, clock)
    )
    if not days or not hours:
        # nothing to see: the names "date" and "time" say it
        return options.date_column is not None or {columns[date].folded, columns[clock].folded} <= {
            *vocabulary.DATES,
            *vocabulary.CLOCKS,
        }
    if options.date_column is not None:
        return True
    timeless = sum(":" not in cell for cell in days)
    return 2 * timeless > len(days) and 2 * sum(map(_is_hour, hours)) > len(hours)


def _is_day(cell: str) -> bool:
    return is_stamp(cell) and ":" not in cell and len(cell) <= 12


def _is_hour(cell: str) -> bool:
    return is_clock(cell) or bool(re.fullmatch(r"\d{1,2}|\d{4}|\d{6}", cell))


def _find_time(columns: Sequence[TableColumn], where: str, taken: int | None) -> int:
    if (found := first_named(columns, vocabulary.TIMES, {taken})) is not None:
        return found
    for position, column in enumerate(columns):
        # Exported frames leave their index of times without a name.
        if vocabulary.UNNAMED.fullmatch(column.name.strip()) and position != taken:
            seen = column.is_time or mostly_holds(column, is_stamp)
            # an export whose stamps have no name has them first
            unseen = column.is_time is None and not column.cells
            if seen or (unseen and position == 0 and any(each.name for each in columns)):
                return position
    dated = [
        at
        for at, column in enumerate(columns)
        if at != taken
        and (column.is_time or (column.is_time is None and mostly_holds(column, is_stamp)))
    ]
    if len(dated) == 1:
        return dated[0]
    worded = [
        at
        for at, column in enumerate(columns)
        if at != taken and re.search(r"\b(time|date|datum|zeit|fecha|hora|heure)\b", column.folded)
    ]
    if len(worded) == 1:
        return worded[0]
    raise MeterError(
        f"{where} has no column of times known by its name: name it with {ask('time_column')},"
        f" one of {list_columns(columns)}"
    )


def _share_of(
    columns: Sequence[TableColumn], test: Callable[[str], bool], taken: set[int | None]
) -> int | None:
    found = [
        at for at, column in enumerate(columns) if at not in taken and mostly_holds(column, test)
    ]
    return found[0] if found else None


def _is_kind(columns: Sequence[TableColumn], options: MeterOptions) -> bool:
    """Whether the readings are named by a kind of rows, not by a column."""
    names = {column.folded for column in columns}
    return options.power_column is not None and fold(options.power_column) not in names


def _roles_of_days(
    columns: Sequence[TableColumn],
    options: MeterOptions,
    days: tuple[tuple[int, ...], tuple[float, ...]],
    system: int | None,
    *,
    where: str,
) -> ColumnRoles:
    places, minutes = days
    taken: set[int | None] = {system, *places}
    if options.date_column is not None or options.time_column is not None:
        name = options.date_column or options.time_column
        assert name is not None
        date = find_position(columns, name, "date_column", where)
    else:
        rest = [
            column if at not in taken else TableColumn("\0") for at, column in enumerate(columns)
        ]
        found = first_named(rest, (*vocabulary.DATES, *vocabulary.TIMES), taken)
        date = found if found is not None else _find_time(rest, where, system)
    ending = minutes[0] > 0.0
    # A row that is a whole day leaves no doubt which interval a column is.
    label = Label.END if ending else Label.START
    return ColumnRoles(
        date,
        places,
        system=system,
        minutes=minutes,
        kind=first_named(columns, vocabulary.KINDS, taken | {date}),
        unit=first_named(columns, vocabulary.UNITS, taken | {date}),
        label=label,
    )
