"""The power that an estimate gives: of one plane, of several below one limit, or of a tracker."""

from __future__ import annotations

import numpy as np

from sunveil.engine import EngineOptions, SkyTable
from sunveil.engine.assumed import CLEAR_HAZE, MEASURED_HAZE
from sunveil.engine.envelope import points_of, profiles_of
from sunveil.engine.model import HAZE_SEASON, UNLIMITED, Numbers
from sunveil.engine.tracker_model import (
    AXIS,
    COVERAGE,
    MOST,
    T_HAZE,
    T_HEAT,
    T_LIMIT,
    T_SEASON,
    TRACKER_PARAMETERS,
    tracked_sky,
    tracker_profiles,
)
from sunveil.estimate import Estimate
from sunveil.grids import Grid
from sunveil.planes import TrackerEstimate
from sunveil.site import Array


def engine_options(estimate: Estimate) -> EngineOptions:
    """Return the options of the engine under an estimate's assumptions."""
    assumed = estimate.assumptions
    return EngineOptions(losses=assumed.losses, albedo=assumed.albedo, mount=assumed.mount)


def modelled_parts(estimate: Estimate, sky: SkyTable, numbers: Numbers) -> Array:
    """Return what each plane of an estimate gives at the usable intervals of a sky, or its tracker.

    Their sum below the inverter's limit is what the system gives.

    Parameters
    ----------
    estimate
        The estimate; what it does not know of haze and heat is as usual.
    sky
        The sky.
    numbers
        What is assumed.

    Returns
    -------
    numpy.ndarray
        Shape (planes, usable); of a tracker (1, usable). [kW]
    """
    air = _air(estimate, clear=sky.clear)
    if estimate.tracker is not None:
        point = _tracker_point(estimate.tracker, *air)
        profile = tracker_profiles(tracked_sky(sky.rows[:, : sky.usable]), point, numbers)
        return estimate.dc_capacity_kw * profile.astype(np.float64)
    haze, heat, season = air
    azimuths, tilts, capacities = np.array(
        [(each.surface_azimuth, each.surface_tilt, each.dc_capacity_kw) for each in estimate.planes]
    ).T
    points = points_of(Grid(azimuths, tilts), haze=haze, heat=heat)
    points[:, HAZE_SEASON] = season
    profiles = profiles_of(sky.sheet, points, numbers)[:, : sky.usable]
    return np.asarray(capacities[:, None] * profiles.astype(np.float64))


def _air(estimate: Estimate, *, clear: bool) -> tuple[float, float, float]:
    """Return an estimate's haze over the year, its heat and how much hazier winters are."""
    usual = (CLEAR_HAZE if clear else MEASURED_HAZE)[0]
    heat = estimate.assumptions.mount.heat if estimate.heat is None else estimate.heat
    if estimate.haze_summer is None or estimate.haze_winter is None:
        return usual, heat, 0.0
    summer, winter = estimate.haze_summer, estimate.haze_winter
    return 0.5 * (summer + winter), heat, 0.5 * (winter - summer)


def _tracker_point(tracker: TrackerEstimate, haze: float, heat: float, season: float) -> Array:
    point = np.zeros((1, TRACKER_PARAMETERS))
    point[0, [AXIS, COVERAGE, MOST]] = (
        tracker.axis_azimuth,
        tracker.gcr if tracker.backtrack else 0.0,
        tracker.max_angle,
    )
    point[0, [T_HAZE, T_HEAT, T_SEASON, T_LIMIT]] = haze, heat, season, UNLIMITED
    return point
