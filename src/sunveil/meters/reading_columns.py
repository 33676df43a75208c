"""Which column of a table holds the readings: generation, or what a net meter gives and takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from sunveil.errors import MeterError, ask
from sunveil.meters import vocabulary
from sunveil.meters.header import TableColumn, fold
from sunveil.meters.named_columns import (
    find_positions,
    first_named,
    list_columns,
    list_numbered,
    mostly_holds,
)
from sunveil.meters.numbers import is_blank, parse_number
from sunveil.meters.options import MeterOptions, Register
from sunveil.meters.units import unit_in_name


def find_readings(
    columns: Sequence[TableColumn], options: MeterOptions, taken: set[int | None], where: str
) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Return the columns of readings, those of what was taken from the grid, and whether it is net.

    Several of either are added up.

    Parameters
    ----------
    columns
        All columns, with cells only where these may decide.
    options
        Which columns the curator names, and whether they are a net meter's.
    taken
        Columns that hold something else.
    where
        The name of the table, for messages.
    """
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
                f" {ask('import_column')}, one of {list_columns([columns[at] for at in imports])}"
            )
        return given, drawn, True
    if options.net:
        return (_find_net(columns, taken, where),), (), True
    return (_find_power(columns, taken, where),), (), False


def _tariffs(columns: Sequence[TableColumn], places: Sequence[int]) -> tuple[int, ...]:
    """Return one column, or those of all tariffs of one register; none of any others.

    A column of all tariffs together goes before those of each.
    """
    if len(places) < 2:
        return tuple(places)
    names = [re.sub(r"\b([km] ?)?wh?\b", "", fold(columns[at].label)).strip() for at in places]
    common = [vocabulary.without_tariff(each) for each in names]
    of_all = [
        at for at, name in zip(places, names, strict=True) if vocabulary.ALL_TARIFFS.search(name)
    ]
    if len(of_all) == 1:
        return tuple(of_all)
    told = all(rest != name for name, rest in zip(names, common, strict=True))
    alike = len(set(common)) == 1 and len(set(names)) == len(names)
    return tuple(places) if alike and told else ()


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
            f" {ask('export_column')}, one of {list_columns(columns)}"
        )
    return exports, imported


def find_flows(
    columns: Sequence[TableColumn], taken: set[int | None]
) -> tuple[list[int], list[int]]:
    """Return the columns of what was given to the grid and of what was taken from it.

    They are those with the first of the words of :data:`~sunveil.meters.vocabulary.EXPORTS` and
    ``IMPORTS`` that any column has. There are none where what was given has a word that means it
    only beside what was taken, nor among columns that are called generation.

    Parameters
    ----------
    columns
        All columns.
    taken
        Columns that hold something else.
    """
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
    listed = list_numbered(columns, named or rest)
    if not any(column.shown for column in columns):
        raise MeterError(
            f"{where} has no header: name its columns in a first line such as time,power_kw, or"
            f" number them from 1 with {ask('time_column')} and {ask('power_column')}"
        )
    several = "several columns of readings" if named else "no column of readings known by its name"
    raise MeterError(
        f"{where} has {several}: name the readings with {ask('power_column')}, one of {listed}"
    )


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


def _is_counter(column: TableColumn) -> bool:
    """Whether the header says that a column counts up without end."""
    words = fold(column.label)
    return bool(vocabulary.COUNTERS.search(words)) and not vocabulary.DIFFERENCES.search(words)


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
