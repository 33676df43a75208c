"""Steps of the fit of a net meter: plane and load by Gauss-Newton, the rest by expectation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from sunveil.engine.model import EAST, HAZE, HAZE_SEASON, HEAT, NORTH, PARAMETERS
from sunveil.engine.net_load import (
    CELLS,
    IDLE_READINGS,
    IDLE_USUAL,
    LEVEL_SHARED,
    LEVEL_WIDTH,
    Load,
    load_from,
    load_precision,
    widths_from,
)
from sunveil.engine.net_model import BY_LOAD, BY_MODEL, gather
from sunveil.engine.net_problem import EDGES, NetProblem, NetState
from sunveil.site import Array

# What is fitted of a plane: all but the inverter's limit.
FREE = PARAMETERS - 1
# These, and how much of the level that nights show days share.
ALL = FREE + 1
# Clouds before anything is read: as likely anywhere up to clear, hardly beyond; as many readings.
CLOUDS_READINGS = 60.0
# The chain before anything is read: days that begin clear, stays of clear and cloudy intervals of
# an hour, each counted as so many.
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
    """Move a state to the best fit nearby.

    Parameters
    ----------
    problem
        The readings.
    state
        Where to start.
    steps
        Most steps.

    Returns
    -------
    tuple
        Where it ended, its log-posterior, and the information matrix there.
    """
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
