"""Readings as callers have them: series, frames, arrays with times, Arrow, polars, files.

:func:`record_of` is the one door of :func:`sunveil.infer`, :func:`sunveil.separate` and
:func:`sunveil.release`. Frames of other packages come in by the Arrow PyCapsule interface, which
polars, pyarrow, DuckDB and others share, so that none of them is needed here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from sunveil.arguments import instance, shown
from sunveil.errors import ParameterError
from sunveil.meters.frames import from_pandas
from sunveil.meters.options import MeterOptions
from sunveil.meters.read import read_meters
from sunveil.meters.record import Record

# What a caller may give for the readings of one system; what is not named here speaks Arrow.
ReadingsLike: TypeAlias = (
    "Record | pd.Series[Any] | pd.DataFrame | np.ndarray[Any, Any] | str | os.PathLike[str] | Any"
)

GIVE = (
    "readings must be a pandas Series indexed by time, a frame with one column of readings, an"
    " array with times=, the same of polars or pyarrow, the path of a meter file, or a Record"
)


def record_of(
    readings: ReadingsLike,
    *,
    times: Any = None,
    system_id: str | None = None,
    **choices: Any,
) -> Record:
    """Return the readings of one system as a record, whatever they come in.

    Parameters
    ----------
    readings
        A record, which is returned as it is; a series or a frame of pandas, polars or pyarrow; an
        array or a list; or the path of a file that has one system.
    times
        The time of each reading, where the readings do not bring theirs.
    system_id
        The name of the system; that of the series or file when left out.
    **choices
        Fields of :class:`~sunveil.meters.MeterOptions`.
    """
    if isinstance(readings, Record):
        _refuse_times(times, "a Record")
        return readings
    if isinstance(readings, (str, os.PathLike)):
        _refuse_times(times, "a file")
        return _from_file(Path(readings), choices)
    power = series_of(readings, times)
    name = power.name if system_id is None else system_id
    return from_pandas(power, system_id="system" if name is None else str(name), **choices)


def series_of(readings: Any, times: Any = None) -> pd.Series[Any]:
    """Return the readings of one system as a series indexed by time.

    Parameters
    ----------
    readings
        A series or a frame of pandas, polars or pyarrow, an array or a list.
    times
        The time of each reading, where the readings do not bring theirs.
    """
    if isinstance(readings, pd.Series):
        return readings if times is None else _indexed(readings, times)
    if isinstance(readings, pd.DataFrame):
        return _from_columns(readings, times)
    if hasattr(readings, "__arrow_c_stream__") or hasattr(readings, "__arrow_c_array__"):
        return _from_arrow(readings, times)
    if isinstance(readings, (np.ndarray, list, tuple)):
        return _from_array(readings, times)
    raise ParameterError(f"{GIVE}, and {shown(readings)} is none of these")


def times_of(times: Any) -> pd.DatetimeIndex:
    """Return given times as an index.

    Parameters
    ----------
    times
        An index, a series or an array of times, of pandas, numpy, polars or pyarrow; or a list of
        times or of texts as ``2024-06-01T12:00Z``.
    """
    if not isinstance(times, (pd.Index, pd.Series, np.ndarray)) and hasattr(
        times, "__arrow_c_stream__"
    ):
        times = _column(times).to_pandas()
    if isinstance(times, (str, bytes)) or not isinstance(times, Iterable):
        raise _no_times(times)
    plain = times if isinstance(times, (pd.Index, pd.Series, np.ndarray)) else list(times)
    if _is_numeric(plain):
        raise _no_times(times)
    try:
        return pd.DatetimeIndex(pd.to_datetime(plain, format="ISO8601"))
    except (ValueError, TypeError, OverflowError):
        raise _no_times(times) from None


def _no_times(times: Any) -> ParameterError:
    return ParameterError(
        "times must be one time for each reading, such as a DatetimeIndex or an array of"
        f" datetime64, and {shown(times)} is not"
    )


def _is_numeric(values: Any) -> bool:
    """Whether values are numbers, or some of a list are."""
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind != "O":
        return kind in "biufc"
    numbers = (int, float, complex, np.number)
    return any(isinstance(each, numbers) for each in values)


def _refuse_times(times: Any, what: str) -> None:
    if times is not None:
        raise ParameterError(f"times= is for arrays: {what} brings its own times, so leave it out")


def _from_file(path: Path, choices: dict[str, Any]) -> Record:
    records = read_meters(path, MeterOptions(**choices))
    if len(records) != 1:
        raise ParameterError(
            f"{path.name} has {len(records)} systems, and one is inferred here: read them with"
            " sunveil.read_meters and give each record, or use the command sunveil infer"
        )
    return records[0]


def _indexed(power: pd.Series[Any], times: Any) -> pd.Series[Any]:
    index = times_of(times)
    if len(index) != len(power):
        raise ParameterError(
            f"times has {len(index)} entries for {len(power)} readings: give one for each"
        )
    return power.set_axis(index)


def _from_array(values: Any, times: Any) -> pd.Series[Any]:
    if times is None:
        raise ParameterError("an array of readings has no times: give them as times=")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):
        raise ParameterError(f"{GIVE}; a list must hold numbers only") from None
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim != 1:
        raise ParameterError(
            f"an array of readings must have one dimension, and this one has {array.ndim}: give"
            " one column for each call, or a frame to infer_frame"
        )
    return _indexed(pd.Series(array), times)


def _from_columns(frame: pd.DataFrame, times: Any) -> pd.Series[Any]:
    """Return the one column of readings of a frame, by its index or its one column of times."""
    if times is None and not isinstance(frame.index, pd.DatetimeIndex):
        dated = [
            place
            for place in range(frame.shape[1])
            if pd.api.types.is_datetime64_any_dtype(frame.iloc[:, place])
        ]
        if len(dated) != 1:
            raise ParameterError(
                "the frame has no times: index it by time, keep one column of times, or give times="
            )
        times = pd.DatetimeIndex(frame.iloc[:, dated[0]])
        frame = frame.iloc[:, [place for place in range(frame.shape[1]) if place != dated[0]]]
    if frame.shape[1] != 1:
        raise ParameterError(
            f"the frame has {frame.shape[1]} columns of readings, and one system is inferred here:"
            " give one column of it, or all of it to infer_frame"
        )
    power = frame.iloc[:, 0]
    return power if times is None else _indexed(power, times)


def _from_arrow(readings: Any, times: Any) -> pd.Series[Any]:
    """Return a column or a table that speaks Arrow as a series."""
    column = _column(readings)
    if not pa.types.is_struct(column.type):
        if times is None:
            raise ParameterError("a column of readings has no times: give them as times=")
        return _indexed(column.to_pandas().rename(getattr(readings, "name", None)), times)
    batches = [pa.RecordBatch.from_struct_array(chunk) for chunk in column.chunks]
    schema = pa.schema(list(column.type))
    return _from_columns(pa.Table.from_batches(batches, schema=schema).to_pandas(), times)


def frame_of(readings: Any) -> pd.DataFrame:
    """Return a frame of pandas, or of anything that speaks Arrow, as pandas' own.

    Parameters
    ----------
    readings
        The frame.
    """
    if isinstance(readings, pd.DataFrame):
        return readings
    if hasattr(readings, "__arrow_c_stream__") and not isinstance(readings, pd.Series):
        column = _column(readings)
        if pa.types.is_struct(column.type):
            batches = [pa.RecordBatch.from_struct_array(chunk) for chunk in column.chunks]
            schema = pa.schema(list(column.type))
            frame: pd.DataFrame = pa.Table.from_batches(batches, schema=schema).to_pandas()
            return frame
    return instance(
        "frame",
        readings,
        pd.DataFrame,
        give="a frame of pandas, polars or pyarrow; one series goes to infer",
    )


def _column(readings: Any) -> pa.ChunkedArray:
    """Return what speaks Arrow as one column; a table is a column of structs."""
    try:
        if isinstance(readings, pa.ChunkedArray):
            return readings
        if isinstance(readings, pa.Array) or not hasattr(readings, "__arrow_c_stream__"):
            return pa.chunked_array([pa.array(readings)])
        return pa.chunked_array(readings)
    except (pa.ArrowException, TypeError, ValueError):
        raise ParameterError(f"{GIVE}, and {shown(readings)} cannot be read as Arrow") from None
