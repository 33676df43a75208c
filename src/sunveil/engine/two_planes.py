"""Two planes behind one inverter."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.bright_envelope import points_of, profiles_of
from sunveil.engine.clipping import shown_capacity
from sunveil.engine.coarse_search import modelled_power, padded
from sunveil.engine.constants import ERRORS, LONGEST_STEP, Numbers, SystematicErrors
from sunveil.engine.final_fit import FinalFit, unhidden
from sunveil.engine.intervals import Intervals, in_plane_axes, intervals_of
from sunveil.engine.one_or_two_planes import BELOW_LIMIT
from sunveil.engine.power_model import (
    CAPACITY,
    CLOUD,
    EAST,
    HAZE,
    HAZE_SEASON,
    HEAT,
    LIMIT,
    NO_LIMIT,
    NORTH,
    PARAMETERS,
    UNLIMITED,
    FittedReadings,
    LinearModel,
    deviations,
    fill_slopes,
    linear_model,
    log_likelihood,
    robust_weights,
)
from sunveil.engine.sky_tables import in_blocks
from sunveil.estimates.intervals_and_rounding import Interval
from sunveil.estimates.planes_and_intervals import PlaneEstimate
from sunveil.grids import Grid
from sunveil.site import Array

# The numbers of a pair: east, north and log capacity of the first plane and of the second, then
# haze, heat, season and log limit of both.
FIRST, SECOND = slice(0, 3), slice(3, 6)

FIRST_LEAN, SECOND_LEAN = slice(0, 2), slice(3, 5)

EASTS, NORTHS, CAPACITIES = [0, 3], [1, 4], [2, 5]

PAIR_HAZE, PAIR_HEAT, PAIR_SEASON, PAIR_LIMIT = 6, 7, 8, 9

PAIR_PARAMETERS = 10

# Roofs of one house have like tilts: standard deviation of their difference, and how far it may go
# before it counts no more. [degrees]
TILT_APART, TILT_REACH = 5.0, 10.0

# They face a right angle apart or away from each other, or neither does: the standard deviation
# about these, and how likely neither is. [degrees] Chosen on sums of two real homes, one of them
# turned by 60° to 180°: a spread of 6° and a chance of 0.25 pulled most of them to a right angle or
# to half a turn, and found 50% of them rather than 76%.
TURNS, TURN_SPREAD, ANY_TURN = (90.0, 180.0, 270.0), 20.0, 0.5

# What is known of any plane: standard deviations of east, north and log capacity. [degrees, 1]
ANY_PLANE = np.array([100.0, 100.0, 3.0])

# The steepest plane, and the flattest that has an azimuth. [degrees]
STEEPEST, FLATTEST = 89.0, 2.0

# A step that is as good as none; AS_LONG: how long one of log capacity is. [degrees]
SMALL, AS_LONG = 0.05, 8.0

MOST_STEPS = 16

# Bounds of log capacities, of haze and of its season, as of one plane.
BOUNDS = dict.fromkeys(CAPACITIES, (-20.0, 20.0))

BOUNDS |= {PAIR_HAZE: (-2.5, 4.0), PAIR_SEASON: (-2.0, 2.0)}


def planes_of(pair: Array) -> Array:
    """Return the two planes of a pair as points without a limit, shape (2, PARAMETERS)."""
    out = np.empty((2, PARAMETERS))
    out[0, [EAST, NORTH, CAPACITY]], out[1, [EAST, NORTH, CAPACITY]] = pair[FIRST], pair[SECOND]
    out[:, HAZE], out[:, HEAT], out[:, HAZE_SEASON] = pair[PAIR_HAZE:PAIR_LIMIT]
    out[:, LIMIT] = UNLIMITED
    return out


def linearised(pair: Array, readings: FittedReadings) -> LinearModel:
    """Return a pair's model at the readings, and its derivatives."""
    exact = readings.numbers._replace(relative=0.0, absolute=1.0, cloud=0.0, dimmest=0.0)
    both = np.empty((2, PARAMETERS, len(readings.power)), dtype=np.float32)
    fill_slopes(readings.sky, planes_of(pair), exact, both)
    free = both[0, 0] + both[1, 0]
    limit = np.float32(np.exp(pair[PAIR_LIMIT])) if pair[PAIR_LIMIT] < NO_LIMIT else np.inf
    model = np.minimum(free, np.float32(limit))
    slopes = np.empty((PAIR_PARAMETERS, len(model)), dtype=np.float32)
    slopes[FIRST], slopes[SECOND] = both[0, 1:4], both[1, 1:4]
    slopes[PAIR_HAZE:PAIR_LIMIT] = both[0, 4:] + both[1, 4:]
    slopes[:PAIR_LIMIT] *= free < limit
    slopes[PAIR_LIMIT] = np.where(free < limit, np.float32(0.0), model)
    return linear_model(model, slopes, readings.sky[:, CLOUD].reshape(-1), readings)


