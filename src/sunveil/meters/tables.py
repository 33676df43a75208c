"""CSV and Parquet through DuckDB: one query per file, cells checked in the query."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from sunveil.errors import MeterError, ParameterError
from sunveil.meters.clock import Stamps, parse_timezone
from sunveil.meters.columns import ColumnRoles, MeterColumn, find_roles
from sunveil.meters.dates import EPOCH, ISO, fitting_formats
from sunveil.meters.options import MeterOptions
from sunveil.meters.textfile import TextShape, read_shape
from sunveil.meters.wording import Rows, name_rows

_OFFSET = r":\d\d(?:[.,]\d*)?\s*([zZ]|UTC|utc|GMT|[+-]\d\d(?::?\d\d)?)$"
_NOTHING = "('', 'nan', 'na', 'n/a', 'null', 'none', '-', '--')"
_NUMBERS = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)")


@dataclass(frozen=True, slots=True, eq=False)
class MeterTable:
    """The three columns of a file, as read.

    Parameters
    ----------
    where
        The name of the file.
    column
        The name of the column of readings.
    rows
        The number of each row, from 1.
    stamps
        The stamps.
    values
        The readings, NaN where there is none. [the unit of the file]
    systems
        The system of each row, or None for a file of one system.
    """

    where: str
    column: str
    rows: Rows
    stamps: Stamps
    values: NDArray[np.float64]
    systems: NDArray[Any] | None


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """Return the process's own DuckDB: it fetches no extension and reads only what it is told."""
    return duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )


def read_csv(path: Path, options: MeterOptions, *, where: str) -> MeterTable:
    """Read a CSV file of one or several systems.

    Parameters
    ----------
    path
        The file.
    options
        How to read it.
    where
        The name of the file, for messages.
    """
    shape = read_shape(path, where=where)
    roles = find_roles(shape.columns(), options, where=where)
    source = _csv_source(path, shape)
    value = "v" if not shape.decimal_comma(roles.power) else "replace(v, ',', '.')"
    time = _time_sql(source, roles, shape.cells(roles.time), options, where=where)
    return _fetch(
        source, roles, time=time, value=_text_number(value), where=where, names=shape.names
    )


def read_parquet(path: Path, options: MeterOptions, *, where: str) -> MeterTable:
    """Read a Parquet file of one or several systems.

    Parameters
    ----------
    path
        The file.
    options
        How to read it.
    where
        The name of the file, for messages.
    """
    source = f"read_parquet({_quoted(_unglobbed(path))})"
    described = _query(f"DESCRIBE SELECT * FROM {source}", where).fetchall()
    names = tuple(str(row[0]) for row in described)
    types = [str(row[1]) for row in described]
    columns = [
        MeterColumn(name, kind.startswith(("TIMESTAMP", "DATE")), bool(_NUMBERS.fullmatch(kind)))
        for name, kind in zip(names, types, strict=True)
    ]
    roles = find_roles(columns, options, where=where)
    kind = types[roles.time]
    zone = None
    if kind == "TIMESTAMP WITH TIME ZONE":
        time = ("epoch_us(t)", "0", "false")
        zone = _stored_zone(path, names[roles.time], where)
    elif kind.startswith(("TIMESTAMP", "DATE")):
        time = ("epoch_us(t::TIMESTAMP)", "NULL", "false")
    else:
        cells = _query(
            f"SELECT {_identifier(names[roles.time])}::VARCHAR FROM {source} LIMIT 100", where
        ).fetchall()
        text = [str(row[0]) for row in cells if row[0] is not None]
        time = _time_sql(source, roles, text, options, where=where, names=names)
    number = _NUMBERS.fullmatch(types[roles.power])
    value = ("v::DOUBLE", "false") if number else _text_number("v::VARCHAR")
    return _fetch(source, roles, time=time, value=value, where=where, names=names, zone=zone)


def _csv_source(path: Path, shape: TextShape) -> str:
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(shape.names)))
    compression = "gzip" if shape.compressed else "none"
    return (
        f"read_csv({_quoted(_unglobbed(path))}, columns={{{columns}}}, auto_detect=false,"
        f" header=true, skip={shape.skip}, delim={_quoted(shape.separator)}, quote='\"',"
        f" escape='\"', null_padding=true, strict_mode=false, encoding='{shape.encoding}',"
        f" compression='{compression}')"
    )


