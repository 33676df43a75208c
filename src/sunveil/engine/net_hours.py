"""Kernels for net meters: the likelihood of one reading, integrated over load and clearness."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy")

# What an interval is: nothing was read, generation less load, at most zero, or a load at night.
HOUR_NONE, HOUR_EXACT, HOUR_AT_MOST_ZERO, HOUR_NIGHT = 0, 1, 2, 3

# Skies, from clear to overcast, and loads: usual, high and held.
SKIES, LOADS = 4, 3

# The load that takes whatever is left: a battery, which holds the meter near zero.
HELD = 2

STATES = SKIES * LOADS

# Rows of the summary of an interval: expected clearness, the ends of its band, expected load [kW].
HOUR_CLEARNESS, LOW, HIGH, LOAD = 0, 1, 2, 3

SUMMARY = 4

# How likely a load at night is, as a density of its logarithm, while a battery is at work.
HELD_AT_NIGHT = 0.1

# What is outside a 90% band on either side.
_TAIL = 0.05

_ROOT_HALF, _INVERSE_ROOT = math.sqrt(0.5), 1.0 / math.sqrt(2.0 * math.pi)

# No load is as small [kW], and bins that are less likely are ignored in expectations.
_LEAST, _NOTHING = 1e-9, 1e-5

# The normal distribution function in steps of a 64th, between which lines are drawn.
_FAR, _STEPS = 8.0, 64.0

_GRID = np.arange(-_FAR, _FAR + 2.0 / _STEPS, 1.0 / _STEPS)

_SHARES = np.cumsum(np.exp(-0.5 * (_GRID - 0.5 / _STEPS) ** 2)) * (_INVERSE_ROOT / _STEPS)


@njit(inline="always")
def _below(z):  # type: ignore[no-untyped-def]
    """Return the normal distribution function."""
    if z >= _FAR:
        return 1.0
    if z <= -_FAR:
        return 0.0
    place = (z + _FAR) * _STEPS
    low = int(place)
    place -= low
    return _SHARES[low] + place * (_SHARES[low + 1] - _SHARES[low])


@kernel
def lay_loads(reading, kind, model, edges, offset, logs):  # type: ignore[no-untyped-def]
    """Fill the logarithm of the load at each edge of clearness, less its offset."""
    for t in range(len(reading)):
        if kind[t] == HOUR_NIGHT:
            logs[t, 0] = math.log(max(-reading[t], _LEAST)) - offset[t]
        elif kind[t] == HOUR_EXACT:
            for k in range(len(edges)):
                logs[t, k] = math.log(max(edges[k] * model[t] - reading[t], _LEAST)) - offset[t]
        elif kind[t] == HOUR_AT_MOST_ZERO:
            for k in range(len(edges) - 1):
                middle = 0.5 * (edges[k] + edges[k + 1])
                logs[t, k] = math.log(max(middle * model[t], _LEAST)) - offset[t]


@kernel
def _fill_bins(kind, logs, model, edges, centre, width, idle, bins):  # type: ignore[no-untyped-def]
    """Fill how likely a daylight reading is in each bin of clearness, shape (bins,)."""
    # `idle` has how likely hardly any load is, and the logarithm of the largest that counts as
    # such.
    rare, small = idle
    before = 0.0
    for k in range(len(edges)):
        share = (1.0 - rare) * _below((logs[k] - centre) / width)
        if rare > 0.0:
            share += rare if logs[k] > small else rare * math.exp(logs[k] - small)
        if kind == HOUR_AT_MOST_ZERO:
            if k < len(bins):
                bins[k] = 1.0 - share
        elif k > 0:
            bins[k - 1] = (share - before) / ((edges[k] - edges[k - 1]) * model)
        before = share


@kernel
def _fill_held(reading, kind, model, edges, held, bins):  # type: ignore[no-untyped-def]
    """Fill how likely a daylight reading is in each bin while the meter is held near zero."""
    density = 1.0
    if kind == HOUR_EXACT:
        density = 0.5 * math.exp(-abs(reading) / held) / held
    for k in range(len(bins)):
        bins[k] = density if edges[k + 1] * model > reading else 0.0


@kernel
def emit(reading, kind, model, logs, skies, which, edges, load, held, floor, bins, plain):  # type: ignore[no-untyped-def]
    """Fill how likely each interval's reading is in each state, shape (intervals, STATES)."""
    cell, centre, width, rare, small = load
    for t in range(len(kind)):
        c = cell[t]
        for high in range(LOADS):
            if high == HELD:
                _fill_held(reading[t], kind[t], model[t], edges, held, bins[t, high])
            elif kind[t] == HOUR_EXACT or kind[t] == HOUR_AT_MOST_ZERO:
                idle = (rare if high == 0 else 0.0), small
                _fill_bins(
                    kind[t], logs[t], model[t], edges, centre[high, c], width[high, c], idle,
                    bins[t, high],
                )  # fmt: skip
            for sky in range(SKIES):
                value = 1.0
                if kind[t] == HOUR_NIGHT and high == HELD:
                    value = HELD_AT_NIGHT
                elif kind[t] == HOUR_NIGHT:
                    z = (logs[t, 0] - centre[high, c]) / width[high, c]
                    value = math.exp(-0.5 * z * z) * _INVERSE_ROOT / width[high, c] + 1e-3
                elif kind[t] != HOUR_NONE:
                    value = floor
                    for k in range(len(edges) - 1):
                        value += skies[which[t], sky, k] * bins[t, high, k]
                plain[t, sky * LOADS + high] = value


