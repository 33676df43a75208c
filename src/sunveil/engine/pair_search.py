"""The two planes that look most like a system's clear readings, among all pairs of a grid.

The capacities of a pair that fit best, and what they leave, follow from the products of any two
planes' powers: all pairs are tried at once.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.envelope import points_of, profiles_of
from sunveil.engine.model import CLOUD, EAST, HAZE, HAZE_SEASON, HEAT, LIMIT, NORTH
from sunveil.engine.pair_fit import (
    CAPACITIES,
    EASTS,
    NORTHS,
    PAIR_HAZE,
    PAIR_LIMIT,
    PAIR_PARAMETERS,
    roof_prior,
)
from sunveil.engine.robust import FittedReadings, deviations, robust_weights
from sunveil.grids import Grid
from sunveil.site import Array

Matrix = NDArray[np.float32]

# Times that weights are found anew.
ROUNDS = 3
# Azimuths and tilts of the grid. [degrees]
AZIMUTHS, TILTS = 24, (12.0, 20.0, 30.0, 42.0, 58.0)
# Candidates of a search, by kind; they stand apart by this in one of their planes. [degrees]
ANY, RIDGE, CORNER = 0, 1, 2
KINDS = (ANY, ANY, RIDGE, CORNER)
ALIKE = 18.0
# So far from half a turn and from a quarter a pair is still a ridge or a corner. [degrees]
NEARLY = 20.0
TURNED = ((90.0, 90.0), (180.0, NEARLY), (90.0, NEARLY))


class PairTable(NamedTuple):
    """The pairs of a grid: public.

    Parameters
    ----------
    first, second
        The places of each pair's planes in the grid.
    prior
        The logarithm of how likely roofs have such planes.
    kinds
        Which of them are pairs at all, ridges and corners, shape (3, pairs).
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    prior: Array
    kinds: NDArray[np.bool_]


@functools.lru_cache(maxsize=1)
def pair_grid() -> Grid:
    """Return the planes that pairs are made of."""
    azimuth = np.arange(AZIMUTHS) * 360.0 / AZIMUTHS
    return Grid(np.tile(azimuth, len(TILTS)), np.repeat(np.array(TILTS), AZIMUTHS))


@functools.lru_cache(maxsize=1)
def pair_table() -> PairTable:
    """Return the pairs, each once."""
    points = points_of(pair_grid())
    first, second = np.triu_indices(len(points), k=1)
    prior = np.empty(len(first))
    pair = np.zeros(PAIR_PARAMETERS)
    for place, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        pair[EASTS], pair[NORTHS] = points[[i, j], EAST], points[[i, j], NORTH]
        prior[place] = roof_prior(pair)[0]
    azimuth = pair_grid().surface_azimuth
    turned = np.abs((azimuth[first] - azimuth[second] + 180.0) % 360.0 - 180.0)
    kinds = [np.abs(turned - each) <= within for each, within in TURNED]
    return PairTable(first, second, prior, np.array(kinds))


def find_pairs(point: Array, readings: FittedReadings) -> Array:
    """Return the pairs of the grid that come closest to a system's readings, best first.

    Parameters
    ----------
    point
        The one plane that was fitted: haze, heat and limit are taken from it.
    readings
        Clear readings, well below the limit.

    Returns
    -------
    numpy.ndarray
        Pairs that stand well apart from each other: the best two, then the best other ridge and
        the best other corner, shape (len(KINDS), PAIR_PARAMETERS).
    """
    grid, table = points_of(pair_grid()), pair_table()
    grid[:, [HAZE, HEAT, HAZE_SEASON]] = point[[HAZE, HEAT, HAZE_SEASON]]
    profiles = profiles_of(readings.sky, grid, readings.numbers)
    model, power = readings.power, readings.power
    for _ in range(ROUNDS):
        weight = _weights(model, readings)
        weighed = profiles * weight
        gram = (weighed @ profiles.T).astype(np.float64) / readings.correlated
        right = (weighed @ power).astype(np.float64) / readings.correlated
        worth, one, two = _all_pairs(gram, right)
        best = int(np.argmax(worth))
        first, second = table.first[best], table.second[best]
        model = np.float32(one[best]) * profiles[first] + np.float32(two[best]) * profiles[second]
    out = np.empty((len(KINDS), PAIR_PARAMETERS))
    alike = _alike()
    for place, kind in enumerate(KINDS):
        best = int(np.argmax(np.where(table.kinds[kind], worth, -np.inf)))
        first, second = table.first[best], table.second[best]
        out[place, EASTS], out[place, NORTHS] = grid[[first, second]][:, [EAST, NORTH]].T
        out[place, CAPACITIES] = np.log(np.maximum([one[best], two[best]], 1e-6))
        near = alike[first, table.first] & alike[second, table.second]
        near |= alike[first, table.second] & alike[second, table.first]
        worth = np.where(near, -np.inf, worth)
    out[:, PAIR_HAZE:PAIR_LIMIT] = point[[HAZE, HEAT, HAZE_SEASON]]
    out[:, PAIR_LIMIT] = point[LIMIT]
    return out


@functools.lru_cache(maxsize=1)
def _alike() -> NDArray[np.bool_]:
    """Return which planes of the grid face so close to each other that one fit finds both."""
    normals = pair_grid().normals
    return np.asarray(normals @ normals.T > np.cos(np.radians(ALIKE)))


def _weights(model: Matrix, readings: FittedReadings) -> Matrix:
    """Return what each reading counts, over its variance, by how far it is from a model."""
    numbers, clouds = readings.numbers, readings.sky[:, CLOUD].reshape(-1)
    deviation = deviations(model, clouds, np.float32(readings.bright), numbers)
    residual = (readings.power - model) / deviation
    return readings.say * robust_weights(residual, numbers) / (deviation * deviation)


def _all_pairs(gram: Array, right: Array) -> tuple[Array, Array, Array]:
    """Return what all pairs are worth with their best capacities, and these. [kW]"""
    table = pair_table()
    a, b = gram[table.first, table.first], gram[table.second, table.second]
    c, p, q = gram[table.first, table.second], right[table.first], right[table.second]
    determinant = np.maximum(a * b - c * c, 1e-6 * a * b)
    one, two = (b * p - c * q) / determinant, (a * q - c * p) / determinant
    worth = 0.5 * (p * one + q * two) + table.prior
    return np.where((one > 0.0) & (two > 0.0), worth, -np.inf), one, two