def _time_sql(
    source: str,
    roles: ColumnRoles,
    cells: list[str],
    options: MeterOptions,
    *,
    where: str,
    names: tuple[str, ...] | None = None,
) -> tuple[str, str, str]:
    """Return SQL for wall time, offset and a bad cell of a column of text."""
    filled = [cell for cell in cells if cell.strip()]
    if options.time_format is not None:
        return _formatted(_valid_format(options.time_format))
    if filled and all(EPOCH.fullmatch(cell) for cell in filled):
        number = "try_cast(t AS DOUBLE)"
        scaled = f"CASE WHEN {number} >= 1e11 THEN {number} * 1e3 ELSE {number} * 1e6 END"
        return f"({scaled})::BIGINT", "0", f"t IS NOT NULL AND {number} IS NULL"
    forms = [] if any(ISO.fullmatch(cell) for cell in filled) else fitting_formats(filled)
    if not forms:
        wall = "epoch_us(try_cast(left(t, length(t) - length(o)) AS TIMESTAMP))"
        return wall, _OFFSET_MINUTES, f"t IS NOT NULL AND {wall} IS NULL"
    if len(forms) == 1:
        return _formatted(forms[0])
    column = f"c{roles.time}" if names is None else _identifier(names[roles.time])
    return _formatted(_best_format(source, column, forms, where))


_OFFSET_MINUTES = (
    "CASE WHEN o = '' THEN NULL WHEN o[1] NOT IN ('+', '-') THEN 0"
    " ELSE (CASE WHEN o[1] = '-' THEN -1 ELSE 1 END) * (60 * o[2:3]::INTEGER"
    " + CASE WHEN length(o) > 3 THEN right(o, 2)::INTEGER ELSE 0 END) END"
)


def _valid_format(form: str) -> str:
    try:
        _connection().cursor().execute(f"SELECT try_strptime('', {_quoted(form)})")
    except duckdb.Error:
        raise ParameterError(
            f"time_format {form!r} is not understood: write it like %Y-%m-%d %H:%M"
        ) from None
    return form


def _formatted(form: str) -> tuple[str, str, str]:
    wall = f"epoch_us(try_strptime(t, {_quoted(form)}))"
    # A format with an offset in it gives instants already in UTC.
    return wall, "0" if "%z" in form else "NULL", f"t IS NOT NULL AND {wall} IS NULL"


def _best_format(source: str, column: str, forms: list[str], where: str) -> str:
    """Return the format that reads every stamp, into the shortest record.

    Day and month swapped scatter a record over the year, so the shorter one is the true one.
    """
    cell = f"regexp_replace(trim({column}), '\\s+', ' ', 'g')"
    parts = ", ".join(
        f"count(try_strptime({cell}, {_quoted(form)})),"
        f" epoch(max(try_strptime({cell}, {_quoted(form)}))"
        f" - min(try_strptime({cell}, {_quoted(form)})))"
        for form in forms
    )
    found = _query(f"SELECT {parts} FROM {source}", where).fetchone()
    assert found is not None
    fits = [(-found[2 * i], found[2 * i + 1], form) for i, form in enumerate(forms)]
    fits.sort(key=lambda fit: fit[:2])
    if len(fits) > 1 and fits[0][:2] == fits[1][:2]:
        raise MeterError(
            f"{where} has dates that can be read in two ways: give --time-format"
            f" {fits[0][2]!r} or {fits[1][2]!r}"
        )
    return fits[0][2]


def _text_number(cell: str) -> tuple[str, str]:
    value = f"try_cast({cell} AS DOUBLE)"
    return value, f"v IS NOT NULL AND lower(trim(v)) NOT IN {_NOTHING} AND {value} IS NULL"


