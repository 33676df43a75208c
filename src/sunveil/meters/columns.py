"""Which column of a table holds the times, which the readings, which the systems."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sunveil.errors import MeterError
from sunveil.meters.options import MeterOptions

_TIMES = (
    "time",
    "timestamp",
    "datetime",
    "date_time",
    "measured_on",
    "time_utc",
    "utc_time",
    "utc",
    "datetime_utc",
    "timestamp_utc",
    "local_time",
    "ts",
    "date",
)
_SYSTEMS = ("system_id", "systemid", "system", "meter_id", "site_id", "plant_id", "ss_id", "meter")
_UNNAMED = re.compile(r"(unnamed: \d+|index|__index_level_0__|column0|)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MeterColumn:
    """One column of a table: its name, and what its first cells look like."""

    name: str
    looks_like_time: bool
    looks_like_number: bool


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """The columns that hold times, readings and systems, by their positions."""

    time: int
    power: int
    system: int | None


def find_roles(columns: Sequence[MeterColumn], options: MeterOptions, *, where: str) -> ColumnRoles:
    """Return the columns to read, as the options say or as their names and cells do.

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
    time = _find_time(columns, options, where)
    taken = {time, system}
    if options.power_column is not None:
        power = _position(columns, options.power_column, "--power-column", where)
    else:
        power = _find_power(columns, taken, where)
    if power in taken or time == system:
        raise MeterError(f"{where} is asked to read one column as two things; name different ones")
    return ColumnRoles(time, power, system)


def _find_time(columns: Sequence[MeterColumn], options: MeterOptions, where: str) -> int:
    if options.time_column is not None:
        return _position(columns, options.time_column, "--time-column", where)
    names = [column.name.strip().lower() for column in columns]
    for usual in _TIMES:
        if usual in names:
            return names.index(usual)
    for position, column in enumerate(columns):
        # Exported frames leave their index of times without a name.
        if _UNNAMED.fullmatch(column.name.strip()) and column.looks_like_time:
            return position
    dated = [position for position, column in enumerate(columns) if column.looks_like_time]
    if len(dated) == 1:
        return dated[0]
    raise MeterError(
        f"{where} has no column of times known by its name: name it with --time-column,"
        f" one of {_listed(columns)}"
    )


def _find_system(columns: Sequence[MeterColumn], options: MeterOptions, where: str) -> int | None:
    if options.system_column is not None:
        return _position(columns, options.system_column, "--system-column", where)
    names = [column.name.strip().lower() for column in columns]
    return next((names.index(usual) for usual in _SYSTEMS if usual in names), None)


def _find_power(columns: Sequence[MeterColumn], taken: set[int | None], where: str) -> int:
    rest = [position for position in range(len(columns)) if position not in taken]
    if not rest:
        raise MeterError(f"{where} has no column of readings beside its times")
    for position in rest:
        if columns[position].name.strip().lower() == "power_kw":
            return position
    numeric = [position for position in rest if columns[position].looks_like_number]
    if len(numeric) == 1:
        return numeric[0]
    if numeric:
        raise MeterError(
            f"{where} has several columns of numbers: name the readings with --power-column,"
            f" one of {_listed([columns[position] for position in numeric])}"
        )
    if len(rest) == 1:
        # Its cells are empty or text: reading it gives the error that names the rows.
        return rest[0]
    raise MeterError(
        f"{where} has no column of numbers: name the readings with --power-column,"
        f" one of {_listed(columns)}"
    )


def _position(columns: Sequence[MeterColumn], name: str, option: str, where: str) -> int:
    names = [column.name for column in columns]
    if name in names:
        return names.index(name)
    folded = [each.strip().lower() for each in names]
    if folded.count(name.strip().lower()) == 1:
        return folded.index(name.strip().lower())
    raise MeterError(f"{where} has no column {name!r} ({option}): it has {_listed(columns)}")


def _listed(columns: Sequence[MeterColumn]) -> str:
    shown = [repr(column.name[:60]) for column in columns[:20]]
    more = len(columns) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
