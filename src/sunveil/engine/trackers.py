"""Which systems follow the sun, and how: single-axis trackers against the best of fixed planes.

On a clear day a tracker is nearly as bright in the morning and in the evening as at noon, which no
fixed plane is. Who looks more like some tracker than like the plane that was found, by the bright
envelope, gets one fitted, with backtracking and without. It is told to be one where it explains
far more of the energy than the plane, and as much as any mixture of fixed planes does, though a
mixture has thirty capacities to choose freely. Whoever is in doubt stays what it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from sunveil.engine.assumed import ERRORS, SystematicErrors
from sunveil.engine.clear import find_clear_days
from sunveil.engine.envelope import points_of, profiles_of
from sunveil.engine.final import CLEAR_ENOUGH, FinalFit
from sunveil.engine.mixture import BELOW_LIMIT, ENOUGH, FEWEST, NARROW, mixture_grid
from sunveil.engine.model import (
    CAPACITY,
    HAZE,
    HAZE_SEASON,
    HEAT,
    LIMIT,
    NO_LIMIT,
    Numbers,
)
from sunveil.engine.prepared import correlated_in, shares_for
from sunveil.engine.readings import find_limits, padded
from sunveil.engine.skytable import in_blocks
from sunveil.engine.tracking import (
    AXIS,
    COVERAGE,
    MOST,
    T_CAPACITY,
    T_LIMIT,
    USUAL_COVERAGE,
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

# On the bright envelope, some tracker leaves less than this share of the square of what the plane
# leaves.
SUSPECT = 0.9
# A tracker explains so many times the energy that the plane does, so large a share of what the best
# mixture of fixed planes does, and so much of all.
OVER_PLANE, OVER_MIXTURE, LEAST_EXPLAINED = 1.25, 0.94, 0.5
# So many readings are enough to fit a tracker to.
READINGS = 4000
# Times that the weights of a mixture are found anew.
ROUNDS = 4


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
    explained, by_plane, by_mixture
        Share of the energy of clear readings that the tracker explains, the one plane, and the best
        mixture of fixed planes, all by the same weights.
    """

    point: Array
    covariance: Array
    backtrack_probability: float
    model: Matrix
    explained: float
    by_plane: float
    by_mixture: float

    def __repr__(self) -> str:
        return "FoundTracker(private)"

    def interval(self, parameter: int) -> Interval:
        """Return the 90% interval of one of its parameters."""
        half = 1.645 * float(np.sqrt(self.covariance[parameter, parameter]))
        return Interval(float(self.point[parameter]) - half, float(self.point[parameter]) + half)

    def estimate(self) -> TrackerEstimate:
        """Return the tracker as an estimate tells it."""
        backtracks = bool(self.point[COVERAGE] > 0.0)
        coverage = self.point[COVERAGE] if backtracks else USUAL_COVERAGE
        half = 1.645 * float(np.sqrt(self.covariance[COVERAGE, COVERAGE]))
        most = self.interval(MOST)
        return TrackerEstimate(
            axis_azimuth=float(self.point[AXIS]),
            backtrack=backtracks,
            backtrack_probability=self.backtrack_probability,
            gcr=float(coverage),
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
    """Return whether a tracker explains clearly more than fixed planes do."""
    return (
        found.explained > OVER_PLANE * found.by_plane
        and found.explained > OVER_MIXTURE * found.by_mixture
        and found.explained > LEAST_EXPLAINED
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
    compared = _Compared.of(fit, s, limit)
    if len(compared.value) < FEWEST:
        return None
    chosen = _tracked(fit, s, fit.days.weights[s])
    fits = [fit_tracker(chosen[1], start) for start in _starts(chosen[1], left, limit)]
    best = min(fits, key=lambda each: each.cost)
    model = tracker_power(prepared.tracked, best.point[None], prepared.numbers)
    # clear days anew, by what the days of a tracker look like
    days = find_clear_days(readings, padded(model), prepared)
    places, tracked = _tracked(fit, s, days.weights[0])
    fits = [fit_tracker(tracked, each.point) for each in fits]
    best = min(fits, key=lambda each: each.cost)
    model = tracker_power(prepared.tracked, best.point[None], prepared.numbers)
    point = best.point.copy()
    point[AXIS] = (point[AXIS] - 90.0) % 180.0 + 90.0
    before, after, minutes = prepared.neighbours
    shifts = ((model[0, after] - model[0, before]) / minutes)[places]
    spans = np.unique(np.searchsorted(places, prepared.spans[:-1]))
    return FoundTracker(
        point=point,
        covariance=tracker_covariance(
            tracked,
            point,
            shifts=shifts,
            spans=spans[spans < len(places)],
            errors=errors,
        ),
        backtrack_probability=_backtracking(fits),
        model=padded(model)[0],
        explained=compared.explained(model[0, compared.places]),
        by_plane=compared.explained(fit.model[s, compared.places]),
        by_mixture=compared.by_mixture(fit, s),
    )


def _backtracking(fits: list[TrackerFit]) -> float:
    """Return how likely backtracking is, with both as likely before any reading."""
    without, with_it = fits
    return float(1.0 / (1.0 + np.exp(np.clip(with_it.cost - without.cost, -50.0, 50.0))))


def _starts(readings: TrackedReadings, left: Array, limit: float) -> list[Array]:
    """Return where fits start: the likeliest axis without backtracking, and with it."""
    grid, out = tracker_grid(), []
    for backtracks in (False, True):
        own = (grid[:, COVERAGE] > 0.0) == backtracks
        start = grid[np.where(own, left, np.inf).argmin()].copy()
        start[T_LIMIT] = limit
        profile = tracker_power(readings.sky, start[None], readings.numbers)[0]
        bright = np.quantile(profile, 0.95)
        start[T_CAPACITY] = np.log(max(readings.bright / max(float(bright), 1e-9), 1e-9))
        out.append(start)
    return out


def _tracked(fit: FinalFit, s: int, weights: Matrix) -> tuple[NDArray[np.intp], TrackedReadings]:
    """Return the places of the readings that a tracker is fitted to, and these."""
    readings, prepared = fit.searched.readings, fit.prepared
    share = float(shares_for(READINGS, readings.count[s : s + 1])[0])
    places = prepared.part(share)[0]
    places = places[weights[places] > 0.0].astype(np.intp)
    return places, TrackedReadings(
        sky=np.ascontiguousarray(prepared.tracked[:, places]),
        power=readings.power[s, places],
        weight=weights[places],
        bright=float(readings.bright[s]),
        numbers=prepared.numbers,
        correlated=correlated_in(share),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    """Clear readings below the limit that explanations of a system are compared on: private.

    Parameters
    ----------
    places
        Where they stand among the usable intervals.
    value
        The readings. [kW]
    bright
        The record's bright power. [kW]
    numbers
        What is assumed.
    """

    places: NDArray[np.intp]
    value: Array
    bright: float
    numbers: Numbers

    @classmethod
    def of(cls, fit: FinalFit, s: int, limit: float) -> _Compared:
        """Return those of a system."""
        readings = fit.searched.readings
        share = float(shares_for(ENOUGH, readings.count[s : s + 1])[0])
        places = fit.prepared.part(share)[0].astype(np.intp)
        value = readings.power[s, places]
        most = BELOW_LIMIT * np.exp(min(limit, NO_LIMIT))
        used = (fit.kept[s, places] >= CLEAR_ENOUGH) & (value > 0.0) & (value < most)
        return cls(
            places[used],
            value[used].astype(np.float64),
            float(readings.bright[s]),
            fit.prepared.numbers,
        )

    def weigh(self, model: Array) -> tuple[float, Array]:
        """Return the share of energy that a model explains, and each reading's weight."""
        relative, absolute = self.numbers.relative * model, self.numbers.absolute * self.bright
        variance = NARROW**2 * (relative**2 + absolute**2)
        say = np.exp(-0.5 * (self.value - model) ** 2 / (variance * self.numbers.reach**2))
        return float(say @ self.value / self.value.sum()), say / variance

    def explained(self, model: Matrix) -> float:
        """Return the share of energy that a model [kW] explains."""
        return self.weigh(model.astype(np.float64))[0]

    def by_mixture(self, fit: FinalFit, s: int) -> float:
        """Return the share of energy that the best mixture of fixed planes explains.

        From the weights of the plane that was found, and from those of the readings themselves,
        which know nothing of it.
        """
        planes = np.repeat(fit.points[s][None], 1 + len(mixture_grid()), axis=0)
        planes[1:, :CAPACITY] = points_of(mixture_grid())[:, :CAPACITY]
        sheet = in_blocks(fit.prepared.sky.rows[:, self.places])
        rows = profiles_of(sheet, planes, self.numbers)[:, : len(self.places)].astype(np.float64)
        best = 0.0
        for model in (fit.model[s, self.places].astype(np.float64), self.value):
            for _ in range(ROUNDS):
                _, weight = self.weigh(model)
                gram = (rows * weight) @ rows.T
                gram += 1e-6 * np.diag(gram.diagonal() + 1e-12)
                lower = np.linalg.cholesky(gram)
                right = np.linalg.solve(lower, rows @ (weight * self.value))
                model = nnls(lower.T, right)[0] @ rows
            best = max(best, self.weigh(model)[0])
        return best
