"""Which days are clear, a weight for each; winter haze."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.engine.coarse_search import BlockReadings
from sunveil.engine.intervals import Intervals
from sunveil.engine.power_model import SEASON
from sunveil.engine.shading import PreparedSky
from sunveil.site import Array

Matrix = NDArray[np.float32]

# A day goes up and down more than its model does by this share of its top, or has so much less
# energy than the best days around it: either makes its readings count 0.6 times.
ROUGH = 0.05

DULL = 0.1

# The best days are the brightest tenth within this many days before and after.
AROUND, BEST = 15, 0.1

# A day cannot be judged with readings of less than this share of its modelled energy.
READ = 0.5

# What goes up and down every day is no cloud but a chimney: the smoothest tenth of days is smooth.
SMOOTHEST = 0.1

# Days so far below the record's best are outages, however smooth.
OUTAGE = 0.03

# A day is smooth that goes up and down by no more than this beyond what is usual, and dull between
# these shares of the best days around it: smooth and dull is haze, since clouds come and go.
SMOOTH, DULLEST, DULLISH = 0.03, 0.4, 0.85

# In winter smog this share of at least FEWEST_SMOOTH smooth days is dull, and more than in summer.
FEWEST_SMOOTH, SMOGGY, SMOGGIER_THAN_SUMMER = 15, 0.345, 0.15

# Under such a winter the truth is steeper, by up to this beyond the usual interval: 11° hold nine
# of ten simulated plants under smog, and real ones err more. [degrees]
HIDDEN_TILT = 17.0

# What a reading of any other day counts: nearly nothing, unless there is nothing else.
BACKGROUND = 0.02

kernel = njit(cache=True, nogil=True, error_model="numpy")

_BINS, _BIN = 100, 0.005

_RATIO_BIN = 0.02

_KEPT = 4


class ClearDays(NamedTuple):
    """How clear the days of a block of systems are: private."""

    weights: Matrix
    clear: Array  # how many whole clear readings these add up to, the background not counted
    smooth: NDArray[np.int64]


def find_clear_days(readings: BlockReadings, model: Matrix, prepared: PreparedSky) -> ClearDays:
    """Return how much each reading counts, and what made it so."""
    begins = prepared.begins
    out = ClearDays(
        np.zeros_like(readings.power),
        np.empty(len(model)),
        np.zeros((len(model), 4), dtype=np.int64),
    )
    season = prepared.sky.rows[SEASON, begins]
    rules = np.array(
        [ROUGH, DULL, READ, SMOOTHEST, BACKGROUND, BEST, OUTAGE, SMOOTH, DULLEST, DULLISH]
    )
    _weigh_days(
        readings.power,
        readings.have,
        model,
        np.append(begins, len(prepared.day)),
        prepared.day[begins],
        np.where(season > 0.5, 0, np.where(season < -0.5, 2, -1)),
        AROUND,
        rules,
        *out,
    )
    return out


def dull_winters(smooth: NDArray[np.int64]) -> NDArray[np.bool_]:
    winter, dull_winter, summer, dull_summer = smooth.T
    share = dull_winter / np.maximum(winter, 1)
    usual = dull_summer / np.maximum(summer, 1)
    return np.asarray(
        (winter >= FEWEST_SMOOTH) & (share >= SMOGGY) & (share >= usual + SMOGGIER_THAN_SUMMER)
    )


def widened_upward(spread: Intervals, tilt: Array, hazy: NDArray[np.bool_]) -> None:
    """Let the tilts of hazy systems be steeper, never flatter, and their planes as far away."""
    spread.surface_tilt_high[hazy] = np.minimum(spread.surface_tilt_high[hazy] + HIDDEN_TILT, 90.0)
    away = spread.surface_tilt_high[hazy] - tilt[hazy]
    spread.plane_error_degrees[hazy] = np.maximum(spread.plane_error_degrees[hazy], away)


@kernel
def _quantile(values, share, width, bins):  # type: ignore[no-untyped-def]
    # `bins` is scratch, as many bins of `width` as it has places.
    bins[:] = 0
    count = 0
    for value in values:
        if value >= 0.0:
            bins[min(int(value / width), len(bins) - 1)] += 1
            count += 1
    place, seen = 0, bins[0]
    while seen <= share * count and place < len(bins) - 1:
        place += 1
        seen += bins[place]
    return place * width


@kernel
def _weigh_days(  # type: ignore[no-untyped-def]
    power, have, model, bounds, day, season, around, rules, weight, total, smooth_days
):
    """Fill weights (systems, padded), their sums (systems,) and counts of days (systems, 4)."""
    # `bounds` says where each day begins and where the last ends, `day` which day it is, `season`
    # at which place of the counts it is counted, -1 for neither season; `rules` are the module's
    # constants.
    rough, dull, read, smoothest, background, best, outage, smooth, dullest, dullish = rules
    count = len(day)
    ratio, excess = np.empty(count), np.empty(count)
    bins, largest = np.empty(_BINS, dtype=np.int64), np.empty(_KEPT)
    for s in range(len(power)):
        for d in range(count):
            ratio[d], excess[d] = _day_shape(
                power[s], have[s], model[s], bounds[d], bounds[d + 1], read
            )
        # of the days without power nothing is known, and what has none at all is an outage
        working = outage * _quantile(ratio, 1.0 - best, _RATIO_BIN, bins)
        for d in range(count):
            if ratio[d] < working:
                ratio[d], excess[d] = -1.0, -1.0
        usual = _quantile(excess, smoothest, _BIN, bins)
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
                    value = ratio[e]
                    near += value >= 0.0
                    if value > largest[_KEPT - 1]:
                        for i in range(_KEPT):
                            if value > largest[i]:
                                value, largest[i] = largest[i], value
                    e += 1
                bright = ratio[d] / max(largest[min(int(best * (near - 1)), _KEPT - 1)], 1e-12)
                x = max(excess[d] - usual, 0.0) / rough
                y = max(1.0 - bright, 0.0) / dull
                clear = np.exp(-0.5 * (x * x + y * y))
                if season[d] >= 0 and excess[d] - usual < smooth:
                    smooth_days[s, season[d]] += 1
                    smooth_days[s, season[d] + 1] += dullest < bright < dullish
            say = np.float32(background + (1.0 - background) * clear)
            for k in range(bounds[d], bounds[d + 1]):
                weight[s, k] = have[s, k] * say
                total[s] += have[s, k] * clear


@kernel
def _day_shape(power, have, model, start, end, read):  # type: ignore[no-untyped-def]
    """Return a day's energy over its model's, and how much more it goes up and down."""
    # The energy is -1 where too little was read to tell. Going up from nothing to the top and down
    # again is a rise and fall of 1.
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
        return -1.0, -1.0
    rises = 0.5 * (moves + last) / top
    usual = max(0.5 * (model_moves + model_last) / model_top, 1.0)
    return max(energy, 0.0) / modelled, max(rises - usual, 0.0)
