"""Single-axis trackers: detection and fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.coarse_search import BlockReadings, find_limits, padded
from sunveil.engine.constants import (
    AGREEING_ABOVE,
    AGREES_WITHIN,
    CLIPPED_SHARE,
    Numbers,
    SystematicErrors,
)
from sunveil.engine.final_fit import FinalFit, unhidden
from sunveil.engine.one_or_two_planes import (
    ENOUGH,
    FEWEST,
    TrackerLikeness,
    below_limit,
    by_mixture,
    share_explained,
)
from sunveil.engine.power_model import (
    LIMIT,
    NO_LIMIT,
    FittedReadings,
    LinearModel,
    Sheet,
    linear_model,
)
from sunveil.engine.shading import correlated_in, shares_for
from sunveil.engine.tracker_model import (
    AXIS,
    CLOUDS,
    COVERAGE,
    MOST,
    T_CAPACITY,
    T_HAZE,
    T_HEAT,
    T_LIMIT,
    T_SEASON,
    TRACKER_PARAMETERS,
    TWO_AXES,
    USUAL_COVERAGE,
    USUAL_MOST,
    tracker_grid,
    tracker_power,
    tracker_profiles,
)
from sunveil.engine.two_planes import PairFits
from sunveil.estimates.estimates_table import Estimates
from sunveil.estimates.flags_and_quality import Flag, flag_bits
from sunveil.estimates.intervals_and_rounding import Interval
from sunveil.estimates.planes_and_intervals import TrackerEstimate
from sunveil.site import Array, Mount

# By what farms are built like: axes about north to south but for a few, a coverage between 0.25
# and 0.5, 45° to 60° of turn; so, as a standard deviation each. [degrees, 1, degrees]
AXES, COVERAGES, TURNS = 60.0, 0.09, 6.0

# What derivatives are taken over, the longest step, one that is as good as none, and bounds.
_APART = np.array([1.0, 0.01, 1.0, 0.0, 0.1, 0.1, 0.1, 0.0])

_LONGEST = np.array([10.0, 0.1, 6.0, 0.5, 1.0, 0.5, 0.5, 0.1])

_SMALL = np.array([0.1, 0.005, 0.3, 0.002, 0.03, 0.03, 0.03, 0.002])

_LEAST = np.array([-720.0, 0.12, 35.0, -20.0, -2.5, 0.3, -2.0, -40.0])

_LARGEST = np.array([720.0, 0.75, 70.0, 20.0, 4.0, 3.0, 2.0, 2.0 * NO_LIMIT])

# What the fit cannot see, as standard deviations: of axis [degrees], coverage, greatest angle
# [degrees] and capacity [fraction]. Air that is hazier at low sun than its map reads as 0.03 more
# of coverage and 3° less of turn, clearer air as 0.05 less; modules with two sides as more of them.
_BIAS = {AXIS: 1.0, COVERAGE: 0.05, MOST: 3.0, T_CAPACITY: 0.05}

STEPS = 8


@dataclass(frozen=True, slots=True, eq=False)
class TrackerFit:
    """Where the fit of a tracker ended: private."""

    point: Array  # the tracker, shape (TRACKER_PARAMETERS,)
    cost: float

    @property
    def backtracks(self) -> bool:
        """Whether it was fitted as one that backtracks."""
        return bool(self.point[COVERAGE] > 0.0)


def _priors(numbers: Numbers) -> tuple[Array, Array]:
    """Return mean and precision of what is known of each parameter before any reading."""
    # Modules that turn stand open. Capacity and limit have next to no prior.
    heat = Mount.RACK.heat
    mean = np.array([180.0, USUAL_COVERAGE, USUAL_MOST, 0.0, numbers.haze_mean, heat, 0.0, 0.0])
    haze, season = numbers.haze_deviation, numbers.season_deviation
    deviation = [AXES, COVERAGES, TURNS, 30.0, haze, numbers.heat_deviation, season, 30.0]
    return mean, np.array(deviation) ** -2.0


def _free(point: Array) -> NDArray[np.intp]:
    """Return which parameters move: no coverage without backtracking, no limit where none is."""
    out = np.ones(TRACKER_PARAMETERS, dtype=bool)
    out[[AXIS, MOST]] = point[MOST] <= 90.0
    out[COVERAGE], out[T_LIMIT] = point[COVERAGE] > 0.0, point[T_LIMIT] < NO_LIMIT
    return np.flatnonzero(out)


def _linearised(point: Array, readings: FittedReadings) -> LinearModel:
    """Return a tracker's model at the readings, and its derivatives by what is free."""
    free = _free(point)
    apart = np.float32(1.0) / np.where(_APART > 0.0, _APART, 1.0).astype(np.float32)
    points = np.concatenate([point[None], point + np.diag(_APART)[free]])
    profiles = tracker_profiles(readings.sky, points, readings.numbers)
    profiles *= np.float32(np.exp(point[T_CAPACITY]))
    limit = np.float32(np.exp(min(point[T_LIMIT], NO_LIMIT)))
    below = profiles[0] < limit
    slopes = (profiles[1:] - profiles[0]) * apart[free, None]
    slopes[free == T_CAPACITY] = profiles[0]
    slopes *= below
    slopes[free == T_LIMIT] = limit * ~below
    return linear_model(np.minimum(profiles[0], limit), slopes, readings.sky[CLOUDS], readings)


