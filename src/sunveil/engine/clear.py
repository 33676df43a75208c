"""Which readings are of clear days, told from the readings themselves, a weight for each.

Under clouds a plane gets other light than the clear sky's, more of it from straight above, and a
fit to such readings leans towards a steeper plane. A clear day shows by itself: its power rises and
falls once, and its energy is among the most of the weeks around it. Days are weighed rather than
chosen, since a cloudy record has no day that is clear throughout.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.engine.readings import BlockReadings
from sunveil.site import Array

Matrix = NDArray[np.float32]

# A day goes up and down more than its model does by this share of its top, or has so much less
# energy than the best days around it: either makes its readings count 0.6 times.
ROUGH = 0.05
DULL = 0.1
# The best days are the brightest tenth within so many days before and after.
AROUND, BEST = 15, 0.1
# A day of whose modelled energy less than this share was read cannot be judged.
READ = 0.5
# What goes up and down every day is no cloud but a chimney: the smoothest tenth of days is smooth.
SMOOTHEST = 0.1
# What a reading of any other day counts: nearly nothing, unless there is nothing else.
BACKGROUND = 0.02

kernel = njit(cache=True, nogil=True, error_model="numpy")

_BINS, _BIN = 100, 0.005
_KEPT = 4


def clear_weights(
    readings: BlockReadings, model: Matrix, *, begins: NDArray[np.intp], day: NDArray[np.int32]
) -> tuple[Matrix, Array]:
    """Return how much each reading counts, from 0 where there is none to 1 on a clear day.

    Parameters
    ----------
    readings
        The readings.
    model
        The power that a plane near theirs would have under a clear sky, shape (systems, padded).
        [kW]
    begins
        Where each solar day begins among the usable intervals.
    day
        The solar day of each usable interval.

    Returns
    -------
    tuple
        The weights, shape (systems, padded), and how many whole clear readings they add up to, the
        background not counted, for each system.
    """
    weight, total = np.zeros_like(readings.power), np.empty(len(model))
    bounds = np.append(begins, len(day))
    rules = np.array([ROUGH, DULL, READ, SMOOTHEST, BACKGROUND, BEST])
    _weigh_days(
        readings.power, readings.have, model, bounds, day[begins], AROUND, rules, weight, total
    )
    return weight, total


@kernel
def _weigh_days(power, have, model, bounds, day, around, rules, weight, total):  # type: ignore[no-untyped-def]
    """Fill ``weight`` (systems, padded) and ``total`` (systems,); see :func:`clear_weights`.

    ``bounds`` says where each day begins and where the last ends, ``day`` which day it is; ``rules``
    are the module's constants.
    """
    rough, dull, read, smoothest, background, best = rules
    count = len(day)
    ratio, excess = np.empty(count), np.empty(count)
    bins, largest = np.empty(_BINS, dtype=np.int64), np.empty(_KEPT)
    for s in range(len(power)):
        for d in range(count):
            ratio[d], excess[d] = _day_shape(power[s], have[s], model[s], bounds[d], bounds[d + 1], read)
        bins[:] = 0
        judged = 0
        for d in range(count):
            if ratio[d] >= 0.0:
                bins[min(int(excess[d] / _BIN), _BINS - 1)] += 1
                judged += 1
        usual, seen = 0, bins[0]
        while seen <= smoothest * judged and usual < _BINS - 1:
            usual += 1
            seen += bins[usual]
        total[s] = 0.0
        first = 0
        for d in range(count):
            while day[first] < day[d] - around:
                first += 1
            clear = 0.0
            if ratio[d] >= 0.0:
                largest[:] = 0.0
                near, e = 0, first
                while e < count and day[e] <= day[d] + around:
                    if ratio[e] >= 0.0:
                        near += 1
                        value = ratio[e]
                        for i in range(_KEPT):
                            if value > largest[i]:
                                value, largest[i] = largest[i], value
                    e += 1
                top = largest[min(int(best * (near - 1)), _KEPT - 1)]
                x = max(excess[d] - usual * _BIN, 0.0) / rough
                y = max(1.0 - ratio[d] / max(top, 1e-12), 0.0) / dull
                clear = np.exp(-0.5 * (x * x + y * y))
            say = np.float32(background + (1.0 - background) * clear)
            for k in range(bounds[d], bounds[d + 1]):
                weight[s, k] = have[s, k] * say
                total[s] += have[s, k] * clear


@kernel
def _day_shape(power, have, model, start, end, read):  # type: ignore[no-untyped-def]
    """Return a day's energy over its model's, and how much more it goes up and down.

    The energy is -1 where too little was read to tell. Going up from nothing to the top and down
    again is a rise and fall of 1.
    """
    energy, modelled, whole = 0.0, 0.0, 0.0
    last, top, moves = 0.0, 0.0, 0.0
    model_last, model_top, model_moves = 0.0, 0.0, 0.0
    for k in range(start, end):
        whole += model[k]
        if have[k] > 0.0:
            energy += power[k]
            modelled += model[k]
            moves += abs(power[k] - last)
            model_moves += abs(model[k] - model_last)
            last, model_last = power[k], model[k]
            top, model_top = max(top, last), max(model_top, model_last)
    if modelled <= read * whole or top <= 0.0 or model_top <= 0.0:
        return -1.0, 0.0
    rises = 0.5 * (moves + last) / top
    usual = max(0.5 * (model_moves + model_last) / model_top, 1.0)
    return max(energy, 0.0) / modelled, max(rises - usual, 0.0)
