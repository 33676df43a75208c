"""The robust fit of a single-axis tracker to the readings of one system, and how sure it is.

Gauss-Newton with the weights and the errors of a plane's fit. Derivatives are differences between
trackers that are a little apart: the kernel gives the power of several at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.assumed import SystematicErrors
from sunveil.engine.model import NO_LIMIT, Numbers
from sunveil.engine.robust import FittedReadings, LinearModel, linear_model
from sunveil.engine.tracker_model import (
    AXIS,
    CLOUDS,
    COVERAGE,
    MOST,
    T_CAPACITY,
    T_LIMIT,
    TRACKER_PARAMETERS,
    USUAL_COVERAGE,
    USUAL_MOST,
    tracker_profiles,
)
from sunveil.site import Array, Mount

Matrix = NDArray[np.float32]

# By what farms are built like: axes about north to south but for a few, a coverage between 0.25
# and 0.5, 45° to 60° of turn; so, as a standard deviation each. [degrees, 1, degrees]
AXES, COVERAGES, TURNS = 60.0, 0.09, 6.0
# What derivatives are taken over, the longest step, one that is as good as none, and bounds.
_APART = np.array([1.0, 0.01, 1.0, 0.0, 0.1, 0.1, 0.1, 0.0])
_LONGEST = np.array([10.0, 0.1, 6.0, 0.5, 1.0, 0.5, 0.5, 0.1])
_SMALL = np.array([0.1, 0.005, 0.3, 0.002, 0.03, 0.03, 0.03, 0.002])
_LEAST = np.array([-720.0, 0.12, 35.0, -20.0, -2.5, 0.3, -2.0, -40.0])
_LARGEST = np.array([720.0, 0.75, 70.0, 20.0, 4.0, 3.0, 2.0, 2.0 * NO_LIMIT])
# What the fit cannot see, as standard deviations: of axis [degrees], coverage, greatest angle
# [degrees] and capacity [fraction]. Air that is hazier at low sun than its map reads as 0.03 more
# of coverage and 3° less of turn, clearer air as 0.05 less; modules with two sides as more of them.
_BIAS = {AXIS: 1.0, COVERAGE: 0.05, MOST: 3.0, T_CAPACITY: 0.05}
STEPS = 8


@dataclass(frozen=True, slots=True, eq=False)
class TrackerFit:
    """Where the fit of a tracker ended: private.

    Parameters
    ----------
    point
        The tracker, shape (TRACKER_PARAMETERS,).
    cost
        What it leaves unexplained, priors included, as a negative logarithm of its probability.
    """

    point: Array
    cost: float

    @property
    def backtracks(self) -> bool:
        """Whether it was fitted as one that backtracks."""
        return bool(self.point[COVERAGE] > 0.0)


def _priors(numbers: Numbers) -> tuple[Array, Array]:
    """Return mean and precision of what is known of each parameter before any reading.

    Modules that turn stand open. Capacity and limit have next to no prior.
    """
    heat = Mount.RACK.heat
    mean = np.array([180.0, USUAL_COVERAGE, USUAL_MOST, 0.0, numbers.haze_mean, heat, 0.0, 0.0])
    haze, season = numbers.haze_deviation, numbers.season_deviation
    deviation = [AXES, COVERAGES, TURNS, 30.0, haze, numbers.heat_deviation, season, 30.0]
    return mean, np.array(deviation) ** -2.0


def _free(point: Array) -> NDArray[np.intp]:
    """Return which parameters move: no coverage without backtracking, no limit where none is."""
    out = np.ones(TRACKER_PARAMETERS, dtype=bool)
    out[[AXIS, MOST]] = point[MOST] <= 90.0
    out[COVERAGE], out[T_LIMIT] = point[COVERAGE] > 0.0, point[T_LIMIT] < NO_LIMIT
    return np.flatnonzero(out)


def _linearised(point: Array, readings: FittedReadings) -> LinearModel:
    """Return a tracker's model at the readings, and its derivatives by what is free."""
    free = _free(point)
    apart = np.float32(1.0) / np.where(_APART > 0.0, _APART, 1.0).astype(np.float32)
    points = np.concatenate([point[None], point + np.diag(_APART)[free]])
    profiles = tracker_profiles(readings.sky, points, readings.numbers)
    profiles *= np.float32(np.exp(point[T_CAPACITY]))
    limit = np.float32(np.exp(min(point[T_LIMIT], NO_LIMIT)))
    below = profiles[0] < limit
    slopes = (profiles[1:] - profiles[0]) * apart[free, None]
    slopes[free == T_CAPACITY] = profiles[0]
    slopes *= below
    slopes[free == T_LIMIT] = limit * ~below
    return linear_model(np.minimum(profiles[0], limit), slopes, readings.sky[CLOUDS], readings)


def fit_tracker(readings: FittedReadings, start: Array, *, most: int = STEPS) -> TrackerFit:
    """Move a tracker to the best fit nearby.

    Parameters
    ----------
    readings
        What it is fitted to.
    start
        Where it starts; without a coverage it does not backtrack, without a limit it has none.
    most
        Most steps.
    """
    point, free, (mean, precision) = start.copy(), _free(start), _priors(readings.numbers)
    for _ in range(most):
        linear = _linearised(point, readings)
        pull = linear.pull() - ((point - mean) * precision)[free]
        step = np.linalg.solve(linear.information() + np.diag(precision[free]), pull)
        step /= max(1.0, float(np.abs(step / _LONGEST[free]).max()))
        point[free] = np.clip(point[free] + step, _LEAST[free], _LARGEST[free])
        if np.abs(step / _SMALL[free]).max() < 1.0:
            break
    unlikely = 0.5 * float(((point - mean) ** 2 * precision)[free].sum())
    return TrackerFit(point, unlikely - _linearised(point, readings).worth)


def tracker_covariance(
    readings: FittedReadings,
    point: Array,
    *,
    shifts: Matrix,
    spans: NDArray[np.intp],
    errors: SystematicErrors,
) -> Array:
    """Return the covariance of a tracker's parameters, zero for those that do not move.

    Parameters
    ----------
    readings, point
        The fit.
    shifts, spans, errors
        As for :meth:`~sunveil.engine.robust.LinearModel.covariance`.
    """
    linear, free = _linearised(point, readings), _free(point)
    information = linear.information() + np.diag(_priors(readings.numbers)[1][free])
    out = np.zeros((TRACKER_PARAMETERS, TRACKER_PARAMETERS))
    out[np.ix_(free, free)] = linear.covariance(
        information, shifts=shifts, spans=spans, errors=errors
    )
    for parameter, bias in _BIAS.items():
        out[parameter, parameter] += bias**2
    if point[COVERAGE] <= 0.0:
        out[COVERAGE, COVERAGE] = COVERAGES**2
    out[T_CAPACITY, T_CAPACITY] += errors.capacity**2
    return out
