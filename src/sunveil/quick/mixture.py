"""One fixed plane, or something else, for many systems: see :mod:`sunveil.fit.planes`.

The same comparison on fewer numbers: the bright power of every second window of ten days, against
a mixture of planes that stand farther apart. A mixture is a non-negative least squares problem; its
matrix is small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.atlas import Grid
from sunveil.cells.tables import LANES
from sunveil.fit.planes import CLEAR_GAIN, NEAR_DEGREES, SCALE
from sunveil.jit import compiled
from sunveil.quick.groups import Groups, Matrix
from sunveil.quick.layout import Laid
from sunveil.quick.model import EAST, LIMIT, NO_LIMIT, NORTH, unit_profile
from sunveil.quick.newton import solve
from sunveil.site import Array

ITERATIONS = 2
# It is not one plane when a mixture explains this much more of the bright power ...
LEAST_GAIN = 0.03
# ... while leaving the plane itself less than this share of the capacity ...
LARGEST_OWN_SHARE = 0.55
# ... or when it explains so much more that the plane cannot be right.
SURE_GAIN = 3.0 * CLEAR_GAIN
# Misfits beyond this, in standard deviations, are looked at without the plane too.
MISFIT = 3.0
# Readings so close to the limit say nothing of planes.
BELOW_LIMIT = 0.95
_NEAR = float(np.cos(np.radians(NEAR_DEGREES)))
_FEWEST = 40


def mixture_grid() -> Grid:
    """Return the planes that a mixture may hold beside the fitted one."""
    azimuth, tilt = [np.array([0.0])], [np.array([0.0])]
    for one in (15.0, 35.0, 70.0):
        azimuth.append(np.arange(10) * 36.0)
        tilt.append(np.full(10, one))
    return Grid(np.concatenate(azimuth), np.concatenate(tilt))


def mixture_places(groups: Groups, day: NDArray[np.int32], window: int) -> NDArray[np.intp]:
    """Return the groups of every second window."""
    return np.flatnonzero(day[groups.order[groups.first[:-1]]] // window % 2 == 0)


@compiled
def non_negative(gram, right, x):  # type: ignore[no-untyped-def]
    """Fill ``x`` with the non-negative least squares solution, by Lawson and Hanson's method."""
    size = len(x)
    x[:] = 0.0
    free = np.zeros(size, dtype=np.bool_)
    part = np.zeros((size, size))
    aim, places = np.zeros(size), np.zeros(size, dtype=np.int64)
    least = 1e-6 * max(right.max(), 1e-30)
    for _ in range(2 * size):
        best, most = -1, least
        for i in range(size):
            if not free[i]:
                pull = right[i]
                for j in range(size):
                    pull -= gram[i, j] * x[j]
                if pull > most:
                    best, most = i, pull
        if best < 0:
            break
        free[best] = True
        for _ in range(size):
            count = 0
            for i in range(size):
                if free[i]:
                    places[count] = i
                    count += 1
            for i in range(count):
                aim[i] = right[places[i]]
                for j in range(count):
                    part[i, j] = gram[places[i], places[j]]
                part[i, i] *= 1.0 + 1e-6
            found = solve(part, aim, count)
            step, worst = 1.0, -1
            for i in range(count):
                if found[i] <= 0.0:
                    here = x[places[i]]
                    share = here / max(here - found[i], 1e-300)
                    if share < step:
                        step, worst = share, places[i]
            for i in range(count):
                x[places[i]] += step * (found[i] - x[places[i]])
            if worst < 0:
                break
            x[worst] = 0.0
            free[worst] = False


@compiled
def weigh(value, model, bright, width, relative, absolute, reach, weight):  # type: ignore[no-untyped-def]
    """Fill the weight of each value over its variance; return the share of energy explained.

    Values of zero are those that are not there.
    """
    total, seen = 1e-30, 0.0
    for g in range(len(value)):
        weight[g] = 0.0
        if value[g] <= 0.0:
            continue
        m = model[g]
        variance = width * width * ((relative * m) ** 2 + (absolute * bright) ** 2)
        far = value[g] - m
        say = np.exp(-0.5 * far * far / (variance * reach * reach))
        weight[g] = say / variance
        total += value[g]
        seen += say * value[g]
    return seen / total


@compiled
def mixed(value, profiles, bright, constants, x, model, weight):  # type: ignore[no-untyped-def]
    """Fit a mixture by reweighting, from the weights of ``model``; return what it explains."""
    planes = profiles.shape[0]
    gram, right = np.zeros((planes, planes)), np.zeros(planes)
    scaled = np.empty(len(value), dtype=np.float32)
    relative, absolute, reach = constants.relative, constants.absolute, constants.reach
    for _ in range(ITERATIONS):
        weigh(value, model, bright, SCALE, relative, absolute, reach, weight)
        for i in range(planes):
            total = np.float32(0.0)
            for g in range(len(value)):
                scaled[g] = profiles[i, g] * weight[g]
                total += scaled[g] * value[g]
            right[i] = total
            for j in range(i + 1):
                total = np.float32(0.0)
                for g in range(len(value)):
                    total += scaled[g] * profiles[j, g]
                gram[i, j] = total
                gram[j, i] = total
        non_negative(gram, right, x)
        model[:] = 0.0
        for i in range(planes):
            if x[i] > 0.0:
                for g in range(len(value)):
                    model[g] += np.float32(x[i]) * profiles[i, g]
    return weigh(value, model, bright, SCALE, relative, absolute, reach, weight)


