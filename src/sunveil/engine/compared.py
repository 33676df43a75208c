"""How much of a system's clear energy different explanations of it explain: a tracker, planes.

By the same weights as :mod:`sunveil.engine.mixture` has, narrower than those of a fit, to see small
misfits.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from sunveil.engine.envelope import points_of, profiles_of
from sunveil.engine.final import CLEAR_ENOUGH, FinalFit
from sunveil.engine.mixture import BELOW_LIMIT, ENOUGH, NARROW, mixture_grid
from sunveil.engine.model import (
    CAPACITY,
    EAST,
    HAZE,
    HAZE_SEASON,
    HEAT,
    NO_LIMIT,
    NORTH,
    Numbers,
    Sheet,
)
from sunveil.engine.prepared import shares_for
from sunveil.engine.skytable import in_blocks
from sunveil.grids import Grid
from sunveil.site import Array

Matrix = NDArray[np.float32]

# Times that weights are found anew.
ROUNDS = 4
# Planes of pairs, and what is tried about the planes of the best, twice. [degrees]
PAIR_AZIMUTHS, PAIR_TILTS = 24, (12.0, 20.0, 30.0, 42.0, 58.0, 75.0)
NEARBY = (-8.0, -4.0, 0.0, 4.0, 8.0)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedReadings:
    """Clear readings below the limit that explanations of a system are compared on: private.

    Parameters
    ----------
    places
        Where they stand among the usable intervals.
    value
        The readings. [kW]
    sheet
        The sky at them.
    bright
        The record's bright power. [kW]
    numbers
        What is assumed.
    """

    places: NDArray[np.intp]
    value: Array
    sheet: Sheet
    bright: float
    numbers: Numbers

    @classmethod
    def of(cls, fit: FinalFit, s: int, weights: Matrix, limit: float) -> ComparedReadings:
        """Return those of a system.

        Parameters
        ----------
        fit
            The fits of a block.
        s
            Which of its systems.
        weights
            How much each of its readings counts, shape (padded,).
        limit
            Logarithm of its inverter's limit. [kW]
        """
        readings, prepared = fit.searched.readings, fit.prepared
        share = float(shares_for(ENOUGH, readings.count[s : s + 1])[0])
        places = prepared.part(share)[0].astype(np.intp)
        value = readings.power[s, places]
        most = BELOW_LIMIT * np.exp(min(limit, NO_LIMIT))
        used = (weights[places] >= CLEAR_ENOUGH) & (value > 0.0) & (value < most)
        sheet = in_blocks(prepared.sky.rows[:, places[used]])
        bright = float(readings.bright[s])
        return cls(places[used], value[used].astype(np.float64), sheet, bright, prepared.numbers)

    def __repr__(self) -> str:
        return f"ComparedReadings({len(self.value)} readings, private)"

    def weigh(self, model: Array) -> tuple[float, Array]:
        """Return the share of energy that a model explains, and each reading's weight."""
        relative, absolute = self.numbers.relative * model, self.numbers.absolute * self.bright
        variance = NARROW**2 * (relative**2 + absolute**2)
        say = np.exp(-0.5 * (self.value - model) ** 2 / (variance * self.numbers.reach**2))
        return float(say @ self.value / self.value.sum()), say / variance

    def explained(self, model: Matrix) -> float:
        """Return the share of energy that a model [kW] of all usable intervals explains."""
        return self.weigh(model[self.places].astype(np.float64))[0]

    def starts(self, model: Matrix) -> tuple[Array, Array]:
        """Return what weights begin with: a model, and readings that know nothing of it. [kW]"""
        return model[self.places].astype(np.float64), self.value

    def profiles(self, points: Array) -> Matrix:
        """Return the power of planes at the readings, per kW. [kW/kW]"""
        return profiles_of(self.sheet, points, self.numbers)[:, : len(self.value)]


