"""Inputs from pandas, numpy and Arrow to records."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias, Unpack

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from sunveil._options import checked, instance, options_of, shown
from sunveil.errors import MeterError, ParameterError, SunveilError
from sunveil.meters import vocabulary
from sunveil.meters.build_record import RawSystem, to_record
from sunveil.meters.csv_parquet_excel import cells_of_table
from sunveil.meters.file_types import sound_text
from sunveil.meters.header_and_units import (
    missing_unit,
    only_plausible_unit,
    unit_in_name,
    units_in,
)
from sunveil.meters.numbers_and_dates import name_rows
from sunveil.meters.read_files import only_records, read_meters, record_or_refusal
from sunveil.meters.reading_options import MeterKeywords, MeterOptions, Unit, zone_name
from sunveil.meters.record import Record, RefusedSystem
from sunveil.meters.split_systems import read_table
from sunveil.meters.time_steps import Stamps
from sunveil.meters.vocabulary import fold


def from_pandas(
    power: pd.Series[Any], *, system_id: str = "system", **options: Unpack[MeterKeywords]
) -> Record:
    """Make a record of a series indexed by time."""
    instance("power", power, pd.Series, give="a pandas Series of readings indexed by time")
    return _record(power, str(system_id), options_of(MeterOptions, options))


def _record(power: pd.Series[Any], system_id: str, options: MeterOptions) -> Record:
    name = "" if power.name is None else str(power.name)
    return to_record(_raw(power, system_id, options, name), options)


def _raw(power: pd.Series[Any], system_id: str, options: MeterOptions, name: str = "") -> RawSystem:
    """Return a series as a system; its name may state the unit."""
    where = f"the series of {system_id}"
    if not isinstance(power.index, pd.DatetimeIndex):
        raise ParameterError(
            f"{where} must be indexed by time (a DatetimeIndex), and its index is"
            f" {shown(power.index)}: make one with pandas.to_datetime"
        )
    if power.empty:
        raise MeterError(f"{where} is empty")
    rows = np.arange(1, len(power) + 1, dtype=np.int64)
    values = _numbers(power, where)
    unit, notes = _unit(values, name, options, where)
    return RawSystem(
        system_id,
        where,
        rows,
        _stamps(power.index, where),
        values,
        unit,
        notes,
        unit_known=not notes,
    )


def _unit(
    values: NDArray[np.float64], name: str, options: MeterOptions, where: str
) -> tuple[Unit, tuple[str, ...]]:
    """Return the unit of a series, and what was assumed."""
    if options.known_unit is not None:
        return options.known_unit, ()
    stated = units_in(name)
    if len(stated) == 1 and (unit := stated.pop()) is not None:
        return unit, ()
    if not (options.declared_only or stated or vocabulary.ENERGY.search(fold(name))):
        unit, why = only_plausible_unit(values)
        if unit is not None:
            return unit, (f"No unit was given: taken to be {unit}, since {why}.",)
    raise missing_unit(where, "")


@checked
def records_from_frame(
    # columns found by their usual names or by ``options``; without a column of systems the
    # frame is one system, and an index of times serves where no column does
    frame: pd.DataFrame,
    options: MeterOptions | None = None,
    *,
    # A list to which systems that cannot be used are added; without one, the first of them
    # raises its reason
    refused: list[RefusedSystem] | None = None,
) -> list[Record]:
    """Make records of a frame: a system, a time and a reading in each row, or a day of readings."""
    if refused is not None:
        instance("refused", refused, list, give="a list, to which refusals are added")
    return only_records(
        systems_of_frame(frame, MeterOptions() if options is None else options), refused
    )


def systems_of_frame(frame: pd.DataFrame, options: MeterOptions) -> list[Record | RefusedSystem]:
    """Return the systems of a frame, long or wide: the record of each, or why there is none."""
    where = "the frame"
    instance("options", options, MeterOptions, give="MeterOptions")
    instance("frame", frame, pd.DataFrame, give="a pandas DataFrame of readings")
    if frame.empty:
        raise MeterError(f"{where} is empty")
    if _is_wide(frame, options):
        return _systems_of_columns(frame, options)
    named = options.time_column is not None or "time" in frame
    if isinstance(frame.index, pd.DatetimeIndex) and not named:
        frame = frame.rename_axis("time").reset_index()
    table = pa.table({str(name): _as_arrow(frame[name]) for name in frame.columns})
    found = read_table(cells_of_table(table, options, where=where, stem="system"), options)
    return [record_or_refusal(raw, own, name=raw.system_id) for raw, own in found.systems()]


def _is_wide(frame: pd.DataFrame, options: MeterOptions) -> bool:
    """Whether every column of a frame is a system."""
    declared = (options.time_column, options.power_column, options.system_column)
    flows = (options.export_column, options.import_column)
    if not isinstance(frame.index, pd.DatetimeIndex) or any((*declared, *flows)):
        return False
    names = [fold(str(name)) for name in frame.columns]
    known = {*vocabulary.SYSTEMS, *vocabulary.TIMES}
    if any(name in known or unit_in_name(name) is not None for name in names):
        return False
    return len(names) > 1 or not vocabulary.GENERATION.search(names[0])


def _systems_of_columns(frame: pd.DataFrame, options: MeterOptions) -> list[Record | RefusedSystem]:
    """Return the system of each column of a wide frame, by its name."""
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise MeterError(f"the frame has several columns named {twice!r}; give each its own name")
    systems: list[Record | RefusedSystem] = []
    for place in sorted(range(len(names)), key=names.__getitem__):
        try:
            raw = _raw(frame.iloc[:, place], names[place], options)
        except SunveilError as error:
            systems.append(RefusedSystem(names[place], "meter", str(error)))
        else:
            systems.append(record_or_refusal(raw, options, name=names[place]))
    return systems


def _as_arrow(column: pd.Series[Any]) -> pa.Array:
    """Return a column with its type; objects of no one type are texts."""
    if pd.api.types.is_datetime64_any_dtype(column) or (
        pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    ):
        return pa.Array.from_pandas(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    return pa.array(map(_text, column), pa.string())


def _text(cell: object) -> str | None:
    """Return what a cell holds as text, None where it cannot be said or is missing."""
    try:
        return None if cell is None or cell != cell else sound_text(str(cell))
    except Exception:  # cells can be anything, and fail in as many ways
        return None


def _numbers(column: pd.Series[Any], where: str) -> NDArray[np.float64]:
    if column.dtype.kind in "Mmcb" or isinstance(column.dtype, pd.PeriodDtype):
        raise ParameterError(f"{where} must hold numbers, and it holds {column.dtype}")
    try:
        values = pd.to_numeric(column, errors="coerce")
    except Exception:  # cells can be anything, and fail in as many ways
        values = pd.to_numeric(column.map(_text), errors="coerce")
    return values.to_numpy(dtype=np.float64, na_value=np.nan)


def _stamps(index: pd.DatetimeIndex, where: str) -> Stamps:
    lost = np.flatnonzero(np.asarray(index.isna()))
    if len(lost):
        raise MeterError(f"{where} has readings without a time at {name_rows(lost + 1)}")
    zone = None if index.tz is None else zone_name(index.tz)
    plain = index if index.tz is None else index.tz_convert("UTC").tz_localize(None)
    wall = plain.to_numpy().astype("M8[us]").view(np.int64)
    return Stamps(wall, np.full(len(wall), np.nan if zone is None else 0.0), zone)


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
    options: MeterOptions,
    *,
    times: Any = None,
    system_id: str | None = None,
) -> Record:
    """Return the readings of one system as a record, whatever they come in."""
    if isinstance(readings, Record):
        _refuse_times(times, "a Record")
        return readings
    if isinstance(readings, (str, os.PathLike)):
        _refuse_times(times, "a file")
        return _from_file(Path(readings), options)
    power = series_of(readings, times)
    name = power.name if system_id is None else system_id
    return _record(power, "system" if name is None else str(name), options)


def series_of(readings: Any, times: Any = None) -> pd.Series[Any]:
    """Return the readings of one system as a series indexed by time."""
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
    """Return given times as an index."""
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


def _from_file(path: Path, options: MeterOptions) -> Record:
    records = read_meters(path, options)
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
    """Return a frame of pandas, or of anything that speaks Arrow, as pandas' own."""
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
