"""Readings that are already in pandas."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from sunveil.errors import MeterError
from sunveil.meters.arrowfile import cells_of_table
from sunveil.meters.assemble import RawSystem, to_record
from sunveil.meters.clock import Stamps, name_offset
from sunveil.meters.options import MeterOptions, Unit
from sunveil.meters.read import only_records, settle
from sunveil.meters.record import Label, Record
from sunveil.meters.refusals import RefusedSystem
from sunveil.meters.tabular import read_table
from sunveil.meters.units import unit_in_name
from sunveil.meters.wording import name_rows


def from_pandas(
    power: pd.Series[Any],
    *,
    system_id: str = "system",
    unit: str = "auto",
    timezone: str | None = None,
    label: Label | str = "auto",
    **choices: Any,
) -> Record:
    """Make a record of a series indexed by time.

    Parameters
    ----------
    power
        Readings indexed by time, with a time zone, or without one and with ``timezone``. [unit]
    system_id
        The name of the system.
    unit
        ``"W"``, ``"kW"``, ``"Wh"`` or ``"kWh"``. With ``"auto"`` it is taken to be kW, and is known
        to be that where the name of the series says so; W may stand for west in it.
    timezone
        The clock of an index without a time zone.
    label
        Which instant of its interval the index names; see :class:`MeterOptions`.
    **choices
        Further fields of :class:`MeterOptions`: ``duplicates``, ``unit_switch``, ...
    """
    options = MeterOptions(unit=unit, timezone=timezone, label=label, **choices)
    where = f"the series of {system_id}"
    if not isinstance(power, pd.Series) or not isinstance(power.index, pd.DatetimeIndex):
        raise MeterError(
            f"{where} must be a pandas Series indexed by time (a DatetimeIndex); for a frame of"
            " systems use infer_frame"
        )
    if power.empty:
        raise MeterError(f"{where} is empty")
    rows = np.arange(1, len(power) + 1, dtype=np.int64)
    values = _numbers(power)
    raw = RawSystem(
        str(system_id),
        where,
        rows,
        _stamps(power.index, where),
        values,
        options.known_unit or Unit.KW,
        unit_known=options.known_unit is not None or unit_in_name(str(power.name)) is Unit.KW,
    )
    return to_record(raw, options)


def records_from_frame(
    frame: pd.DataFrame,
    options: MeterOptions | None = None,
    *,
    refused: list[RefusedSystem] | None = None,
) -> list[Record]:
    """Make records of a frame: a system, a time and a reading in each row, or a day of readings.

    Parameters
    ----------
    frame
        Columns found by their usual names or by ``options``; without a column of systems the
        frame is one system, and an index of times serves where no column does.
    options
        How to read it.
    refused
        A list to which systems that cannot be used are added; without one, the first of them
        raises its reason.
    """
    options = options or MeterOptions()
    where = "the frame"
    if frame.empty:
        raise MeterError(f"{where} is empty")
    if isinstance(frame.index, pd.DatetimeIndex) and options.time_column is None:
        frame = frame.rename_axis("time").reset_index()
    table = pa.table({str(name): _as_arrow(frame[name]) for name in frame.columns})
    found = read_table(cells_of_table(table, options, where=where, stem="system"), options)
    settled = (settle(raw, found.options, name=raw.system_id) for raw in found.systems())
    return only_records(settled, refused)


def _as_arrow(column: pd.Series[Any]) -> pa.Array:
    """Return a column with its type; objects of no one type are texts."""
    if pd.api.types.is_datetime64_any_dtype(column) or (
        pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    ):
        return pa.Array.from_pandas(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    return pa.array([None if pd.isna(each) else str(each) for each in column], pa.string())


def _numbers(column: pd.Series[Any]) -> NDArray[np.float64]:
    values = pd.to_numeric(column, errors="coerce")
    return values.to_numpy(dtype=np.float64, na_value=np.nan)


def _stamps(index: pd.DatetimeIndex, where: str) -> Stamps:
    lost = np.flatnonzero(np.asarray(index.isna()))
    if len(lost):
        raise MeterError(f"{where} has readings without a time at {name_rows(lost + 1)}")
    zone = None if index.tz is None else _zone_name(index.tz)
    plain = index if index.tz is None else index.tz_convert("UTC").tz_localize(None)
    wall = plain.to_numpy().astype("M8[us]").view(np.int64)
    return Stamps(wall, np.full(len(wall), np.nan if zone is None else 0.0), zone)


def _zone_name(zone: tzinfo) -> str:
    """Return the name of a zone: an IANA name, or an offset."""
    fixed = zone.utcoffset(None)
    named = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if named is not None:
        return str(named)
    return str(zone) if fixed is None else name_offset(fixed.total_seconds() / 60)
