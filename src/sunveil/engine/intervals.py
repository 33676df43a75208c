"""90% intervals: linearised fit, and the constants that calibrate them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from sunveil.engine.constants import TAIL, SystematicErrors
from sunveil.engine.power_model import CAPACITY, EAST, NORTH
from sunveil.site import Array

DRAWS = 200

# Where the draws spread over more of the circle than this, any azimuth will do. [degrees]
ANY_AZIMUTH = 300.0

# What is known of any system, so that readings which say nothing give wide intervals rather than
# none: its plane within 100° and its capacity within a factor of twenty.
_ANY_SYSTEM = np.diag([100.0**-2, 100.0**-2, 3.0**-2, 0.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """90% intervals of a block of systems, one entry each: private."""

    surface_azimuth_low: (
        Array  # [degrees] clockwise from low to high; 0 to 360 where any azimuth will do
    )
    surface_azimuth_high: (
        Array  # [degrees] clockwise from low to high; 0 to 360 where any azimuth will do
    )
    surface_tilt_low: Array  # [degrees]
    surface_tilt_high: Array  # [degrees]
    dc_capacity_kw_low: Array  # [kW]
    dc_capacity_kw_high: Array  # [kW]
    plane_error_degrees: Array  # [degrees] radius that holds the plane


def in_plane_axes(points: Array) -> Array:
    """Return unit vectors of the plane's coordinates along its tilt and across it."""
    # Shape (systems, 2, 2): first the one along, each as east and north.
    azimuth = np.arctan2(points[:, EAST], points[:, NORTH])
    sine, cosine = np.sin(azimuth), np.cos(azimuth)
    return np.stack([np.stack([sine, cosine], 1), np.stack([cosine, -sine], 1)], axis=1)


def covariances(
    points: Array,
    information: Array,
    scatter: Array,
    clock: Array,
    *,
    correlated: float,
    errors: SystematicErrors,
) -> Array:
    inverse = np.linalg.inv(information + _ANY_SYSTEM)
    spread = inverse @ (scatter / correlated**2) @ inverse
    moved = (inverse @ (clock / correlated)[:, :, None])[:, :, 0]
    total = errors.stretch**2 * (spread + inverse)
    total += errors.clock_minutes**2 * moved[:, :, None] * moved[:, None, :]
    axes, bias = in_plane_axes(points), np.array([errors.tilt, errors.across]) ** 2
    total[:, :2, :2] += np.einsum("sai,a,saj->sij", axes, bias, axes)
    total[:, CAPACITY, CAPACITY] += errors.capacity**2
    return np.asarray(total)


@functools.lru_cache(maxsize=1)
def _draws() -> Array:
    """Return standard normal pairs, evenly spread, the same for every system, shape (2, DRAWS)."""
    # points of the unit square by the plastic number, as normal deviates
    steps = np.array([0.7548776662466927, 0.5698402909980532])
    square = (0.5 + np.outer(np.arange(1, DRAWS + 1), steps)) % 1.0
    normal = NormalDist()
    noise = np.array([[normal.inv_cdf(each) for each in pair] for pair in square.tolist()])
    noise -= noise.mean(axis=0)
    # so few points would otherwise carry their own correlation into every interval
    return np.ascontiguousarray(np.linalg.inv(np.linalg.cholesky(np.cov(noise.T))) @ noise.T)


def _quantiles(values: Array, *shares: float) -> list[Array]:
    """Return quantiles of each row, between neighbours, as numpy has them in ten times the time."""
    ordered = np.sort(values, axis=1)
    out = []
    for share in shares:
        place = share * (values.shape[1] - 1)
        low = int(place)
        out.append(ordered[:, low] + (place - low) * (ordered[:, low + 1] - ordered[:, low]))
    return out


def intervals_of(points: Array, covariance: Array) -> Intervals:
    """Turn covariances into 90% intervals of azimuth, tilt and capacity."""
    first, second = _draws()
    a = np.sqrt(np.maximum(covariance[:, EAST, EAST], 1e-9))
    b = covariance[:, NORTH, EAST] / a
    c = np.sqrt(np.maximum(covariance[:, NORTH, NORTH] - b * b, 1e-9))
    east = points[:, EAST, None] + a[:, None] * first
    north = points[:, NORTH, None] + b[:, None] * first + c[:, None] * second
    centre = np.degrees(np.arctan2(points[:, EAST], points[:, NORTH]))
    own = np.hypot(points[:, EAST], points[:, NORTH])
    length = np.maximum(np.hypot(east, north), 1e-12)
    tilt = np.minimum(length, 90.0)
    # along and across the plane's own azimuth
    across, along = np.sin(np.radians(centre))[:, None], np.cos(np.radians(centre))[:, None]
    ahead, aside = along * north + across * east, along * east - across * north
    low, high = _quantiles(np.degrees(np.arctan2(aside, ahead)), TAIL, 1.0 - TAIL)
    any_azimuth = high - low > ANY_AZIMUTH
    bounds = _quantiles(tilt, TAIL, 1.0 - TAIL)
    lean, own_lean = np.radians(tilt), np.radians(own)[:, None]
    cosines = np.sin(own_lean) * np.sin(lean) * ahead / length + np.cos(own_lean) * np.cos(lean)
    (edge,) = _quantiles(cosines, 2.0 * TAIL)
    radius = np.degrees(np.arccos(np.clip(edge, -1.0, 1.0)))
    deviation = 1.645 * np.sqrt(np.maximum(covariance[:, CAPACITY, CAPACITY], 0.0))
    return Intervals(
        surface_azimuth_low=np.where(any_azimuth, 0.0, (centre + low) % 360.0),
        surface_azimuth_high=np.where(any_azimuth, 360.0, (centre + high) % 360.0),
        # a plane that may as well be flat
        surface_tilt_low=np.where(radius >= own, 0.0, np.minimum(bounds[0], own)),
        surface_tilt_high=np.maximum(bounds[1], own),
        dc_capacity_kw_low=np.exp(points[:, CAPACITY] - deviation),
        dc_capacity_kw_high=np.exp(points[:, CAPACITY] + deviation),
        plane_error_degrees=radius,
    )