def roof_prior(pair: Array) -> tuple[float, Array, Array]:
    """Return the logarithm of what is known of roofs, its gradient, and an information matrix."""
    (lean, tilt, azimuth), (other_lean, other_tilt, other_azimuth) = (
        _leaning(*pair[lean].tolist()) for lean in (FIRST_LEAN, SECOND_LEAN)
    )
    apart, turned = other_tilt - tilt, (other_azimuth - azimuth) % 360.0
    calm = 1.0 / (1.0 + (apart / TILT_REACH) ** 2)
    height = (1.0 - ANY_TURN) / len(TURNS) / (TURN_SPREAD * math.sqrt(2.0 * math.pi))
    heights = [height * math.exp(-0.5 * ((turned - each) / TURN_SPREAD) ** 2) for each in TURNS]
    density = sum(heights) + ANY_TURN / 360.0
    far = sum(h * (turned - each) for h, each in zip(heights, TURNS, strict=True)) / density
    by_tilt, by_turn = np.zeros(PAIR_PARAMETERS), np.zeros(PAIR_PARAMETERS)
    by_tilt[FIRST_LEAN], by_tilt[SECOND_LEAN] = (-lean[0], -lean[1]), other_lean[:2]
    by_turn[FIRST_LEAN], by_turn[SECOND_LEAN] = (-lean[2], -lean[3]), other_lean[2:]
    tilt_say, turn_say = calm / TILT_APART**2, sum(heights) / density / TURN_SPREAD**2
    gradient = -apart * tilt_say * by_tilt - far / TURN_SPREAD**2 * by_turn
    information = tilt_say * np.outer(by_tilt, by_tilt) + turn_say * np.outer(by_turn, by_turn)
    value = 0.5 * (TILT_REACH / TILT_APART) ** 2 * math.log(calm) + math.log(density * 360.0)
    return value, gradient, information


def _leaning(east: float, north: float) -> tuple[tuple[float, float, float, float], float, float]:
    """Return how tilt and azimuth change with east and north, then tilt and azimuth. [degrees]"""
    tilt = max(math.hypot(east, north), FLATTEST)
    turn = math.degrees(1.0 / tilt**2)
    slopes = east / tilt, north / tilt, north * turn, -east * turn
    return slopes, tilt, math.degrees(math.atan2(east, north))


def known(pair: Array, numbers: Numbers) -> tuple[float, Array, Array]:
    """Return the logarithm of all priors of a pair, its gradient, and an information matrix."""
    value, gradient, information = roof_prior(pair)
    means = np.array([numbers.haze_mean, numbers.heat_mean, 0.0])
    says = np.array([numbers.haze_deviation, numbers.heat_deviation, numbers.season_deviation])
    shared, says = np.arange(PAIR_HAZE, PAIR_LIMIT), says**-2.0
    far = pair[shared] - means
    gradient[shared] -= says * far
    information[shared, shared] += says
    # so that readings which say nothing leave a plane where it is
    planes = np.arange(PAIR_HAZE)
    information[planes, planes] += np.tile(ANY_PLANE, 2) ** -2.0
    # the limit has no prior, but nothing may reach it on the way there
    information[PAIR_LIMIT, PAIR_LIMIT] += 1e-3 if pair[PAIR_LIMIT] < NO_LIMIT else 1.0
    return value - 0.5 * float(says @ (far * far)), gradient, information


