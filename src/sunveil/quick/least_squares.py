"""Non-negative least squares of a few unknowns, compiled."""

from __future__ import annotations

import numpy as np

from sunveil.jit import compiled

# What pulls no more than this share of the strongest is at rest.
_HARDLY = 1e-6


@compiled
def solve_part(gram, right, places, count, lower, found):  # type: ignore[no-untyped-def]
    """Fill ``found`` with the least squares solution over some of the planes, by Cholesky."""
    for i in range(count):
        row = places[i]
        for j in range(i + 1):
            total = gram[row, places[j]]
            if i == j:
                total *= 1.0 + 1e-6
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            if i == j:
                lower[i, i] = np.sqrt(max(total, 1e-30))
            else:
                lower[i, j] = total / lower[j, j]
        total = right[row]
        for k in range(i):
            total -= lower[i, k] * found[k]
        found[i] = total / lower[i, i]
    for i in range(count - 1, -1, -1):
        total = found[i]
        for k in range(i + 1, count):
            total -= lower[k, i] * found[k]
        found[i] = total / lower[i, i]


@compiled
def fill_pulls(rows, weight, rest, weighed, pull):  # type: ignore[no-untyped-def]
    """Fill how strongly what is left to explain pulls at each row."""
    for g in range(len(rest)):
        weighed[g] = weight[g] * rest[g]
    for i in range(len(rows)):
        one, total = rows[i], np.float32(0.0)
        for g in range(len(rest)):
            total += one[g] * weighed[g]
        pull[i] = total


@compiled
def meet(rows, weight, place, met, gram):  # type: ignore[no-untyped-def]
    """Fill the products of a row with itself and with all that were met before."""
    met[place] = True
    one = rows[place]
    for j in range(len(rows)):
        if met[j]:
            other, total = rows[j], np.float32(0.0)
            for g in range(len(weight)):
                total += weight[g] * one[g] * other[g]
            gram[place, j] = total
            gram[j, place] = total


@compiled
def fill_sum(rows, x, model):  # type: ignore[no-untyped-def]
    """Fill the sum of rows, each as often as ``x`` says."""
    model[:] = 0.0
    for i in range(len(rows)):
        if x[i] > 0.0:
            one, times = rows[i], np.float32(x[i])
            for g in range(len(model)):
                model[g] += times * one[g]


@compiled
def squares_room(size, length):  # type: ignore[no-untyped-def]
    """Return what :func:`non_negative` is worked in, for so many rows of such a length."""
    return (
        np.empty((2, size), dtype=np.bool_),
        np.empty((2, size, size)),
        np.empty((3, size)),
        np.empty((2, length), dtype=np.float32),
        np.empty(size, dtype=np.int64),
    )


@compiled
def non_negative(rows, weight, value, x, model, room):  # type: ignore[no-untyped-def]
    """Move ``x`` to the weighted non-negative least squares, by Lawson and Hanson's method.

    ``model`` is filled with the sum of rows that comes closest to ``value``. What is above zero in
    ``x`` in the beginning is free from the first on. Products are made of rows that get free: few
    of many do. ``room`` is what is worked in.
    """
    size = len(x)
    marks, matrices, vectors, lines, places = room
    free, met = marks[0], marks[1]
    gram, lower = matrices[0], matrices[1]
    right, pull, found = vectors[0], vectors[1], vectors[2]
    rest, weighed = lines[0], lines[1]
    for i in range(size):
        free[i], met[i] = x[i] > 0.0, False
    fill_pulls(rows, weight, value, weighed, right)
    least = _HARDLY * max(right.max(), 1e-30)
    for i in range(size):
        if free[i]:
            meet(rows, weight, i, met, gram)
    settled = not free.any()
    for _ in range(2 * size):
        if settled:
            fill_sum(rows, x, model)
            for g in range(len(rest)):
                rest[g] = value[g] - model[g]
            fill_pulls(rows, weight, rest, weighed, pull)
            best, most = -1, least
            for i in range(size):
                if not free[i] and pull[i] > most:
                    best, most = i, pull[i]
            if best < 0:
                break
            free[best] = True
            if not met[best]:
                meet(rows, weight, best, met, gram)
        settled = True
        for _ in range(size):
            count = 0
            for i in range(size):
                if free[i]:
                    places[count] = i
                    count += 1
            solve_part(gram, right, places, count, lower, found)
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
    fill_sum(rows, x, model)
