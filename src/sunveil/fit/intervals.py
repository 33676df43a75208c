"""How sure an estimate is: 90% intervals from the fit's own linearisation.

Three things make an estimate wrong, and their covariances add:

- the readings' scatter, by the spread of what whole weeks say (a sandwich over weeks, since the
  errors of a week hang together);
- what the model does not know (haze, heat), by the information matrix with its priors;
- the clock, by the response of the fit to a minute of it.

The plane's covariance is carried in the coordinates of :class:`~sunveil.fit.refine.Point` and
turned into angles by drawing from it, so that a nearly flat plane gets the wide azimuth interval
that it deserves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.estimate import Interval
from sunveil.fit.refine import Fit
from sunveil.fit.shared import TAIL, Doubts, ErrorModel
from sunveil.site import Array, normals

DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Spread:
    """The 90% intervals of an estimate; see :class:`sunveil.estimate.Estimate`."""

    azimuth: Interval
    tilt: Interval
    capacity: Interval
    plane_error_degrees: float


def covariance(
    fit: Fit,
    week: NDArray[np.int64],
    *,
    errors: ErrorModel,
    doubts: Doubts,
    clock_response: Array | None = None,
) -> Array:
    """Return the covariance of the free parameters.

    Parameters
    ----------
    fit
        The fit.
    week
        The week of each reading.
    errors
        The model of errors that the fit used.
    doubts
        What the fit cannot see.
    clock_response
        Change of each reading's residual per minute of clock.
    """
    inverse = np.linalg.inv(fit.information)
    pull = fit.jacobian * (fit.weight * fit.residual)[:, None] / errors.together
    _, number = np.unique(week, return_inverse=True)
    sums = np.zeros((int(number.max()) + 1, pull.shape[1]))
    np.add.at(sums, number, pull)
    scatter = inverse @ (sums.T @ sums) @ inverse
    total = doubts.stretch**2 * (scatter + inverse)
    if clock_response is not None:
        moved = inverse @ (fit.jacobian.T @ (fit.weight * clock_response)) / errors.together
        total += doubts.clock_minutes**2 * np.outer(moved, moved)
    total[0, 0] += doubts.angle**2
    total[1, 1] += doubts.angle**2
    total[2, 2] += doubts.capacity**2
    return np.asarray(total)


def spread(fit: Fit, covariance_: Array, *, seed: int = 0) -> Spread:
    """Turn a covariance into 90% intervals of azimuth, tilt and capacity."""
    point = fit.point
    # a fixed seed: the same readings give the same intervals
    noise = np.random.default_rng(seed).standard_normal((DRAWS, 2))
    plane = covariance_[:2, :2]
    root = np.linalg.cholesky(plane + 1e-9 * np.eye(2))
    east, north = (np.array([point.east, point.north]) + noise @ root.T).T
    tilt = np.minimum(np.hypot(east, north), 90.0)
    azimuth = np.degrees(np.arctan2(east, north))
    turned = (azimuth - point.plane.surface_azimuth + 180.0) % 360.0 - 180.0
    low, high = np.quantile(turned, [TAIL, 1.0 - TAIL])
    angles = normals(azimuth, tilt) @ point.plane.normal
    bounds = np.quantile(tilt, [TAIL, 1.0 - TAIL])
    deviation = 1.645 * float(np.sqrt(covariance_[2, 2]))
    return Spread(
        azimuth=_clockwise(point.plane.surface_azimuth, float(low), float(high)),
        tilt=Interval(
            min(float(bounds[0]), point.plane.surface_tilt),
            max(float(bounds[1]), point.plane.surface_tilt),
        ),
        capacity=Interval(
            point.capacity * float(np.exp(-deviation)), point.capacity * float(np.exp(deviation))
        ),
        plane_error_degrees=float(
            np.degrees(np.arccos(np.clip(np.quantile(angles, 2.0 * TAIL), -1.0, 1.0)))
        ),
    )


def _clockwise(centre: float, low: float, high: float) -> Interval:
    """Return the interval around an azimuth; half the circle or more means any azimuth."""
    if high - low > 300.0:
        return Interval(0.0, 360.0)
    return Interval((centre + low) % 360.0 % 360.0, (centre + high) % 360.0 % 360.0)
