"""Kernels: robust mixtures of fixed planes by non-negative least squares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

kernel = njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"}
)


class MixtureNumbers(NamedTuple):
    """What the kernels of mixtures are told: the model of errors, and when to stop.

    Parameters
    ----------
    relative, absolute, reach
        As those of a plane's fit.
    alone_width, narrow
        How wide errors are, over those of a fit: while the plane alone finds its capacity, and
        while energy is counted as explained.
    hardly
        A round that explains no more than so many times what the last one did is the last.
    misfit
        Planes that are so many standard deviations off are looked at without them too.
    rounds
        Times that weights are found anew.
    """

    relative: float
    absolute: float
    reach: float
    alone_width: float
    narrow: float
    hardly: float
    misfit: float
    rounds: int


@kernel
def weigh(value, model, bright, width, rules, weight):  # type: ignore[no-untyped-def]
    """Fill the weight of each value over its variance; return the share of energy explained.

    Parameters
    ----------
    value, model
        Powers, zero where there is none, and their model. [kW]
    bright
        Bright power of the record. [kW]
    width
        How wide errors are, over those of a fit.
    rules
        The model of errors.
    weight
        Filled, one for each value.
    """
    relative = np.float32((width * rules.relative) ** 2)
    absolute = np.float32((width * rules.absolute * bright) ** 2)
    reach = np.float32(0.5 / rules.reach**2)
    one, half, sixth, least = np.float32(1), np.float32(0.5), np.float32(1 / 6), np.float32(1 / 24)
    total, seen = np.float32(1e-30), np.float32(0.0)
    for g in range(len(value)):
        m, v = model[g], value[g]
        variance = relative * m * m + absolute
        far = v - m
        # exp(-y) as a 32nd power, which wide registers can take
        y = min(far * far * reach / variance, np.float32(16)) * np.float32(1 / 32)
        say = one - y * (one - y * (half - y * (sixth - y * least)))
        say *= say
        say *= say
        say *= say
        say *= say
        say *= say
        say = say if v > np.float32(0.0) else np.float32(0.0)
        weight[g] = say / variance
        total += v
        seen += say * v
    return seen / total


@kernel
def _pull(rows, weight, value, x, model, pull):  # type: ignore[no-untyped-def]
    """Fill the sum of rows, each ``x`` times, and how strongly what is left pulls at each row."""
    model[:] = 0.0
    for i in range(len(rows)):
        if x[i] > 0.0:
            one, times = rows[i], np.float32(x[i])
            for g in range(len(model)):
                model[g] += times * one[g]
    for i in range(len(rows)):
        one, total = rows[i], np.float32(0.0)
        for g in range(len(model)):
            total += one[g] * weight[g] * (value[g] - model[g])
        pull[i] = total


@kernel
def _solve_free(gram, free, right, work, found):  # type: ignore[no-untyped-def]
    """Fill ``found``, where ``free``, with the solution of those rows and columns of ``gram``.

    By elimination in ``work``, without changing rows: products of rows with one another need none,
    with a diagonal that is a little enlarged. numpy's own takes five seconds to compile.
    """
    size = len(free)
    for i in range(size):
        if free[i]:
            found[i] = right[i]
            for j in range(size):
                work[i, j] = gram[i, j]
            work[i, i] = work[i, i] * (1.0 + 1e-6) + 1e-30
    for i in range(size):
        if free[i]:
            for j in range(i + 1, size):
                if free[j]:
                    factor = work[j, i] / work[i, i]
                    found[j] -= factor * found[i]
                    for k in range(i, size):
                        work[j, k] -= factor * work[i, k]
    for i in range(size - 1, -1, -1):
        if free[i]:
            for k in range(i + 1, size):
                if free[k]:
                    found[i] -= work[i, k] * found[k]
            found[i] /= work[i, i]


@kernel
def non_negative(rows, weight, value, x, model):  # type: ignore[no-untyped-def]
    """Move ``x`` to the weighted non-negative least squares, by Lawson and Hanson's method.

    Products are made of rows that get free only: few of many do. Neither coordinate descent (not
    there after sixty sweeps: the planes are too much alike) nor the best pair of a grid (which
    misses most sums of two real homes) was as quick and as good.

    Parameters
    ----------
    rows
        Power per kW of planes, shape (planes, places).
    weight, value
        At each place.
    x
        Where to begin: what is above zero is free from the first on. Moved in place.
    model
        Filled with the sum of rows that comes closest to ``value``.
    """
    size = len(x)
    free, met = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    gram, right, pull = np.empty((size, size)), np.empty(size), np.empty(size)
    work, found = np.empty((size, size)), np.empty(size)
    _pull(rows, weight, value, np.zeros(size), model, right)
    settled, strongest = True, 1e-30
    for i in range(size):
        free[i] = x[i] > 0.0
        settled = settled and not free[i]
        strongest = max(strongest, right[i])
    # what pulls no more than this share of the strongest is at rest
    least = 1e-6 * strongest
    for _ in range(2 * size):
        if settled:
            _pull(rows, weight, value, x, model, pull)
            best, most = -1, least
            for i in range(size):
                if not free[i] and pull[i] > most:
                    best, most = i, pull[i]
            if best < 0:
                break
            free[best] = True
        for i in range(size):
            if free[i] and not met[i]:
                met[i] = True
                for j in range(size):
                    if met[j]:
                        one, other, total = rows[i], rows[j], np.float32(0.0)
                        for g in range(len(weight)):
                            total += weight[g] * one[g] * other[g]
                        gram[i, j] = total
                        gram[j, i] = total
        settled = True
        for _ in range(size):
            _solve_free(gram, free, right, work, found)
            step, worst = 1.0, -1
            for i in range(size):
                if free[i] and found[i] <= 0.0:
                    share = x[i] / max(x[i] - found[i], 1e-300)
                    if share < step:
                        step, worst = share, i
            for i in range(size):
                if free[i]:
                    x[i] += step * (found[i] - x[i])
            if worst < 0:
                break
            x[worst] = 0.0
            free[worst] = False
    _pull(rows, weight, value, x, model, pull)


@kernel
def _mix(value, rows, bright, rules, x, model, weight):  # type: ignore[no-untyped-def]
    """Fit a mixture by reweighting, from the weights of ``model``; return what it explains."""
    seen = weigh(value, model, bright, rules.narrow, rules, weight)
    for _ in range(rules.rounds):
        before = seen
        non_negative(rows, weight, value, x, model)
        seen = weigh(value, model, bright, rules.narrow, rules, weight)
        if seen < rules.hardly * before:
            break
    return seen


@kernel
def fit_mixtures(values, planes, capacities, brights, rules, explained, shares):  # type: ignore[no-untyped-def]
    """Fill how much energy one plane and a mixture explain, and the mixture's capacities.

    Parameters
    ----------
    values
        Powers, zero where there is none, shape (systems, padded). [kW]
    planes
        Power per kW of each system's own plane and of the others, shape (systems, planes, padded).
        [kW/kW]
    capacities, brights
        Capacity and bright power of each. [kW]
    rules
        The model of errors, and when to stop.
    explained
        Filled: share of energy by the plane alone and by the mixture, shape (systems, 2).
    shares
        Capacities of the planes [kW], shape (systems, planes): where each mixture starts, or all
        zero for the plane alone, and filled with where it ends.
    """
    count, size = planes.shape[1], planes.shape[2]
    model, weight = np.empty(size, dtype=np.float32), np.empty(size, dtype=np.float32)
    other = np.empty(count)
    for s in range(len(values)):
        value, rows, bright, capacity = values[s], planes[s], brights[s], capacities[s]
        # the plane alone, with the capacity that suits these powers best
        for again in range(rules.rounds + 1):
            for g in range(size):
                model[g] = np.float32(capacity) * rows[0, g]
            if again == rules.rounds:
                break
            weigh(value, model, bright, rules.alone_width, rules, weight)
            above, below = np.float32(0.0), np.float32(1e-30)
            for g in range(size):
                above += weight[g] * rows[0, g] * value[g]
                below += weight[g] * rows[0, g] * rows[0, g]
            capacity = above / below
        misfit, energy = np.float32(0.0), np.float32(1e-30)
        relative = np.float32(rules.relative**2)
        absolute = np.float32((rules.absolute * bright) ** 2)
        for g in range(size):
            far = value[g] - model[g]
            misfit += far * far / (relative * model[g] * model[g] + absolute) * value[g]
            energy += value[g]
        alone = weigh(value, model, bright, rules.narrow, rules, weight)
        best = shares[s]
        started = False
        for j in range(count):
            started = started or best[j] > 0.0
        if started:
            model[:] = 0.0
            for j in range(count):
                for g in range(size):
                    model[g] += np.float32(best[j]) * rows[j, g]
        else:
            best[0] = capacity
        together = _mix(value, rows, bright, rules, best, model, weight)
        if np.sqrt(misfit / energy) > rules.misfit:
            # from the bright power itself, which knows nothing of the plane
            for g in range(size):
                model[g] = value[g]
            other[:] = 0.0
            found = _mix(value, rows, bright, rules, other, model, weight)
            if found > together:
                together = found
                for j in range(count):
                    best[j] = other[j]
        explained[s, 0], explained[s, 1] = alone, together
