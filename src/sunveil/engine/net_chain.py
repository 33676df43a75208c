"""Kernels for a chain of intervals, each with a sky and a load that follow their own kind.

numba keeps what it compiled by the file that a kernel stands in: a kernel calls none of another
file, and takes no number from one.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy")


@njit(inline="always")
def _follow(state, skies, loads, part, out):  # type: ignore[no-untyped-def]
    """Fill how likely states are an interval later; ``part`` is room for as many."""
    for sky in range(len(skies)):
        for load in range(len(loads)):
            total = 0.0
            for other in range(len(skies)):
                total += state[other * len(loads) + load] * skies[other, sky]
            part[sky * len(loads) + load] = total
    for sky in range(len(skies)):
        for load in range(len(loads)):
            total = 0.0
            for other in range(len(loads)):
                total += part[sky * len(loads) + other] * loads[other, load]
            out[sky * len(loads) + load] = total


@njit(inline="always")
def _count_loads(state, skies, loads, both, share, part, counts):  # type: ignore[no-untyped-def]
    """Add how likely each load follows each."""
    for sky in range(len(skies)):
        for load in range(len(loads)):
            total = 0.0
            for other in range(len(skies)):
                total += state[other * len(loads) + load] * skies[other, sky]
            part[sky * len(loads) + load] = total * share
    for load in range(len(loads)):
        for after in range(len(loads)):
            total = 0.0
            for sky in range(len(skies)):
                total += part[sky * len(loads) + load] * both[sky * len(loads) + after]
            counts[load, after] += loads[load, after] * total


@njit(inline="always")
def _count_skies(state, skies, loads, both, share, counts):  # type: ignore[no-untyped-def]
    """Add how likely each sky follows each."""
    for sky in range(len(skies)):
        for after in range(len(loads)):
            total = 0.0
            for load in range(len(loads)):
                total += state[sky * len(loads) + load] * loads[load, after]
            for other in range(len(skies)):
                pair = total * both[other * len(loads) + after] * share
                counts[sky, other] += skies[sky, other] * pair


@kernel
def chain(plain, first, start, skies, loads, found, counts):  # type: ignore[no-untyped-def]
    """Fill how likely each state is at each interval; return the log-likelihood.

    Parameters
    ----------
    plain
        How likely readings are in each state.
    first
        Where the sky is drawn anew: at night, and at the first interval of a day.
    start
        How likely each sky is then.
    skies, loads
        How likely each sky, and each load, follows each.
    found
        Filled, shape (intervals, states); a state is a sky and a load, which runs faster.
    counts
        Filled: skies that follow each other, as ``skies``, and loads, as ``loads``.
    """
    many, size = plain.shape
    anew = np.empty(skies.shape)
    for i in range(len(skies)):
        for j in range(len(start)):
            anew[i, j] = start[j]
    state, after = np.empty(size), np.ones(size)
    both, ahead, part = np.empty(size), np.empty(size), np.empty(size)
    sky_counts, load_counts = counts
    sky_counts[:], load_counts[:] = 0.0, 0.0
    for i in range(size):
        state[i] = start[i // len(loads)] / len(loads)
    total = 0.0
    for t in range(many):
        if t > 0:
            _follow(found[t - 1], anew if first[t] else skies, loads, part, state)
        scale = 0.0
        for i in range(size):
            state[i] *= plain[t, i]
            scale += state[i]
        total += math.log(scale)
        for i in range(size):
            found[t, i] = state[i] / scale
    for t in range(many - 1, -1, -1):
        if t < many - 1:
            step = anew if first[t + 1] else skies
            for i in range(size):
                both[i] = plain[t + 1, i] * after[i]
            _follow(both, step.T, loads.T, part, ahead)
            scale = 0.0
            for i in range(size):
                scale += found[t, i] * ahead[i]
            _count_loads(found[t], step, loads, both, 1.0 / scale, part, load_counts)
            if not first[t + 1]:
                _count_skies(found[t], step, loads, both, 1.0 / scale, sky_counts)
            for i in range(size):
                found[t, i] *= ahead[i] / scale
                after[i] = ahead[i] / scale
    return total
