"""The Parquet files of a simulated fleet, through DuckDB.

DuckDB takes a frame's NaN for null.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

ROW_GROUP = 262_144
# DuckDB's smallest; a row holds a whole year.
LIST_ROW_GROUP = 2_048


def connect() -> duckdb.DuckDBPyConnection:
    """Return a database of its own for one thread, so that its rows keep their order."""
    return duckdb.connect(config={"threads": 1})


def write_long(
    database: duckdb.DuckDBPyConnection,
    path: Path,
    *,
    system_ids: Sequence[str],
    start: pd.Timestamp,
    interval_minutes: int,
    columns: Mapping[str, NDArray[np.float32]],
) -> None:
    """Write readings as one row each: system_id, time, power_kw; missing ones have no row.

    Parameters
    ----------
    database
        The thread's own database.
    path
        The file.
    system_ids
        The name of each system.
    start
        Start of the first interval, in UTC.
    interval_minutes
        Interval of the meters. [minutes]
    columns
        The readings of each column, by its name: one row per system, NaN where there is none. [kW]
    """
    first_column, *others = columns.values()
    n, readings = first_column.shape
    step = np.timedelta64(interval_minutes * 60_000_000, "us")
    first = np.datetime64(start.tz_localize(None), "us")
    stamps = np.broadcast_to(first + step * np.arange(readings), first_column.shape)
    kept = ~np.isnan(first_column)
    for other in others:
        kept |= ~np.isnan(other)
    rows = np.repeat(np.arange(n, dtype=np.int32), np.count_nonzero(kept, axis=1))
    frame = pd.DataFrame(
        {
            "system_id": _named(rows, system_ids),
            "time": pd.DatetimeIndex(stamps[kept]).tz_localize("UTC"),
            **{name: values[kept] for name, values in columns.items()},
        },
        copy=False,
    )
    query = f"SELECT system_id, time, {', '.join(columns)} FROM given"
    _copy(database, frame, query, path, ROW_GROUP)


def write_lists(
    database: duckdb.DuckDBPyConnection,
    path: Path,
    *,
    system_ids: Sequence[str],
    start: pd.Timestamp,
    interval_minutes: int,
    columns: Mapping[str, NDArray[np.float32]],
) -> None:
    """Write one row per system: system_id, start, interval_minutes, power_kw as a list.

    Parameters
    ----------
    database, path, system_ids, start, interval_minutes, columns
        As for :func:`write_long`; missing readings are null.
    """
    n, readings = next(iter(columns.values())).shape
    names = _named(np.repeat(np.arange(n, dtype=np.int32), readings), system_ids)
    values = {name: each.ravel() for name, each in columns.items()}
    frame = pd.DataFrame({"system_id": names, **values}, copy=False)
    # one thread reads rows in their order, so the lists keep it; enums sort as they are listed
    query = (
        "SELECT system_id,"
        f" make_timestamptz({int(start.timestamp()) * 1_000_000}) AS start,"
        f" CAST({interval_minutes} AS INTEGER) AS interval_minutes,"
        f" {', '.join(f'list({name}) AS {name}' for name in columns)}"
        " FROM given GROUP BY system_id ORDER BY system_id"
    )
    _copy(database, frame, query, path, LIST_ROW_GROUP)


def write_table(
    database: duckdb.DuckDBPyConnection,
    path: Path,
    columns: dict[str, Any],
    *,
    select: str = "*",
) -> None:
    """Write a table; what is not a number becomes null.

    Parameters
    ----------
    database
        The thread's own database.
    path
        The file.
    columns
        The values of each column, by its name.
    select
        What is written of them, in SQL.
    """
    _copy(database, pd.DataFrame(columns), f"SELECT {select} FROM given", path, ROW_GROUP)


def _named(rows: NDArray[np.int32], system_ids: Sequence[str]) -> pd.Categorical[str]:
    # DuckDB writes a categorical's names once, not once per row
    return pd.Categorical.from_codes(rows, pd.Index(system_ids))


def _copy(
    database: duckdb.DuckDBPyConnection, frame: pd.DataFrame, query: str, path: Path, rows: int
) -> None:
    database.register("given", frame)
    target = str(path).replace("'", "''")
    try:
        database.execute(
            f"COPY ({query}) TO '{target}'"
            f" (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE {rows})"
        )
    except duckdb.IOException as error:
        raise OSError(errno.EIO, "the file cannot be written", str(path)) from error
    finally:
        database.unregister("given")
