"""Robust Gauss-Newton over one system's readings, compiled: see :mod:`sunveil.fit.refine`."""

from __future__ import annotations

import numpy as np

from sunveil.cells.tables import LANES
from sunveil.fit.refine import _STEPS
from sunveil.quick.jit import compiled
from sunveil.quick.model import (
    CAPACITY,
    EAST,
    HAZE,
    HEAT,
    LIMIT,
    NO_LIMIT,
    NORTH,
    OUT,
    SLOPES,
    STEEPEST,
    linearise,
)

FREE = 6
_MASK = 0x7FFFFFFFFF
_LONGEST = 8.0
_CLOSE = 0.1


@compiled
def solve(matrix, right, size):  # type: ignore[no-untyped-def]
    """Return the solution of a symmetric positive system of a few unknowns."""
    a, b = matrix.copy(), right.copy()
    for i in range(size):
        pivot = a[i, i] if abs(a[i, i]) > 1e-300 else 1e-300
        for j in range(i + 1, size):
            factor = a[j, i] / pivot
            b[j] -= factor * b[i]
            for k in range(i, size):
                a[j, k] -= factor * a[i, k]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            b[i] -= a[i, k] * b[k]
        b[i] /= a[i, i] if abs(a[i, i]) > 1e-300 else 1e-300
    return b


@compiled
def normal_equations(point, constants, out, information, gradient):  # type: ignore[no-untyped-def]
    """Fill the information matrix and the gradient from a linearisation, priors included."""
    size = FREE if point[LIMIT] < NO_LIMIT else FREE - 1
    o = out.ravel()
    weighed = np.empty(LANES, dtype=np.float32)
    information[:] = 0.0
    gradient[:] = 0.0
    for block in range(out.shape[0]):
        base = (block * (OUT * LANES)) & _MASK
        for i in range(size):
            row = (base + (SLOPES + i) * LANES) & _MASK
            for k in range(LANES):
                weighed[k] = o[base + 3 * LANES + k] * o[row + k]
            for j in range(i + 1):
                other = (base + (SLOPES + j) * LANES) & _MASK
                total = np.float32(0.0)
                for k in range(LANES):
                    total += weighed[k] * o[other + k]
                information[i, j] += total
            total = np.float32(0.0)
            for k in range(LANES):
                total += weighed[k] * o[base + 2 * LANES + k]
            gradient[i] += total
    for i in range(size):
        gradient[i] /= constants.together
        for j in range(i + 1):
            information[i, j] /= constants.together
            information[j, i] = information[i, j]
    information[HAZE, HAZE] += constants.haze_deviation**-2
    information[HEAT, HEAT] += constants.heat_deviation**-2
    gradient[HAZE] -= (point[HAZE] - constants.haze_mean) / constants.haze_deviation**2
    gradient[HEAT] -= (point[HEAT] - constants.heat_mean) / constants.heat_deviation**2
    if size == FREE:
        # the limit has no prior, but nothing may reach it on the way there
        information[LIMIT, LIMIT] += 1e-3
    return size


@compiled
def refine(sheet, power, have, point, bright, widths, iterations, constants, out, information):  # type: ignore[no-untyped-def]
    """Move ``point`` to the best fit nearby, in place; return the share of energy explained.

    ``out`` and ``information`` hold the last linearisation.
    """
    gradient = np.zeros(FREE)
    damped = np.empty((FREE, FREE))
    for widen in widths:
        for _ in range(iterations):
            linearise(sheet, power, have, point, bright, widen, constants, out)
            size = normal_equations(point, constants, out, information, gradient)
            for i in range(size):
                for j in range(size):
                    damped[i, j] = information[i, j]
                damped[i, i] += 1e-6 * (information[i, i] + 1e-12)
            step = solve(damped, gradient, size)
            length = np.sqrt(step[EAST] ** 2 + step[NORTH] ** 2)
            if length > _LONGEST:
                step *= _LONGEST / length
            largest = 0.0
            for i in range(size):
                point[i] += step[i]
                largest = max(largest, abs(step[i]) / _STEPS[i])
            tilt = np.sqrt(point[EAST] ** 2 + point[NORTH] ** 2)
            if tilt > STEEPEST:
                point[EAST] *= STEEPEST / tilt
                point[NORTH] *= STEEPEST / tilt
            point[CAPACITY] = min(max(point[CAPACITY], -20.0), 20.0)
            if largest < _CLOSE:
                break
    return explained(power, have, out)


@compiled
def explained(power, have, out):  # type: ignore[no-untyped-def]
    """Return the share of the measured energy that a linearisation explains."""
    total, seen = np.float32(1e-30), np.float32(0.0)
    o = out.ravel()
    for block in range(out.shape[0]):
        base, at = (block * (OUT * LANES)) & _MASK, (block * LANES) & _MASK
        for k in range(LANES):
            total += have[at + k] * power[at + k]
            seen += o[base + 3 * LANES + k] * power[at + k]
    return seen / total