def fit_tracker(readings: FittedReadings, start: Array, *, most: int = STEPS) -> TrackerFit:
    """Move a tracker to the best fit nearby."""
    point, free, (mean, precision) = start.copy(), _free(start), _priors(readings.numbers)
    for _ in range(most):
        linear = _linearised(point, readings)
        pull = linear.pull() - ((point - mean) * precision)[free]
        step = np.linalg.solve(linear.information() + np.diag(precision[free]), pull)
        step /= max(1.0, float(np.abs(step / _LONGEST[free]).max()))
        point[free] = np.clip(point[free] + step, _LEAST[free], _LARGEST[free])
        if np.abs(step / _SMALL[free]).max() < 1.0:
            break
    unlikely = 0.5 * float(((point - mean) ** 2 * precision)[free].sum())
    return TrackerFit(point, unlikely - _linearised(point, readings).worth)


def tracker_covariance(
    readings: FittedReadings,
    point: Array,
    *,
    shifts: Matrix,
    spans: NDArray[np.intp],
    errors: SystematicErrors,
) -> Array:
    """Return the covariance of a tracker's parameters, zero for those that do not move."""
    linear, free = _linearised(point, readings), _free(point)
    information = linear.information() + np.diag(_priors(readings.numbers)[1][free])
    out = np.zeros((TRACKER_PARAMETERS, TRACKER_PARAMETERS))
    out[np.ix_(free, free)] = linear.covariance(
        information, shifts=shifts, spans=spans, errors=errors
    )
    for parameter, bias in _BIAS.items():
        out[parameter, parameter] += bias**2
    if point[COVERAGE] <= 0.0:
        out[COVERAGE, COVERAGE] = COVERAGES**2
    out[T_CAPACITY, T_CAPACITY] += errors.capacity**2
    return out


_ONE = np.ones(1, dtype=bool)

# What is said of a plane, and not of what has none; flags that follow from the tracker's own fit.
_NOT_SAID = (Flag.NOT_ONE_PLANE, Flag.CAPACITY_BOUNDED, Flag.SEASONAL_HAZE)

_ANEW = (*_NOT_SAID, Flag.CLIPPING, Flag.LOW_AGREEMENT)