def refine_pair(pair: Array, readings: FittedReadings, *, most: int = MOST_STEPS) -> Array:
    """Return the best pair near one, by reweighted Gauss-Newton steps."""
    pair = pair.copy()
    free = free_numbers(pair)
    for _ in range(most):
        linear = linearised(pair, readings)
        _, pull, information = known(pair, readings.numbers)
        information = (information + linear.information())[:free, :free]
        information[np.diag_indices(free)] *= 1.0 + 1e-6
        step = np.linalg.solve(information, (pull + linear.pull())[:free])
        if not np.isfinite(step).all():
            break
        leans = (np.hypot(*step[lean]) for lean in (FIRST_LEAN, SECOND_LEAN))
        longest = max(*leans, *(AS_LONG * abs(step[CAPACITIES])))
        pair[:free] += step * min(1.0, LONGEST_STEP / max(float(longest), 1e-9))
        _bound(pair)
        if longest < SMALL:
            break
    return pair


def free_numbers(pair: Array) -> int:
    """Return how many of a pair's numbers a fit may move: a limit only where there is one."""
    return PAIR_PARAMETERS if pair[PAIR_LIMIT] < NO_LIMIT else PAIR_LIMIT


def _bound(pair: Array) -> None:
    """Keep a pair within what any clear sky and any roof has."""
    for lean in (FIRST_LEAN, SECOND_LEAN):
        tilt = math.hypot(*pair[lean].tolist())
        if tilt > STEEPEST:
            pair[lean] *= STEEPEST / tilt
    for place, (low, high) in BOUNDS.items():
        pair[place] = min(max(float(pair[place]), low), high)


# Rounds of reweighting.
ROUNDS = 3

# Azimuths and tilts of the grid. [degrees]
AZIMUTHS, TILTS = 24, (12.0, 20.0, 30.0, 42.0, 58.0)

# Candidates of a search, by kind; they stand apart by this in one of their planes. [degrees]
ANY, RIDGE, CORNER = 0, 1, 2

KINDS = (ANY, ANY, RIDGE, CORNER)

ALIKE = 18.0

# So far from half a turn and from a quarter a pair is still a ridge or a corner. [degrees]
NEARLY = 20.0

TURNED = ((90.0, 90.0), (180.0, NEARLY), (90.0, NEARLY))


class PairTable(NamedTuple):
    """The pairs of a grid: public."""

    first: NDArray[np.intp]  # the places of each pair's planes in the grid
    second: NDArray[np.intp]  # the places of each pair's planes in the grid
    prior: Array  # the logarithm of how likely roofs have such planes
    kinds: NDArray[np.bool_]  # which of them are pairs at all, ridges and corners, shape (3, pairs)


@functools.lru_cache(maxsize=1)
def pair_grid() -> Grid:
    """Return the planes that pairs are made of."""
    azimuth = np.arange(AZIMUTHS) * 360.0 / AZIMUTHS
    return Grid(np.tile(azimuth, len(TILTS)), np.repeat(np.array(TILTS), AZIMUTHS))


@functools.lru_cache(maxsize=1)
def pair_table() -> PairTable:
    """Return the pairs, each once."""
    points = points_of(pair_grid())
    first, second = np.triu_indices(len(points), k=1)
    prior = np.empty(len(first))
    pair = np.zeros(PAIR_PARAMETERS)
    for place, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        pair[EASTS], pair[NORTHS] = points[[i, j], EAST], points[[i, j], NORTH]
        prior[place] = roof_prior(pair)[0]
    azimuth = pair_grid().surface_azimuth
    turned = np.abs((azimuth[first] - azimuth[second] + 180.0) % 360.0 - 180.0)
    kinds = [np.abs(turned - each) <= within for each, within in TURNED]
    return PairTable(first, second, prior, np.array(kinds))


