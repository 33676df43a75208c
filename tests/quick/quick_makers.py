"""Simulated systems as blocks, and as records for the method that is not compiled."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sunveil.timegrid import TimeGrid
from sunveil.meters import Record, from_pandas


def as_record(power: pd.Series, name: str = "one") -> Record:
    return from_pandas(power, system_id=name, unit="kW", label="start")


def as_row(record: Record, axis: TimeGrid) -> np.ndarray:
    """The readings of a record on an axis."""
    row = np.full(axis.count, np.nan, dtype=np.float32)
    place = (record.times.astype("M8[s]").astype(np.int64) - axis.first) // axis.step
    inside = (place >= 0) & (place < axis.count)
    row[place[inside]] = record.power_kw[inside]
    return row
