"""The generation and the load of a net meter, told apart in every interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.assumed import TYPICAL_HAZE, TYPICAL_HEAT, EngineOptions
from sunveil.engine.model import (
    CAPACITY,
    EAST,
    HAZE,
    HAZE_SEASON,
    HEAT,
    LIMIT,
    NORTH,
    PARAMETERS,
    UNLIMITED,
)
from sunveil.engine.net_apart import tell_apart
from sunveil.engine.net_load import load_cells
from sunveil.engine.prepared import PreparedSky, prepare
from sunveil.engine.readings import believable, on_long_grid
from sunveil.engine.skytable import SkyTable
from sunveil.estimate import Estimate
from sunveil.site import Array


@dataclass(frozen=True, slots=True, eq=False)
class Separated:
    """Generation and load of a net meter on a grid, NaN where there is no reading: private.

    Parameters
    ----------
    generation, load
        What is expected of each, given the reading; their difference is the reading, unless a
        reading of zero says only that it is at most zero. [kW]
    low, high
        A 90% band of the generation. [kW]
    """

    generation: Array
    load: Array
    low: Array
    high: Array

    def __repr__(self) -> str:
        return f"Separated({len(self.generation)} intervals, private)"


def separate(
    power: NDArray[np.float32],
    sky: SkyTable,
    estimate: Estimate,
    *,
    options: EngineOptions | None = None,
    timezone: str = "UTC",
) -> Separated:
    """Tell the generation of one net meter from its load, with a band.

    Parameters
    ----------
    power
        Generation less load on ``sky.grid``, NaN where there is no reading, shape (intervals,).
        [kW]
    sky
        The sky that they saw.
    estimate
        What was inferred of the system.
    options
        What was assumed.
    timezone
        The clock that the stamps were declared to be on.
    """
    prepared = prepare(sky, options or EngineOptions())
    row = on_long_grid(believable(np.asarray(power, dtype=np.float32)[None, :]), sky.grid)[0]
    hours = tell_apart(row, prepared, load_cells(prepared, timezone), point_of(estimate))
    reading = np.asarray(power, dtype=np.float64)
    # what is given to the grid was generated
    given = np.maximum(reading, 0.0)
    generation = np.maximum(_on_grid(hours.generation, prepared), given)
    low = np.clip(_on_grid(hours.low, prepared), given, generation)
    high = np.maximum(_on_grid(hours.high, prepared), generation)
    load = np.where(reading == 0.0, _on_grid(hours.load, prepared), generation - reading)
    return Separated(generation, load, low, high)


def point_of(estimate: Estimate) -> Array:
    """Return what was fitted of a system, as its estimate has it."""
    haze, heat = estimate.haze, estimate.heat
    out = np.zeros(PARAMETERS)
    azimuth = np.radians(estimate.surface_azimuth)
    out[EAST] = estimate.surface_tilt * np.sin(azimuth)
    out[NORTH] = estimate.surface_tilt * np.cos(azimuth)
    out[CAPACITY], out[LIMIT] = np.log(estimate.dc_capacity_kw), UNLIMITED
    out[HAZE] = TYPICAL_HAZE if haze is None else haze
    out[HEAT] = TYPICAL_HEAT if heat is None else heat
    if haze is not None and estimate.haze_winter is not None:
        out[HAZE_SEASON] = estimate.haze_winter - haze
    return out


def _on_grid(values: Array, prepared: PreparedSky) -> Array:
    """Return what long intervals have on the grid of the readings, zero where nothing. [kW]"""
    grid = prepared.sky.grid
    long = np.repeat(np.nan_to_num(values), grid.per_long)
    return long[grid.lead : grid.lead + grid.count]
