"""The suspects of a block as pairs of planes: who can be told, and how sure its planes are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.assumed import DIMMEST, ERRORS
from sunveil.engine.ceiling import shown_capacity
from sunveil.engine.clear import find_clear_days
from sunveil.engine.final import FinalFit
from sunveil.engine.model import (
    CAPACITY,
    CLOUD,
    EAST,
    HAZE,
    HAZE_SEASON,
    HEAT,
    LIMIT,
    NO_LIMIT,
    NORTH,
    Numbers,
)
from sunveil.engine.pair_fit import (
    PAIR_HAZE,
    PAIR_LIMIT,
    PAIR_PARAMETERS,
    PairReadings,
    known,
    linearised,
    log_likelihood,
    planes_of,
    refine_pair,
)
from sunveil.engine.pairs import find_pairs
from sunveil.engine.readings import padded
from sunveil.engine.search import modelled_power
from sunveil.engine.shade import WORTH_LEAVING_OUT, find_shade
from sunveil.engine.skytable import in_blocks
from sunveil.site import Array

Matrix = NDArray[np.float32]

# So many clear readings are enough to search on, and so many to fit to.
SEARCHED_ON, FITTED_TO = 600, 12_000
# A reading of a day that counts less is not of a clear one; where so few are clear, any will do.
CLEAR, FEWEST_CLEAR = 0.05, 200
# Steps of the candidates, and readings so close to the limit that they tell nothing of planes.
CANDIDATE_STEPS, BELOW_LIMIT = 8, 0.96
# Two planes are told when they are so much likelier than one [log likelihood]: real single planes
# come up to 2.1 by errors of the model, sums of two real homes whose planes are 85° apart have 3.1
# at the least. What a longer record than so many independent readings says counts no more, since
# errors of the model do not average out.
LEAST_GAIN, LONGEST_RECORD = 2.5, 45.0
# The smaller plane has this share at the least: what shade and haze look like has less.
LEAST_SHARE = 0.2
# Pairs that stand this far away must be so much less likely. [degrees, log likelihood]
ELSEWHERE, UNLIKELIER = 20.0, 1.7
# A pair has at most so many times the capacity that the highest powers show: a tracker that is
# taken for two steep planes has 1.7 times at the least.
MOST_CAPACITY = 1.65
# Pairs that come out flatter are not told: under other physics than the engine's they were 20° to
# 90° off. Mean over both capacities. [degrees]
FLATTEST_TOLD = 17.0
# What gains so little on few readings will not gain enough. [log likelihood]
HOPELESS = 1.2
# The logarithm of no capacity.
NO_CAPACITY = -20.0
# Of few readings, pairs that are no less likely than this may come out best. [log likelihood]
HOPEFUL = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class PairFits:
    """Suspects as pairs of planes, one entry each: private.

    Parameters
    ----------
    systems
        Which systems of the block they are.
    pairs
        The numbers of each pair, shape (systems, PAIR_PARAMETERS).
    told
        Which of them are two planes that are known.
    sure
        Which of them are more than one plane, whether these are known or not.
    model
        Power at all usable intervals, shape (systems, padded). [kW]
    say
        How much each reading counts by the pair's own clear days and shade, the same shape.
    skyline
        What hides the sun from them, shape (systems, COLUMNS). [degrees]
    """

    systems: NDArray[np.intp]
    pairs: Array
    told: NDArray[np.bool_]
    sure: NDArray[np.bool_]
    model: Matrix
    say: Matrix
    skyline: Matrix


def fit_pairs(fit: FinalFit, suspects: NDArray[np.intp]) -> PairFits:
    """Fit two planes to each suspect.

    Parameters
    ----------
    fit
        The fits of one plane.
    suspects
        Which systems may stand on two.
    """
    found = [_search(fit, int(s)) for s in suspects]
    suspects = suspects[[each is not None for each in found]]
    tried = [each for each in found if each is not None]
    if not tried:
        return _none(fit)
    pairs = np.array([each[0] for each in tried])
    margins = np.empty(len(suspects))
    say, skyline = _unhidden(fit, suspects, pair_power(pairs, fit))
    for place, s in enumerate(suspects):
        readings = _readings(fit, int(s), say[place], FITTED_TO)
        pairs[place], margins[place] = _best(tried[place], readings, fit.prepared.numbers)
    model = pair_power(pairs, fit)
    gain = log_likelihoods(fit, suspects, model, say)
    gain -= log_likelihoods(fit, suspects, fit.model[suspects], say)
    length = say.sum(axis=1, dtype=np.float64) / ERRORS.correlated
    gain *= np.minimum(1.0, LONGEST_RECORD / np.maximum(length, 1e-9))
    capacity = np.exp(pairs[:, [2, 5]])
    sure = gain >= LEAST_GAIN
    sure &= capacity.min(axis=1) >= LEAST_SHARE * capacity.sum(axis=1)
    told = sure & (margins >= UNLIKELIER)
    tilt = np.hypot(pairs[:, [0, 3]], pairs[:, [1, 4]])
    told &= (tilt * capacity).sum(axis=1) >= FLATTEST_TOLD * capacity.sum(axis=1)
    told &= capacity.sum(axis=1) <= MOST_CAPACITY * shown_capacity(fit)[suspects]
    return PairFits(suspects, pairs, told, sure, model, say, skyline)


def _none(fit: FinalFit) -> PairFits:
    """Return no pairs at all."""
    none, nobody = np.zeros((0, fit.model.shape[1]), dtype=np.float32), np.zeros(0, dtype=bool)
    systems = np.zeros(0, dtype=np.intp)
    pairs = np.zeros((0, PAIR_PARAMETERS))
    return PairFits(systems, pairs, nobody, nobody, none, none, fit.skyline[:0])


def pair_power(pairs: Array, fit: FinalFit) -> Matrix:
    """Return the power of pairs at all usable intervals, below their limits. [kW]"""
    both = modelled_power(np.concatenate([planes_of(pair) for pair in pairs]), fit.prepared)
    out: Matrix = both[0::2] + both[1::2]
    limit = np.exp(np.minimum(pairs[:, PAIR_LIMIT], NO_LIMIT)).astype(np.float32)
    np.minimum(out, limit[:, None], out=out)
    return out


def log_likelihoods(fit: FinalFit, systems: NDArray[np.intp], model: Matrix, say: Matrix) -> Array:
    """Return the robust log likelihood of the clear readings of some systems under a model.

    Parameters
    ----------
    fit
        The fits of a block.
    systems
        Which of its systems.
    model
        Power of each at all usable intervals, shape (systems, padded). [kW]
    say
        How much each reading counts, the same shape.
    """
    numbers, readings = fit.prepared.numbers, fit.searched.readings
    hidden = fit.prepared.sky.sheet[:, CLOUD].reshape(-1)
    spread = np.float32(numbers.relative**2) + np.float32(numbers.cloud**2) * hidden * hidden
    dim = (numbers.absolute * readings.bright[systems]).astype(np.float32)[:, None]
    far = (readings.power[systems] - model) ** 2 / (spread * model * model + dim * dim)
    kept = np.exp(np.float32(-0.5 / numbers.reach**2) * far) - np.float32(1.0)
    lost = (kept * say).sum(axis=1, dtype=np.float64)
    return np.asarray(numbers.reach**2 * lost / ERRORS.correlated)


def _search(fit: FinalFit, system: int) -> Array | None:
    """Return the best pairs of a system by few readings, best first, each elsewhere.

    None where two planes are hardly likelier than one.
    """
    numbers, point = fit.prepared.numbers, fit.points[system]
    readings = _readings(fit, system, fit.kept[system], SEARCHED_ON)
    below = readings.power < BELOW_LIMIT * np.exp(min(point[LIMIT], NO_LIMIT))
    free = readings._replace(say=readings.say * below * (readings.power > 0.0))
    first, *others = find_pairs(point, free, numbers)
    first = refine_pair(first, readings, numbers, most=CANDIDATE_STEPS)
    if _gain(first, point, readings, numbers) < HOPELESS:
        return None
    refined = [refine_pair(each, readings, numbers, most=CANDIDATE_STEPS) for each in others]
    return _best_first([first, *refined], readings, numbers)[0]


def _gain(pair: Array, point: Array, readings: PairReadings, numbers: Numbers) -> float:
    """Return how much likelier few readings are by a pair than by one plane."""
    alone = np.zeros(PAIR_PARAMETERS)
    alone[[0, 1, 2]] = point[[EAST, NORTH, CAPACITY]]
    alone[5] = NO_CAPACITY
    alone[PAIR_HAZE:] = point[[HAZE, HEAT, HAZE_SEASON, LIMIT]]
    two, one = (
        log_likelihood(linearised(each, readings, numbers), readings, numbers)
        for each in (pair, alone)
    )
    return two - one


def _best(pairs: Array, readings: PairReadings, numbers: Numbers) -> tuple[Array, float]:
    """Return the best of some pairs after a fit, and how much likelier it is than others."""
    refined, worths = _best_first(
        [refine_pair(pair, readings, numbers) for pair in pairs], readings, numbers
    )
    return refined[0], float(worths[0] - worths[1]) if len(worths) > 1 else np.inf


def _best_first(
    pairs: Sequence[Array], readings: PairReadings, numbers: Numbers
) -> tuple[Array, Array]:
    """Return pairs by how likely they are, without those close to a likelier one, and that."""
    worths = [
        log_likelihood(linearised(pair, readings, numbers), readings, numbers)
        + known(pair, numbers)[0]
        for pair in pairs
    ]
    kept: list[int] = []
    for place in np.argsort(worths)[::-1].tolist():
        if worths[place] < max(worths) - HOPEFUL:
            break
        if all(_apart(pairs[place], pairs[other]) > ELSEWHERE for other in kept):
            kept.append(place)
    return np.array([pairs[place] for place in kept]), np.array([worths[place] for place in kept])


def _apart(pair: Array, other: Array) -> float:
    """Return by how much azimuths of two pairs differ, planes put in the better order. [degrees]"""
    azimuths = [np.degrees(np.arctan2(each[[0, 3]], each[[1, 4]])) for each in (pair, other)]
    ways = (azimuths[0] - azimuths[1], azimuths[0] - azimuths[1][::-1])
    return float(min(np.abs((way + 180.0) % 360.0 - 180.0).max() for way in ways))


def _readings(fit: FinalFit, system: int, say: Matrix, most: int) -> PairReadings:
    """Return at most so many of a system's clear readings, evenly spread."""
    places = np.flatnonzero(say[: len(fit.prepared.slot)] >= CLEAR)
    if len(places) < FEWEST_CLEAR:
        places = np.flatnonzero(say[: len(fit.prepared.slot)] > 0.0)
    every = -(-len(places) // most) or 1
    places = places[::every]
    readings = fit.searched.readings
    return PairReadings(
        in_blocks(fit.prepared.sky.rows[:, places]),
        padded(readings.power[system, places][None])[0],
        padded(say[places][None])[0],
        float(readings.bright[system]),
        ERRORS.correlated / every,
    )


def _unhidden(fit: FinalFit, systems: NDArray[np.intp], model: Matrix) -> tuple[Matrix, Matrix]:
    """Return how much readings count by the pairs' own clear days and shade, and that shade."""
    readings = fit.searched.readings.take(systems)
    say = find_clear_days(readings, model, fit.prepared).weights
    shade = find_shade(
        readings.power,
        readings.have,
        model,
        dimmest=DIMMEST * readings.bright,
        patch=fit.prepared.patch,
    )
    worth = shade.share >= WORTH_LEAVING_OUT
    say[worth] *= shade.kept[worth]
    return say, np.where(worth[:, None], shade.skyline, np.float32(0.0))