@compiled
def fill_tests(bright, tops, points, probe, candidates, directions, constants, out):  # type: ignore[no-untyped-def]
    """Fill, for each system, what the plane and a mixture explain, and the plane's own share."""
    planes = candidates.shape[0] + 1
    seen = np.empty((planes, probe.shape[0] * LANES), dtype=np.float32)
    value = np.empty(bright.shape[1], dtype=np.float32)
    alone, weight = np.empty_like(value), np.empty_like(value)
    relative, absolute, reach = constants.relative, constants.absolute, constants.reach
    one = np.empty(6)
    for s in range(bright.shape[0]):
        own = points[s]
        for j in range(planes):
            # under the system's own haze and heat, so that planes alone are compared
            one[:] = own
            if j > 0:
                one[EAST], one[NORTH] = candidates[j - 1, EAST], candidates[j - 1, NORTH]
            unit_profile(probe, one, constants, seen[j])
        limit = BELOW_LIMIT * np.exp(points[s, LIMIT]) if points[s, LIMIT] < NO_LIMIT else 3e38
        count = 0
        for g in range(bright.shape[1]):
            here = bright[s, g]
            known = here == here and here < limit and here > 0.0
            value[g] = here if known else 0.0
            count += known
        out[s, 0], out[s, 1], out[s, 2] = 1.0, 1.0, 1.0
        if count < _FEWEST:
            continue
        capacity = np.exp(own[2])
        for _ in range(ITERATIONS):
            for g in range(len(value)):
                alone[g] = np.float32(capacity) * seen[0, g]
            weigh(value, alone, tops[s], 1.0, relative, absolute, reach, weight)
            above, below = 0.0, 1e-30
            for g in range(len(value)):
                above += weight[g] * seen[0, g] * value[g]
                below += weight[g] * seen[0, g] * seen[0, g]
            capacity = above / below
        misfit, energy = 0.0, 1e-30
        for g in range(len(value)):
            alone[g] = np.float32(capacity) * seen[0, g]
            far = (value[g] - alone[g]) ** 2
            far /= (relative * alone[g]) ** 2 + (absolute * tops[s]) ** 2
            misfit += far * value[g]
            energy += value[g]
        out[s, 0] = weigh(value, alone, tops[s], SCALE, relative, absolute, reach, weight)
        best = np.zeros(planes)
        best[0] = capacity
        out[s, 1] = mixed(value, seen, tops[s], constants, best, alone, weight)
        if np.sqrt(misfit / energy) > MISFIT:
            # from the bright power itself, which knows nothing of the plane
            other = np.zeros(planes)
            alone[:] = value
            found = mixed(value, seen, tops[s], constants, other, alone, weight)
            if found > out[s, 1]:
                out[s, 1] = found
                best = other
        tilt = np.sqrt(own[EAST] ** 2 + own[NORTH] ** 2) * np.pi / 180.0
        sine = np.sin(tilt) / max(tilt * 180.0 / np.pi, 1e-9)
        near = best[0]
        for j in range(planes - 1):
            along = directions[j, 0] * own[EAST] * sine + directions[j, 1] * own[NORTH] * sine
            if along + directions[j, 2] * np.cos(tilt) > _NEAR:
                near += best[j + 1]
        out[s, 2] = near / max(best.sum(), 1e-9)


def one_plane(
    laid: Laid, bright: Matrix, points: Array, prepared: Any, chosen: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return which of the chosen systems look like one fixed plane.

    Parameters
    ----------
    laid
        The readings of the block.
    bright
        Bright power of each system in each group, NaN where there is none. [kW]
    points
        What was fitted.
    prepared
        What is known of the sky beforehand.
    chosen
        The systems that were fitted.
    """
    mixture = prepared.mixture
    out = np.empty((len(chosen), 3))
    fill_tests(
        np.ascontiguousarray(bright[np.ix_(chosen, mixture.places)]),
        laid.bright[chosen],
        points[chosen],
        mixture.probe,
        mixture.points,
        mixture.directions,
        prepared.constants,
        out,
    )
    gain = out[:, 1] / np.maximum(out[:, 0], 1e-9) - 1.0
    another = (gain >= LEAST_GAIN) & (out[:, 2] < LARGEST_OWN_SHARE)
    return np.asarray(~(another | (gain >= SURE_GAIN)))
