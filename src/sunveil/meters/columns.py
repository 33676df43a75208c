"""Which column of a table holds the times, which the readings, which the systems."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sunveil.errors import MeterError, ask
from sunveil.meters import vocabulary
from sunveil.meters.dates import is_clock, is_stamp
from sunveil.meters.days import find_day_columns
from sunveil.meters.header import TableColumn, fold
from sunveil.meters.numbers import is_blank, parse_number
from sunveil.meters.options import MeterOptions, Register
from sunveil.meters.record import Label
from sunveil.meters.units import unit_in_name


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """What the columns of a table hold, by their positions.

    Parameters
    ----------
    time
        Stamps, or times of day where ``date`` holds the dates.
    power
        Readings: one column, or many where each row is a day.
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
    taken = {time, date, system}
    if options.power_column is not None:
        power = find_position(columns, options.power_column, "power_column", where)
    else:
        # where several systems share a table, no cell of one decides on the others
        blind = columns if system is None else [replace(each, cells=()) for each in columns]
        power = _find_power(blind, taken, where)
    if power in taken or (system is not None and system in (time, date)):
        raise MeterError(f"{where} is asked to read one column as two things; name different ones")
    taken |= {power}
    return ColumnRoles(
        time,
        (power,),
        date,
        system,
        kind=_named(columns, vocabulary.KINDS, taken),
        unit=_named(columns, vocabulary.UNITS, taken),
        label=_label_in(columns[time].folded),
        register=_register_in(columns[power]),
    )


def _label_in(name: str) -> Label | None:
    """Return which instant of its interval the name of a column of times speaks of."""
    if vocabulary.ENDING.search(name):
        return Label.END
    return Label.START if vocabulary.STARTING.search(name) else None


def _register_in(column: TableColumn) -> Register | None:
    """Return which register the header of a column of readings speaks of, None for none."""
    if _is_counter(column):
        return Register.CUMULATIVE
    unit = unit_in_name(column.label)
    daily = vocabulary.DAILY_COUNTERS.search(fold(column.label))
    return Register.DAILY if daily and unit is not None and unit.is_energy else None


def _is_counter(column: TableColumn) -> bool:
    """Whether the header says that a column counts up without end."""
    words = fold(column.label)
    return bool(vocabulary.COUNTERS.search(words)) and not vocabulary.DIFFERENCES.search(words)


def find_position(columns: Sequence[TableColumn], name: str, option: str, where: str) -> int:
    """Return the place of a column that the curator names, or numbers from 1.

    Parameters
    ----------
    columns
        All columns.
    name
        The column's name or number.
    option
        The parameter that names it.
    where
        The name of the table, for messages.
    """
    names = [column.name for column in columns]
    if name in names:
        return names.index(name)
    folded = [fold(each) for each in names]
    if folded.count(fold(name)) == 1:
        return folded.index(fold(name))
    if name.isdecimal() and 1 <= int(name) <= len(columns):
        return int(name) - 1
    raise MeterError(
        f"{where} has no column {name!r} ({ask(option)}): it has {list_columns(columns)}"
    )


def list_columns(columns: Sequence[TableColumn]) -> str:
    """Return the columns for a message: by name, or by number where they have none."""
    if not any(column.shown for column in columns):
        return f"its {len(columns)} columns, numbered from 1"
    shown = [repr(column.shown[:60]) for column in columns[:20]]
    more = len(columns) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def suggest_systems(columns: Sequence[TableColumn]) -> str:
    """Return the columns that may name systems, for a message; nothing where none does."""
    likely = [column for column in columns if vocabulary.IDENTIFYING.search(column.folded)]
    return list_columns(likely) if likely else ""


def _named(
    columns: Sequence[TableColumn], usual: Sequence[str], taken: set[int | None]
) -> int | None:
    folded = {column.folded: at for at, column in reversed(list(enumerate(columns)))}
    return next((folded[n] for n in usual if n in folded and folded[n] not in taken), None)


