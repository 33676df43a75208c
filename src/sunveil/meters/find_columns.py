"""Which columns hold times, readings, systems; day-per-row tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import MeterError
from sunveil.meters import vocabulary
from sunveil.meters.header_and_units import TableColumn, unit_in_name
from sunveil.meters.numbers_and_dates import is_blank, is_clock, is_stamp, parse_number
from sunveil.meters.reading_options import ADDED, MeterOptions, Register
from sunveil.meters.record import Label
from sunveil.meters.vocabulary import fold


def kind_of_rows(
    kinds: Sequence[str], options: MeterOptions, *, where: str, strict: bool
) -> NDArray[np.bool_]:
    """Return which kinds of rows are generation."""
    folded = [fold(each) for each in kinds]
    wanted = None if options.power_column is None or not strict else fold(options.power_column)
    if wanted is None:
        wanted = next((each for each in vocabulary.GENERATION_KINDS if each in folded), None)
    if not strict and wanted is None and options.power_column is not None:
        return np.ones(len(folded), dtype=bool)
    if wanted is None and folded and set(folded) <= vocabulary.CONSUMPTION_KINDS:
        named = "kind of rows" if strict else "column"
        raise MeterError(
            f"{where} has rows of consumption alone: give those of generation, or name the {named}"
            " to read with option `power_column`"
        )
    if wanted is None and len(set(folded)) == 1:
        wanted = folded[0]
    if wanted is None and not strict:
        return np.ones(len(folded), dtype=bool)
    if wanted is None or wanted not in folded:
        raise MeterError(
            f"{where} has rows of {len(set(folded))} kinds: name the kind that is generation with"
            " option `power_column`"
        )
    return np.array([each == wanted for each in folded], dtype=bool)


def kinds_of_flows(
    kinds: Sequence[str], options: MeterOptions, *, strict: bool
) -> tuple[list[NDArray[np.bool_]], list[NDArray[np.bool_]]] | None:
    # Those of several tariffs stand apart. None where there is not one register of each, or where
    # there are rows of generation and nobody asks for the net.
    folded = [fold(each) for each in kinds]
    if strict and options.power_column is not None:
        return None
    if not options.net and set(folded) & set(vocabulary.GENERATION_KINDS):
        return None
    given = _of_one_register(folded, vocabulary.EXPORT_KINDS)
    taken = _of_one_register(folded, vocabulary.IMPORT_KINDS)
    if not given or not taken:
        return None

    def of_kind(kind: str) -> NDArray[np.bool_]:
        return np.array([each == kind for each in folded], dtype=bool)

    return [of_kind(kind) for kind in given], [of_kind(kind) for kind in taken]


def _of_one_register(folded: Sequence[str], words: frozenset[str]) -> list[str]:
    """Return the kind of rows that words name, or those of all its tariffs; none of several."""
    kinds = [each for each in dict.fromkeys(folded) if without_tariff(each) in words]
    whole = [each for each in kinds if each in words]
    if whole:
        return whole if len(whole) == 1 else []
    return kinds if len({without_tariff(each) for each in kinds}) == 1 else []


def without_tariff(folded: str) -> str:
    """Return the name of a register without the words that name its tariff."""
    name = vocabulary.OBIS_TARIFF.sub(r"\1", folded)
    return " ".join(vocabulary.TARIFF.sub("", name).split())


def find_day_columns(
    columns: Sequence[TableColumn],
) -> tuple[tuple[int, ...], tuple[float, ...]] | None:
    """Return the columns of readings of a table of days, and what the clock shows at each."""
    # Their names are times of day, or count the intervals of a day from 1 or 0.
    for size in (288, 144, 96, 72, 48, 24):
        for start in range(len(columns) - size, -1, -1):
            names = [column.name for column in columns[start : start + size]]
            minutes = _minutes_of_day(names)
            if minutes is not None:
                return tuple(range(start, start + size)), minutes
    return None


def _minutes_of_day(names: Sequence[str]) -> tuple[float, ...] | None:
    step = 1440.0 / len(names)
    numbers = [re.fullmatch(r"\D*?(\d{1,3})\D*", name) for name in names]
    if all(numbers):
        counts = [int(found[1]) for found in numbers if found is not None]
        if counts == list(range(counts[0], counts[0] + len(counts))) and counts[0] in (0, 1):
            return tuple(step * (count - counts[0]) for count in counts)
    shown = clock_minutes(names)
    if shown is None:
        return None
    ending = shown[0] == step and shown[-1] in (0.0, 1440.0)
    if ending:
        shown[-1] = 1440.0
    even = all(b - a == step for a, b in pairwise(shown))
    return tuple(shown) if even and (ending or shown[0] == 0.0) else None


def clock_minutes(names: Sequence[str]) -> list[float] | None:
    """Return the minutes since midnight that names of columns say, None where one says none."""
    # `0:30`, `0030`, `00:00-00:30` (the first of two), `24:00`.
    minutes = []
    for name in names:
        found = re.match(
            r"\D*?(\d{1,2}):(\d{2})(?::\d{2})?(?:\s*([ap])m)?(?:\s*[-–].*)?$", name.lower()
        )
        found = found or re.fullmatch(r"\D*?(\d{2})(\d{2})()", name.lower())
        if found is None or int(found[1]) > 24 or int(found[2]) > 59:
            return None
        hour = int(found[1]) % 12 + (12 if found[3] == "p" else 0) if found[3] else int(found[1])
        minutes.append(60.0 * hour + int(found[2]))
    return minutes


def find_position(columns: Sequence[TableColumn], name: str, option: str, where: str) -> int:
    """Return the place of a column that the curator names, or numbers from 1."""
    names = [column.name for column in columns]
    if name in names:
        return names.index(name)
    folded = [fold(each) for each in names]
    if folded.count(fold(name)) == 1:
        return folded.index(fold(name))
    if name.isdecimal() and 1 <= int(name) <= len(columns):
        return int(name) - 1
    raise MeterError(
        f"{where} has no column {name!r} (option `{option}`): it has {list_columns(columns)}"
    )


def find_positions(
    columns: Sequence[TableColumn], names: str, option: str, where: str
) -> tuple[int, ...]:
    """Return the places of the columns that an option names: one, or several that are added up."""
    if names in [column.name for column in columns]:
        return (find_position(columns, names, option, where),)
    places = tuple(find_position(columns, each, option, where) for each in names.split(ADDED))
    return tuple(dict.fromkeys(places))


def list_columns(columns: Sequence[TableColumn]) -> str:
    """Return the columns for a message: by name, or by number where they have none."""
    if not any(column.shown for column in columns):
        return f"its {len(columns)} columns, numbered from 1"
    shown = [repr(column.shown[:60]) for column in columns[:20]]
    more = len(columns) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def list_numbered(columns: Sequence[TableColumn], places: Sequence[int]) -> str:
    """Return some columns for a message: by name, or by number where two share one."""
    names = [columns[at].name for at in places]
    if len(set(names)) == len(names):
        return list_columns([columns[at] for at in places])
    shown = [f" ({columns[at].shown[:60]!r})" if columns[at].shown else "" for at in places[:20]]
    return ", ".join(f"{at + 1}{name}" for at, name in zip(places, shown, strict=False))


def suggest_systems(columns: Sequence[TableColumn]) -> str:
    """Return the columns that may name systems, for a message; nothing where none does."""
    likely = [column for column in columns if vocabulary.IDENTIFYING.search(column.folded)]
    return list_columns(likely) if likely else ""


def first_named(
    columns: Sequence[TableColumn], usual: Sequence[str], taken: set[int | None]
) -> int | None:
    """Return the column that has the first of some usual names that any has, None without one."""
    folded = {column.folded: at for at, column in reversed(list(enumerate(columns)))}
    return next((folded[n] for n in usual if n in folded and folded[n] not in taken), None)


def mostly_holds(column: TableColumn, test: Callable[[str], bool]) -> bool:
    """Whether nine of ten of the filled cells of a column pass a test."""
    filled = [cell for cell in column.cells if not is_blank(cell)]
    return bool(filled) and 10 * sum(map(test, filled)) >= 9 * len(filled)


def find_readings(
    columns: Sequence[TableColumn], options: MeterOptions, taken: set[int | None], where: str
) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    # Several of either are added up.
    if options.power_column is not None:
        places = find_positions(columns, options.power_column, "power_column", where)
        return places, (), options.net
    if options.export_column is not None or options.import_column is not None:
        return *_named_flows(columns, options, taken, where), True
    exports, imports = find_flows(columns, taken)
    flows = {*exports, *imports}
    given, drawn = (_tariffs(columns, places) for places in (exports, imports))
    if given and (options.net or not _other_generation(columns, taken | flows)):
        if imports and not drawn:
            raise MeterError(
                f"{where} has several columns of what is taken from the grid: name one with"
                f" option `import_column`, one of {list_columns([columns[at] for at in imports])}"
            )
        return given, drawn, True
    if options.net:
        return (_find_net(columns, taken, where),), (), True
    place = _find_power(columns, taken, where)
    refuse_consumption([columns[place].label], where)
    return (place,), (), False


def refuse_consumption(labels: Sequence[str], where: str) -> None:
    """Refuse readings that are named consumption and not generation."""
    words = [fold(each) for each in labels]
    if any(map(vocabulary.CONSUMPTION.search, words)) and not any(
        map(vocabulary.SURELY_GENERATION.search, words)
    ):
        raise MeterError(
            f"{where} has readings of consumption alone: give those of generation, or name the"
            " column to read with option `power_column`"
        )


def _tariffs(columns: Sequence[TableColumn], places: Sequence[int]) -> tuple[int, ...]:
    """Return one column, or those of all tariffs of one register; none of any others."""
    # A column of all tariffs together goes before those of each.
    if len(places) < 2:
        return tuple(places)
    names = [re.sub(r"\b([km] ?)?wh?\b", "", fold(columns[at].label)).strip() for at in places]
    common = [without_tariff(each) for each in names]
    of_all = [
        at for at, name in zip(places, names, strict=True) if vocabulary.ALL_TARIFFS.search(name)
    ]
    if len(of_all) == 1:
        return tuple(of_all)
    all_named = all(rest != name for name, rest in zip(names, common, strict=True))
    alike = len(set(common)) == 1 and len(set(names)) == len(names)
    return tuple(places) if alike and all_named else ()


def _named_flows(
    columns: Sequence[TableColumn], options: MeterOptions, taken: set[int | None], where: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the columns of what was given to the grid and taken from it, of which one is named."""
    imported: tuple[int, ...] = ()
    if options.import_column is not None:
        imported = find_positions(columns, options.import_column, "import_column", where)
    if options.export_column is not None:
        return find_positions(columns, options.export_column, "export_column", where), imported
    exports = _tariffs(columns, find_flows(columns, taken | {*imported})[0])
    if not exports:
        raise MeterError(
            f"{where} has no one column that is known as what is given to the grid: name it with"
            f" option `export_column`, one of {list_columns(columns)}"
        )
    return exports, imported