@dataclass(frozen=True, slots=True, eq=False)
class FoundTracker:
    """A system that follows the sun: private."""

    point: Array  # the tracker, shape (TRACKER_PARAMETERS,)
    covariance: Array  # of its parameters
    backtrack_probability: float  # how likely it is that it backtracks
    model: Matrix  # [kW] modelled power at the usable intervals, padded
    skyline: Matrix  # [degrees] elevation below which the sun is hidden, by sectors
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
    out: Estimates,
    trackers: Mapping[int, FoundTracker],
    readings: BlockReadings,
    *,
    placed: Array,
    lowest_agreement: float,
) -> None:
    """Write the estimates of trackers over those of the planes that were fitted to them."""
    # The plane is that of the modules at rest: flat, with the azimuth of the axis; its error is the
    # axis's. Single years are not reported: they were fitted with a plane.
    for s, found in trackers.items():
        point, axis = found.point, found.interval(AXIS)
        out.surface_azimuth[s], out.surface_tilt[s] = point[AXIS], 0.0
        out.surface_azimuth_low[s], out.surface_azimuth_high[s] = (
            axis.low % 360.0,
            axis.high % 360.0,
        )
        out.surface_tilt_low[s], out.surface_tilt_high[s] = 0.0, 0.0
        out.plane_error_degrees[s] = 0.5 * axis.width
        capacity = found.interval(T_CAPACITY)
        out.dc_capacity_kw[s] = np.exp(point[T_CAPACITY] + placed[s])
        out.dc_capacity_kw_low[s] = np.exp(capacity.low + placed[s])
        out.dc_capacity_kw_high[s] = np.exp(capacity.high + placed[s])
        out.haze_summer[s] = point[T_HAZE] - point[T_SEASON]
        out.haze_winter[s] = point[T_HAZE] + point[T_SEASON]
        out.heat[s], out.trend_percent_per_year[s], out.years[s] = point[T_HEAT], np.nan, ()
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


Matrix = NDArray[np.float32]

# A tracker explains this multiple of the energy that the plane does, and these shares of what the
# best pair does, and the best mixture, which can be anything. Looked at on simulated systems of two
# kinds of physics, those of benchmarks.planes among them: steep roofs with two or three sides,
# whichever way they face, reach 0.92 of the latter, trackers mostly have more than 0.96.
OVER_PLANE, OVER_PLANES = 1.2, 0.96

# Odds that a tracker backtracks, before any reading.
BACKTRACKING = 2.0

# What explains no more on few readings will not explain enough.
HOPELESS = 1.0

# So many readings are enough to look for a tracker on, and to fit it to.
FEW_READINGS, READINGS = 1200, 4000

# Where the fit with two axes stands among those that are made of a system.
TWO_AXES_PLACE = 2


@dataclass(frozen=True, slots=True, eq=False)
class ComparedReadings:
    """Clear readings below the limit that explanations of a system are compared on: private."""

    power: Matrix  # [kW] the readings, zero where there is none, padded
    places: NDArray[np.int32]  # where they stand among the usable intervals, and the sky there
    sheet: Sheet  # where they stand among the usable intervals, and the sky there
    bright: float  # [kW] the record's bright power
    point: Array  # the one plane that was found, with the limit
    numbers: Numbers  # what is assumed

    @classmethod
    def of(cls, fit: FinalFit, s: int, weights: Matrix, limit: float) -> ComparedReadings:
        """Return those of a system."""
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
    """Return those systems of a block that follow the sun; those resolved as two planes do not."""
    models = dict(zip(pairs.systems.tolist(), pairs.model, strict=True))
    out = {}
    for s in np.setdiff1d(likeness.suspects(), pairs.systems[pairs.resolved]).tolist():
        planes = [fit.model[s], *([models[s]] if s in models else [])]
        found = _as_tracker(fit, s, likeness.by_trackers[s], planes, errors)
        if found is not None:
            out[s] = found
    return out


def _as_tracker(
    fit: FinalFit, s: int, left: Array, planes: Sequence[Matrix], errors: SystematicErrors
) -> FoundTracker | None:
    """Return a system as a tracker; None where planes or two axes explain as much."""
    # `planes` are the powers of the one plane that was found, and of the pair if there is one.
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
