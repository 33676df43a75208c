"""What the cells of a fleet's table hold, rounded as an estimate's row is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil.planes import PlaneEstimate

_COLUMNS = tuple(
    f"{name}{end}"
    for name in ("surface_azimuth", "surface_tilt", "share", "dc_capacity_kw")
    for end in ("", "_low", "_high")
)
_TRACKER = pa.struct(
    [
        ("axis_azimuth", pa.float64()),
        ("axis_azimuth_low", pa.float64()),
        ("axis_azimuth_high", pa.float64()),
        ("backtrack", pa.bool_()),
        ("backtrack_probability", pa.float64()),
        ("gcr", pa.float64()),
        ("gcr_low", pa.float64()),
        ("gcr_high", pa.float64()),
        ("max_angle", pa.float64()),
        ("max_angle_low", pa.float64()),
        ("max_angle_high", pa.float64()),
    ]
)
_HOUSEHOLD = pa.struct(
    [
        ("mean_load_kw", pa.float64()),
        ("self_consumption", pa.float64()),
        ("exporting", pa.float64()),
        ("load_kw", pa.list_(pa.list_(pa.float64()))),
    ]
)


def number_column(name: str, values: NDArray[np.float64]) -> pa.Array:
    """Return numbers as a column of that name, rounded as it is, null where there is none."""
    unknown = np.isnan(values)
    if "capacity" in name or "limit" in name:
        return pa.array(_significant(values), mask=unknown)
    digits = 4 if name in ("haze_summer", "haze_winter", "heat") else 3 if "share" in name else 2
    return pa.array(np.round(values, digits), mask=unknown)


def planes_column(
    columns: Mapping[str, pa.Array], planes: NDArray[Any], trackers: NDArray[Any]
) -> pa.ListArray:
    """Return the planes of systems as lists: of one plane, of several, or of none of a tracker.

    Parameters
    ----------
    columns
        The columns of the effective plane and the capacity, made already.
    planes
        The planes of systems with several, an empty tuple of others.
    trackers
        What turns the modules of each, None where they stand still.
    """
    turning = np.array([each is not None for each in trackers], dtype=bool)
    several = np.fromiter(map(len, planes), np.int32, len(planes))
    several[turning] = 0
    alone = ~turning & (several == 0)
    counts = several + alone
    own = np.array([_numbers(each) for row in planes[several > 0] for each in row])
    own = own.reshape(-1, len(_COLUMNS))
    # single planes are taken from the columns, the others from behind them
    single = np.repeat(alone, counts)
    source = np.empty(len(single), dtype=np.int64)
    source[single] = np.flatnonzero(alone)
    source[~single] = len(planes) + np.arange(len(own))
    whole = pa.array(np.ones(len(planes)))
    numbers = [
        pa.concat_arrays([columns.get(name, whole), number_column(name, own[:, place])])
        for place, name in enumerate(_COLUMNS)
    ]
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    structs = pa.StructArray.from_arrays(
        [each.take(pa.array(source)) for each in numbers], _COLUMNS
    )
    return pa.ListArray.from_arrays(ends, structs)


def tracker_column(trackers: NDArray[Any]) -> pa.StructArray:
    """Return the trackers of systems, null where modules stand still."""
    return pa.array([None if each is None else each.to_row() for each in trackers], _TRACKER)


def household_column(households: NDArray[Any]) -> pa.StructArray:
    """Return what net meters tell of their households, null of meters of generation."""
    rows = [None if each is None else each.to_row() for each in households]
    return pa.array(rows, _HOUSEHOLD)


def _numbers(plane: PlaneEstimate) -> tuple[float, ...]:
    """Return the numbers of a plane in the order of its columns, as they are."""
    return (
        plane.surface_azimuth,
        plane.azimuth_interval.low,
        plane.azimuth_interval.high,
        plane.surface_tilt,
        plane.tilt_interval.low,
        plane.tilt_interval.high,
        plane.share,
        plane.share_interval.low,
        plane.share_interval.high,
        plane.dc_capacity_kw,
        plane.capacity_interval.low,
        plane.capacity_interval.high,
    )


def _significant(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers to five digits."""
    size = np.where(np.isfinite(values) & (values != 0.0), np.abs(values), 1.0)
    scale = 10.0 ** (4.0 - np.floor(np.log10(size)))
    return np.asarray(np.round(values * scale) / scale)
