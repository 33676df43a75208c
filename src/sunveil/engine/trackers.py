"""Which systems follow the sun, and how: single-axis trackers against the best of fixed planes.

On a clear day a tracker is nearly as bright in the morning and in the evening as at noon, which no
fixed plane is. Who looks more like some tracker than like the plane that was found, by the bright
envelope, gets one fitted, with backtracking and without. It is told to be one where it explains
more of the energy than the plane, and as much as the best pair of fixed planes and any mixture of
many, which has thirty capacities to choose freely. Whoever is in doubt stays what it was.
"""

from __future__ import annotations

from dataclasses import dataclass

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
from sunveil.engine.tracking import (
    AXIS,
    COVERAGE,
    MOST,
    T_CAPACITY,
    T_HAZE,
    T_LIMIT,
    TWO_AXES,
    USUAL_COVERAGE,
    USUAL_MOST,
    tracker_grid,
    tracker_power,
)
from sunveil.engine.tracking_fit import (
    TrackedReadings,
    TrackerFit,
    fit_tracker,
    tracker_covariance,
)
from sunveil.planes import TrackerEstimate
from sunveil.quantities import Interval
from sunveil.site import Array

Matrix = NDArray[np.float32]

# On the bright envelope, some tracker leaves no more than this share of what the plane leaves.
SUSPECT = 1.05
# A tracker explains so many times the energy that the plane does, and so large a share of what the
# best pair does, and the best mixture, which can be anything. Of simulated fixed systems none
# reaches 0.92 of both, steep pairs come closest, and of simulated trackers none falls below 1.
OVER_PLANE, OVER_PLANES = 1.15, 0.96
# Before any reading, so many times as many trackers backtrack as do not.
BACKTRACKING = 2.0
# So many readings are enough to fit a tracker to.
READINGS = 4000


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
    two_axes
        Whether one that faces the sun at all times is likelier.
    model
        Modelled power at the usable intervals, padded. [kW]
    skyline
        Elevation below which the sun is hidden, by sectors. [degrees]
    explained, by_plane, by_mixture, by_pair
        Share of the energy of clear readings that the tracker explains, the one plane, the best
        mixture of fixed planes and the best pair, all by the same weights.
    """

    point: Array
    covariance: Array
    backtrack_probability: float
    two_axes: bool
    model: Matrix
    skyline: Matrix
    explained: float
    by_plane: float
    by_mixture: float
    by_pair: float

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


def find_trackers(fit: FinalFit, errors: SystematicErrors) -> dict[int, FoundTracker]:
    """Return those systems of a block that follow the sun.

    Parameters
    ----------
    fit
        The fits of one plane each, before any is excluded.
    errors
        What a fit cannot see.
    """
    out = {}
    for s, left in zip(*suspects(fit), strict=True):
        found = _fit_suspect(fit, int(s), left, errors)
        if found is not None and is_tracker(found):
            out[int(s)] = found
    return out


def is_tracker(found: FoundTracker) -> bool:
    """Return whether one axis explains clearly more than fixed planes do, and two axes do not."""
    return (
        not found.two_axes
        and found.explained > OVER_PLANE * found.by_plane
        and found.explained > OVER_PLANES * max(found.by_mixture, found.by_pair)
    )


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


def _fit_suspect(
    fit: FinalFit, s: int, left: Array, errors: SystematicErrors
) -> FoundTracker | None:
    """Return the best tracker of a system; None where there is too little to tell it by."""
    prepared, readings = fit.prepared, fit.searched.readings.take(np.array([s]))
    limit = float(find_limits(readings, prepared.day, hours=prepared.minutes / 60.0)[0])
    _, tracked = _tracked(fit, s, fit.days.weights[s])
    fits = [fit_tracker(tracked, start) for start in _starts(tracked, left, limit)]
    weights, skyline = _unhidden(fit, s, _likeliest(fits))
    places, tracked = _tracked(fit, s, weights)
    compared = ComparedReadings.of(fit, s, weights, limit)
    if len(compared.value) < FEWEST:
        return None
    fits = [fit_tracker(tracked, each.point) for each in fits]
    point = _likeliest(fits).point
    model = padded(tracker_power(prepared.tracked, point[None], prepared.numbers))[0]
    plane, hazes = fit.points[s], np.stack([fit.points[s, HAZE:LIMIT], point[T_HAZE:T_LIMIT]])
    return FoundTracker(
        point=_as_told(point),
        covariance=_covariance(fit, (places, tracked), point, model, errors),
        backtrack_probability=_backtracking(fits),
        two_axes=fits[2].cost < _likeliest(fits).cost,
        model=model,
        skyline=skyline,
        explained=compared.explained(model),
        by_plane=compared.explained(fit.model[s]),
        by_mixture=best_mixture(compared, plane, fit.model[s]),
        by_pair=best_pair(compared, hazes, fit.model[s]),
    )


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


def _unhidden(fit: FinalFit, s: int, found: TrackerFit) -> tuple[Matrix, Matrix]:
    """Return how much readings count by the days of a tracker and what hides the sun, and this."""
    prepared, readings = fit.prepared, fit.searched.readings.take(np.array([s]))
    model = padded(tracker_power(prepared.tracked, found.point[None], prepared.numbers))
    days = find_clear_days(readings, model, prepared)
    shade = find_shade(
        readings.power,
        readings.have,
        model,
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
        profile = tracker_power(readings.sky, start[None], readings.numbers)[0]
        bright = np.quantile(profile, 0.95)
        start[T_CAPACITY] = np.log(max(readings.bright / max(float(bright), 1e-9), 1e-9))
        out.append(start)
    return out


def _tracked(fit: FinalFit, s: int, weights: Matrix) -> tuple[NDArray[np.intp], TrackedReadings]:
    """Return the places of the readings that a tracker is fitted to, and these."""
    readings, prepared = fit.searched.readings, fit.prepared
    share = float(shares_for(READINGS, readings.count[s : s + 1])[0])
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