def find_pairs(point: Array, readings: FittedReadings) -> Array:
    """Return the pairs of the grid that come closest to a system's readings, best first."""
    grid, table = points_of(pair_grid()), pair_table()
    grid[:, [HAZE, HEAT, HAZE_SEASON]] = point[[HAZE, HEAT, HAZE_SEASON]]
    profiles = profiles_of(readings.sky, grid, readings.numbers)
    model, power = readings.power, readings.power
    for _ in range(ROUNDS):
        weight = _weights(model, readings)
        weighed = profiles * weight
        gram = (weighed @ profiles.T).astype(np.float64) / readings.correlated
        right = (weighed @ power).astype(np.float64) / readings.correlated
        worth, one, two = _all_pairs(gram, right)
        best = int(np.argmax(worth))
        first, second = table.first[best], table.second[best]
        model = np.float32(one[best]) * profiles[first] + np.float32(two[best]) * profiles[second]
    out = np.empty((len(KINDS), PAIR_PARAMETERS))
    alike = _alike()
    for place, kind in enumerate(KINDS):
        best = int(np.argmax(np.where(table.kinds[kind], worth, -np.inf)))
        first, second = table.first[best], table.second[best]
        out[place, EASTS], out[place, NORTHS] = grid[[first, second]][:, [EAST, NORTH]].T
        out[place, CAPACITIES] = np.log(np.maximum([one[best], two[best]], 1e-6))
        near = alike[first, table.first] & alike[second, table.second]
        near |= alike[first, table.second] & alike[second, table.first]
        worth = np.where(near, -np.inf, worth)
    out[:, PAIR_HAZE:PAIR_LIMIT] = point[[HAZE, HEAT, HAZE_SEASON]]
    out[:, PAIR_LIMIT] = point[LIMIT]
    return out


@functools.lru_cache(maxsize=1)
def _alike() -> NDArray[np.bool_]:
    """Return which planes of the grid face so close to each other that one fit finds both."""
    normals = pair_grid().normals
    return np.asarray(normals @ normals.T > np.cos(np.radians(ALIKE)))


def _weights(model: Matrix, readings: FittedReadings) -> Matrix:
    """Return what each reading counts, over its variance, by how far it is from a model."""
    numbers, clouds = readings.numbers, readings.sky[:, CLOUD].reshape(-1)
    deviation = deviations(model, clouds, np.float32(readings.bright), numbers)
    residual = (readings.power - model) / deviation
    return readings.say * robust_weights(residual, numbers) / (deviation * deviation)


def _all_pairs(gram: Array, right: Array) -> tuple[Array, Array, Array]:
    """Return what all pairs are worth with their best capacities, and these. [kW]"""
    table = pair_table()
    a, b = gram[table.first, table.first], gram[table.second, table.second]
    c, p, q = gram[table.first, table.second], right[table.first], right[table.second]
    determinant = np.maximum(a * b - c * c, 1e-6 * a * b)
    one, two = (b * p - c * q) / determinant, (a * q - c * p) / determinant
    worth = 0.5 * (p * one + q * two) + table.prior
    return np.where((one > 0.0) & (two > 0.0), worth, -np.inf), one, two


Matrix = NDArray[np.float32]

# Clear readings that are enough to search on, and to fit to.
SEARCHED_ON, FITTED_TO = 600, 12_000

# A reading of a day that counts less is not of a clear one; where so few are clear, any will do.
CLEAR, FEWEST_CLEAR = 0.05, 200

# Steps of the candidates.
CANDIDATE_STEPS = 8

# All that decides below was chosen with the sums of two homes of Fontana in view, and looked at
# again on a second draw of simulated systems: neither is a fresh test.
# Two planes are reported from LEAST_GAIN on [log likelihood]: real single planes come up to 2.1 by
# errors of the model, sums of two real homes with planes 85° apart have 3.1 at the least. Beyond
# LONGEST_RECORD independent readings a longer record counts no more, since errors of the model do
# not average out.
LEAST_GAIN, LONGEST_RECORD = 2.5, 45.0

# Two planes that are so much likelier may be there, and nothing tells: of simulated single planes
# of another physics 2% are, of our own none. [log likelihood]
UNRESOLVED_GAIN = 1.75

# The smaller plane has this share at the least: what shade and haze look like has less.
LEAST_SHARE = 0.2

# Pairs that stand this far away must be so much less likely. [degrees, log likelihood]
ELSEWHERE, UNLIKELIER = 20.0, 1.7

# A pair has at most this multiple of the capacity that the highest powers show: a tracker that is
# taken for two steep planes has 1.7 times at the least.
MOST_CAPACITY = 1.65

# Pairs that come out flatter are not reported: under other physics than the engine's they were
# 20° to 90° off. Mean over both capacities. [degrees]
FLATTEST_RESOLVED = 17.0

