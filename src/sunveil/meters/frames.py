"""Readings that are already in pandas."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from sunveil.arguments import instance, shown
from sunveil.checked import checked
from sunveil.errors import MeterError, ParameterError, SunveilError
from sunveil.meters import vocabulary
from sunveil.meters.arrowfile import cells_of_table
from sunveil.meters.assemble import RawSystem, to_record
from sunveil.meters.clock import Stamps
from sunveil.meters.header import fold
from sunveil.meters.options import MeterOptions, Unit, zone_name
from sunveil.meters.read import only_records, settle
from sunveil.meters.record import Label, Record
from sunveil.meters.refusals import RefusedSystem
from sunveil.meters.tabular import read_table
from sunveil.meters.textcells import sound_text
from sunveil.meters.units import missing_unit, only_plausible_unit, unit_in_name, units_in
from sunveil.meters.wording import name_rows


def from_pandas(
    power: pd.Series[Any],
    *,
    system_id: str = "system",
    power_unit: str = "auto",
    timezone: str | tzinfo | None = None,
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
    power_unit
        ``"W"``, ``"kW"``, ``"MW"``, ``"Wh"``, ``"kWh"`` or ``"MWh"``. With ``"auto"``, the name of
        the series must say it (``"power_kw"``), or the readings must be impossible in W or in kW.
        For releases only the name counts.
    timezone
        The clock of an index without a time zone.
    label
        Which instant of its interval the index names; see :class:`MeterOptions`.
    **choices
        Further fields of :class:`MeterOptions`: ``duplicates``, ``unit_switch``, ...
    """
    zone: Any = timezone
    options = MeterOptions(power_unit=power_unit, timezone=zone, label=label).changed(choices)
    instance("power", power, pd.Series, give="a pandas Series of readings indexed by time")
    name = "" if power.name is None else str(power.name)
    return to_record(_raw(power, str(system_id), options, name), options)


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
    if refused is not None:
        instance("refused", refused, list, give="a list, to which refusals are added")
    return only_records(
        systems_of_frame(frame, MeterOptions() if options is None else options), refused
    )


def systems_of_frame(frame: pd.DataFrame, options: MeterOptions) -> list[Record | RefusedSystem]:
    """Return the systems of a frame, long or wide: the record of each, or why there is none.

    Parameters
    ----------
    frame
        As for :func:`records_from_frame`; or indexed by time with a column for each system, of
        which none is named as a column of readings, times or systems would be.
    options
        How to read it.
    """
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
    return [settle(raw, own, name=raw.system_id) for raw, own in found.systems()]


def _is_wide(frame: pd.DataFrame, options: MeterOptions) -> bool:
    """Whether every column of a frame is a system."""
    declared = (options.time_column, options.power_column, options.system_column)
    flows = (options.export_column, options.import_column)
    if not isinstance(frame.index, pd.DatetimeIndex) or any((*declared, *flows)):
        return False
    names = [fold(str(name)) for name in frame.columns]
    told = {*vocabulary.SYSTEMS, *vocabulary.TIMES}
    if any(name in told or unit_in_name(name) is not None for name in names):
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
            systems.append(settle(raw, options, name=names[place]))
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
