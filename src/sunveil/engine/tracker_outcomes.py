"""What is told of trackers in place of the plane that was fitted to them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sunveil.engine.assumed import AGREEING_ABOVE, AGREES_WITHIN, CLIPPED_SHARE
from sunveil.engine.model import NO_LIMIT
from sunveil.engine.outcomes import BlockEstimates, flag_bits
from sunveil.engine.readings import BlockReadings
from sunveil.engine.trackers import FoundTracker
from sunveil.engine.tracking import AXIS, T_CAPACITY, T_HAZE, T_HEAT, T_LIMIT, T_SEASON
from sunveil.estimate import Flag
from sunveil.site import Array

_ONE = np.ones(1, dtype=bool)
# What is said of a plane, and not of what has none; flags that follow from the tracker's own fit.
_NOT_SAID = (Flag.NOT_ONE_PLANE, Flag.CAPACITY_BOUNDED, Flag.SEASONAL_HAZE)
_ANEW = (*_NOT_SAID, Flag.CLIPPING, Flag.LOW_AGREEMENT)


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
