"""The suspects of a block as pairs of planes: who can be told, and how sure its planes are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.assumed import ERRORS
from sunveil.engine.ceiling import shown_capacity
from sunveil.engine.final import FinalFit, unhidden
from sunveil.engine.mixture import BELOW_LIMIT
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
)
from sunveil.engine.pair_fit import (
    CAPACITIES,
    EASTS,
    FIRST,
    NORTHS,
    PAIR_HAZE,
    PAIR_LIMIT,
    PAIR_PARAMETERS,
    known,
    linearised,
    planes_of,
    refine_pair,
)
from sunveil.engine.pair_search import find_pairs
from sunveil.engine.readings import padded
from sunveil.engine.robust import FittedReadings, deviations, log_likelihood
from sunveil.engine.search import modelled_power
from sunveil.engine.skytable import in_blocks
from sunveil.site import Array

Matrix = NDArray[np.float32]

# So many clear readings are enough to search on, and so many to fit to.
SEARCHED_ON, FITTED_TO = 600, 12_000
# A reading of a day that counts less is not of a clear one; where so few are clear, any will do.
CLEAR, FEWEST_CLEAR = 0.05, 200
# Steps of the candidates.
CANDIDATE_STEPS = 8
# All that decides below was chosen with the sums of two homes of Fontana in view, and looked at
# again on a second draw of simulated systems: neither is a fresh test.
# Two planes are told when they are so much likelier than one [log likelihood]: real single planes
# come up to 2.1 by errors of the model, sums of two real homes whose planes are 85° apart have 3.1
# at the least. What a longer record than so many independent readings says counts no more, since
# errors of the model do not average out.
LEAST_GAIN, LONGEST_RECORD = 2.5, 45.0
# Two planes that are so much likelier may be there, and nothing tells: of simulated single planes
# of another physics 2% are, of our own none. [log likelihood]
UNRESOLVED_GAIN = 1.75
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
    unresolved
        Which of them may be either: two planes are likelier, but not by enough.
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
    unresolved: NDArray[np.bool_]
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
    own = fit.searched.readings.take(suspects)
    say, skyline = unhidden(own, pair_power(pairs, fit), fit.prepared)
    for place, s in enumerate(suspects):
        readings = _readings(fit, int(s), say[place], FITTED_TO)
        pairs[place], margins[place] = _best(tried[place], readings)
    model = pair_power(pairs, fit)
    gain = log_likelihoods(fit, suspects, model, say)
    gain -= log_likelihoods(fit, suspects, fit.model[suspects], say)
    length = say.sum(axis=1, dtype=np.float64) / ERRORS.correlated
    gain *= np.minimum(1.0, LONGEST_RECORD / np.maximum(length, 1e-9))
    capacity = np.exp(pairs[:, CAPACITIES])
    shared = capacity.min(axis=1) >= LEAST_SHARE * capacity.sum(axis=1)
    sure = shared & (gain >= LEAST_GAIN)
    told = sure & (margins >= UNLIKELIER)
    tilt = np.hypot(pairs[:, EASTS], pairs[:, NORTHS])
    told &= (tilt * capacity).sum(axis=1) >= FLATTEST_TOLD * capacity.sum(axis=1)
    told &= capacity.sum(axis=1) <= MOST_CAPACITY * shown_capacity(fit)[suspects]
    unresolved = shared & (gain >= UNRESOLVED_GAIN) & ~sure
    return PairFits(suspects, pairs, told, sure, unresolved, model, say, skyline)


def _none(fit: FinalFit) -> PairFits:
    """Return no pairs at all."""
    none, nobody = np.zeros((0, fit.model.shape[1]), dtype=np.float32), np.zeros(0, dtype=bool)
    systems = np.zeros(0, dtype=np.intp)
    pairs = np.zeros((0, PAIR_PARAMETERS))
    return PairFits(systems, pairs, nobody, nobody, nobody, none, none, fit.skyline[:0])


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
    clouds = fit.prepared.sky.sheet[:, CLOUD].reshape(-1)
    bright = readings.bright[systems].astype(np.float32)[:, None]
    residual = (readings.power[systems] - model) / deviations(model, clouds, bright, numbers)
    return log_likelihood(residual, say, numbers, correlated=ERRORS.correlated)


def _search(fit: FinalFit, system: int) -> Array | None:
    """Return the best pairs of a system by few readings, best first, each elsewhere.

    None where two planes are hardly likelier than one.
    """
    point = fit.points[system]
    readings = _readings(fit, system, fit.kept[system], SEARCHED_ON)
    below = readings.power < BELOW_LIMIT * np.exp(min(point[LIMIT], NO_LIMIT))
    free = replace(readings, say=readings.say * below * (readings.power > 0.0))
    first, *others = find_pairs(point, free)
    first = refine_pair(first, readings, most=CANDIDATE_STEPS)
    if linearised(first, readings).worth < linearised(_alone(point), readings).worth + HOPELESS:
        return None
    refined = [refine_pair(each, readings, most=CANDIDATE_STEPS) for each in others]
    return _best_first([first, *refined], readings)[0]


def _alone(point: Array) -> Array:
    """Return one plane as a pair whose second has no capacity."""
    out = np.zeros(PAIR_PARAMETERS)
    out[FIRST] = point[[EAST, NORTH, CAPACITY]]
    out[CAPACITIES[1]] = NO_CAPACITY
    out[PAIR_HAZE:] = point[[HAZE, HEAT, HAZE_SEASON, LIMIT]]
    return out


def _best(pairs: Array, readings: FittedReadings) -> tuple[Array, float]:
    """Return the best of some pairs after a fit, and how much likelier it is than others."""
    refined, worths = _best_first([refine_pair(pair, readings) for pair in pairs], readings)
    return refined[0], float(worths[0] - worths[1]) if len(worths) > 1 else np.inf


def _best_first(pairs: Sequence[Array], readings: FittedReadings) -> tuple[Array, Array]:
    """Return pairs by how likely they are, without those close to a likelier one, and that."""
    worths = [linearised(pair, readings).worth + known(pair, readings.numbers)[0] for pair in pairs]
    kept: list[int] = []
    for place in np.argsort(worths)[::-1].tolist():
        if worths[place] < max(worths) - HOPEFUL:
            break
        if all(_apart(pairs[place], pairs[other]) > ELSEWHERE for other in kept):
            kept.append(place)
    return np.array([pairs[place] for place in kept]), np.array([worths[place] for place in kept])


def _apart(pair: Array, other: Array) -> float:
    """Return by how much azimuths of two pairs differ, planes put in the better order. [degrees]"""
    azimuths = [np.degrees(np.arctan2(each[EASTS], each[NORTHS])) for each in (pair, other)]
    ways = (azimuths[0] - azimuths[1], azimuths[0] - azimuths[1][::-1])
    return float(min(np.abs((way + 180.0) % 360.0 - 180.0).max() for way in ways))


def _readings(fit: FinalFit, system: int, say: Matrix, most: int) -> FittedReadings:
    """Return at most so many of a system's clear readings, evenly spread."""
    places = np.flatnonzero(say[: len(fit.prepared.slot)] >= CLEAR)
    if len(places) < FEWEST_CLEAR:
        places = np.flatnonzero(say[: len(fit.prepared.slot)] > 0.0)
    every = -(-len(places) // most) or 1
    places = places[::every]
    readings = fit.searched.readings
    return FittedReadings(
        in_blocks(fit.prepared.sky.rows[:, places]),
        padded(readings.power[system, places][None])[0],
        padded(say[places][None])[0],
        float(readings.bright[system]),
        ERRORS.correlated / every,
        fit.prepared.numbers,
    )
