"""Two planes below one inverter, fitted at once: a robust fit of ten numbers.

The two share their haze, its season, their heat and the limit; their powers add up below it.
"""

from __future__ import annotations

import math

import numpy as np

from sunveil.engine.assumed import LONGEST_STEP
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
    PARAMETERS,
    UNLIMITED,
    Numbers,
    fill_slopes,
)
from sunveil.engine.robust import FittedReadings, LinearModel, linear_model
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
# A step that is as good as none; one of log capacity is as long as so many degrees. [degrees]
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
    """Return the logarithm of what is known of roofs, its gradient, and an information matrix.

    Parameters
    ----------
    pair
        A pair's numbers, shape (PAIR_PARAMETERS,).
    """
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
    """Return the best pair near one, by reweighted Gauss-Newton steps.

    Parameters
    ----------
    pair
        Where to begin.
    readings
        What it is fitted to.
    most
        Most steps.
    """
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