def best_mixture(compared: ComparedReadings, point: Array, model: Matrix) -> float:
    """Return the share of energy that the best mixture of fixed planes explains.

    Parameters
    ----------
    compared
        The readings.
    point, model
        The one plane that was found, which is one of the mixture's, and its power at all usable
        intervals. [kW]
    """
    planes = np.repeat(point[None], 1 + len(mixture_grid()), axis=0)
    planes[1:, :CAPACITY] = points_of(mixture_grid())[:, :CAPACITY]
    rows = compared.profiles(planes).astype(np.float64)
    best = 0.0
    for start in compared.starts(model):
        mixture = start
        for _ in range(ROUNDS):
            _, weight = compared.weigh(mixture)
            gram = (rows * weight) @ rows.T
            gram += 1e-6 * np.diag(gram.diagonal() + 1e-12)
            lower = np.linalg.cholesky(gram)
            right = np.linalg.solve(lower, rows @ (weight * compared.value))
            mixture = nnls(lower.T, right)[0] @ rows
        best = max(best, compared.weigh(mixture)[0])
    return best


def best_pair(compared: ComparedReadings, hazes: Array, model: Matrix) -> float:
    """Return the share of energy that the best pair of fixed planes explains.

    Parameters
    ----------
    compared
        The readings.
    hazes
        Haze, heat and the haze's season to try, one of each in a row.
    model
        Power of the one plane that was found at all usable intervals. [kW]
    """
    return max(
        explained
        for haze in hazes
        for start in compared.starts(model)
        for explained in _pairs_from(compared, haze, start)
    )


@functools.lru_cache(maxsize=1)
def pair_planes() -> Array:
    """Return the planes that pairs are looked for among, as points."""
    azimuth = np.arange(PAIR_AZIMUTHS) * 360.0 / PAIR_AZIMUTHS
    tilts = np.array(PAIR_TILTS)
    grid = Grid(
        np.append(np.tile(azimuth, len(tilts)), 0.0),
        np.append(np.repeat(tilts, len(azimuth)), 0.0),
    )
    return points_of(grid)


def _pairs_from(compared: ComparedReadings, haze: Array, start: Array) -> Iterator[float]:
    """Yield what pairs explain: the best of the grid, then of what is close to it."""
    points, model = pair_planes(), start
    for _ in range(3):
        model, pair = _pair_among(compared, points, haze, model)
        yield compared.weigh(model)[0]
        points = np.concatenate([_nearby(plane) for plane in pair])


def _nearby(plane: Array) -> Array:
    """Return planes about one."""
    azimuth = np.degrees(np.arctan2(plane[EAST], plane[NORTH]))
    tilt = np.hypot(plane[EAST], plane[NORTH])
    turned, leaned = (each.ravel() for each in np.meshgrid(NEARBY, NEARBY))
    return points_of(Grid(azimuth + turned, np.clip(tilt + leaned, 0.0, 90.0)))


def _pair_among(
    compared: ComparedReadings, points: Array, haze: Array, model: Array
) -> tuple[Array, Array]:
    """Return the power of the best pair of some planes [kW], and its planes."""
    points = points.copy()
    points[:, [HAZE, HEAT, HAZE_SEASON]] = haze
    rows, value = compared.profiles(points), compared.value.astype(np.float32)
    first, second = np.triu_indices(len(points), k=1)
    for _ in range(ROUNDS):
        weight = compared.weigh(model)[1].astype(np.float32)
        gram = ((rows * weight) @ rows.T).astype(np.float64)
        right = (rows @ (weight * value)).astype(np.float64)
        a, b, c = gram[first, first], gram[second, second], gram[first, second]
        p, q = right[first], right[second]
        determinant = np.maximum(a * b - c * c, 1e-6 * a * b)
        one, two = (b * p - c * q) / determinant, (a * q - c * p) / determinant
        best = np.where((one > 0.0) & (two > 0.0), p * one + q * two, -np.inf).argmax()
        model = one[best] * rows[first[best]] + two[best] * rows[second[best]]
    return model.astype(np.float64), points[[first[best], second[best]]]
