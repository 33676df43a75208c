"""Simulated systems as rows of a block, and points written as planes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sunveil.engine import Estimates
from sunveil.engine.power_model import UNLIMITED
from sunveil.estimates import Flag
from sunveil.estimates.flags_and_quality import flags_of
from sunveil.site import Array, Plane, TimeGrid

# The planes of the four systems that most tests infer.
PLANES = ((180.0, 25.0), (105.0, 18.0), (262.0, 33.0), (215.0, 8.0))


def row_of(power: pd.Series, grid: TimeGrid) -> np.ndarray:
    """Return a series on a grid, NaN where it has nothing; stamps name starts."""
    seconds = power.index.tz_localize(None).to_numpy().astype("datetime64[s]").astype(np.int64)
    place = (seconds - grid.first) // grid.step
    inside = (place >= 0) & (place < grid.count)
    row = np.full(grid.count, np.nan, dtype=np.float32)
    row[place[inside]] = power.to_numpy()[inside]
    return row


def rows_of(powers: list[pd.Series], grid: TimeGrid) -> np.ndarray:
    return np.stack([row_of(power, grid) for power in powers])


def point_of(
    azimuth: float,
    tilt: float,
    capacity: float = 1.0,
    *,
    haze: float = 0.0,
    heat: float = 1.0,
    season: float = 0.0,
    limit: float | None = None,
) -> Array:
    """Return the seven numbers that a fit carries."""
    turn = np.radians(azimuth)
    east, north = tilt * np.sin(turn), tilt * np.cos(turn)
    last = UNLIMITED if limit is None else np.log(limit)
    return np.array([east, north, np.log(capacity), haze, heat, season, last])


def plane_of(found: Estimates, place: int) -> Plane:
    return Plane(float(found.surface_azimuth[place]), float(found.surface_tilt[place]))


def flags(found: Estimates, place: int) -> tuple[Flag, ...]:
    return flags_of(int(found.flags[place]))
