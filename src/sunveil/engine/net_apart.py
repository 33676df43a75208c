"""What a net meter tells of generation and load in each interval, where its plane is known.

The fit of a plane (:mod:`sunveil.engine.net_fit`) may take a high load for a cloud: clear hours
tell the plane all the same. Here the plane stands, and what clouds do is taken from public
knowledge: how skies follow each other differs little between climates. What skies do not do is a
load, such as one that comes every day at ten, or a battery, which holds the meter near zero.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sunveil.engine.net_chain import chain
from sunveil.engine.net_hours import (
    AT_MOST_ZERO,
    CLEARNESS,
    EXACT,
    HIGH,
    LOAD,
    LOADS,
    LOW,
    NIGHT,
    NONE,
    SKIES,
    STATES,
    TOLD,
    emit,
    lay_loads,
    tell,
)
from sunveil.engine.net_load import (
    CELLS,
    IDLE_SHARE,
    IDLE_TOP,
    IDLE_USUAL,
    LEVEL_SHARED,
    Load,
    LoadCells,
    load_from,
    load_precision,
    widths_from,
)
from sunveil.engine.net_problem import EDGES, NetProblem, read_net, spike_bins, spikes_of
from sunveil.engine.prepared import PreparedSky
from sunveil.site import Array

# How skies of an hour follow each other, from clear (clearness above 0.93) over thin (0.7) and
# broken (0.35) to overcast: about the mean over fifteen real systems from 28 to 52 degrees north,
# whose generation was metered. All of them count as so many readings.
FOLLOW = np.array(
    [
        [0.79, 0.16, 0.045, 0.005],
        [0.27, 0.47, 0.22, 0.04],
        [0.07, 0.21, 0.53, 0.19],
        [0.01, 0.03, 0.16, 0.80],
    ]
)
FOLLOW_READINGS = 4000.0
# The same of what measured weather leaves to be told.
FOLLOW_MEASURED = np.array(
    [
        [0.90, 0.07, 0.02, 0.01],
        [0.40, 0.45, 0.12, 0.03],
        [0.25, 0.20, 0.45, 0.10],
        [0.20, 0.10, 0.20, 0.50],
    ]
)
# Mean and deviation of clearness in each sky but the clear, and how much lies anywhere. A clear
# sky's is at least this of SPIKES: from day to day, air differs.
CLOUD_MEANS, CLOUD_WIDTHS, ANYWHERE, CLEAR_WIDTH = (0.85, 0.55, 0.2), (0.1, 0.14, 0.13), 0.03, 3
# By how much the logarithm of a high load is above the usual, as so many readings; and its width.
HIGH_BY, HIGH_READINGS, HIGH_WIDTH = 1.2, 100.0, 0.4
# How usual, high and held loads follow each other in an hour, each as so many readings.
STAY = np.array([[0.90, 0.09, 0.01], [0.20, 0.79, 0.01], [0.15, 0.05, 0.80]])
STAY_READINGS = 2000.0
# A meter that a battery holds is about so far from zero, as a share of its highest readings.
HELD_WITHIN = 0.03
# The load starts where this share of the hours of a cell would have less if all were clear, of
# hours brighter than that share, if there are so many; and so many readings of a cell err alike.
START_SHARE, START_ABOVE, START_READINGS, ALIKE = 0.45, 0.15, 10, 4.0
# Few rounds: with many, what can be load or cloud drifts to the clouds, on simulated homes too.
ROUNDS = 5
# What a generation errs by beside its clearness, as half a 90% band: plane, capacity and air.
MODEL_ERROR = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class NetHours:
    """Generation and load of one net meter on the long grid, NaN without a reading: private.

    Parameters
    ----------
    generation, low, high
        What was generated, as expected and as a 90% band. [kW]
    load
        What was used. [kW]
    cell
        The cell of hour and season.
    lit
        Which intervals have a usable sky and a reading.
    said
        Which of the readings say anything of the load: at night, not those of a meter of exports.
    """

    generation: Array
    low: Array
    high: Array
    load: Array
    cell: NDArray[np.int64]
    lit: NDArray[np.bool_]
    said: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"NetHours({len(self.load)} intervals, private)"


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """How skies and loads follow each other, and how much more a high load is: private."""

    skies: Array
    loads: Array
    by: float


def tell_apart(
    row: NDArray[np.float32], prepared: PreparedSky, cells: LoadCells, point: Array
) -> NetHours:
    """Tell the generation of a net meter from its load where its system is known.

    Parameters
    ----------
    row
        Generation less load on the long grid, NaN where there is none. [kW]
    prepared
        The sky.
    cells
        The cells of its intervals.
    point
        The system.
    """
    hours = _Hours(row, prepared, cells, point)
    load, steps = hours.first_load(), hours.usual
    for _ in range(ROUNDS):
        hours.weigh(load, steps)
        weighed = load
        load, steps = hours.expected(load, steps)
    return hours.told_apart(row, weighed)


class _Hours:
    """One system's readings by day and night in the order of time: private."""

    def __init__(
        self, row: NDArray[np.float32], prepared: PreparedSky, cells: LoadCells, point: Array
    ) -> None:
        problem = NetProblem(read_net(row, prepared, cells), prepared, cells)
        self.readings, self.floor, many = problem.readings, problem.floor, len(row)
        self.reading = np.nan_to_num(row.astype(np.float64))
        self.kind, self.model = np.full(many, NONE, dtype=np.int8), np.zeros(many)
        self.which, self.cell = np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.int64)
        self.night, self.offset = cells.night, np.zeros(many)
        lit = prepared.slot[problem.places]
        self.model[lit], self.kind[lit] = problem.lay(point)[0], problem.kind
        spikes = spikes_of(self.model[lit], problem.readings.top, problem.cloud)
        self.which[lit] = np.maximum(spikes, CLEAR_WIDTH)
        self.cell[prepared.slot], self.cell[cells.night] = cells.usable, cells.dark
        self.offset[prepared.slot] = LEVEL_SHARED * self.readings.level
        self.offset[cells.night] = self.readings.dark_level
        load = -self.reading[cells.night]
        usual = float(np.median(load[load > 0.0])) if (load > 0.0).any() else 0.0
        self.kind[cells.night[load > IDLE_SHARE * usual]] = NIGHT
        self.first = np.ones(many, dtype=np.bool_)
        self.first[prepared.slot[1:]] = np.diff(prepared.day) > 0
        self.alike = ALIKE * 60.0 / prepared.minutes
        follow = FOLLOW_MEASURED if (problem.cloud > 0.0).any() else FOLLOW
        share = prepared.minutes / 60.0
        self.usual = _Chain(_sooner(follow, share), _sooner(STAY, share), HIGH_BY)
        self.logs = np.zeros((many, len(EDGES)))
        lay_loads(self.reading, self.kind, self.model, EDGES, self.offset, self.logs)
        self.bins = np.zeros((many, LOADS, len(EDGES) - 1))
        self.plain, self.found = np.empty((many, STATES)), np.empty((many, STATES))
        self.counts = np.zeros((SKIES, SKIES)), np.zeros((LOADS, LOADS))
        self.sums, self.told = np.zeros((LOADS, 3, CELLS)), np.zeros((TOLD, many))

    def first_load(self) -> Load:
        """Return the load that nights show; by day, the one that clear skies would leave."""
        nights = load_from(self.readings.nights, self.readings.usual)
        centre = nights.centre.copy()
        lit = (self.kind == EXACT) & (self.model > START_ABOVE * self.model.max(initial=0.0))
        left, cell = (self.model - self.reading)[lit], self.cell[lit]
        for each in np.flatnonzero(np.bincount(cell, minlength=CELLS) > START_READINGS):
            load = float(np.quantile(left[cell == each], START_SHARE))
            centre[each] = np.log(max(load, np.exp(nights.centre[each] - 1.0)))
        return Load(centre, nights.width, IDLE_USUAL, LEVEL_SHARED)

    def weigh(self, load: Load, steps: _Chain) -> None:
        """Keep what a load and a chain expect of every interval."""
        means = np.stack([load.centre, load.centre + steps.by])
        widths = np.stack([load.width, np.full(CELLS, HIGH_WIDTH)])
        small = float(np.log(IDLE_TOP * self.readings.top))
        cells, held = (self.cell, means, widths, load.idle, small), HELD_WITHIN * self.readings.top
        sky = self.kind, self.model, self.logs, _sky_bins(), self.which, EDGES, cells
        emit(self.reading, *sky, held, self.floor, self.bins, self.plain)
        start = np.linalg.matrix_power(steps.skies, 256)[0]
        chain(self.plain, self.first, start, steps.skies, steps.loads, self.found, self.counts)
        tell(
            self.reading, self.offset, *sky, self.bins, self.plain, self.found, self.sums, self.told
        )

    def expected(self, load: Load, steps: _Chain) -> tuple[Load, _Chain]:
        """Return the load and the chain that the last weighing expects."""
        (count, first, _), (high, upper, _) = self.sums[:2]
        by = upper.sum() - high @ load.centre + HIGH_READINGS * HIGH_BY
        by = float(by / (high.sum() + HIGH_READINGS))
        precision = load_precision()
        pull = first / load.width**2 + (upper - by * high) / HIGH_WIDTH**2
        held = (count / load.width**2 + high / HIGH_WIDTH**2) / self.alike
        pull = pull / self.alike + precision.sum(axis=1) * self.readings.usual
        centre = np.linalg.solve(precision + np.diag(held), pull)
        start = np.linalg.matrix_power(self.usual.skies, 256)[0]
        skies = self.counts[0] + FOLLOW_READINGS * start[:, None] * self.usual.skies
        loads = self.counts[1] + STAY_READINGS * self.usual.loads
        follow = _Chain(_shares(skies), _shares(loads), by)
        return Load(centre, widths_from(self.sums[0], centre), load.idle, load.shared), follow

    def told_apart(self, row: NDArray[np.float32], load: Load) -> NetHours:
        """Return generation and load by the last weighing, which a load was of."""
        reading, hidden = row.astype(np.float64), self.kind == AT_MOST_ZERO
        given = np.maximum(reading, 0.0)
        generation = np.maximum(self.told[CLEARNESS] * self.model, given)
        error = MODEL_ERROR * generation
        down = np.hypot(np.maximum(generation - self.told[LOW] * self.model, 0.0), error)
        up = np.hypot(np.maximum(self.told[HIGH] * self.model - generation, 0.0), error)
        used = np.where(hidden, self.told[LOAD], generation - reading)
        lit = (self.kind == EXACT) | hidden
        said = lit.copy()
        if (reading < 0.0).any():
            said[self.night] = np.isfinite(reading[self.night])
        else:
            # a meter of exports: nothing was read of nights
            dark = self.night[np.isfinite(reading[self.night])]
            used[dark] = load.mean[self.cell[dark]]
        low = np.maximum(generation - down, given)
        return NetHours(generation, low, generation + up, used, self.cell, lit, said)


def _sooner(step: Array, share: float) -> Array:
    """Return how states follow each other after a share of an hour."""
    return share * step + (1.0 - share) * np.eye(len(step))


def _shares(counts: Array) -> Array:
    """Return counts as shares of their rows."""
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


@functools.lru_cache(maxsize=1)
def _sky_bins() -> Array:
    """Return the histograms of clearness of each sky, shape (widths, SKIES, bins)."""
    spikes = spike_bins()
    anywhere = np.diff(EDGES) * (EDGES[1:] < 1.3)
    out = np.empty((len(spikes), SKIES, len(EDGES) - 1))
    out[:, 0] = spikes
    for sky, (mean, width) in enumerate(zip(CLOUD_MEANS, CLOUD_WIDTHS, strict=True), start=1):
        out[:, sky] = np.diff(ndtr((EDGES - mean) / width))
    out /= out.sum(axis=2, keepdims=True)
    return np.asarray((1.0 - ANYWHERE) * out + ANYWHERE * anywhere / anywhere.sum())
