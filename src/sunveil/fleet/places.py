"""What a table of systems says of places and clocks, and what is wrong with it."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.meters.options import parse_timezone


@cache
def clock_of(name: str) -> tuple[str | None, str | None]:
    """Return the name of a clock, or why it is none; neither where nothing is told."""
    if not name.strip():
        return None, None
    try:
        return parse_timezone(name)[1], None
    except ParameterError as error:
        return None, str(error)


def misplaced(picked: dict[str, pa.ChunkedArray]) -> dict[int, str]:
    """Return what is wrong with the places of some rows, by row."""
    found: dict[int, str] = {}
    if "altitude" in picked:
        height = as_numbers(picked["altitude"])
        blank = np.array([each in (None, "") for each in picked["altitude"].to_pylist()])
        for row in np.flatnonzero(~((height >= -500.0) & (height <= 9000.0)) & ~blank).tolist():
            found[row] = (
                "its altitude is not between -500 and 9000 metres; correct it or leave it empty"
            )
    # of several reasons the first is told
    for name, limit in (("longitude", 180.0), ("latitude", 90.0)):
        value = as_numbers(picked[name])
        for row in np.flatnonzero(np.abs(value) > limit).tolist():
            found[row] = f"its {name} is not between {-limit:g} and {limit:g} degrees; correct it"
        for row in np.flatnonzero(np.isnan(value)).tolist():
            found[row] = f"it has no {name} that is a number; give it in degrees"
    return found


def as_numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return a column as numbers, each cell by itself: NaN where it is missing, or not finite."""
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        values = column.to_numpy(zero_copy_only=False).astype(np.float64)
        return np.where(np.isfinite(values), values, np.nan)
    return np.array([number_of(value) for value in column.to_pylist()], dtype=np.float64)


def number_of(value: Any) -> float:
    """Return what a cell holds as a number, NaN where it is none or not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return math.nan
    return number if math.isfinite(number) else math.nan
