"""Trackers that were found, and what is told of them in place of the plane that was fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.assumed import AGREEING_ABOVE, AGREES_WITHIN, CLIPPED_SHARE
from sunveil.engine.model import NO_LIMIT
from sunveil.engine.outcomes import BlockEstimates, flag_bits
from sunveil.engine.readings import BlockReadings
from sunveil.engine.tracker_model import (
    AXIS,
    COVERAGE,
    MOST,
    T_CAPACITY,
    T_HAZE,
    T_HEAT,
    T_LIMIT,
    T_SEASON,
    USUAL_COVERAGE,
)
from sunveil.estimate import Flag
from sunveil.planes import TrackerEstimate
from sunveil.quantities import Interval
from sunveil.site import Array

Matrix = NDArray[np.float32]

_ONE = np.ones(1, dtype=bool)
# What is said of a plane, and not of what has none; flags that follow from the tracker's own fit.
_NOT_SAID = (Flag.NOT_ONE_PLANE, Flag.CAPACITY_BOUNDED, Flag.SEASONAL_HAZE)
_ANEW = (*_NOT_SAID, Flag.CLIPPING, Flag.LOW_AGREEMENT)


@dataclass(frozen=True, slots=True, eq=False)
class FoundTracker:
    """A system that follows the sun: private.

    Parameters
    ----------
    point
        The tracker, shape (TRACKER_PARAMETERS,).
    covariance
        Of its parameters.
    backtrack_probability
        How likely it is that it backtracks.
    model
        Modelled power at the usable intervals, padded. [kW]
    skyline
        Elevation below which the sun is hidden, by sectors. [degrees]
    explained, by_plane, by_planes
        Share of the energy of clear readings that the tracker explains, the one plane, and the
        better of the best pair and the best mixture of fixed planes, all by the same weights.
    """

    point: Array
    covariance: Array
    backtrack_probability: float
    model: Matrix
    skyline: Matrix
    explained: float
    by_plane: float
    by_planes: float

    def __repr__(self) -> str:
        return "FoundTracker(private)"

    def interval(self, parameter: int) -> Interval:
        """Return the 90% interval of one of its parameters."""
        half = 1.645 * float(np.sqrt(self.covariance[parameter, parameter]))
        return Interval(float(self.point[parameter]) - half, float(self.point[parameter]) + half)

    def estimate(self) -> TrackerEstimate:
        """Return the tracker as an estimate tells it."""
        backtracks = bool(self.point[COVERAGE] > 0.0)
        coverage = float(self.point[COVERAGE]) if backtracks else USUAL_COVERAGE
        half = 1.645 * float(np.sqrt(self.covariance[COVERAGE, COVERAGE]))
        most = self.interval(MOST)
        return TrackerEstimate(
            axis_azimuth=float(self.point[AXIS]),
            backtrack=backtracks,
            backtrack_probability=self.backtrack_probability,
            gcr=coverage,
            max_angle=float(self.point[MOST]),
            axis_interval=self.interval(AXIS),
            gcr_interval=Interval(max(coverage - half, 0.0), min(coverage + half, 1.0)),
            max_angle_interval=Interval(max(most.low, 0.0), min(most.high, 90.0)),
        )


def put_trackers(
    out: BlockEstimates,
    trackers: Mapping[int, FoundTracker],
    readings: BlockReadings,
    *,
    placed: Array,
    lowest_agreement: float,
) -> None:
    """Write the estimates of trackers over those of the planes that were fitted to them.

    The plane is that of the modules at rest: flat, with the azimuth of the axis; its error is the
    axis's. Single years are not told: they were fitted with a plane.

    Parameters
    ----------
    out
        The estimates of a block, changed in place.
    trackers
        Those of its systems that follow the sun.
    readings
        The readings of the block.
    placed
        What the place of each system adds to the logarithm of its capacity.
    lowest_agreement
        Agreement below which an estimate is flagged.
    """
    for s, found in trackers.items():
        point, axis = found.point, found.interval(AXIS)
        out.surface_azimuth[s], out.surface_tilt[s] = point[AXIS], 0.0
        out.azimuth_low[s], out.azimuth_high[s] = axis.low % 360.0, axis.high % 360.0
        out.tilt_low[s], out.tilt_high[s] = 0.0, 0.0
        out.plane_error_degrees[s] = 0.5 * axis.width
        capacity = found.interval(T_CAPACITY)
        out.dc_capacity_kw[s] = np.exp(point[T_CAPACITY] + placed[s])
        out.capacity_low[s] = np.exp(capacity.low + placed[s])
        out.capacity_high[s] = np.exp(capacity.high + placed[s])
        out.haze_summer[s] = point[T_HAZE] - point[T_SEASON]
        out.haze_winter[s] = point[T_HAZE] + point[T_SEASON]
        out.heat[s], out.trend[s], out.years[s] = point[T_HEAT], np.nan, ()
        out.skyline[s], out.tracker[s] = found.skyline, found.estimate()
        out.agreement[s] = _agreement(found, readings, s)
        limit = float(np.exp(min(point[T_LIMIT], NO_LIMIT)))
        at = (found.model >= 0.99 * limit) & (readings.have[s] > 0.0)
        clipped = np.count_nonzero(at) > CLIPPED_SHARE * readings.count[s]
        out.ac_limit_kw[s] = limit if clipped else np.nan
        kept = ~np.bitwise_or.reduce([flag_bits(flag, _ONE)[0] for flag in _ANEW])
        out.flags[s] = (out.flags[s] & kept) | flag_bits(Flag.TRACKER, _ONE)[0]
        out.flags[s] |= flag_bits(Flag.CLIPPING, _ONE & clipped)[0]
        low = out.agreement[s] < lowest_agreement
        out.flags[s] |= flag_bits(Flag.LOW_AGREEMENT, _ONE & low)[0]


def _agreement(found: FoundTracker, readings: BlockReadings, s: int) -> float:
    """Return the share of a system's bright readings within 15% of the tracker's power."""
    bright = (readings.have[s] > 0.0) & (found.model > AGREEING_ABOVE * readings.bright[s])
    far = np.abs(readings.power[s] - found.model)
    close = bright & (far <= AGREES_WITHIN * found.model)
    return float(close.sum()) / max(float(bright.sum()), 1.0)