def find_flows(
    columns: Sequence[TableColumn], taken: set[int | None]
) -> tuple[list[int], list[int]]:
    """Return the columns of what was given to the grid and of what was taken from it."""
    # They are those with the first of the words of `EXPORTS` and `IMPORTS` that any column has.
    # There are none where what was given has a word that means it only beside what was taken, nor
    # among columns that are called generation.
    rest = [
        at
        for at, column in enumerate(columns)
        if at not in taken
        and column.is_number is not False
        and not vocabulary.SURELY_GENERATION.search(fold(column.label))
    ]

    def named(words: Sequence[re.Pattern[str]], but: Sequence[int]) -> tuple[list[int], int]:
        for rank, each in enumerate(words):
            found = [at for at in rest if at not in but and each.search(fold(columns[at].label))]
            if found:
                return found, rank
        return [], 0

    exports, rank = named(vocabulary.EXPORTS, ())
    imports, _ = named(vocabulary.IMPORTS, exports)
    return ([], []) if rank and not imports else (exports, imports)


def _other_generation(columns: Sequence[TableColumn], taken: set[int | None]) -> bool:
    """Whether a column counts generation, beside those of the flows at the grid."""
    return any(
        _is_generation(column) and not vocabulary.NETS.search(fold(column.label))
        for at, column in enumerate(columns)
        if at not in taken and column.is_number is not False
    )


