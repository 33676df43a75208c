"""One fixed plane, or something else: two planes, a tracker.

A free mixture of fixed planes is fitted by non-negative least squares, with the same robust weights
as the single plane: to the bright envelope, and where that looks like more than one plane, to the
readings. Where the truth is one plane, the mixture explains hardly more energy; where it is an
east-west roof or a tracker, it explains visibly more.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.envelope import points_of, profiles_of, times_each_row
from sunveil.engine.mixture_kernels import MixtureNumbers, fit_mixtures, weigh
from sunveil.engine.model import (
    CAPACITY,
    EAST,
    LIMIT,
    NO_LIMIT,
    NORTH,
    Numbers,
    Sheet,
)
from sunveil.engine.readings import padded
from sunveil.grids import Grid
from sunveil.site import Array

Matrix = NDArray[np.float32]

# It may not be one plane when a mixture explains this much more of the energy ...
LEAST_GAIN = 0.016
# ... while leaving the plane itself less than this share of the capacity ...
LARGEST_OWN_SHARE = 0.7
# ... or when it explains so much more that the plane is hardly right; with so much more it cannot
# be, whatever else explains it: real single planes come up to 0.1, trackers have 0.16 at the least.
SURE_GAIN, BEYOND_DOUBT = 0.08, 0.12
# The same of the bright envelope alone, which is quick: who passes is tested on readings.
SCREEN_GAIN, SCREEN_OWN_SHARE, SCREEN_SURE_GAIN = 0.012, 0.75, 0.08
# The plane's own are those of the mixture that face so close to it. [degrees]
NEAR_DEGREES = 8.0
# Errors narrower than the fit's own, to see small misfits.
NARROW = 0.6
# On the envelope, what gains so little at once will not gain enough, and misfits beyond so many
# standard deviations are looked at without the plane too.
HARDLY = 1.01
MISFIT = 3.0
# Times that weights are found anew, on the envelope and on readings.
SCREEN_ROUNDS, ROUNDS = 2, 4
# So many readings are enough for the test.
ENOUGH = 1600
# Powers so close to the limit say nothing of planes, and so few of them nothing at all.
BELOW_LIMIT = 0.96
FEWEST = 40


@functools.lru_cache(maxsize=1)
def mixture_grid() -> Grid:
    """Return the planes that a mixture may hold beside the fitted one."""
    azimuth, tilt = [np.array([0.0])], [np.array([0.0])]
    for one in (15.0, 35.0, 70.0):
        azimuth.append(np.arange(10) * 36.0)
        tilt.append(np.full(10, one))
    return Grid(np.concatenate(azimuth), np.concatenate(tilt))


def screen(
    envelope: Matrix, bright: Array, points: Array, *, sheet: Sheet, numbers: Numbers
) -> tuple[NDArray[np.bool_], Array]:
    """Return which systems may not be one plane by their bright envelope, and what they are then.

    Parameters
    ----------
    envelope
        Bright powers, NaN where there is none, shape (systems, groups). [kW]
    bright
        Bright power of each record. [kW]
    points
        What was fitted, shape (systems, PARAMETERS).
    sheet
        The sky at the groups.
    numbers
        What is assumed.

    Returns
    -------
    tuple
        Who may not be, and the capacities of the plane itself and of the other planes [kW], shape
        (systems, 1 + planes).
    """
    value = padded(below_limit(envelope, points))
    rules = _rules(numbers)._replace(hardly=HARDLY, misfit=MISFIT, rounds=SCREEN_ROUNDS)
    rules = rules._replace(alone_width=1.0)
    shares = np.zeros((len(points), 1 + len(mixture_grid())))
    found = _compare(value, bright, points, shares, sheet=sheet, numbers=numbers, rules=rules)
    gain = _gain(found)
    another = (gain >= SCREEN_GAIN) & (_own_share(shares, points) < SCREEN_OWN_SHARE)
    enough = np.count_nonzero(value, axis=1) >= FEWEST
    return enough & (another | (gain >= SCREEN_SURE_GAIN)), shares


def several_planes(
    power: Matrix,
    bright: Array,
    points: Array,
    shares: Array,
    *,
    sheet: Sheet,
    numbers: Numbers,
) -> tuple[NDArray[np.bool_], Array]:
    """Return which systems may not be one fixed plane, and how much more a mixture explains.

    Parameters
    ----------
    power
        Readings, zero where there is none, shape (systems, padded). [kW]
    bright
        Bright power of each record. [kW]
    points
        What was fitted, shape (systems, PARAMETERS).
    shares
        The mixtures that :func:`screen` found, to start from.
    sheet
        The sky at these readings.
    numbers
        What is assumed.
    """
    value, shares = below_limit(power, points), shares.copy()
    rules = _rules(numbers)
    found = _compare(value, bright, points, shares, sheet=sheet, numbers=numbers, rules=rules)
    gain = _gain(found)
    another = (gain >= LEAST_GAIN) & (_own_share(shares, points) < LARGEST_OWN_SHARE)
    return np.asarray(another | (gain >= SURE_GAIN)), gain


def by_mixture(
    power: Matrix, bright: Array, points: Array, *, sheet: Sheet, numbers: Numbers
) -> Array:
    """Return the share of energy that the best mixture of planes explains, wherever it starts.

    Parameters
    ----------
    power, bright, points, sheet, numbers
        As for :func:`several_planes`.
    """
    value, shares = below_limit(power, points), np.zeros((len(points), 1 + len(mixture_grid())))
    rules = _rules(numbers)._replace(misfit=0.0)
    found = _compare(value, bright, points, shares, sheet=sheet, numbers=numbers, rules=rules)
    return np.asarray(found[:, 1])


def share_explained(power: Matrix, model: Matrix, bright: float, numbers: Numbers) -> float:
    """Return the share of energy that a model of one system explains.

    Parameters
    ----------
    power, model
        Readings, zero where there is none, and the model. [kW]
    bright
        Bright power of the record. [kW]
    numbers
        What is assumed.
    """
    return float(weigh(power, model, bright, NARROW, _rules(numbers), np.empty_like(power)))


def _gain(explained: Array) -> Array:
    """Return how much more mixtures explain than planes alone, as a fraction."""
    return np.asarray(explained[:, 1] / np.maximum(explained[:, 0], 1e-9) - 1.0)


def _rules(numbers: Numbers) -> MixtureNumbers:
    return MixtureNumbers(
        relative=numbers.relative,
        absolute=numbers.absolute,
        reach=numbers.reach,
        alone_width=NARROW,
        narrow=NARROW,
        hardly=1.0,
        misfit=np.inf,
        rounds=ROUNDS,
    )


def below_limit(power: Matrix, points: Array) -> Matrix:
    """Return powers above zero and well below each system's limit, zero for the others."""
    limit = BELOW_LIMIT * np.exp(np.minimum(points[:, LIMIT], NO_LIMIT))
    return np.where((power > 0.0) & (power < limit[:, None]), power, np.float32(0.0))


