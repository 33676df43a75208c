"""Net meters: joint fit of plane, capacity, load, clearness."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sunveil.engine.bright_envelope import bright_envelope, find_starts
from sunveil.engine.net_load import (
    CELLS,
    IDLE_READINGS,
    IDLE_TOP,
    IDLE_USUAL,
    LEVEL_SHARED,
    LEVEL_WIDTH,
    LOADS_ALIKE,
    USUAL_SHARE,
    Load,
    LoadCells,
    load_from,
    load_precision,
    night_loads,
    widths_from,
)
from sunveil.engine.net_model import (
    AT_MOST_ZERO,
    BY_LOAD,
    BY_MODEL,
    EXACT,
    FOUND,
    NONE,
    gather,
    weigh,
)
from sunveil.engine.power_model import (
    CAPACITY,
    CLOUD,
    EAST,
    HAZE,
    HAZE_SEASON,
    HEAT,
    LIMIT,
    NORTH,
    PARAMETERS,
    UNLIMITED,
    Sheet,
    fill_slopes,
)
from sunveil.engine.shading import PreparedSky
from sunveil.engine.sky_tables import in_blocks
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
    """What a net meter read: private."""

    power: Array  # daylight readings [kW] at the usable intervals, and what each is
    kind: NDArray[np.int8]  # daylight readings [kW] at the usable intervals, and what each is
    nights: Array  # what nights show of the load; see NightLoads
    level: Array  # what nights show of the load; see NightLoads
    dark_level: Array  # what nights show of the load; see NightLoads
    top: float  # [kW] A high daylight reading
    usual: float  # [ln kW] the logarithm of what its load is before anything is read

    def __repr__(self) -> str:
        return f"NetReadings({len(self.power)} intervals, private)"


@dataclass(frozen=True, slots=True, eq=False)
class NetState:
    """Where a fit stands: private."""

    point: Array  # plane, capacity, haze and heat, shape (PARAMETERS,)
    load: Load  # the load
    clouds: Array  # the histogram of clearness under clouds
    chain: Array  # days that begin clear, and stays of clear and of cloudy intervals

    def __repr__(self) -> str:
        return "NetState(private)"


def read_net(row: NDArray[np.float32], prepared: PreparedSky, cells: LoadCells) -> NetReadings:
    """Return what a net meter read by day and by night."""
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
    """One system's readings with its sky, thinned to some days for starts: private."""

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
    """Return the usable intervals of every n-th day, where the days begin, and their sky."""
    places = np.flatnonzero(prepared.day % every == 0)
    return places, _begins(prepared.day[places]), in_blocks(prepared.sky.rows[:, places])