def _find_net(columns: Sequence[TableColumn], taken: set[int | None], where: str) -> int:
    """Return the one column of readings of a net meter."""
    tests: tuple[Callable[[TableColumn], bool], ...] = (
        lambda column: bool(vocabulary.NETS.search(fold(column.label))),
        lambda column: unit_in_name(column.label) is not None,
    )
    rest = [
        at for at, column in enumerate(columns) if at not in taken and column.is_number is not False
    ]
    for test in tests:
        named = [at for at in rest if test(columns[at])]
        if len(named) == 1:
            return named[0]
    return _find_power(columns, taken, where)


def register_in(column: TableColumn) -> Register | None:
    """Return which register the header of a column of readings speaks of, None for none."""
    if _is_counter(column):
        return Register.CUMULATIVE
    unit = unit_in_name(column.label)
    daily = vocabulary.DAILY_COUNTERS.search(fold(column.label))
    return Register.DAILY if daily and unit is not None and unit.is_energy else None


def _find_power(columns: Sequence[TableColumn], taken: set[int | None], where: str) -> int:
    rest = [at for at in range(len(columns)) if at not in taken]
    if not rest:
        raise MeterError(f"{where} has no column of readings beside its times")
    rest = [at for at in rest if columns[at].folded not in _NO_READINGS] or rest
    if (exact := first_named(columns, ("power kw",), taken)) is not None:
        return exact
    named = [
        at for at in rest if columns[at].is_number is not False and _is_generation(columns[at])
    ]
    if len(named) > 1:
        named = _likeliest(columns, named)
    if len(named) == 1:
        return named[0]
    if not named and len(rest) > 1:
        # nothing is named after generation: a column of values, or what can be a number at all
        values = [at for at in rest if columns[at].folded in vocabulary.VALUES]
        if len(values) == 1:
            return values[0]
        plain = [at for at in rest if not vocabulary.OTHER_QUANTITIES.search(columns[at].folded)]
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
    listed = list_numbered(columns, named or rest)
    if not any(column.name for column in columns):
        raise MeterError(
            f"{where} has no header: name its columns in a first line such as time,power_kw, or"
            " number them from 1 with options `time_column` and `power_column`"
        )
    several = "several columns of readings" if named else "no column of readings known by its name"
    raise MeterError(
        f"{where} has {several}: name the readings with option `power_column`, one of {listed}"
    )