def _fetch(
    source: str,
    roles: ColumnRoles,
    *,
    time: tuple[str, str, str],
    value: tuple[str, str],
    where: str,
    names: tuple[str, ...],
    zone: str | None = None,
) -> MeterTable:
    wall, offset, bad_time = time
    parsed, bad_value = value
    is_csv = source.startswith("read_csv")
    pick = [f"c{i}" if is_csv else _identifier(name) for i, name in enumerate(names)]
    system = "NULL" if roles.system is None else f"{pick[roles.system]}::VARCHAR"
    stamp, offset_text = pick[roles.time], "NULL"
    if "try_strptime" in wall:
        stamp = f"nullif(regexp_replace(trim({stamp}), '\\s+', ' ', 'g'), '')"
    elif "try_cast" in wall:
        stamp = f"nullif(trim({stamp}::VARCHAR), '')"
        offset_text = f"regexp_extract({stamp}, '{_OFFSET}', 1)"
    found = _query(
        f"WITH cells AS (SELECT {stamp} AS t, {pick[roles.power]} AS v, {system} AS s,"
        f" {offset_text} AS o FROM {source})"
        f" SELECT {wall} AS wall, ({offset})::DOUBLE AS minutes, {parsed} AS value,"
        f" ({bad_time}) AS bad_time, ({bad_value}) AS bad_value"
        + ("" if roles.system is None else ", s")
        + " FROM cells",
        where,
    ).fetchnumpy()
    return _checked(found, column=names[roles.power], where=where, zone=zone)


def _checked(found: dict[str, Any], *, column: str, where: str, zone: str | None) -> MeterTable:
    rows = np.arange(1, len(found["wall"]) + 1, dtype=np.int64)
    if not len(rows):
        raise MeterError(f"{where} has a header but no readings")
    bad = _filled(found["bad_time"], False)
    if bad.any():
        raise MeterError(
            f"{where} has times that cannot be read at {name_rows(rows[bad])};"
            " say how they are written with --time-format"
        )
    bad = _filled(found["bad_value"], False)
    if bad.any():
        raise MeterError(
            f"{where} has text where {column!r} should be a number, at {name_rows(rows[bad])};"
            " remove it or leave the cell empty"
        )
    values = _filled(found["value"], np.nan).astype(np.float64)
    timeless = np.ma.getmaskarray(np.ma.asarray(found["wall"]))
    if (timeless & ~np.isnan(values)).any():
        lost = rows[timeless & ~np.isnan(values)]
        raise MeterError(f"{where} has readings without a time at {name_rows(lost)}; remove them")
    keep = ~timeless
    if not keep.any():
        raise MeterError(f"{where} has no times at all in its column of times")
    wall = np.asarray(_filled(found["wall"], 0), dtype=np.int64)
    offset = _filled(found["minutes"], np.nan).astype(np.float64)
    systems = np.asarray(_filled(found["s"], "")) if "s" in found else None
    if not keep.all():
        rows, wall, offset, values = rows[keep], wall[keep], offset[keep], values[keep]
        systems = None if systems is None else systems[keep]
    return MeterTable(where, column, rows, Stamps(wall, offset, zone), values, systems)


def _filled(values: Any, blank: float | str) -> NDArray[Any]:
    """Return an array with DuckDB's NULLs filled."""
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(values.filled(blank))
    return np.asarray(values)


def _stored_zone(path: Path, column: str, where: str) -> str:
    """Return the zone that pandas wrote beside a column of instants, or UTC."""
    found = _query(
        f"SELECT value FROM parquet_kv_metadata({_quoted(_unglobbed(path))}) WHERE key = 'pandas'",
        where,
    ).fetchone()
    try:
        described = json.loads(found[0])["columns"] if found else []
        zone = next(c["metadata"]["timezone"] for c in described if c["field_name"] == column)
    except (StopIteration, KeyError, TypeError, ValueError):
        return "UTC"
    try:
        return parse_timezone(str(zone))[1]
    except ParameterError:
        return "UTC"


def _query(sql: str, where: str) -> duckdb.DuckDBPyConnection:
    try:
        return _connection().cursor().execute(sql)
    except duckdb.Error as error:
        # DuckDB quotes the offending cells, which are private: only the line is passed on.
        line = re.search(r"[Ll]ine:? (\d+)", str(error))
        place = f" near line {line.group(1)}" if line else ""
        raise MeterError(
            f"{where} cannot be read{place}: it is damaged, or not the table that its name says"
        ) from None


def _unglobbed(path: Path) -> str:
    """Return a path in which DuckDB sees no wildcards."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