@kernel
def tell(  # type: ignore[no-untyped-def]
    reading, offset, kind, model, logs, skies, which, edges, load, bins, plain, found, sums, summary
):  # fmt: skip
    """Fill what the load's cells become, and the summary of each interval."""
    cell, centre, width, rare, _ = load
    size = len(edges) - 1
    weights, parts = np.empty(size), np.empty(SKIES)
    sums[:] = 0.0
    for t in range(len(kind)):
        c = cell[t]
        if kind[t] == HOUR_NIGHT:
            for i in range(STATES):
                if i % LOADS == HELD:
                    continue
                for power in range(3):
                    sums[i % LOADS, power, c] += found[t, i] * logs[t, 0] ** power
            continue
        if kind[t] == HOUR_NONE:
            continue
        weights[:] = 0.0
        expected, scale = 0.0, math.exp(offset[t])
        for high in range(LOADS):
            often = 1.0 - rare if high == 0 else 1.0
            middle, spread = centre[min(high, 1), c], width[min(high, 1), c]
            for sky in range(SKIES):
                i = sky * LOADS + high
                parts[sky] = found[t, i] / plain[t, i]
            for k in range(size):
                weight = 0.0
                for sky in range(SKIES):
                    weight += parts[sky] * skies[which[t], sky, k]
                weight *= bins[t, high, k]
                if weight < _NOTHING:
                    continue
                weights[k] += weight
                if high == HELD:
                    expected += weight * 0.5 * (edges[k] + edges[k + 1]) * model[t] / scale
                    continue
                if kind[t] == HOUR_EXACT:
                    least = max(edges[k] * model[t] - reading[t], 0.0)
                    most = edges[k + 1] * model[t] - reading[t]
                    log = math.log(max(0.5 * (least + most), _LEAST)) - offset[t]
                    one, two = log, log * log
                    share = _below((logs[t, k + 1] - middle) / spread) - _below(
                        (logs[t, k] - middle) / spread
                    )
                    share *= often / ((edges[k + 1] - edges[k]) * model[t] * bins[t, high, k])
                else:
                    z = (logs[t, k] - middle) / spread
                    left = max(1.0 - _below(z), 1e-12)
                    beyond = math.exp(-0.5 * z * z) * _INVERSE_ROOT / left
                    one = middle + spread * beyond
                    two = spread**2 * (1.0 + z * beyond) + 2.0 * middle * one - middle**2
                    share = often * left / bins[t, high, k]
                    mean = math.exp(middle + 0.5 * spread**2) * (1.0 - _below(z - spread)) / left
                    expected += weight * mean
                weight *= share
                sums[high, 0, c] += weight
                sums[high, 1, c] += weight * one
                sums[high, 2, c] += weight * two
        _summed_up(weights, edges, summary, t)
        summary[LOAD, t] = scale * expected / max(weights.sum(), 1e-12)


@kernel
def _summed_up(weights, edges, summary, t):  # type: ignore[no-untyped-def]
    """Fill the expectation of clearness and the ends of its band from weights of bins."""
    total = max(weights.sum(), 1e-12)
    mean, sofar = 0.0, 0.0
    summary[LOW, t], summary[HIGH, t] = edges[0], edges[-1]
    for k in range(len(weights)):
        part = weights[k] / total
        span = edges[k + 1] - edges[k]
        mean += part * (edges[k] + 0.5 * span)
        if sofar < _TAIL <= sofar + part:
            summary[LOW, t] = edges[k] + span * (_TAIL - sofar) / part
        if sofar < 1.0 - _TAIL <= sofar + part:
            summary[HIGH, t] = edges[k] + span * (1.0 - _TAIL - sofar) / part
        sofar += part
    summary[HOUR_CLEARNESS, t] = mean
