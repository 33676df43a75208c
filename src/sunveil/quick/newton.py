"""Robust Gauss-Newton over one system's readings, compiled: see :mod:`sunveil.fit.refine`."""

from __future__ import annotations

import numpy as np

from sunveil.cells.tables import LANES, MASK
from sunveil.fit.shared import STEPS as _STEPS
from sunveil.jit import compiled
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
_LONGEST = 8.0
_CLOSE = 0.1
# Newton's steps shorten so fast that what is left after such a step is far below it.
_CLOSER = 1.0
# Steps in the plane below which Newton's method is trusted. [degrees]
_TRUSTED = 2.0


@compiled
def newton_room():  # type: ignore[no-untyped-def]
    """Return what steps are worked in: information, a copy of it, gradient, step, and lanes."""
    return (
        np.zeros((FREE, FREE)),
        np.zeros((FREE, FREE)),
        np.zeros(FREE),
        np.zeros(FREE),
        np.empty(3 * LANES, dtype=np.float32),
    )


@compiled
def solve(a, b, size):  # type: ignore[no-untyped-def]
    """Solve a symmetric positive system of a few unknowns, in place: ``b`` becomes the solution."""
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


@compiled
def normal_equations(point, constants, bend, out, room):  # type: ignore[no-untyped-def]
    """Fill the information matrix and the gradient from a linearisation, priors included.

    With ``bend`` the matrix is that of Newton's method, which knows that a reading's say falls as
    the model moves away from it: close to the best fit its steps end where those without it only
    creep to. Zero leaves it out.
    """
    information, _, gradient, _, lanes = room
    size = FREE if point[LIMIT] < NO_LIMIT else FREE - 1
    o = out.ravel()
    weighed, pulled, curve = lanes[:LANES], lanes[LANES : 2 * LANES], lanes[2 * LANES :]
    bent = np.float32(bend / constants.reach**2)
    information[:] = 0.0
    gradient[:] = 0.0
    for block in range(out.shape[0]):
        base = (block * (OUT * LANES)) & MASK
        for k in range(LANES):
            residual, weight = o[base + 2 * LANES + k], o[base + 3 * LANES + k]
            pulled[k] = weight * residual
            curve[k] = weight * (np.float32(1.0) - bent * residual * residual)
        for i in range(size):
            row = (base + (SLOPES + i) * LANES) & MASK
            for k in range(LANES):
                weighed[k] = curve[k] * o[row + k]
            for j in range(i + 1):
                other = (base + (SLOPES + j) * LANES) & MASK
                total = np.float32(0.0)
                for k in range(LANES):
                    total += weighed[k] * o[other + k]
                information[i, j] += total
            total = np.float32(0.0)
            for k in range(LANES):
                total += pulled[k] * o[row + k]
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
def find_step(point, constants, bend, out, room):  # type: ignore[no-untyped-def]
    """Fill the step to the best fit nearby; return its length, and whether it goes to a minimum."""
    size = normal_equations(point, constants, bend, out, room)
    information, damped, gradient, step, _ = room
    for i in range(size):
        step[i] = gradient[i]
        for j in range(size):
            damped[i, j] = information[i, j]
        damped[i, i] += 1e-6 * (information[i, i] + 1e-12)
    solve(damped, step, size)
    along = 0.0
    for i in range(size):
        along += step[i] * gradient[i]
    length = np.sqrt(step[EAST] ** 2 + step[NORTH] ** 2)
    return length, along > 0.0 and length < _TRUSTED


@compiled
def refine(readings, point, widen, near, iterations, constants, out, room):  # type: ignore[no-untyped-def]
    """Move ``point`` to the best fit nearby, in place; return the share of energy explained.

    ``readings`` are the sky, the power and which of it there is, and the bright power; ``widen``
    is by how much errors are widened. ``near`` says that the point is close already, so that
    Newton's steps can be trusted from the first on. ``out`` holds the last linearisation;
    ``room`` is what is worked in.
    """
    sheet, power, have, bright = readings
    step = room[3]
    size = FREE if point[LIMIT] < NO_LIMIT else FREE - 1
    length = 0.0 if near else 1e9
    for _ in range(iterations):
        linearise(sheet, power, have, point, bright, widen, constants, out)
        good = False
        if length < _TRUSTED:
            length, good = find_step(point, constants, 1.0, out, room)
        if not good:
            length = find_step(point, constants, 0.0, out, room)[0]
        scale = _LONGEST / length if length > _LONGEST else 1.0
        largest = 0.0
        for i in range(size):
            point[i] += scale * step[i]
            largest = max(largest, scale * abs(step[i]) / _STEPS[i])
        tilt = np.sqrt(point[EAST] ** 2 + point[NORTH] ** 2)
        if tilt > STEEPEST:
            point[EAST] *= STEEPEST / tilt
            point[NORTH] *= STEEPEST / tilt
        point[CAPACITY] = min(max(point[CAPACITY], -20.0), 20.0)
        if largest < (_CLOSER if good else _CLOSE):
            break
    return explained(power, have, out)


@compiled
def inform(point, constants, out, room):  # type: ignore[no-untyped-def]
    """Fill what the readings of a linearisation tell of the parameters, priors included."""
    normal_equations(point, constants, 0.0, out, room)


@compiled
def explained(power, have, out):  # type: ignore[no-untyped-def]
    """Return the share of the measured energy that a linearisation explains."""
    total, seen = np.float32(1e-30), np.float32(0.0)
    o = out.ravel()
    for block in range(out.shape[0]):
        base, at = (block * (OUT * LANES)) & MASK, (block * LANES) & MASK
        for k in range(LANES):
            total += have[at + k] * power[at + k]
            seen += o[base + 3 * LANES + k] * power[at + k]
    return seen / total
