"""How sure the planes of a pair are, and the one plane that stands for both.

As for one plane (:mod:`sunveil.engine.intervals`) the covariances of what makes a pair wrong add
up: the readings' scatter, what the model does not know, the clock, and what real systems and their
years differ by from any model. A pair is fitted to its whole record at once, so that what years
differ by is taken from other systems.
"""

from __future__ import annotations

import numpy as np

from sunveil.engine.assumed import ERRORS, SystematicErrors
from sunveil.engine.final import FinalFit
from sunveil.engine.intervals import Intervals, in_plane_axes, intervals_of
from sunveil.engine.model import (
    CAPACITY,
    EAST,
    HAZE,
    HAZE_SEASON,
    HEAT,
    LIMIT,
    NORTH,
    PARAMETERS,
)
from sunveil.engine.pair_block import PairFits
from sunveil.engine.pair_fit import (
    CAPACITIES,
    FIRST,
    FIRST_LEAN,
    PAIR_HAZE,
    PAIR_LIMIT,
    PAIR_PARAMETERS,
    SECOND,
    SECOND_LEAN,
    free_numbers,
    known,
    linearised,
    planes_of,
)
from sunveil.engine.robust import FittedReadings
from sunveil.planes import PlaneEstimate
from sunveil.quantities import Interval
from sunveil.site import Array, Plane

# Planes that are lit together can turn and trade capacity with hardly a change of power, so that
# errors of the model weigh more than on one plane: a factor on what the fit states.
PAIR_STRETCH = 1.35
# What the capacity of both errs by more than that of one plane, as a standard deviation: much of it
# may face away from the sun. Both are set by pairs under other physics than the engine's.
PAIR_CAPACITY = 0.04
# A step to see how the plane of both changes. [degrees, logarithm]
STEP = 1e-4


def pair_covariance(fit: FinalFit, pairs: PairFits, place: int, errors: SystematicErrors) -> Array:
    """Return the covariance of a pair's numbers, shape (PAIR_PARAMETERS, PAIR_PARAMETERS).

    Parameters
    ----------
    fit
        The fits of a block.
    pairs
        Its suspects as pairs.
    place
        Which of these.
    errors
        What the fit cannot see.
    """
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
    """Return the point that stands for a pair: the plane of the summed normals, all capacity.

    Parameters
    ----------
    pair
        Its numbers, shape (PAIR_PARAMETERS,).
    """
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
    """Return the covariance of the point that stands for a pair, by small steps of the pair.

    Parameters
    ----------
    pair, covariance
        The pair and its covariance.
    """
    centre = plane_of_both(pair)
    slopes = np.empty((PARAMETERS, PAIR_PARAMETERS))
    for place in range(PAIR_PARAMETERS):
        moved = pair.copy()
        moved[place] += STEP
        slopes[:, place] = (plane_of_both(moved) - centre) / STEP
    return np.asarray(slopes @ covariance @ slopes.T)


def plane_intervals(pair: Array, covariance: Array) -> Intervals:
    """Return the intervals of both planes of a pair, in the pair's order.

    Parameters
    ----------
    pair, covariance
        The pair and its covariance.
    """
    wide = np.zeros((2, PARAMETERS, PARAMETERS))
    wide[0, :3, :3], wide[1, :3, :3] = covariance[FIRST, FIRST], covariance[SECOND, SECOND]
    return intervals_of(planes_of(pair), wide)


def plane_estimates(pair: Array, covariance: Array) -> tuple[PlaneEstimate, ...]:
    """Return the planes of a pair with 90% intervals, the larger first.

    Parameters
    ----------
    pair, covariance
        The pair and its covariance.
    """
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
                plane=Plane(float(azimuth), tilt),
                share=shares[0],
                dc_capacity_kw=float(size[p]),
                azimuth_interval=Interval(
                    float(spread.azimuth_low[p]), float(spread.azimuth_high[p])
                ),
                tilt_interval=Interval(float(spread.tilt_low[p]), float(spread.tilt_high[p])),
                share_interval=Interval(shares[1], shares[2]),
                capacity_interval=Interval(
                    float(spread.capacity_low[p]), float(spread.capacity_high[p])
                ),
            )
        )
    return tuple(out)