# What gains so little on few readings will not gain enough. [log likelihood]
HOPELESS = 1.2

# The logarithm of no capacity.
NO_CAPACITY = -20.0

# Of few readings, pairs that are no less likely than this may come out best. [log likelihood]
HOPEFUL = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class PairFits:
    """Suspects as pairs of planes, one entry each: private."""

    systems: NDArray[np.intp]  # which systems of the block they are
    pairs: Array  # the numbers of each pair, shape (systems, PAIR_PARAMETERS)
    resolved: NDArray[np.bool_]  # which of them are two planes that are known
    sure: NDArray[np.bool_]  # which of them are more than one plane, whether these are known or not
    unresolved: NDArray[np.bool_]
    model: Matrix  # [kW] power at all usable intervals, shape (systems, padded)
    say: Matrix
    skyline: Matrix  # [degrees] what hides the sun from them, shape (systems, COLUMNS)


def fit_pairs(fit: FinalFit, suspects: NDArray[np.intp]) -> PairFits:
    """Fit two planes to each suspect."""
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
    resolved = sure & (margins >= UNLIKELIER)
    tilt = np.hypot(pairs[:, EASTS], pairs[:, NORTHS])
    resolved &= (tilt * capacity).sum(axis=1) >= FLATTEST_RESOLVED * capacity.sum(axis=1)
    resolved &= capacity.sum(axis=1) <= MOST_CAPACITY * shown_capacity(fit)[suspects]
    unresolved = shared & (gain >= UNRESOLVED_GAIN) & ~sure
    return PairFits(suspects, pairs, resolved, sure, unresolved, model, say, skyline)


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
    """Return the robust log likelihood of the clear readings of some systems under a model."""
    numbers, readings = fit.prepared.numbers, fit.searched.readings
    clouds = fit.prepared.sky.sheet[:, CLOUD].reshape(-1)
    bright = readings.bright[systems].astype(np.float32)[:, None]
    residual = (readings.power[systems] - model) / deviations(model, clouds, bright, numbers)
    return log_likelihood(residual, say, numbers, correlated=ERRORS.correlated)


def _search(fit: FinalFit, system: int) -> Array | None:
    """Return the best pairs of a system by few readings, best first, each elsewhere."""
    # None where two planes are hardly likelier than one.
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
    """Return one plane as a pair with a second plane of no capacity."""
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
    """Return at most ``most`` of a system's clear readings, evenly spread."""
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


# Planes that see the sun together can turn and trade capacity with hardly a change of power, so
# errors of the model weigh more than on one plane: a factor on what the fit states.
PAIR_STRETCH = 1.35

# What the capacity of both errs by more than that of one plane, as a standard deviation: much of it
# may face away from the sun. Both are set by pairs under other physics than the engine's.
PAIR_CAPACITY = 0.04

# A step to see how the plane of both changes. [degrees, logarithm]
STEP = 1e-4


def pair_covariance(fit: FinalFit, pairs: PairFits, place: int, errors: SystematicErrors) -> Array:
    """Return the covariance of a pair's numbers, shape (PAIR_PARAMETERS, PAIR_PARAMETERS)."""
    prepared, readings = fit.prepared, fit.searched.readings
    pair, system = pairs.pairs[place], pairs.systems[place]
    own = FittedReadings(
        prepared.sky.sheet,
        readings.power[system],
        pairs.say[place],
        float(readings.bright[system]),
        ERRORS.correlated,
        prepared.numbers,
    )
    linear = linearised(pair, own)
    before, after, minutes = prepared.neighbours
    shifts = np.zeros(len(linear.model), dtype=np.float32)
    shifts[: len(minutes)] = (linear.model[after] - linear.model[before]) / minutes
    information = known(pair, prepared.numbers)[2] + linear.information()
    if free_numbers(pair) < PAIR_PARAMETERS:
        information[PAIR_LIMIT] = information[:, PAIR_LIMIT] = 0.0
        information[PAIR_LIMIT, PAIR_LIMIT] = 1.0
    out = linear.covariance(
        information, shifts=shifts, spans=prepared.spans[:-1], errors=errors, stretch=PAIR_STRETCH
    )
    return _with_systematic(out, pair, errors)


