"""Kernels for net meters: likelihood of a record and of chains of hours."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# What a reading is: none, generation less load, or at most zero.
NONE, EXACT, AT_MOST_ZERO = 0, 1, 2

# Rows of what is found of each interval: how likely it is to be clear; the log-likelihood's
# derivatives by the clear power [1/kW] and by the mean logarithm of the load; and the clearness
# that is expected.
CLEAR, BY_MODEL, BY_LOAD, CLEARNESS = 0, 1, 2, 3

FOUND = 4

# What is kept of an interval before its day is known: likelihoods while clear and under clouds, and
# their derivatives by clear power and by load.
_PLAIN = 6

_ROOT_HALF, _INVERSE_ROOT = math.sqrt(0.5), 1.0 / math.sqrt(2.0 * math.pi)

# Bins that are less likely are ignored in expectations.
_NOTHING = 1e-5

# No load is as small. [kW]
_LEAST = 1e-9

# Beyond this many standard deviations a normal distribution has nothing.
_FAR = 8.0

# Its distribution function and density in steps of a 64th, between which lines are drawn: a load's
# shape is not known to more digits, and a table is read three times as fast.
_STEPS = 64.0

_GRID = np.arange(-_FAR, _FAR + 2.0 / _STEPS, 1.0 / _STEPS)

_HEIGHTS = np.exp(-0.5 * _GRID**2) * _INVERSE_ROOT

_SHARES = np.cumsum(np.exp(-0.5 * (_GRID - 0.5 / _STEPS) ** 2)) * (_INVERSE_ROOT / _STEPS)


@njit(inline="always")
def _below(z):  # type: ignore[no-untyped-def]
    """Return the normal distribution function."""
    return 0.5 * math.erfc(-z * _ROOT_HALF)


kernel = njit(cache=True, nogil=True, error_model="numpy")


@kernel
def _lay_bins(y, kind, model, centre, width, idle, edges, bins, usual, slopes):  # type: ignore[no-untyped-def]
    """Fill how likely a reading is in each bin of clearness, and its two derivatives."""
    # `idle` has how likely hardly any load is, and the largest that counts as such [kW]. `bins` and
    # `usual`, the part of it by a usual load, have shape (bins,), `slopes` shape (2, bins): by the
    # clear power and by the load.
    rare, small = idle
    often = 1.0 - rare
    if kind == AT_MOST_ZERO:
        for k in range(len(bins)):
            middle = 0.5 * (edges[k] + edges[k + 1])
            load = max(middle * model, _LEAST)
            z = (math.log(load) - centre) / width
            density = often * math.exp(-0.5 * z * z) * _INVERSE_ROOT / width
            usual[k] = often * (1.0 - _below(z))
            bins[k] = usual[k] + rare * max(1.0 - load / small, 0.0)
            slopes[0, k] = -density * middle / load
            slopes[1, k] = density
        return
    share, none, height, rise = 0.0, 0.0, 0.0, 0.0
    for k in range(len(edges)):
        load = edges[k] * model - y
        share_before, none_before, height_before, rise_before = share, none, height, rise
        share, none, height, rise = 0.0, 0.0, 0.0, 0.0
        if load > _LEAST:
            none = rare
            if load < small:
                none = rare * load / small
                rise = rare * edges[k] / small
            z = (math.log(load) - centre) / width
            if z > _FAR:
                share = often
            elif z > -_FAR:
                place = (z + _FAR) * _STEPS
                low = int(place)
                place -= low
                share = often * (_SHARES[low] + place * (_SHARES[low + 1] - _SHARES[low]))
                height = _HEIGHTS[low] + place * (_HEIGHTS[low + 1] - _HEIGHTS[low])
                height *= often / width
                rise += height * edges[k] / load
        if k > 0:
            span = (edges[k] - edges[k - 1]) * model
            usual[k - 1] = (share - share_before) / span
            bins[k - 1] = usual[k - 1] + (none - none_before) / span
            slopes[0, k - 1] = (rise - rise_before) / span - bins[k - 1] / model
            slopes[1, k - 1] = -(height - height_before) / span


@kernel
def _chain(plain, begins, chain, clear, counts):  # type: ignore[no-untyped-def]
    """Fill how likely each interval is to be clear; return the log-likelihood of all days."""
    # `chain` has the share of days that begin clear, and how likely a clear and a cloudy interval
    # are followed by one of their kind; `counts`, shape (6,), is filled with what these become:
    # days that begin clear, days, stays and followers of clear ones, and those of cloudy ones.
    total = 0.0
    counts[:] = 0.0
    stay, keep = chain[1], chain[2]
    for d in range(len(begins) - 1):
        first, last = begins[d], begins[d + 1]
        a, b = chain[0], 1.0 - chain[0]
        for t in range(first, last):
            if t > first:
                a, b = a * stay + b * (1.0 - keep), a * (1.0 - stay) + b * keep
            a, b = a * plain[0, t], b * plain[1, t]
            scale = a + b
            total += math.log(scale)
            a, b = a / scale, b / scale
            clear[t] = a
        p, q = 1.0, 1.0
        for t in range(last - 1, first - 1, -1):
            a, b = clear[t], 1.0 - clear[t]
            now = a * p / (a * p + b * q)
            if t > first:
                before = clear[t - 1]
                e, f = plain[0, t] * p, plain[1, t] * q
                cc, cn = before * stay * e, before * (1.0 - stay) * f
                nc, nn = (1.0 - before) * (1.0 - keep) * e, (1.0 - before) * keep * f
                scale = cc + cn + nc + nn
                counts[2] += cc / scale
                counts[3] += (cc + cn) / scale
                counts[4] += nn / scale
                counts[5] += (nc + nn) / scale
                p, q = stay * e + (1.0 - stay) * f, (1.0 - keep) * e + keep * f
                scale = p + q
                p, q = p / scale, q / scale
            else:
                counts[0] += now
                counts[1] += 1.0
            clear[t] = now
    return total


@kernel
def weigh(reading, kind, model, load, begins, clouds, chain, floor, found, sums):  # type: ignore[no-untyped-def]
    """Weigh the daylight readings of one system: log-likelihood, derivatives and expectations."""
    cell, offset, centre, width, idle = load
    edges, spikes, which, cloudy = clouds
    cells, counted, counts = sums
    size, many = len(cloudy), len(reading)
    bins, usual, slopes = np.empty((many, size)), np.empty((many, size)), np.empty((2, size))
    plain = np.empty((_PLAIN, many))
    for t in range(many):
        if kind[t] == NONE:
            plain[0, t], plain[1, t] = 1.0, 1.0
            plain[2:, t] = 0.0
            continue
        c = cell[t]
        _lay_bins(
            reading[t], kind[t], model[t], centre[c] + offset[t], width[c], idle, edges, bins[t],
            usual[t], slopes,
        )  # fmt: skip
        spike = spikes[which[t]]
        p0, p1, p2, p3, p4, p5 = floor, floor, 0.0, 0.0, 0.0, 0.0
        for k in range(size):
            here, by_model, by_load = bins[t, k], slopes[0, k], slopes[1, k]
            p0 += spike[k] * here
            p1 += cloudy[k] * here
            p2 += spike[k] * by_model
            p3 += cloudy[k] * by_model
            p4 += spike[k] * by_load
            p5 += cloudy[k] * by_load
        plain[0, t], plain[1, t], plain[2, t] = p0, p1, p2
        plain[3, t], plain[4, t], plain[5, t] = p3, p4, p5
    total = _chain(plain, begins, chain, found[CLEAR], counts)
    cells[:] = 0.0
    counted[:] = 0.0
    for t in range(many):
        if kind[t] == NONE:
            found[1:, t] = 0.0
            continue
        clear, c, spike = found[CLEAR, t], cell[t], spikes[which[t]]
        mine, other = clear / plain[0, t], (1.0 - clear) / plain[1, t]
        found[BY_MODEL, t] = mine * plain[2, t] + other * plain[3, t]
        found[BY_LOAD, t] = mine * plain[4, t] + other * plain[5, t]
        mean = 0.0
        for k in range(size):
            under = other * cloudy[k] * bins[t, k]
            weight = mine * spike[k] * bins[t, k] + under
            if weight < _NOTHING:
                continue
            middle = 0.5 * (edges[k] + edges[k + 1])
            mean += weight * middle
            counted[k] += under
            weight *= usual[t, k] / bins[t, k]
            if kind[t] == EXACT:
                low = max(edges[k] * model[t] - reading[t], 0.0)
                part = math.log(max(0.5 * (low + edges[k + 1] * model[t] - reading[t]), _LEAST))
                part -= offset[t]
                first, second = part, part * part
            else:
                z = math.log(max(middle * model[t], _LEAST)) - offset[t] - centre[c]
                z /= width[c]
                beyond = math.exp(-0.5 * z * z) * _INVERSE_ROOT / max(1.0 - _below(z), 1e-300)
                first = centre[c] + width[c] * beyond
                second = width[c] ** 2 * (1.0 + z * beyond) + 2.0 * centre[c] * first
                second -= centre[c] ** 2
            cells[0, c] += weight
            cells[1, c] += weight * first
            cells[2, c] += weight * second
        explained = mine * (plain[0, t] - floor) + other * (plain[1, t] - floor)
        found[CLEARNESS, t] = mean / max(explained, 1e-12)
    return total


@kernel
def gather(scores, by_load, cell, information, crossed, own, gradient, pull):  # type: ignore[no-untyped-def]
    """Fill what readings say of parameters and of the load's cells, to be solved."""
    size, many = scores.shape
    crossed[:] = 0.0
    own[:] = 0.0
    pull[:] = 0.0
    for t in range(many):
        c = cell[t]
        own[c] += by_load[t] * by_load[t]
        pull[c] += by_load[t]
    for i in range(size):
        gradient[i] = 0.0
        for t in range(many):
            gradient[i] += scores[i, t]
            crossed[i, cell[t]] += scores[i, t] * by_load[t]
        for j in range(i + 1):
            total = 0.0
            for t in range(many):
                total += scores[i, t] * scores[j, t]
            information[i, j] = total
            information[j, i] = total


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
    """Fill how likely each state is at each interval; return the log-likelihood."""
    many, size = plain.shape
    restart = np.empty(skies.shape)
    for i in range(len(skies)):
        for j in range(len(start)):
            restart[i, j] = start[j]
    state, after = np.empty(size), np.ones(size)
    both, ahead, part = np.empty(size), np.empty(size), np.empty(size)
    sky_counts, load_counts = counts
    sky_counts[:], load_counts[:] = 0.0, 0.0
    for i in range(size):
        state[i] = start[i // len(loads)] / len(loads)
    total = 0.0
    for t in range(many):
        if t > 0:
            _follow(found[t - 1], restart if first[t] else skies, loads, part, state)
        scale = 0.0
        for i in range(size):
            state[i] *= plain[t, i]
            scale += state[i]
        total += math.log(scale)
        for i in range(size):
            found[t, i] = state[i] / scale
    for t in range(many - 1, -1, -1):
        if t < many - 1:
            step = restart if first[t + 1] else skies
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
