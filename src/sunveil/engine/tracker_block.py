"""Which systems follow the sun, and how: single-axis trackers against the best of fixed planes.

On a clear day a tracker is nearly as bright in the morning and in the evening as at noon, which no
fixed plane is. Who looks more like some tracker than like the plane that was found, by the bright
envelope, gets one fitted, with backtracking and without. It is told to be one where it explains
more of the energy than the plane, and as much as the pair of planes that was fitted and as a
mixture of many, which has 32 capacities to choose freely. Whoever is in doubt stays what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.assumed import SystematicErrors
from sunveil.engine.final import FinalFit, unhidden
from sunveil.engine.mixture import ENOUGH, FEWEST, below_limit, by_mixture, share_explained
from sunveil.engine.model import LIMIT, Numbers, Sheet
from sunveil.engine.pair_block import PairFits
from sunveil.engine.prepared import correlated_in, shares_for
from sunveil.engine.readings import find_limits, padded
from sunveil.engine.robust import FittedReadings
from sunveil.engine.tracker_fit import TrackerFit, fit_tracker, tracker_covariance
from sunveil.engine.tracker_model import (
    AXIS,
    COVERAGE,
    MOST,
    T_CAPACITY,
    T_LIMIT,
    TWO_AXES,
    USUAL_MOST,
    tracker_grid,
    tracker_power,
    tracker_profiles,
)
from sunveil.engine.tracker_outcomes import FoundTracker
from sunveil.engine.tracker_search import TrackerLikeness
from sunveil.site import Array

Matrix = NDArray[np.float32]

# A tracker explains so many times the energy that the plane does, and so large a share of what the
# best pair does, and the best mixture, which can be anything. Looked at on simulated systems of two
# kinds of physics, those of benchmarks.planes among them: steep roofs with two or three sides,
# whichever way they face, reach 0.92 of the latter, trackers mostly have more than 0.96.
OVER_PLANE, OVER_PLANES = 1.2, 0.96
# Before any reading, so many times as many trackers backtrack as do not.
BACKTRACKING = 2.0
# What explains no more on few readings will not explain enough.
HOPELESS = 1.0
# So many readings are enough to look for a tracker on, and to fit it to.
FEW_READINGS, READINGS = 1200, 4000
# Where the fit with two axes stands among those that are made of a system.
TWO_AXES_PLACE = 2


@dataclass(frozen=True, slots=True, eq=False)
class ComparedReadings:
    """Clear readings below the limit that explanations of a system are compared on: private.

    Parameters
    ----------
    power
        The readings, zero where there is none, padded. [kW]
    places, sheet
        Where they stand among the usable intervals, and the sky there.
    bright
        The record's bright power. [kW]
    point
        The one plane that was found, with the limit.
    numbers
        What is assumed.
    """

    power: Matrix
    places: NDArray[np.int32]
    sheet: Sheet
    bright: float
    point: Array
    numbers: Numbers

    @classmethod
    def of(cls, fit: FinalFit, s: int, weights: Matrix, limit: float) -> ComparedReadings:
        """Return those of a system.

        Parameters
        ----------
        fit
            The fits of a block.
        s
            Which of its systems.
        weights
            How much each of its readings counts, shape (padded,).
        limit
            Logarithm of its inverter's limit. [kW]
        """
        system, readings = np.array([s]), fit.searched.readings
        share = float(shares_for(ENOUGH, readings.count[system])[0])
        power, places, sheet = fit.clear_readings(system, weights[None], share)
        point, bright = fit.points[s].copy(), float(readings.bright[s])
        point[LIMIT] = limit
        power = below_limit(power, point[None])[0]
        return cls(power, places, sheet, bright, point, fit.prepared.numbers)

    def __repr__(self) -> str:
        return f"ComparedReadings({np.count_nonzero(self.power)} readings, private)"

    def explained(self, model: Matrix) -> float:
        """Return the share of energy that a model [kW] of all usable intervals explains."""
        here = padded(model[None, self.places])[0]
        return share_explained(self.power, here, self.bright, self.numbers)

    def by_mixture(self) -> float:
        """Return the share of energy that the best mixture of fixed planes explains."""
        power, bright, points = self.power[None], np.array([self.bright]), self.point[None]
        return float(by_mixture(power, bright, points, sheet=self.sheet, numbers=self.numbers)[0])


def find_trackers(
    fit: FinalFit, pairs: PairFits, likeness: TrackerLikeness, errors: SystematicErrors
) -> dict[int, FoundTracker]:
    """Return those systems of a block that follow the sun; who is told as two planes does not.

    Parameters
    ----------
    fit
        The fits of one plane each, before any is excluded.
    pairs
        Those of two planes.
    likeness
        How much the systems look like trackers.
    errors
        What a fit cannot see.
    """
    models = dict(zip(pairs.systems.tolist(), pairs.model, strict=True))
    out = {}
    for s in np.setdiff1d(likeness.suspects(), pairs.systems[pairs.told]).tolist():
        planes = [fit.model[s], *([models[s]] if s in models else [])]
        found = _as_tracker(fit, s, likeness.by_trackers[s], planes, errors)
        if found is not None:
            out[s] = found
    return out


def _as_tracker(
    fit: FinalFit, s: int, left: Array, planes: Sequence[Matrix], errors: SystematicErrors
) -> FoundTracker | None:
    """Return a system as a tracker; None where planes or two axes explain as much.

    ``planes`` are the powers of the one plane that was found, and of the pair if there is one.
    """
    prepared, readings = fit.prepared, fit.searched.readings.take(np.array([s]))
    limit = float(find_limits(readings, prepared.day, hours=prepared.minutes / 60.0)[0])
    _, few = _tracked(fit, s, fit.days.weights[s], FEW_READINGS)
    fits = [fit_tracker(few, start) for start in _starts(few, left, limit)]
    model = _power(fit, _likeliest(fits))
    (weights,), (skyline,) = unhidden(readings, model[None], prepared)
    compared = ComparedReadings.of(fit, s, weights, limit)
    by_plane = compared.explained(planes[0])
    few_left = np.count_nonzero(compared.power) < FEWEST
    if few_left or compared.explained(model) < HOPELESS * by_plane:
        return None
    places, tracked = _tracked(fit, s, weights, READINGS)
    fits = [fit_tracker(tracked, each.point) for each in fits]
    best, model = _likeliest(fits), _power(fit, _likeliest(fits))
    explained = compared.explained(model)
    if explained < OVER_PLANE * by_plane or fits[TWO_AXES_PLACE].cost < best.cost:
        return None
    by_planes = max(compared.by_mixture(), *(compared.explained(each) for each in planes))
    if explained < OVER_PLANES * by_planes:
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


def _power(fit: FinalFit, found: TrackerFit) -> Matrix:
    """Return the power of a tracker at the usable intervals, padded. [kW]"""
    power = tracker_power(fit.prepared.tracked, found.point[None], fit.prepared.numbers)
    return np.asarray(padded(power)[0])


def _covariance(
    fit: FinalFit,
    tracked: tuple[NDArray[np.intp], FittedReadings],
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


def _backtracking(fits: list[TrackerFit]) -> float:
    """Return how likely backtracking is."""
    worse = fits[1].cost - fits[0].cost
    return float(1.0 / (1.0 + np.exp(np.clip(worse, -50.0, 50.0)) / BACKTRACKING))


def _starts(readings: FittedReadings, left: Array, limit: float) -> list[Array]:
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
) -> tuple[NDArray[np.intp], FittedReadings]:
    """Return the places of the readings that a tracker is fitted to, and these."""
    readings, prepared = fit.searched.readings, fit.prepared
    share = float(shares_for(enough, readings.count[s : s + 1])[0])
    places = prepared.part(share)[0].astype(np.intp)
    places = places[weights[places] > 0.0]
    return places, FittedReadings(
        sky=np.ascontiguousarray(prepared.tracked[:, places]),
        power=readings.power[s, places],
        say=weights[places],
        bright=float(readings.bright[s]),
        correlated=correlated_in(share),
        numbers=prepared.numbers,
    )
