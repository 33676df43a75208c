"""Which systems follow the sun, and how: single-axis trackers against the best of fixed planes.

On a clear day a tracker is nearly as bright in the morning and in the evening as at noon, which no
fixed plane is. Who looks more like some tracker than like the plane that was found, by the bright
envelope, gets one fitted, with backtracking and without. It is told to be one where it explains
more of the energy than the plane, and as much as the best pair of fixed planes and any mixture of
many, which has thirty capacities to choose freely. Whoever is in doubt stays what it was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.assumed import DIMMEST, SystematicErrors
from sunveil.engine.clear import find_clear_days
from sunveil.engine.compared import ComparedReadings, best_mixture, best_pair
from sunveil.engine.envelope import profiles_of
from sunveil.engine.final import FinalFit
from sunveil.engine.mixture import BELOW_LIMIT, FEWEST
from sunveil.engine.model import HAZE, LIMIT, NO_LIMIT
from sunveil.engine.prepared import correlated_in, shares_for
from sunveil.engine.readings import find_limits, padded
from sunveil.engine.shade import WORTH_LEAVING_OUT, find_shade
from sunveil.engine.tracker_outcomes import FoundTracker
from sunveil.engine.tracking import (
    AXIS,
    COVERAGE,
    MOST,
    T_CAPACITY,
    T_HAZE,
    T_LIMIT,
    TWO_AXES,
    USUAL_MOST,
    tracker_grid,
    tracker_power,
    tracker_profiles,
)
from sunveil.engine.tracking_fit import (
    TrackedReadings,
    TrackerFit,
    fit_tracker,
    tracker_covariance,
)
from sunveil.site import Array

Matrix = NDArray[np.float32]

# On the bright envelope, some tracker leaves no more than this share of what the plane leaves.
SUSPECT = 1.05
# A tracker explains so many times the energy that the plane does, and so large a share of what the
# best pair does, and the best mixture, which can be anything.
OVER_PLANE, OVER_PLANES = 1.2, 0.96
# Axes farther than this from north to south are rare, and look most like fixed planes, as roofs
# that face south and north do: these must explain more. [degrees]
USUAL_AXES, OVER_PLANE_THEN, OVER_PLANES_THEN = 45.0, 1.3, 1.03
# Before any reading, so many times as many trackers backtrack as do not.
BACKTRACKING = 2.0
# What explains no more on few readings will not explain enough.
HOPELESS = 1.0
# So many readings are enough to look for a tracker on, and to fit it to.
FEW_READINGS, READINGS = 1200, 4000
# Where the fit with two axes stands among those that are made of a system.
TWO_AXES_PLACE = 2


def find_trackers(fit: FinalFit, errors: SystematicErrors) -> dict[int, FoundTracker]:
    """Return those systems of a block that follow the sun.

    Parameters
    ----------
    fit
        The fits of one plane each, before any is excluded.
    errors
        What a fit cannot see.
    """
    systems, left = suspects(fit)
    tried = [_as_tracker(fit, int(s), left[k], errors) for k, s in enumerate(systems)]
    return {int(s): each for s, each in zip(systems, tried, strict=True) if each is not None}


def suspects(fit: FinalFit) -> tuple[NDArray[np.intp], Array]:
    """Return which systems look more like a tracker than like their plane, by bright powers.

    Returns
    -------
    tuple
        The systems, and what each tracker of :func:`~sunveil.engine.tracking.tracker_grid` leaves
        of their energy's square, shape (suspects, trackers).
    """
    groups, probe = fit.prepared.probe
    value = fit.searched.envelope[:, groups]
    limit = BELOW_LIMIT * np.exp(np.minimum(fit.points[:, LIMIT], NO_LIMIT))
    there = (value > 0.0) & (value < limit[:, None])
    value = np.where(there, value, np.float32(0.0))
    plane = profiles_of(probe, fit.points, fit.prepared.numbers)[:, : len(groups)]
    energy = np.einsum("sg,sg->s", value, value) + 1e-12
    own = np.einsum("sg,sg,sg->s", there, plane, plane) + 1e-12
    alone = 1.0 - np.einsum("sg,sg->s", value, plane) ** 2 / (own * energy)
    trackers = fit.prepared.trackers
    both = np.einsum("sg,tg->st", value, trackers)
    each = np.einsum("sg,tg->st", there.astype(np.float32), trackers * trackers) + 1e-12
    left = 1.0 - both * both / (each * energy[:, None])
    enough = np.count_nonzero(there, axis=1) >= FEWEST
    chosen = np.flatnonzero(enough & (left.min(axis=1) < SUSPECT * alone))
    return chosen, left[chosen]


def _as_tracker(
    fit: FinalFit, s: int, left: Array, errors: SystematicErrors
) -> FoundTracker | None:
    """Return a system as a tracker; None where planes or two axes explain as much."""
    prepared, readings = fit.prepared, fit.searched.readings.take(np.array([s]))
    limit = float(find_limits(readings, prepared.day, hours=prepared.minutes / 60.0)[0])
    _, few = _tracked(fit, s, fit.days.weights[s], FEW_READINGS)
    fits = [fit_tracker(few, start) for start in _starts(few, left, limit)]
    model = _power(fit, _likeliest(fits))
    weights, skyline = _unhidden(fit, s, model)
    compared = ComparedReadings.of(fit, s, weights, limit)
    if len(compared.value) < FEWEST:
        return None
    by_plane = compared.explained(fit.model[s])
    if compared.explained(model) < HOPELESS * by_plane:
        return None
    places, tracked = _tracked(fit, s, weights, READINGS)
    fits = [fit_tracker(tracked, each.point) for each in fits]
    best, model = _likeliest(fits), _power(fit, _likeliest(fits))
    explained, (over_plane, over_planes) = compared.explained(model), _asked_of(best)
    if explained < over_plane * by_plane or fits[TWO_AXES_PLACE].cost < best.cost:
        return None
    by_planes = _by_planes(compared, fit, s, best)
    if explained < over_planes * by_planes:
        return None
    return FoundTracker(
        point=_as_told(best.point),
        covariance=_covariance(fit, (places, tracked), best.point, model, errors),
        backtrack_probability=_backtracking(fits),
        model=model,
        skyline=skyline,
        explained=explained,
        by_plane=by_plane,
        by_planes=by_planes,
    )


def _asked_of(found: TrackerFit) -> tuple[float, float]:
    """Return how many times what the plane and what planes explain a tracker must explain."""
    if abs(_as_told(found.point)[AXIS] - 180.0) <= USUAL_AXES:
        return OVER_PLANE, OVER_PLANES
    return OVER_PLANE_THEN, OVER_PLANES_THEN


def _power(fit: FinalFit, found: TrackerFit) -> Matrix:
    """Return the power of a tracker at the usable intervals, padded. [kW]"""
    power = tracker_power(fit.prepared.tracked, found.point[None], fit.prepared.numbers)
    return np.asarray(padded(power)[0])


def _by_planes(compared: ComparedReadings, fit: FinalFit, s: int, found: TrackerFit) -> float:
    """Return the share of energy that fixed planes explain, under the haze of either fit."""
    point, model = fit.points[s], fit.model[s]
    hazes = np.stack([point[HAZE:LIMIT], found.point[T_HAZE:T_LIMIT]])
    return max(best_mixture(compared, point, model), best_pair(compared, hazes, model))


def _covariance(
    fit: FinalFit,
    tracked: tuple[NDArray[np.intp], TrackedReadings],
    point: Array,
    model: Matrix,
    errors: SystematicErrors,
) -> Array:
    """Return the covariance of a tracker that was fitted to readings at some places."""
    places, readings = tracked
    before, after, minutes = fit.prepared.neighbours
    spans = np.unique(np.searchsorted(places, fit.prepared.spans[:-1]))
    return tracker_covariance(
        readings,
        point,
        shifts=((model[after] - model[before]) / minutes)[places],
        spans=spans[spans < len(places)],
        errors=errors,
    )


def _likeliest(fits: list[TrackerFit]) -> TrackerFit:
    """Return the likelier of the fits with one axis."""
    return fits[_backtracking(fits) > 0.5]


def _as_told(point: Array) -> Array:
    """Return a tracker with the end of its axis that is nearer south."""
    out = point.copy()
    out[AXIS] = (point[AXIS] - 90.0) % 180.0 + 90.0
    return out


def _unhidden(fit: FinalFit, s: int, model: Matrix) -> tuple[Matrix, Matrix]:
    """Return how much readings count by the days of a tracker and what hides the sun, and this."""
    prepared, readings = fit.prepared, fit.searched.readings.take(np.array([s]))
    days = find_clear_days(readings, model[None], prepared)
    shade = find_shade(
        readings.power,
        readings.have,
        model[None],
        dimmest=DIMMEST * readings.bright,
        patch=prepared.patch,
    )
    if shade.share[0] < WORTH_LEAVING_OUT:
        return days.weights[0], np.zeros_like(shade.skyline[0])
    return days.weights[0] * shade.kept[0], shade.skyline[0]


def _backtracking(fits: list[TrackerFit]) -> float:
    """Return how likely backtracking is."""
    worse = fits[1].cost - fits[0].cost
    return float(1.0 / (1.0 + np.exp(np.clip(worse, -50.0, 50.0)) / BACKTRACKING))


def _starts(readings: TrackedReadings, left: Array, limit: float) -> list[Array]:
    """Return where fits start: the likeliest axis without backtracking and with it, two axes."""
    grid, out = tracker_grid(), []
    for backtracks, most in ((False, USUAL_MOST), (True, USUAL_MOST), (False, TWO_AXES)):
        own = (grid[:, COVERAGE] > 0.0) == backtracks
        start = grid[np.where(own, left, np.inf).argmin()].copy()
        start[T_LIMIT], start[MOST] = limit, most
        profile = tracker_profiles(readings.sky, start[None], readings.numbers)[0]
        bright = np.quantile(profile, 0.95)
        start[T_CAPACITY] = np.log(max(readings.bright / max(float(bright), 1e-9), 1e-9))
        out.append(start)
    return out


def _tracked(
    fit: FinalFit, s: int, weights: Matrix, enough: int
) -> tuple[NDArray[np.intp], TrackedReadings]:
    """Return the places of the readings that a tracker is fitted to, and these."""
    readings, prepared = fit.searched.readings, fit.prepared
    share = float(shares_for(enough, readings.count[s : s + 1])[0])
    places = prepared.part(share)[0].astype(np.intp)
    places = places[weights[places] > 0.0]
    return places, TrackedReadings(
        sky=np.ascontiguousarray(prepared.tracked[:, places]),
        power=readings.power[s, places],
        weight=weights[places],
        bright=float(readings.bright[s]),
        numbers=prepared.numbers,
        correlated=correlated_in(share),
    )
