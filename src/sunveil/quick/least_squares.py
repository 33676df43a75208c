"""Non-negative least squares of a few unknowns, compiled."""

from __future__ import annotations

import numpy as np

from sunveil.jit import compiled


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
def non_negative(gram, right, x):  # type: ignore[no-untyped-def]
    """Move ``x`` to the non-negative least squares solution, by Lawson and Hanson's method.

    What is above zero in the beginning is free from the first on.
    """
    size = len(x)
    free = x > 0.0
    lower, found = np.empty((size, size)), np.empty(size)
    places = np.empty(size, dtype=np.int64)
    least = 1e-6 * max(right.max(), 1e-30)
    settled = not free.any()
    for _ in range(2 * size):
        if settled:
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
