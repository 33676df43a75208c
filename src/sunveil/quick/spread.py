"""90% intervals of a compiled fit: see :mod:`sunveil.fit.intervals`."""

from __future__ import annotations

import functools
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.cells.tables import LANES, MASK
from sunveil.fit.shared import TAIL, Doubts
from sunveil.jit import compiled
from sunveil.quick.model import (
    CAPACITY,
    EAST,
    INVERSE,
    LIMIT,
    NO_LIMIT,
    NORTH,
    OUT,
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
        Standard normal pairs, evenly spread, the same for every system, shape (2, draws).
    clock_minutes, capacity, angle, stretch
        What the fit cannot see; see :class:`sunveil.fit.shared.Doubts`.
    """

    draws: Array
    clock_minutes: float
    capacity: float
    angle: float
    stretch: float


class Neighbours(NamedTuple):
    """What a minute of clock does, which shows between neighbours.

    Parameters
    ----------
    before, after
        Of each interval that is fitted, the usable intervals before and after it, or itself.
    rate
        Over how many minutes these stand apart, inverted. [1/minutes]
    """

    before: NDArray[np.int32]
    after: NDArray[np.int32]
    rate: NDArray[np.float32]


def neighbours_of(
    slot: NDArray[np.int32], chosen: NDArray[np.int32], *, minutes: float
) -> Neighbours:
    """Return the neighbours of the chosen intervals, padded to whole blocks.

    Parameters
    ----------
    slot
        Places of the usable intervals on the axis.
    chosen
        Which of them are fitted.
    minutes
        Length of an interval. [minutes]
    """
    padded = -(-len(chosen) // LANES) * LANES
    before, after = np.zeros(padded, dtype=np.int32), np.zeros(padded, dtype=np.int32)
    rate = np.zeros(padded, dtype=np.float32)
    fill_neighbours(slot, chosen, minutes, before, after, rate)
    return Neighbours(before, after, rate)


@compiled
def fill_neighbours(slot, chosen, minutes, before, after, rate):  # type: ignore[no-untyped-def]
    """Fill the neighbours of the chosen intervals; see :class:`Neighbours`."""
    for i in range(len(chosen)):
        low = high = chosen[i]
        if low > 0 and slot[low - 1] + 1 == slot[low]:
            low -= 1
        if high + 1 < len(slot) and slot[high + 1] - 1 == slot[high]:
            high += 1
        before[i], after[i] = low, high
        rate[i] = 1.0 / (max(high - low, 1) * minutes)


@functools.lru_cache(maxsize=1)
def _draws() -> Array:
    # evenly spread points of the unit square, by the plastic number, as normal deviates
    steps = np.array([0.7548776662466927, 0.5698402909980532])
    square = (0.5 + np.outer(np.arange(1, DRAWS + 1), steps)) % 1.0
    normal = NormalDist()
    noise = np.array([[normal.inv_cdf(each) for each in pair] for pair in square.tolist()])
    noise -= noise.mean(axis=0)
    # so few points would otherwise carry their own correlation into every interval
    return np.ascontiguousarray(np.linalg.inv(np.linalg.cholesky(np.cov(noise.T))) @ noise.T)


def weights_of(doubts: Doubts) -> Weights:
    """Return what spreads need under some doubts."""
    return Weights(_draws(), doubts.clock_minutes, doubts.capacity, doubts.angle, doubts.stretch)


@compiled
def spread_room(weights):  # type: ignore[no-untyped-def]
    """Return what spreads are worked in: small matrices, small vectors, lanes, and draws."""
    count = weights.draws.shape[1]
    return (
        np.zeros((5, FREE, FREE)),
        np.zeros((4, FREE)),
        np.empty(2 * LANES, dtype=np.float32),
        np.empty((3, count)),
        np.empty(count),
    )


@compiled
def fill_sums(out, model, neighbours, size, middle, clock, sums, lanes):  # type: ignore[no-untyped-def]
    """Fill how the pulls of readings scatter, block by block, and what a minute of clock does.

    Readings of a block are some days apart from those of the next: within it errors may go
    together.
    """
    o = out.ravel()
    before, after, rate = neighbours
    pull, turn = lanes[:LANES], lanes[LANES:]
    middle[:] = 0.0
    clock[:] = 0.0
    for block in range(out.shape[0]):
        base, at = (block * (OUT * LANES)) & MASK, (block * LANES) & MASK
        for k in range(LANES):
            weight = o[base + WEIGHT * LANES + k]
            pull[k] = weight * o[base + RESIDUAL * LANES + k]
            moved = (model[after[at + k]] - model[before[at + k]]) * rate[at + k]
            turn[k] = -weight * moved * o[base + INVERSE * LANES + k]
        for i in range(size):
            row = (base + (SLOPES + i) * LANES) & MASK
            pulled, turned = np.float32(0.0), np.float32(0.0)
            for k in range(LANES):
                pulled += pull[k] * o[row + k]
                turned += turn[k] * o[row + k]
            sums[i] = pulled
            clock[i] += turned
        for i in range(size):
            for j in range(size):
                middle[i, j] += sums[i] * sums[j]


@compiled
def fill_covariance(fit, neighbours, weights, constants, room):  # type: ignore[no-untyped-def]
    """Fill the covariance of the free parameters, the first of the room's matrices."""
    point, out, information, model = fit
    matrices, vectors, lanes, _, _ = room
    total, inverse, scratch = matrices[0], matrices[1], matrices[2]
    middle, half = matrices[3], matrices[4]
    unit, clock, moved, sums = vectors[0], vectors[1], vectors[2], vectors[3]
    size = FREE if point[LIMIT] < NO_LIMIT else FREE - 1
    inverse[:] = 0.0
    for i in range(size):
        unit[:] = 0.0
        unit[i] = 1.0
        scratch[:] = information
        solve(scratch, unit, size)
        for j in range(size):
            inverse[j, i] = unit[j]
    fill_sums(out, model, neighbours, size, middle, clock, sums, lanes)
    middle /= constants.together**2
    clock /= constants.together
    half[:] = 0.0
    moved[:] = 0.0
    for i in range(size):
        for j in range(size):
            moved[i] += inverse[i, j] * clock[j]
            for k in range(size):
                half[i, k] += inverse[i, j] * middle[j, k]
    for i in range(FREE):
        for j in range(FREE):
            scatter = 0.0
            for k in range(size):
                scatter += half[i, k] * inverse[k, j]
            total[i, j] = weights.stretch**2 * (scatter + inverse[i, j])
            total[i, j] += weights.clock_minutes**2 * moved[i] * moved[j]
    total[EAST, EAST] += weights.angle**2
    total[NORTH, NORTH] += weights.angle**2
    total[CAPACITY, CAPACITY] += weights.capacity**2


@compiled
def tail(values, share, sign, kept):  # type: ignore[no-untyped-def]
    """Return the two values on both sides of a quantile of the smallest, and the place between.

    With a ``sign`` of -1 it is one of the largest; values come back with the sign. ``kept`` is
    worked in.
    """
    place = share * (len(values) - 1)
    low = min(int(place), len(values) - 2)
    kept[: low + 2] = np.inf
    for i in range(len(values)):
        value = sign * values[i]
        at = low + 1
        if value >= kept[at]:
            continue
        while at > 0 and kept[at - 1] > value:
            kept[at] = kept[at - 1]
            at -= 1
        kept[at] = value
    return kept[low], kept[low + 1], place - low


@compiled
def quantile(values, share, sign, kept):  # type: ignore[no-untyped-def]
    """Return a quantile of the smallest values, or of the largest, between neighbours."""
    low, high, part = tail(values, share, sign, kept)
    return sign * (low + part * (high - low))


@compiled
def angle_of(turn):  # type: ignore[no-untyped-def]
    """Return the angle that :func:`turn_of` has told the order of. [degrees]"""
    if turn < -1.0:
        return -180.0 - np.arctan2(-(turn + 2.0), 1.0 - abs(turn + 2.0)) * 180.0 / np.pi
    if turn > 1.0:
        return 180.0 - np.arctan2(2.0 - turn, 1.0 - abs(2.0 - turn)) * 180.0 / np.pi
    return np.arctan2(turn, 1.0 - abs(turn)) * 180.0 / np.pi


@compiled
def quantile_angle(turns, share, sign, kept):  # type: ignore[no-untyped-def]
    """Return a quantile of angles that are known by their order. [degrees]"""
    low, high, part = tail(turns, share, sign, kept)
    low, high = angle_of(sign * low), angle_of(sign * high)
    return low + part * (high - low)


@compiled
def fill_draws(point, factor, draws, turns, tilts, cosines):  # type: ignore[no-untyped-def]
    """Fill planes drawn around a point: turn from its azimuth, tilt, cosine of the angle to it.

    A turn is told by a number from -2 to 2 that grows with the angle, and is cheaper. Sines are
    their series, right to 1e-7 within a right angle.
    """
    a, b, c = factor
    radian = np.pi / 180.0
    own = np.sqrt(point[EAST] ** 2 + point[NORTH] ** 2)
    centre = np.arctan2(point[EAST], point[NORTH])
    along, across = np.cos(centre), np.sin(centre)
    sine, cosine = np.sin(own * radian), np.cos(own * radian)
    for i in range(draws.shape[1]):
        u, v = draws[0, i], draws[1, i]
        east, north = point[EAST] + a * u, point[NORTH] + b * u + c * v
        ahead, aside = along * north + across * east, along * east - across * north
        size = abs(ahead) + abs(aside) + 1e-30
        part = aside / size
        back = 2.0 - part if aside >= 0.0 else -2.0 - part
        turns[i] = part if ahead >= 0.0 else back
        tilt = np.sqrt(east * east + north * north)
        held = min(tilt, 90.0)
        tilts[i] = held
        x = (held * radian) ** 2
        level = 1.0 - x / 30 * (1.0 - x / 56 * (1.0 - x / 90 * (1.0 - x / 132)))
        level = 1.0 - x / 2 * (1.0 - x / 12 * level)
        lean = 1.0 - x / 42 * (1.0 - x / 72 * (1.0 - x / 110 * (1.0 - x / 156)))
        lean = 1.0 - x / 6 * (1.0 - x / 20 * lean)
        cosines[i] = sine * lean * held * radian * ahead / max(tilt, 1e-30) + cosine * level


@compiled
def fill_spread(fit, neighbours, weights, constants, room, spread):  # type: ignore[no-untyped-def]
    """Fill the 90% intervals of azimuth, tilt and capacity, and the radius of the plane's.

    ``fit`` is a point with its linearisation, information and model of all readings; ``room`` is
    what is worked in.
    """
    fill_covariance(fit, neighbours, weights, constants, room)
    point, total, drawn, kept = fit[0], room[0][0], room[3], room[4]
    a = np.sqrt(max(total[0, 0], 1e-9))
    b = total[1, 0] / a
    c = np.sqrt(max(total[1, 1] - b * b, 1e-9))
    turns, tilts, cosines = drawn[0], drawn[1], drawn[2]
    fill_draws(point, (a, b, c), weights.draws, turns, tilts, cosines)
    radian = np.pi / 180.0
    centre = np.arctan2(point[EAST], point[NORTH]) / radian
    own_tilt = np.sqrt(point[EAST] ** 2 + point[NORTH] ** 2)
    low, high = quantile_angle(turns, TAIL, 1.0, kept), quantile_angle(turns, TAIL, -1.0, kept)
    if high - low > _ANY_AZIMUTH:
        spread[AZIMUTH_LOW], spread[AZIMUTH_HIGH] = 0.0, 360.0
    else:
        spread[AZIMUTH_LOW] = (centre + low) % 360.0
        spread[AZIMUTH_HIGH] = (centre + high) % 360.0
    spread[TILT_LOW] = min(quantile(tilts, TAIL, 1.0, kept), own_tilt)
    spread[TILT_HIGH] = max(quantile(tilts, TAIL, -1.0, kept), own_tilt)
    deviation = 1.645 * np.sqrt(max(total[CAPACITY, CAPACITY], 0.0))
    spread[CAPACITY_LOW] = np.exp(point[CAPACITY] - deviation)
    spread[CAPACITY_HIGH] = np.exp(point[CAPACITY] + deviation)
    cosine = quantile(cosines, 2.0 * TAIL, 1.0, kept)
    spread[RADIUS] = np.arccos(min(max(cosine, -1.0), 1.0)) / radian
