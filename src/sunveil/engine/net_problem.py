"""The readings of one net meter laid beside its sky, and how likely a state makes them."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sunveil.engine.model import CAPACITY, CLOUD, PARAMETERS, Sheet, fill_slopes
from sunveil.engine.net_load import (
    CELLS,
    IDLE_TOP,
    LOADS_ALIKE,
    USUAL_SHARE,
    Load,
    LoadCells,
    night_loads,
)
from sunveil.engine.net_model import AT_MOST_ZERO, EXACT, FOUND, NONE, weigh
from sunveil.engine.prepared import PreparedSky
from sunveil.engine.skytable import in_blocks
from sunveil.site import Array

# Ends of the bins of clearness: narrow where it is clear.
_COARSE, _FINE = np.linspace(0.0, 0.84, 13), np.linspace(0.92, 1.08, 9)
EDGES = np.array([*_COARSE, 0.89, *_FINE, 1.11, 1.16, 1.25, 1.4, 1.7])
# Standard deviations of clearness while it is clear, by how bright and how cloudy it may be.
SPIKES = np.array([0.03, 0.04, 0.055, 0.08, 0.12, 0.2, 0.3])
# Clear power errs by so much of itself, of the bright power, and of what measured clouds hide.
RELATIVE, ABSOLUTE, CLOUDED = 0.035, 0.02, 0.3
# Share of readings that nothing explains, spread over twice the range of readings.
UNEXPLAINED = 0.01
# How many daylight readings err alike.
NET_CORRELATED = 40.0


@dataclass(frozen=True, slots=True, eq=False)
class NetReadings:
    """What a net meter read: private.

    Parameters
    ----------
    power, kind
        Daylight readings [kW] at the usable intervals, and what each is.
    nights, level, dark_level
        What nights show of the load; see :class:`sunveil.engine.net_load.NightLoads`.
    top
        A high daylight reading. [kW]
    usual
        The logarithm of what its load is before anything is read. [ln kW]
    """

    power: Array
    kind: NDArray[np.int8]
    nights: Array
    level: Array
    dark_level: Array
    top: float
    usual: float

    def __repr__(self) -> str:
        return f"NetReadings({len(self.power)} intervals, private)"


@dataclass(frozen=True, slots=True, eq=False)
class NetState:
    """Where a fit stands: private.

    Parameters
    ----------
    point
        Plane, capacity, haze and heat, shape (PARAMETERS,).
    load
        The load.
    clouds
        The histogram of clearness under clouds.
    chain
        Days that begin clear, and stays of clear and of cloudy intervals.
    """

    point: Array
    load: Load
    clouds: Array
    chain: Array

    def __repr__(self) -> str:
        return "NetState(private)"


def read_net(row: NDArray[np.float32], prepared: PreparedSky, cells: LoadCells) -> NetReadings:
    """Return what a net meter read by day and by night.

    Parameters
    ----------
    row
        Generation less load on the long grid, NaN where there is none. [kW]
    prepared
        The sky.
    cells
        The cells of its intervals.
    """
    power = row[prepared.slot].astype(np.float64)
    kind = np.full(len(power), EXACT, dtype=np.int8)
    kind[power == 0.0] = AT_MOST_ZERO
    kind[np.isnan(power)] = NONE
    power = np.nan_to_num(power)
    above = power[power > 0.0]
    top = float(np.quantile(above, 0.98)) if len(above) else 1e-6
    nights, usual = night_loads(row, cells), float(np.log(USUAL_SHARE * top))
    return NetReadings(power, kind, nights.sums, nights.level, nights.dark_level, top, usual)


class NetProblem:
    """One system's readings with its sky, thinned to some days for starts: private.

    Parameters
    ----------
    readings
        The readings of all days.
    prepared
        The sky.
    cells
        The load's cells.
    every
        Of so many days one is looked at.
    """

    def __init__(
        self, readings: NetReadings, prepared: PreparedSky, cells: LoadCells, every: int = 1
    ) -> None:
        self.prepared = prepared
        self.places, self.begins, self.sheet = thinned_days(prepared, every)
        seen = readings.kind[self.places] != NONE
        alive = np.repeat(np.logical_or.reduceat(seen, self.begins[:-1]), np.diff(self.begins))
        if not alive.all():
            # days without a reading say nothing, and must not count
            self.places = self.places[alive]
            self.begins = _begins(prepared.day[self.places])
            self.sheet = in_blocks(prepared.sky.rows[:, self.places])
        self.power = readings.power[self.places]
        self.kind = readings.kind[self.places]
        self.cell = cells.usable[self.places]
        self.level = readings.level[self.places]
        self.cloud = prepared.sky.rows[CLOUD, self.places].astype(np.float64)
        self.readings = readings
        self.correlated = max(NET_CORRELATED / every, 1.0) * 60.0 / prepared.minutes
        self.alike = LOADS_ALIKE * 60.0 / prepared.minutes
        self.floor = UNEXPLAINED / (4.0 * readings.top)
        self.numbers = prepared.numbers._replace(relative=0.0, absolute=1.0, cloud=0.0)
        self.found = np.zeros((FOUND, len(self.places)))
        self.slopes = np.empty((1, PARAMETERS, self.sheet.shape[0] * self.sheet.shape[2]), "f4")
        self.sums = np.zeros((3, CELLS)), np.zeros(len(EDGES) - 1), np.zeros(6)

    def lay(self, point: Array) -> tuple[Array, Array]:
        """Return the clear power of a point and its derivatives."""
        fill_slopes(self.sheet, point[None, :], self.numbers, self.slopes)
        every = self.slopes[0, :, : len(self.places)].astype(np.float64)
        return np.maximum(every[0], 1e-4 * np.exp(point[CAPACITY])), every[1:]

    def weigh(self, state: NetState, model: Array) -> float:
        """Return the log-likelihood of daylight readings; what is expected is kept."""
        which = spikes_of(model, self.readings.top, self.cloud)
        idle = state.load.idle, IDLE_TOP * self.readings.top
        offset = state.load.shared * self.level
        load = self.cell, offset, state.load.centre, state.load.width, idle
        clouds = EDGES, spike_bins(), which, state.clouds
        return float(
            weigh(
                self.power, self.kind, model, load, self.begins, clouds, state.chain, self.floor,
                self.found, self.sums,
            )
        )  # fmt: skip


@functools.lru_cache(maxsize=32)
def thinned_days(
    prepared: PreparedSky, every: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], Sheet]:
    """Return the usable intervals of one in so many days, where the days begin, and their sky."""
    places = np.flatnonzero(prepared.day % every == 0)
    return places, _begins(prepared.day[places]), in_blocks(prepared.sky.rows[:, places])


def _begins(days: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return where each day begins, and where the last ends."""
    return np.append(np.flatnonzero(np.diff(days, prepend=-1)), len(days))


def spikes_of(model: Array, top: float, cloud: Array | float = 0.0) -> NDArray[np.int64]:
    """Return how wide clearness is while it is clear, as a place in the table of widths.

    Parameters
    ----------
    model
        Clear power. [kW]
    top
        A high daylight reading. [kW]
    cloud
        What measured clouds hide.
    """
    apart = np.hypot(np.hypot(RELATIVE, ABSOLUTE * top / model), CLOUDED * cloud)
    return np.asarray(np.minimum(np.searchsorted(SPIKES, apart), len(SPIKES) - 1))


@functools.lru_cache(maxsize=1)
def spike_bins() -> Array:
    """Return the histograms of clearness while it is clear, shape (widths, bins)."""
    shares = np.diff(ndtr((EDGES[None, :] - 1.0) / SPIKES[:, None]), axis=1)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