def _with_systematic(covariance: Array, pair: Array, errors: SystematicErrors) -> Array:
    """Return a covariance with what real systems and their years differ by from the model."""
    along = errors.tilt**2 + errors.year_tilt**2
    across = errors.across**2 + errors.year_across**2
    axes = in_plane_axes(planes_of(pair))
    bias = np.einsum("pai,a,paj->pij", axes, np.array([along, across]), axes)
    covariance[FIRST_LEAN, FIRST_LEAN] += bias[0]
    covariance[SECOND_LEAN, SECOND_LEAN] += bias[1]
    # losses and calibration are those of both planes
    both = np.ix_(CAPACITIES, CAPACITIES)
    covariance[both] += errors.capacity**2 + errors.year_capacity**2 + PAIR_CAPACITY**2
    return covariance


def plane_of_both(pair: Array) -> Array:
    """Return the point that stands for a pair: the plane of the summed normals, all capacity."""
    planes = planes_of(pair)
    tilt = np.radians(np.hypot(planes[:, EAST], planes[:, NORTH]))
    azimuth, size = np.arctan2(planes[:, EAST], planes[:, NORTH]), np.exp(planes[:, CAPACITY])
    sine = np.sin(tilt)
    east, north, up = size @ np.stack(
        [sine * np.sin(azimuth), sine * np.cos(azimuth), np.cos(tilt)], 1
    )
    flat = np.hypot(east, north)
    lean = np.degrees(np.arctan2(flat, up)) / max(flat, 1e-12)
    out = np.empty(PARAMETERS)
    out[[EAST, NORTH, CAPACITY]] = lean * east, lean * north, np.log(size.sum())
    out[[HAZE, HEAT, HAZE_SEASON, LIMIT]] = pair[PAIR_HAZE:]
    return out


def covariance_of_both(pair: Array, covariance: Array) -> Array:
    """Return the covariance of the point that stands for a pair, by small steps of the pair."""
    centre = plane_of_both(pair)
    slopes = np.empty((PARAMETERS, PAIR_PARAMETERS))
    for place in range(PAIR_PARAMETERS):
        moved = pair.copy()
        moved[place] += STEP
        slopes[:, place] = (plane_of_both(moved) - centre) / STEP
    return np.asarray(slopes @ covariance @ slopes.T)


def plane_intervals(pair: Array, covariance: Array) -> Intervals:
    """Return the intervals of both planes of a pair, in the pair's order."""
    wide = np.zeros((2, PARAMETERS, PARAMETERS))
    wide[0, :3, :3], wide[1, :3, :3] = covariance[FIRST, FIRST], covariance[SECOND, SECOND]
    return intervals_of(planes_of(pair), wide)


def plane_estimates(pair: Array, covariance: Array) -> tuple[PlaneEstimate, ...]:
    """Return the planes of a pair with 90% intervals, the larger first."""
    points, spread = planes_of(pair), plane_intervals(pair, covariance)
    size = np.exp(points[:, CAPACITY])
    towards = np.zeros(PAIR_PARAMETERS)
    towards[CAPACITIES] = 1.0, -1.0
    away = 1.645 * np.sqrt(towards @ covariance @ towards)
    out = []
    for p in np.argsort(-size, kind="stable").tolist():
        odds = np.log(size[p] / size[1 - p])
        shares = [float(1.0 / (1.0 + np.exp(-each))) for each in (odds, odds - away, odds + away)]
        azimuth = np.degrees(np.arctan2(points[p, EAST], points[p, NORTH])) % 360.0
        tilt = float(np.hypot(points[p, EAST], points[p, NORTH]))
        out.append(
            PlaneEstimate(
                surface_azimuth=float(azimuth),
                surface_tilt=tilt,
                share=shares[0],
                dc_capacity_kw=float(size[p]),
                azimuth_interval=Interval(
                    float(spread.surface_azimuth_low[p]), float(spread.surface_azimuth_high[p])
                ),
                tilt_interval=Interval(
                    float(spread.surface_tilt_low[p]), float(spread.surface_tilt_high[p])
                ),
                share_interval=Interval(shares[1], shares[2]),
                capacity_interval=Interval(
                    float(spread.dc_capacity_kw_low[p]), float(spread.dc_capacity_kw_high[p])
                ),
            )
        )
    return tuple(out)
