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
from sunveil.engine.model import EAST, HAZE, HAZE_SEASON, HEAT, NORTH, Numbers
from sunveil.engine.pair_fit import (
    PAIR_HAZE,
    PAIR_LIMIT,
    PAIR_PARAMETERS,
    PairReadings,
    roof_prior,
)
from sunveil.grids import Grid
from sunveil.site import Array

# Times that weights are found anew.
ROUNDS = 4
# Planes of the grid, and pairs no closer than this. [degrees]
AZIMUTHS, TILTS = 24, (12.0, 20.0, 30.0, 42.0, 58.0)


class PairTable(NamedTuple):
    """The pairs of a grid: public.

    Parameters
    ----------
    first, second
        The places of each pair's planes in the grid.
    prior
        The logarithm of how likely roofs have such planes.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    prior: Array


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
        pair[0:2], pair[3:5] = points[i, [EAST, NORTH]], points[j, [EAST, NORTH]]
        prior[place] = roof_prior(pair)[0]
    return PairTable(first, second, prior)


def find_pair(point: Array, readings: PairReadings, numbers: Numbers) -> tuple[Array, float]:
    """Return the pair of the grid that comes closest to a system's readings.

    Parameters
    ----------
    point
        The one plane that was fitted: haze, heat and limit are taken from it.
    readings
        Clear readings, well below the limit.
    numbers
        What is assumed.
    """
    grid, table = points_of(pair_grid()), pair_table()
    grid[:, [HAZE, HEAT, HAZE_SEASON]] = point[[HAZE, HEAT, HAZE_SEASON]]
    profiles = profiles_of(readings.sheet, grid, numbers)
    power, bright = readings.power, readings.bright
    model = power
    best, x, y, score = 0, 0.0, 0.0, 0.0
    for again in range(ROUNDS):
        variance = np.float32(numbers.relative**2) * model * model
        variance += np.float32((numbers.absolute * bright) ** 2)
        far = (power - model) ** 2 / variance
        weight = readings.say * np.exp(np.float32(-0.5 / numbers.reach**2) * far) / variance
        weighed = profiles * weight
        gram = (weighed @ profiles.T).astype(np.float64) / readings.correlated
        right = (weighed @ power).astype(np.float64) / readings.correlated
        a, b = gram[table.first, table.first], gram[table.second, table.second]
        c = gram[table.first, table.second]
        p, q = right[table.first], right[table.second]
        determinant = np.maximum(a * b - c * c, 1e-6 * a * b)
        one, two = (b * p - c * q) / determinant, (a * q - c * p) / determinant
        gains = np.where((one > 0.0) & (two > 0.0), 0.5 * (p * one + q * two) + table.prior, -np.inf)
        best = int(np.argmax(gains))
        x, y, score = float(one[best]), float(two[best]), float(gains[best])
        i, j = table.first[best], table.second[best]
        model = np.float32(x) * profiles[i] + np.float32(y) * profiles[j]
    pair = np.empty(PAIR_PARAMETERS)
    pair[0:2], pair[3:5] = grid[i, [EAST, NORTH]], grid[j, [EAST, NORTH]]
    pair[2], pair[5] = np.log(max(x, 1e-6)), np.log(max(y, 1e-6))
    pair[PAIR_HAZE:PAIR_LIMIT] = point[[HAZE, HEAT, HAZE_SEASON]]
    pair[PAIR_LIMIT] = point[6]
    return pair, score
