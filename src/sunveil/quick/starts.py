"""Where the fit of a system starts: matrix products of bright readings and planes.

Of every ten days and time of day the system's bright power is taken; how well it looks like each
plane's is one product of matrices for all systems of a block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.fit.planes import BRIGHT_QUANTILE, FEWEST
from sunveil.jit import compiled
from sunveil.quick.groups import Groups, Matrix, points_of
from sunveil.site import Array

# A group whose bright power is so far from the best plane's has lost half its say.
FAR = 0.2
MOST = 3
APART = float(np.cos(np.radians(25.0)))


@compiled
def fill_bright(power, have, light, order, first, quantile, fewest, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with each group's bright power per light; NaN where too few readings are."""
    longest = 0
    for g in range(len(first) - 1):
        longest = max(longest, first[g + 1] - first[g])
    values = np.empty(longest, dtype=np.float32)
    for s in range(power.shape[0]):
        for g in range(len(first) - 1):
            count = 0
            for i in range(first[g], first[g + 1]):
                k = order[i]
                if have[s, k] > 0.0:
                    value = power[s, k] / light[k]
                    place = count
                    while place > 0 and values[place - 1] > value:
                        values[place] = values[place - 1]
                        place -= 1
                    values[place] = value
                    count += 1
            enough = count >= fewest
            out[s, g] = values[int(quantile * (count - 1) + 0.5)] if enough else np.nan


def bright_powers(power: Matrix, have: Matrix, groups: Groups) -> Matrix:
    """Return the bright power of each system in each group, NaN where there is none. [kW]"""
    out = np.empty((len(power), len(groups.first) - 1), dtype=np.float32)
    fill_bright(power, have, groups.light, groups.order, groups.first, BRIGHT_QUANTILE, FEWEST, out)
    return out * groups.probe_light


def find_starts(bright: Matrix, groups: Groups) -> tuple[Array, Array]:
    """Return the best starting points of each system, and what each leaves unexplained.

    Parameters
    ----------
    bright
        Bright powers, shape (systems, groups), NaN where there is none. [kW]
    groups
        The groups and the planes' powers in them.

    Returns
    -------
    points
        Shape (systems, 3, 6), best first; as :class:`sunveil.fit.refine.Point` has them.
    left
        Share of the energy's square that each leaves, shape (systems, 3); infinite for none.
    """
    there = np.isfinite(bright)
    value = np.where(there, bright, np.float32(0.0))
    weight = there.astype(np.float32)
    rows = np.arange(len(bright))
    for again in (True, False):
        left, capacity = _products(value, weight, groups.profiles)
        best = left.argmin(axis=1)
        if again:
            expected = capacity[rows, best][:, None] * groups.profiles[best]
            far = (value - expected) / (FAR * np.maximum(expected, 1e-6))
            weight = there / (1.0 + np.minimum(far * far, 1e4)) ** 2
            weight = weight.astype(np.float32)
    return _apart(left, capacity, groups)


def _products(value: Matrix, weight: Matrix, profiles: Matrix) -> tuple[Matrix, Matrix]:
    """Return what each plane leaves of the energy's square, and its capacity. [1, kW]"""
    shape = (len(value), len(profiles))
    left, capacity = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
    fill_products(value, weight, profiles, left, capacity)
    return left, capacity


@compiled
def fill_products(value, weight, profiles, left, capacity):  # type: ignore[no-untyped-def]
    """Fill three products of matrices at once; a library's would take threads of its own."""
    seen = np.empty(value.shape[1], dtype=np.float32)
    for s in range(value.shape[0]):
        energy = np.float32(1e-12)
        for g in range(value.shape[1]):
            seen[g] = weight[s, g] * value[s, g]
            energy += seen[g] * value[s, g]
        for p in range(profiles.shape[0]):
            both, own = np.float32(0.0), np.float32(1e-12)
            for g in range(value.shape[1]):
                both += seen[g] * profiles[p, g]
                own += weight[s, g] * profiles[p, g] * profiles[p, g]
            left[s, p] = np.float32(1.0) - both * both / (own * energy)
            capacity[s, p] = both / own


def _apart(left: Matrix, capacity: Matrix, groups: Groups) -> tuple[Array, Array]:
    normals = groups.grid.normals
    near = normals @ normals.T > APART
    points = np.repeat(points_of(groups.grid)[None, :1], len(left), axis=0).repeat(MOST, axis=1)
    unexplained = np.full((len(left), MOST), np.inf)
    known = points_of(groups.grid)
    rows: NDArray[np.intp] = np.arange(len(left))
    remaining = left.astype(np.float64)
    for place in range(MOST):
        best = remaining.argmin(axis=1)
        unexplained[:, place] = remaining[rows, best]
        points[:, place] = known[best]
        points[:, place, 2] = np.log(np.maximum(capacity[rows, best], 1e-6))
        remaining = np.where(near[best], np.inf, remaining)
    return points, unexplained