def _compare(
    value: Matrix,
    bright: Array,
    points: Array,
    shares: Array,
    *,
    sheet: Sheet,
    numbers: Numbers,
    rules: MixtureNumbers,
) -> Array:
    """Return shares of energy that planes alone and that mixtures explain, shape (systems, 2).

    ``shares`` is where mixtures start, and is filled with where they end.
    """
    grid = points_of(mixture_grid())
    planes = np.repeat(points[:, None], 1 + len(grid), axis=1)
    # the other planes under the same haze and on the same mounts
    planes[:, 1:, (EAST, NORTH)] = grid[:, (EAST, NORTH)]
    rows = profiles_of(sheet, planes.reshape(-1, planes.shape[2]), numbers)
    out, capacity = np.zeros((len(points), 2)), np.exp(points[:, CAPACITY])
    fit_mixtures(value, rows.reshape(*planes.shape[:2], -1), capacity, bright, rules, out, shares)
    return out


def _own_share(shares: Array, points: Array) -> Array:
    """Return the share of each mixture's capacity that faces about as the fitted plane does."""
    tilt = np.radians(np.hypot(points[:, EAST], points[:, NORTH]))
    azimuth = np.arctan2(points[:, EAST], points[:, NORTH])
    sine = np.sin(tilt)
    normals = np.stack([sine * np.sin(azimuth), sine * np.cos(azimuth), np.cos(tilt)], axis=1)
    near = times_each_row(normals, mixture_grid().normals.T) > np.cos(np.radians(NEAR_DEGREES))
    own = shares[:, 0] + (shares[:, 1:] * near).sum(axis=1)
    return np.asarray(own / np.maximum(shares.sum(axis=1), 1e-9))
