"""The inverter's limit; capacity bound from peak power."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.bright_envelope import points_of, starting_grid, starts_within
from sunveil.engine.coarse_search import modelled_power
from sunveil.engine.final_fit import FinalFit
from sunveil.engine.intervals import Intervals
from sunveil.engine.power_model import CAPACITY, LIMIT, NO_LIMIT
from sunveil.site import Array

# Largest capacity of a questionable fit, of one above its inverter's limit, and of any other, as
# multiples of what the highest powers show: walls that face away from the sun are real, and so are
# small inverters.
IN_DOUBT, LIMITED, AT_MOST = 1.5, 2.2, 4.0

# No model reaches this multiple of the record's top.
OVERSHOOT = 1.15

# A plane that stands in for an excluded one may have this multiple of the capacity that was shown.
STAND_IN = 1.3

# What the capacity of a system that was not inferred lies within, as shares of what was shown; the
# highest powers of a few weeks of winter show little, and a fit that nothing else speaks against
# may be right up to FITTED_HIGH.
SHOWN_LOW, SHOWN_HIGH, SHORTLY_SHOWN, FITTED_HIGH = 0.9, 1.4, 5.0, 12.0


def shown_capacity(fit: FinalFit) -> Array:
    """Return the capacity that highest powers show of what is turned to the sun. [kW]"""
    best = float(fit.prepared.groups.profiles.max(initial=1e-6))
    return np.asarray(fit.searched.readings.top / best)


def largest_capacity(
    fit: FinalFit, doubtful: NDArray[np.bool_], few_days: NDArray[np.bool_]
) -> Array:
    """Return the largest capacity that systems may have if their planes are excluded. [kW]"""
    shown = shown_capacity(fit)
    fitted = np.minimum(np.exp(fit.points[:, CAPACITY]), FITTED_HIGH * shown)
    most = np.where(few_days, SHORTLY_SHOWN, SHOWN_HIGH) * shown
    return np.asarray(np.where(doubtful, most, fitted))


def exclude(fit: FinalFit, doubtful: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Replace planes that the highest powers exclude by their capacity; return which they were."""
    readings, capacity = fit.searched.readings, np.exp(fit.points[:, CAPACITY])
    shown = shown_capacity(fit)
    most = (fit.model * (readings.have > 0.0)).max(axis=1)
    usual = np.where(fit.points[:, LIMIT] < NO_LIMIT, LIMITED, AT_MOST)
    out = capacity > np.where(doubtful, IN_DOUBT, usual) * shown
    out |= most > OVERSHOOT * np.maximum(readings.top, 1e-12)
    chosen = np.flatnonzero(out)
    if len(chosen):
        places = starts_within(
            fit.searched.envelope[chosen], fit.prepared.groups, STAND_IN * shown[chosen]
        )
        points = points_of(starting_grid())[places]
        points[:, CAPACITY] = np.log(shown[chosen])
        points[:, LIMIT] = fit.points[chosen, LIMIT]
        fit.points[chosen], fit.model[chosen] = points, modelled_power(points, fit.prepared)
    return np.asarray(out)


def widened(spread: Intervals, shown: Array, excluded: NDArray[np.bool_], most: Array) -> Intervals:
    """Return intervals in which the planes that were excluded can be any."""
    any_plane: dict[str, Any] = {
        "surface_azimuth_low": 0.0,
        "surface_azimuth_high": 360.0,
        "surface_tilt_low": 0.0,
        "surface_tilt_high": 90.0,
        "dc_capacity_kw_low": SHOWN_LOW * shown,
        "dc_capacity_kw_high": np.maximum(most, SHOWN_HIGH * shown),
        "plane_error_degrees": 90.0,
    }
    return Intervals(
        **{
            name: np.where(excluded, wide, getattr(spread, name))
            for name, wide in any_plane.items()
        }
    )
