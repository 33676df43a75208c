"""What a run writes: estimates and refusals as Arrow tables, and Parquet files written whole."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sunveil.engine.hypotheses import ClockHypothesis, FoundClock
from sunveil.engine.outcomes import flags_of
from sunveil.estimate import DaylightSaving, judge
from sunveil.estimate_flags import FAIR_WITHIN, GOOD_WITHIN
from sunveil.files import write_whole
from sunveil.fleet.columns import ESTIMATES, REFUSED
from sunveil.fleet.planes_column import (
    household_column,
    number_column,
    planes_column,
    tracker_column,
)
from sunveil.fleet.systems import RefusedSystem, SystemTable
from sunveil.meters.record import Label

if TYPE_CHECKING:
    from sunveil.fleet.fitting import Fitted

_NUMBERS = {
    "surface_azimuth": "surface_azimuth",
    "surface_azimuth_low": "azimuth_low",
    "surface_azimuth_high": "azimuth_high",
    "surface_tilt": "surface_tilt",
    "surface_tilt_low": "tilt_low",
    "surface_tilt_high": "tilt_high",
    "dc_capacity_kw": "dc_capacity_kw",
    "dc_capacity_kw_low": "capacity_low",
    "dc_capacity_kw_high": "capacity_high",
    "plane_error_degrees": "plane_error_degrees",
    "ac_limit_kw": "ac_limit_kw",
    "haze_summer": "haze_summer",
    "haze_winter": "haze_winter",
    "heat": "heat",
    "clear_hours": "clear_hours",
    "trend_percent_per_year": "trend",
}
_YEARS = pa.list_(
    pa.struct(
        [
            ("first", pa.string()),
            ("surface_azimuth", pa.float64()),
            ("surface_tilt", pa.float64()),
            ("dc_capacity_kw", pa.float64()),
        ]
    )
)
_LABELS = tuple(Label)
# Radii between which all estimates with the same flags are of one quality. [degrees]
_RADII = (GOOD_WITHIN, FAIR_WITHIN, np.inf)


def estimates_table(fitted: Sequence[Fitted], systems: SystemTable) -> pa.Table:
    """Return estimates as a table in the order of the systems, with their places and keys.

    Parameters
    ----------
    fitted
        What was inferred.
    systems
        The table of systems.
    """
    numbers = _joined([each.systems for each in fitted], np.int32)
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    rows = pa.array(numbers)
    columns: dict[str, Any] = {"system_id": systems.ids.take(rows)}
    for name, key in _NUMBERS.items():
        values = _joined([getattr(each.fit, key) for each in fitted], np.float64)[order]
        columns[name] = number_column(name, values)
    skylines = [row for each in fitted for row in _skylines(each.fit.skyline)]
    columns["skyline"] = pa.array([skylines[place] for place in order], pa.list_(pa.float64()))
    planes = _joined([each.fit.planes for each in fitted], np.object_)[order]
    trackers = _joined([each.fit.tracker for each in fitted], np.object_)[order]
    columns["planes"] = planes_column(columns, planes, trackers)
    columns["tracker"] = tracker_column(trackers)
    households = _joined([each.fit.household for each in fitted], np.object_)[order]
    columns["household_load"] = household_column(households)
    years = [[year.to_row() for year in row] for each in fitted for row in each.fit.years]
    columns["years"] = pa.array([years[place] for place in order], _YEARS)
    offset, label = _clocks(fitted)
    saving = _joined([each.fit.clock_saving for each in fitted], np.int64)[order]
    columns["clock_offset_minutes"] = pa.array(offset[order])
    columns["clock_label"] = _words(tuple(each.value for each in _LABELS), label[order])
    columns["clock_daylight_saving"] = _words(tuple(each.value for each in DaylightSaving), saving)
    steps = _joined([each.fit.clock_steps for each in fitted], np.object_)[order]
    columns["clock_steps"] = pa.array(
        [[str(step) for step in each] for each in steps], pa.list_(pa.string())
    )
    agreement = _joined([each.fit.agreement for each in fitted], np.float64)[order]
    columns["agreement"] = pa.array(np.round(agreement, 4))
    bits = _joined([each.fit.flags for each in fitted], np.int64)[order]
    columns["flags"] = pa.array(
        [_flag_words(each) for each in bits.tolist()], pa.list_(pa.string())
    )
    radius = columns["plane_error_degrees"].to_numpy(zero_copy_only=False)
    within = np.searchsorted(_RADII, radius).tolist()
    columns["quality"] = pa.array(
        [_quality(*each) for each in zip(bits.tolist(), within, strict=True)], pa.string()
    )
    columns["latitude"] = pa.array(systems.latitude[numbers])
    columns["longitude"] = pa.array(systems.longitude[numbers])
    keys = {key: systems.keys.column(key).take(rows) for key in systems.keys.column_names}
    # only what is listed, and all of it: so that the list of reserved names is whole
    return pa.table({name: columns[name] for name in ESTIMATES} | keys)


def refused_table(refused: Sequence[RefusedSystem], partition: int | None) -> pa.Table:
    """Return refusals as a table, in the order of the systems."""
    ordered = sorted(refused, key=lambda each: (each.system_id, each.kind))
    return pa.table(
        {
            "system_id": [each.system_id for each in ordered],
            "kind": [each.kind for each in ordered],
            "reason": [each.reason for each in ordered],
            "partition": [partition] * len(ordered),
        },
        schema=REFUSED,
    )


def write_table(path: Path, table: pa.Table) -> None:
    """Write a Parquet file whole or not at all, the same bytes for the same table."""
    buffer = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata(None),
        buffer,
        compression="snappy",  # at a quarter of the time, for a sixth more bytes
        use_dictionary=[name for field in table.schema for name in _words_in(field)],
    )
    write_whole(path, buffer.getvalue(), private=True)


def _words_in(field: pa.Field) -> list[str]:
    """Return the path of a column of texts; numbers seldom repeat."""
    if pa.types.is_list(field.type) and pa.types.is_string(field.type.value_type):
        return [f"{field.name}.list.element"]
    return [field.name] if pa.types.is_string(field.type) else []


def _joined(parts: Sequence[NDArray[Any]], kind: Any) -> NDArray[Any]:
    return np.concatenate([*parts, np.empty(0, kind)]).astype(kind)


def _skylines(elevations: NDArray[np.float32]) -> list[list[float]]:
    """Return the skyline of each system, empty where nothing hides the sun. [degrees]"""
    hidden = elevations.max(axis=1) > 0.0
    return [row.tolist() if some else [] for row, some in zip(elevations, hidden, strict=True)]


def _clocks(fitted: Sequence[Fitted]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return offsets and labels: half an interval is a label, anything else an offset."""
    offsets, labels = [], []
    for each in fitted:
        offset = np.array(each.fit.clock_offset_minutes, dtype=np.float64)
        label = np.full(len(offset), _LABELS.index(each.frame.label))
        for row in np.flatnonzero(offset):
            clock = ClockHypothesis(float(offset[row]), steps=each.fit.clock_steps[row])
            found = FoundClock(clock).finding(each.frame.label, each.frame.axis.step / 60.0)
            offset[row], label[row] = found.offset_minutes, _LABELS.index(found.label)
        offsets.append(offset)
        labels.append(label)
    return _joined(offsets, np.float64), _joined(labels, np.int64)


def _words(words: tuple[str, ...], codes: NDArray[np.int64]) -> pa.Array:
    return pa.array([words[code] for code in codes.tolist()], pa.string())


@cache
def _flag_words(bits: int) -> list[str]:
    """Return the names of the flags that a number stands for."""
    return [flag.value for flag in flags_of(bits)]


@cache
def _quality(bits: int, within: int) -> str:
    """Return the quality of an estimate by its flags, and by which of the radii holds its plane."""
    return judge(flags_of(bits), _RADII[min(within, len(_RADII) - 1)])[0].value