def _find_system(columns: Sequence[TableColumn], options: MeterOptions, where: str) -> int | None:
    if options.system_column is not None:
        return find_position(columns, options.system_column, "system_column", where)
    found = _named(columns, vocabulary.SYSTEMS, set())
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
        else _named(columns, vocabulary.DATES, {taken})
    )
    if date is None:
        date = _share_of(columns, _is_day, {taken})
    clock = _named(columns, vocabulary.CLOCKS, {taken, date})
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
    if (found := _named(columns, vocabulary.TIMES, {taken})) is not None:
        return found
    for position, column in enumerate(columns):
        # Exported frames leave their index of times without a name.
        if vocabulary.UNNAMED.fullmatch(column.name.strip()) and position != taken:
            seen = column.is_time or _holds(column, is_stamp)
            # an export whose stamps have no name has them first
            unseen = column.is_time is None and not column.cells
            if seen or (unseen and position == 0 and any(each.name for each in columns)):
                return position
    dated = [
        at
        for at, column in enumerate(columns)
        if at != taken and (column.is_time or (column.is_time is None and _holds(column, is_stamp)))
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


def _find_power(columns: Sequence[TableColumn], taken: set[int | None], where: str) -> int:
    rest = [at for at in range(len(columns)) if at not in taken]
    if not rest:
        raise MeterError(f"{where} has no column of readings beside its times")
    if (exact := _named(columns, ("power kw",), taken)) is not None:
        return exact
    named = [
        at for at in rest if columns[at].is_number is not False and _is_generation(columns[at])
    ]
    if len(named) > 1:
        named = _likeliest(columns, named)
    if len(named) == 1:
        return named[0]
    if not named and len(rest) > 1:
        # nothing is named after generation: what can be a number at all
        plain = [at for at in rest if not vocabulary.OTHERS.search(columns[at].folded)]
        numbers = [at for at in plain if _is_numeric(columns[at])]
        seen = any(column.cells or column.is_number is not None for column in columns)
        named = numbers or ([] if seen else plain)
        if len(named) == 1:
            return named[0]
        named = named or [at for at in rest if _is_numeric(columns[at])]
        if len(named) == 1:
            return named[0]
    if len(rest) == 1:
        return rest[0]
    listed = _list_numbered(columns, named or rest)
    if not any(column.shown for column in columns):
        raise MeterError(
            f"{where} has no header: name its columns in a first line such as time,power_kw, or"
            f" number them from 1 with {ask('time_column')} and {ask('power_column')}"
        )
    several = "several columns of readings" if named else "no column of readings known by its name"
    raise MeterError(
        f"{where} has {several}: name the readings with {ask('power_column')}, one of {listed}"
    )


def _list_numbered(columns: Sequence[TableColumn], places: Sequence[int]) -> str:
    """Return some columns for a message: by name, or by number where two share one."""
    names = [columns[at].name for at in places]
    if len(set(names)) == len(names):
        return list_columns([columns[at] for at in places])
    return ", ".join(f"{at + 1} ({columns[at].shown[:60]!r})" for at in places[:20])


def _is_generation(column: TableColumn) -> bool:
    words = fold(column.label)
    if vocabulary.OTHERS.search(words) and not vocabulary.SURELY_GENERATION.search(words):
        return False
    if unit_in_name(column.label) is not None:
        return True
    return bool(vocabulary.GENERATION.search(words)) or _carries_units(column)


def _likeliest(columns: Sequence[TableColumn], named: list[int]) -> list[int]:
    """Return those of several columns that speak of generation most plainly."""
    tests: tuple[Callable[[TableColumn], bool], ...] = (
        lambda column: not vocabulary.OTHERS.search(fold(column.label)),
        lambda column: not _is_counter(column),
        lambda column: unit_in_name(column.label) is not None or _carries_units(column),
        lambda column: bool(vocabulary.GENERATION.search(fold(column.label))),
        lambda column: not vocabulary.DERIVED.search(fold(column.label)),
        _is_power,
    )
    for test in tests:
        fits = [at for at in named if test(columns[at])]
        named = fits or named
        if len(named) == 1:
            break
    return named


def _is_power(column: TableColumn) -> bool:
    unit = unit_in_name(column.label)
    if unit is not None:
        return not unit.is_energy
    kinds = [parse_number(cell, ".")[1] for cell in column.cells[:50]]
    return "power" in kinds


def _carries_units(column: TableColumn) -> bool:
    filled = [cell for cell in column.cells if not is_blank(cell)]
    carrying = sum(parse_number(cell, ".")[1] != "" for cell in filled)
    return bool(filled) and 2 * carrying > len(filled)


def _is_numeric(column: TableColumn) -> bool:
    if column.is_number is not None:
        return column.is_number
    if _is_index(column):
        return False
    return _holds(column, lambda cell: parse_number(cell, ".")[0] == parse_number(cell, ".")[0])


def _is_index(column: TableColumn) -> bool:
    """Whether a column without a name counts its rows."""
    cells = column.cells[:50]
    numbers = [cell for cell in cells if cell.isdecimal()]
    counts = [int(cell) for cell in numbers]
    stepped = all(b - a == 1 for a, b in pairwise(counts))
    unnamed = bool(vocabulary.UNNAMED.fullmatch(column.name.strip())) and column.name != ""
    return unnamed and len(counts) > 2 and len(counts) == len(cells) and stepped


def _holds(column: TableColumn, test: Callable[[str], bool]) -> bool:
    filled = [cell for cell in column.cells if not is_blank(cell)]
    return bool(filled) and 10 * sum(map(test, filled)) >= 9 * len(filled)


def _share_of(
    columns: Sequence[TableColumn], test: Callable[[str], bool], taken: set[int | None]
) -> int | None:
    found = [at for at, column in enumerate(columns) if at not in taken and _holds(column, test)]
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
        found = _named(rest, (*vocabulary.DATES, *vocabulary.TIMES), taken)
        date = found if found is not None else _find_time(rest, where, system)
    ending = minutes[0] > 0.0
    # A row that is a whole day leaves no doubt which interval a column is.
    label = Label.END if ending else Label.START
    return ColumnRoles(
        date,
        places,
        system=system,
        minutes=minutes,
        kind=_named(columns, vocabulary.KINDS, taken | {date}),
        unit=_named(columns, vocabulary.UNITS, taken | {date}),
        label=label,
    )