# Columns with these names hold no readings where there are others.
_NO_READINGS = frozenset(
    {*vocabulary.TIMES, *vocabulary.CLOCKS, *vocabulary.UNITS, *vocabulary.SYSTEMS} - {"data"}
)


def _is_generation(column: TableColumn) -> bool:
    words = fold(column.label)
    if vocabulary.OTHER_QUANTITIES.search(words) and not vocabulary.SURELY_GENERATION.search(words):
        return False
    if unit_in_name(column.label) is not None:
        return True
    return bool(vocabulary.GENERATION.search(words)) or _carries_units(column)


def _likeliest(columns: Sequence[TableColumn], named: list[int]) -> list[int]:
    """Return those of several columns that speak of generation most plainly."""
    tests: tuple[Callable[[TableColumn], bool], ...] = (
        lambda column: not vocabulary.OTHER_QUANTITIES.search(fold(column.label)),
        lambda column: not _is_flow(column),
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


def _is_flow(column: TableColumn) -> bool:
    """Whether the header says that a column counts what flows at the grid."""
    words = fold(column.label)
    flows = (*vocabulary.EXPORTS, *vocabulary.IMPORTS)
    return not vocabulary.SURELY_GENERATION.search(words) and any(
        each.search(words) for each in flows
    )


def _is_counter(column: TableColumn) -> bool:
    """Whether the header says that a column counts up without end."""
    words = fold(column.label)
    named = vocabulary.COUNTERS.search(words) or vocabulary.OBIS_COUNTERS.search(words)
    return bool(named) and not vocabulary.DIFFERENCES.search(words)


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
    return mostly_holds(
        column, lambda cell: parse_number(cell, ".")[0] == parse_number(cell, ".")[0]
    )


def _is_index(column: TableColumn) -> bool:
    """Whether a column without a name counts its rows."""
    cells = column.cells[:50]
    numbers = [cell for cell in cells if cell.isdecimal()]
    counts = [int(cell) for cell in numbers]
    stepped = all(b - a == 1 for a, b in pairwise(counts))
    unnamed = bool(vocabulary.UNNAMED.fullmatch(column.name.strip())) and column.name != ""
    return unnamed and len(counts) > 2 and len(counts) == len(cells) and stepped


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """What the columns of a table hold, by their positions."""

    time: int  # stamps, or times of day where `date` holds the dates
    power: tuple[int, ...]
    date: int | None = None  # dates, where they stand apart
    system: int | None = None  # names of systems; None for a table of one system
    minutes: tuple[float, ...] | None = None  # [min]
    kind: int | None = None
    unit: int | None = None  # the unit of a row, where a column says it
    label: Label | None = None
    register: Register | None = None  # what the header says of a register that counts up
    numbered: bool = False  # whether it says so by the number of a register alone
    imported: tuple[int, ...] = ()
    net: bool = False  # whether the columns are a net meter's, as the curator or the header says

    @property
    def counted(self) -> tuple[int, ...]:
        """All columns of readings."""
        return (*self.power, *self.imported)


def find_roles(columns: Sequence[TableColumn], options: MeterOptions, *, where: str) -> ColumnRoles:
    """Return the columns to read, as the options say or as the header does."""
    # The cells of columns decide only where they are given, which they are not for private
    # releases.
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
        numbered=_is_counter(columns[power[0]])
        and vocabulary.COUNTERS.search(fold(columns[power[0]].label)) is None,
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
            " it gives, say so with options `net` and `negate`"
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
    return is_clock(cell) or bool(re.fullmatch(r"\d{1,2}( ?[-–] ?\d{1,2})?|\d{4}|\d{6}", cell))


def _find_time(columns: Sequence[TableColumn], where: str, taken: int | None) -> int:
    if (found := first_named(columns, vocabulary.TIMES, {taken})) is not None:
        return found
    for position, column in enumerate(columns):
        # Exported frames leave their index of times without a name.
        if vocabulary.UNNAMED.fullmatch(column.name.strip()) and position != taken:
            seen = column.is_time or mostly_holds(column, is_stamp)
            # in an export without a name for its times, they come first
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
        f"{where} has no column of times known by its name: name it with option `time_column`,"
        f" one of {list_columns([each for each in columns if each.name != _OF_DAYS])}"
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


# Stands for the name of a column of readings in a table of days.
_OF_DAYS = "\0"


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
            column if at not in taken else TableColumn(_OF_DAYS)
            for at, column in enumerate(columns)
        ]
        found = first_named(rest, (*vocabulary.DATES, *vocabulary.TIMES), taken)
        date = found if found is not None else _find_time(rest, where, system)
    ending = minutes[0] > 0.0
    # In a row of a whole day the interval of each column is known.
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
