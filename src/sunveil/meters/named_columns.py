"""Columns by their names: those that a curator names, and how a message lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sunveil.errors import MeterError, ask
from sunveil.meters import vocabulary
from sunveil.meters.header import TableColumn, fold
from sunveil.meters.numbers import is_blank
from sunveil.meters.options import ADDED


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
    return ", ".join(f"{at + 1} ({columns[at].shown[:60]!r})" for at in places[:20])


def suggest_systems(columns: Sequence[TableColumn]) -> str:
    """Return the columns that may name systems, for a message; nothing where none does."""
    likely = [column for column in columns if vocabulary.IDENTIFYING.search(column.folded)]
    return list_columns(likely) if likely else ""


def first_named(
    columns: Sequence[TableColumn], usual: Sequence[str], taken: set[int | None]
) -> int | None:
    """Return the column that has the first of some usual names that any has, None without one.

    Parameters
    ----------
    columns
        All columns.
    usual
        Folded names, the first of which wins.
    taken
        Columns that hold something else.
    """
    folded = {column.folded: at for at, column in reversed(list(enumerate(columns)))}
    return next((folded[n] for n in usual if n in folded and folded[n] not in taken), None)


def mostly_holds(column: TableColumn, test: Callable[[str], bool]) -> bool:
    """Whether nine of ten of the filled cells of a column pass a test."""
    filled = [cell for cell in column.cells if not is_blank(cell)]
    return bool(filled) and 10 * sum(map(test, filled)) >= 9 * len(filled)
