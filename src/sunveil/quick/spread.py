"""90% intervals of a compiled fit: see :mod:`sunveil.fit.intervals`."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from sunveil.cells.tables import LANES
from sunveil.fit.intervals import TAIL, Doubts
from sunveil.jit import compiled
from sunveil.quick.model import (
    CAPACITY,
    EAST,
    INVERSE,
    LIMIT,
    NO_LIMIT,
    NORTH,
    RESIDUAL,
    SLOPES,
    WEIGHT,
)
from sunveil.quick.newton import FREE, solve
from sunveil.site import Array

# Columns of a spread.
AZIMUTH_LOW, AZIMUTH_HIGH, TILT_LOW, TILT_HIGH, CAPACITY_LOW, CAPACITY_HIGH, RADIUS = range(7)
COLUMNS = 7
DRAWS = 200
_ANY_AZIMUTH = 300.0


class Weights(NamedTuple):
    """What a spread needs beside the fit.

    Parameters
    ----------
    draws
        Standard normal pairs, evenly spread, the same for every system.
    minutes
        Length of an interval. [minutes]
    clock_minutes, capacity, angle, stretch
        What the fit cannot see; see :class:`sunveil.fit.intervals.Doubts`.
    """

    draws: Array
    minutes: float
    clock_minutes: float
    capacity: float
    angle: float
    stretch: float


@functools.lru_cache(maxsize=1)
def _draws() -> Array:
    # evenly spread points of the unit square, by the plastic number, as normal deviates
    steps = np.array([0.7548776662466927, 0.5698402909980532])
    square = (0.5 + np.outer(np.arange(1, DRAWS + 1), steps)) % 1.0
    noise = ndtri(square)
    noise -= noise.mean(axis=0)
    # so few points would otherwise carry their own correlation into every interval
    return np.asarray(noise @ np.linalg.inv(np.linalg.cholesky(np.cov(noise.T))).T)


def weights_of(doubts: Doubts, minutes: float) -> Weights:
    """Return what spreads need under some doubts."""
    return Weights(
        _draws(), minutes, doubts.clock_minutes, doubts.capacity, doubts.angle, doubts.stretch
    )


@compiled
def fill_pulls(out, model, slot, each, minutes, pull, turn):  # type: ignore[no-untyped-def]
    """Fill how each reading pulls on the fit, and how it would after a minute of clock."""
    last = len(slot) - 1
    for i in range(len(pull)):
        block, lane, k = i // LANES, i % LANES, i * each
        weight = out[block, WEIGHT, lane]
        pull[i] = weight * out[block, RESIDUAL, lane]
        # what a minute of clock does shows between neighbours
        before = k - 1 if k > 0 and slot[k - 1] == slot[k] - 1 else k
        after = k + 1 if k < last and slot[k + 1] == slot[k] + 1 else k
        rate = (model[after] - model[before]) / (max(after - before, 1) * minutes)
        turn[i] = -weight * rate * out[block, INVERSE, lane]


@compiled
def fill_covariance(point, out, information, model, days, each, weights, constants, total):  # type: ignore[no-untyped-def]
    """Fill the covariance of the free parameters; return how many are free."""
    size = FREE if point[LIMIT] < NO_LIMIT else FREE - 1
    inverse = np.zeros((FREE, FREE))
    unit = np.zeros(FREE)
    for i in range(size):
        unit[:] = 0.0
        unit[i] = 1.0
        inverse[:, i] = solve(information, unit, size)
    middle = np.zeros((FREE, FREE))
    sums, clock = np.zeros(FREE), np.zeros(FREE)
    day, slot = days
    count = (len(day) + each - 1) // each
    pull = np.zeros(count, dtype=np.float32)
    turn = np.zeros(count, dtype=np.float32)
    fill_pulls(out, model, slot, each, weights.minutes, pull, turn)
    start = 0
    while start < count:
        end = start
        while end < count and day[end * each] // 7 == day[start * each] // 7:
            end += 1
        for i in range(size):
            pulled, turned = np.float32(0.0), np.float32(0.0)
            # a week may begin and end within a block
            block = start // LANES
            while block * LANES < end:
                low, high = max(start, block * LANES), min(end, (block + 1) * LANES)
                for k in range(low, high):
                    slope = out[block, SLOPES + i, k - block * LANES]
                    pulled += pull[k] * slope
                    turned += turn[k] * slope
                block += 1
            sums[i] = pulled / constants.together
            clock[i] += turned / constants.together
        for i in range(size):
            for j in range(size):
                middle[i, j] += sums[i] * sums[j]
        start = end
    moved = inverse @ clock
    scatter = inverse @ middle @ inverse
    for i in range(FREE):
        for j in range(FREE):
            total[i, j] = weights.stretch**2 * (scatter[i, j] + inverse[i, j])
            total[i, j] += weights.clock_minutes**2 * moved[i] * moved[j]
    total[EAST, EAST] += weights.angle**2
    total[NORTH, NORTH] += weights.angle**2
    total[CAPACITY, CAPACITY] += weights.capacity**2
    return size


@compiled
def quantile(values, share):  # type: ignore[no-untyped-def]
    """Return a quantile of sorted values, between neighbours in proportion."""
    place = share * (len(values) - 1)
    low = min(int(place), len(values) - 2)
    return values[low] + (place - low) * (values[low + 1] - values[low])


@compiled
def fill_spread(point, out, information, model, days, each, weights, constants, spread):  # type: ignore[no-untyped-def]
    """Fill the 90% intervals of azimuth, tilt and capacity, and the radius of the plane's."""
    total = np.zeros((FREE, FREE))
    fill_covariance(point, out, information, model, days, each, weights, constants, total)
    a = np.sqrt(max(total[0, 0], 1e-9))
    b = total[1, 0] / a
    c = np.sqrt(max(total[1, 1] - b * b, 1e-9))
    radian = np.pi / 180.0
    centre = np.arctan2(point[EAST], point[NORTH]) / radian
    own_tilt = np.sqrt(point[EAST] ** 2 + point[NORTH] ** 2)
    sine, cosine = np.sin(own_tilt * radian), np.cos(own_tilt * radian)
    count = weights.draws.shape[0]
    turned, tilts, angles = np.empty(count), np.empty(count), np.empty(count)
    for i in range(count):
        u, v = weights.draws[i, 0], weights.draws[i, 1]
        east, north = point[EAST] + a * u, point[NORTH] + b * u + c * v
        tilt = min(np.sqrt(east * east + north * north), 90.0)
        tilts[i] = tilt
        turn = (np.arctan2(east, north) / radian - centre + 180.0) % 360.0 - 180.0
        turned[i] = turn
        angles[i] = sine * np.sin(tilt * radian) * np.cos(turn * radian)
        angles[i] += cosine * np.cos(tilt * radian)
    turned.sort()
    tilts.sort()
    angles.sort()
    low, high = quantile(turned, TAIL), quantile(turned, 1.0 - TAIL)
    if high - low > _ANY_AZIMUTH:
        spread[AZIMUTH_LOW], spread[AZIMUTH_HIGH] = 0.0, 360.0
    else:
        spread[AZIMUTH_LOW] = (centre + low) % 360.0
        spread[AZIMUTH_HIGH] = (centre + high) % 360.0
    spread[TILT_LOW] = min(quantile(tilts, TAIL), own_tilt)
    spread[TILT_HIGH] = max(quantile(tilts, 1.0 - TAIL), own_tilt)
    deviation = 1.645 * np.sqrt(max(total[CAPACITY, CAPACITY], 0.0))
    spread[CAPACITY_LOW] = np.exp(point[CAPACITY] - deviation)
    spread[CAPACITY_HIGH] = np.exp(point[CAPACITY] + deviation)
    spread[RADIUS] = np.arccos(min(max(quantile(angles, 2.0 * TAIL), -1.0), 1.0)) / radian