def _begins(days: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return where each day begins, and where the last ends."""
    return np.append(np.flatnonzero(np.diff(days, prepend=-1)), len(days))


def spikes_of(model: Array, top: float, cloud: Array | float = 0.0) -> NDArray[np.int64]:
    """Return how wide clearness is while it is clear, as a place in the table of widths."""
    apart = np.hypot(np.hypot(RELATIVE, ABSOLUTE * top / model), CLOUDED * cloud)
    return np.asarray(np.minimum(np.searchsorted(SPIKES, apart), len(SPIKES) - 1))


@functools.lru_cache(maxsize=1)
def spike_bins() -> Array:
    """Return the histograms of clearness while it is clear, shape (widths, bins)."""
    shares = np.diff(ndtr((EDGES[None, :] - 1.0) / SPIKES[:, None]), axis=1)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


# A plane that many are near of: it is always tried as well. [degrees]
USUAL_TILT = 20.0

# Steeper planes of starts are brought to it: envelopes of low exports look steep. [degrees]
STEEPEST_START = 45.0

# Loads that are put back onto readings, above the night's means. [widths]
LOADS_ABOVE = (-0.7, 0.5, 1.5)

# How many planes of each.
EACH = 2


def net_starts(row: NDArray[np.float32], load: Load, prepared: PreparedSky) -> Array:
    """Return points that a fit of one system starts from, shape (starts, PARAMETERS)."""
    top = max(float(np.nanmax(row[prepared.slot], initial=0.0)), 1e-6)
    return np.concatenate(
        [
            _raised_starts(
                row,
                max(float(np.exp(np.median(load.centre + above * load.width))), 0.05 * top),
                prepared,
            )
            for above in LOADS_ABOVE
        ]
    )


def _raised_starts(row: NDArray[np.float32], base: float, prepared: PreparedSky) -> Array:
    """Return planes that look most like readings with a load put back, and the usual one."""
    raised = np.maximum(row + np.float32(base), np.float32(0.0))[None, :]
    starts = find_starts(bright_envelope(raised, prepared.groups), prepared.groups)[0][0]
    usual = starts[0].copy()
    usual[EAST], usual[NORTH] = 0.0, -np.copysign(USUAL_TILT, prepared.sky.site.latitude)
    out = np.concatenate([starts[:EACH], usual[None, :]])
    tilt = np.hypot(out[:, EAST], out[:, NORTH])
    flatter = np.minimum(1.0, STEEPEST_START / np.maximum(tilt, 1e-9))
    out[:, EAST] *= flatter
    out[:, NORTH] *= flatter
    out[:, LIMIT] = UNLIMITED
    top = max(float(np.nanmax(raised[:, prepared.slot], initial=0.0)), 1e-6)
    out[:, CAPACITY] = np.clip(out[:, CAPACITY], np.log(0.8 * top), np.log(2.5 * top))
    return np.asarray(out)


# What is fitted of a plane: all but the inverter's limit.
FREE = PARAMETERS - 1

# These, and how much of the level that nights show days share.
ALL = FREE + 1

# Clouds before anything is read: as likely anywhere up to clear, hardly beyond; as many readings.
CLOUDS_READINGS = 60.0

# The chain before anything is read: days that begin clear, stays of clear and cloudy intervals of
# an hour, each counted as CHAIN_READINGS.
CHAIN, CHAIN_READINGS = np.array([0.4, 0.85, 0.85]), 200.0

# Where planes are before any reading: toward the equator by so much, and how far from there.
# [degrees]
USUAL_LEAN, LEAN_WIDTH = 15.0, 25.0

# The longest step, and what ends a fit.
LONGEST = np.array([6.0, 6.0, 0.25, 0.5, 0.2, 0.5])

SETTLED = np.array([0.1, 0.1, 0.003, 0.03, 0.03, 0.03])


def usual_clouds() -> Array:
    """Return the histogram of clearness under clouds before anything is read."""
    middles = 0.5 * (EDGES[1:] + EDGES[:-1])
    shares = np.diff(EDGES) * (1.0 - ndtr((middles - 1.0) / 0.06) + 1e-3)
    return np.asarray(shares / shares.sum())


def first_state(point: Array, problem: NetProblem) -> NetState:
    """Return the state that a fit starts from at a point."""
    load = load_from(problem.readings.nights, problem.readings.usual)
    return NetState(point, load, usual_clouds(), first_chain(problem))


def _prior(problem: NetProblem, point: Array) -> tuple[Array, Array, float]:
    """Return mean, precision and logarithm of the prior of a point."""
    numbers, side = problem.numbers, np.copysign(1.0, problem.prepared.sky.site.latitude)
    mean = point[:FREE].copy()
    mean[EAST], mean[NORTH] = 0.0, -side * USUAL_LEAN
    mean[HAZE], mean[HEAT], mean[HAZE_SEASON] = numbers.haze_mean, numbers.heat_mean, 0.0
    precision = np.zeros(FREE)
    precision[[EAST, NORTH]] = LEAN_WIDTH**-2
    precision[HAZE] = numbers.haze_deviation**-2
    precision[HEAT] = numbers.heat_deviation**-2
    precision[HAZE_SEASON] = numbers.season_deviation**-2
    return mean, precision, -0.5 * float(precision @ (point[:FREE] - mean) ** 2)


def _load_prior(problem: NetProblem, load: Load) -> float:
    """Return the logarithm of the prior of the load, and of what nights say of it."""
    off = load.centre - problem.readings.usual
    count, first, second = problem.readings.nights
    about = second - 2.0 * load.centre * first + count * load.centre**2
    nights = -0.5 * (about / load.width**2).sum() - (count * np.log(load.width)).sum()
    shared = ((load.shared - LEVEL_SHARED) / LEVEL_WIDTH) ** 2
    return float(-0.5 * (off @ load_precision() @ off + shared) + nights / problem.alike)


def _equations(problem: NetProblem, state: NetState, slopes: Array) -> tuple[Array, Array]:
    """Return the information matrix of point and load, and the gradient, priors included."""
    size = ALL + CELLS
    matrix, pull = np.zeros((size, size)), np.zeros(size)
    information, crossed, own = np.zeros((ALL, ALL)), np.zeros((ALL, CELLS)), np.zeros(CELLS)
    gradient, loads = np.zeros(ALL), np.zeros(CELLS)
    by_load = problem.found[BY_LOAD]
    scores = np.concatenate(
        [slopes[:FREE] * problem.found[BY_MODEL], (problem.level * by_load)[None, :]]
    )
    gather(scores, by_load, problem.cell, information, crossed, own, gradient, loads)
    mean, precision, _ = _prior(problem, state.point)
    mean, precision = np.append(mean, LEVEL_SHARED), np.append(precision, LEVEL_WIDTH**-2)
    here = np.append(state.point[:FREE], state.load.shared)
    count, first, _ = problem.readings.nights
    nights = state.load.width**-2.0 / problem.alike
    held = load_precision()
    matrix[:ALL, :ALL] = information / problem.correlated + np.diag(precision)
    matrix[:ALL, ALL:] = crossed / problem.correlated
    matrix[ALL:, :ALL] = matrix[:ALL, ALL:].T
    matrix[ALL:, ALL:] = np.diag(own / problem.correlated + count * nights) + held
    pull[:ALL] = gradient / problem.correlated - precision * (here - mean)
    pull[ALL:] = loads / problem.correlated + (first - count * state.load.centre) * nights
    pull[ALL:] -= held @ (state.load.centre - problem.readings.usual)
    return matrix, pull


def _moved(state: NetState, step: Array) -> NetState:
    """Return the state after a step of point and load, no longer than is trusted."""
    scale = min(1.0, float(np.min(LONGEST / np.maximum(np.abs(step[:FREE]), 1e-12))))
    point = state.point.copy()
    point[:FREE] += scale * step[:FREE]
    tilt = np.hypot(point[EAST], point[NORTH])
    if tilt > 85.0:
        point[[EAST, NORTH]] *= 85.0 / tilt
    point[HAZE], point[HAZE_SEASON] = (
        np.clip(point[HAZE], -2.5, 4.0),
        np.clip(point[HAZE_SEASON], -2.0, 2.0),
    )
    centre = state.load.centre + np.clip(scale * step[ALL:], -0.4, 0.4)
    shared = float(np.clip(state.load.shared + scale * step[FREE], 0.0, 2.0))
    return replace(state, point=point, load=replace(state.load, centre=centre, shared=shared))


def _expected(state: NetState, problem: NetProblem) -> NetState:
    """Return the state with clouds, chain and widths as the last weighing expects them."""
    cells, counted, counts = problem.sums
    width = widths_from(problem.readings.nights + cells, state.load.centre)
    clouds = _smooth(counted + CLOUDS_READINGS * usual_clouds())
    fixed = first_chain(problem)
    ups = counts[[0, 2, 4]] + CHAIN_READINGS * fixed
    chain = np.clip(ups / (counts[[1, 3, 5]] + CHAIN_READINGS), 0.02, 0.99)
    usual, read = cells[0].sum(), np.count_nonzero(problem.kind)
    idle = (read - usual + IDLE_READINGS * IDLE_USUAL) / (read + IDLE_READINGS)
    load = replace(state.load, width=width, idle=float(np.clip(idle, 1e-3, 0.4)))
    return replace(state, load=load, clouds=clouds, chain=chain)


def first_chain(problem: NetProblem) -> Array:
    """Return the chain before anything is read, for intervals as long as the problem's."""
    chain = CHAIN.copy()
    chain[1:] = 1.0 - (1.0 - chain[1:]) * problem.prepared.minutes / 60.0
    return chain


def _smooth(counted: Array) -> Array:
    """Return a histogram of clouds, each bin a little like its neighbours."""
    density = counted / np.diff(EDGES)
    padded = np.pad(density, 1, mode="edge")
    smooth = 0.25 * padded[:-2] + 0.5 * density + 0.25 * padded[2:]
    shares = smooth * np.diff(EDGES)
    return np.asarray(shares / shares.sum())


def run(problem: NetProblem, state: NetState, steps: int) -> tuple[NetState, float, Array]:
    """Move a state to the best fit nearby."""
    best, damping = -np.inf, 0.01
    matrix = pull = np.zeros(0)
    kept = state
    for _ in range(steps):
        model, slopes = problem.lay(state.point)
        score = problem.weigh(state, model) / problem.correlated
        score += _prior(problem, state.point)[2] + _load_prior(problem, state.load)
        if score > best - 0.05:
            gain = score - best
            kept, best, damping = state, max(score, best), max(damping / 3.0, 1e-3)
            kept = _expected(state, problem)
            matrix, pull = _equations(problem, state, slopes)
        else:
            gain, damping = np.inf, damping * 8.0
            if damping > 1e3:
                break
        step = np.asarray(np.linalg.solve(matrix + damping * np.diag(np.diag(matrix)), pull), float)
        state = _moved(kept, step)
        if gain < 0.02 and (np.abs(step[:FREE]) < SETTLED).all():
            break
    return kept, best, matrix


# Starts take FIRST_STEPS on one of FIRST_DAYS days; the best few of them more, on more days; and
# the best of these as many as it needs on all days.
FIRST_STEPS, FIRST_DAYS = 4, 7

NEXT, NEXT_STEPS, NEXT_DAYS = 3, 8, 3

STEPS = 25

# Of longer records, and of shorter intervals, days are dropped until this many readings are left.
ENOUGH_READINGS = 4500


@dataclass(frozen=True, slots=True, eq=False)
class NetFit:
    """What a net meter says of its system and of its household: private."""

    readings: NetReadings  # what was read
    state: NetState  # where the fit ended
    likelihood: float  # log-likelihood of daylight, as of independent readings, without the prior
    information: Array
    model: Array  # [kW] clear power at the usable intervals
    found: Array  # what is expected of each usable interval; see net_model
    cells: NDArray[np.int64]  # the load's cell of each usable interval

    def __repr__(self) -> str:
        return "NetFit(private)"

    @property
    def covariance(self) -> Array:
        """Covariance of the point without what the fit cannot see, shape (PARAMETERS, same)."""
        out = np.zeros((PARAMETERS, PARAMETERS))
        out[:FREE, :FREE] = np.linalg.inv(self.information)
        return out

    @property
    def have(self) -> NDArray[np.bool_]:
        """Which usable intervals have a reading."""
        return np.asarray(self.readings.kind != NONE)

    @property
    def exporting(self) -> float:
        """Share of the daylight readings in which more was generated than used."""
        return float(np.mean(self.readings.power[self.have] > 0.0)) if self.have.any() else 0.0


def fit_net(row: NDArray[np.float32], prepared: PreparedSky, cells: LoadCells) -> NetFit:
    """Fit one net meter."""
    readings = read_net(row, prepared, cells)
    load = load_from(readings.nights, readings.usual)
    points = net_starts(row, load, prepared)
    thin = max(1, round(np.count_nonzero(readings.kind) / ENOUGH_READINGS))
    few = NetProblem(readings, prepared, cells, thin * FIRST_DAYS)
    tried = [run(few, first_state(point, few), FIRST_STEPS)[:2] for point in points]
    tried.sort(key=lambda each: -each[1])
    some = NetProblem(readings, prepared, cells, thin * NEXT_DAYS)
    tried = [run(some, state, NEXT_STEPS)[:2] for state, _ in tried[:NEXT]]
    best = max(tried, key=lambda each: each[1])[0]
    state, _, matrix = run(NetProblem(readings, prepared, cells, thin), best, STEPS)
    return _fitted(readings, prepared, cells, state, matrix)


def _fitted(
    readings: NetReadings, prepared: PreparedSky, cells: LoadCells, state: NetState, matrix: Array
) -> NetFit:
    """Return a fit by where it ended, with what is expected of every usable interval."""
    problem = NetProblem(readings, prepared, cells)
    model, _ = problem.lay(state.point)
    likelihood = problem.weigh(state, model)
    whole = np.zeros(len(readings.power))
    found = np.zeros((FOUND, len(whole)))
    whole[problem.places], found[:, problem.places] = model, problem.found
    crossed = matrix[:FREE, FREE:]
    information = matrix[:FREE, :FREE] - crossed @ np.linalg.solve(matrix[FREE:, FREE:], crossed.T)
    return NetFit(readings, state, likelihood, information, whole, found, cells.usable)
