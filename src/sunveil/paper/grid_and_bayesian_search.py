"""Exhaustive grid search; Gaussian process; GP-UCB (algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields, checked, number, together, whole
from sunveil.errors import ParameterError
from sunveil.grids import Grid
from sunveil.site import Plane

BLOCK = 2048


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """The scores of a grid."""

    grid: Grid  # the candidates
    scores: Array  # one score per candidate; higher is better

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        return f"SearchResult({len(self.grid)} candidates, private)"

    @property
    def best_index(self) -> int:
        """The candidate with the highest score, the first of equals."""
        return int(self.scores.argmax())

    @property
    def best(self) -> Plane:
        """The plane with the highest score."""
        return self.grid[self.best_index]


def blocks(grid: Grid, size: int = BLOCK) -> Iterator[tuple[slice, Grid]]:
    """Yield a grid piece by piece, so that memory stays bounded."""
    for start in range(0, len(grid), size):
        piece = slice(start, start + size)
        yield piece, Grid(grid.surface_azimuth[piece], grid.surface_tilt[piece])


def scores_of(score: Callable[[Grid], Array], part: Grid) -> Array:
    """Return the scores of some candidates, which must be one number each."""
    found = np.asarray(score(part))
    if found.shape != (len(part),) or found.dtype.kind not in "fiu":
        raise ParameterError("a score must be one number for every candidate, in an array")
    return found


@checked
def search_exhaustive(grid: Grid, score: Callable[[Grid], Array]) -> SearchResult:
    """Score every candidate of a grid."""
    scores = np.empty(len(grid))
    for piece, part in blocks(grid):
        scores[piece] = scores_of(score, part)
    return SearchResult(grid, scores)


Array = NDArray[np.float64]

# What is kept is one row of floats per observation: more than this many numbers is refused.
MOST_NUMBERS = 250_000_000


@dataclass(frozen=True, slots=True)
class Kernel:
    """The paper's radial basis function, Σ(λ, λ') = exp(-||λ - λ'||²), in chosen units.

    The paper writes it without a length scale, so that its reach is one unit of whatever λ is
    measured in. Here λ is measured in ``length_scale`` degrees: at that distance the correlation is
    exp(-1). In scikit-learn's convention, exp(-d² / 2ℓ²), the length scale is √2 times smaller.
    """

    # Of azimuth and of tilt. Default: one radian for both, which reproduces the paper's figures
    # [degrees]
    length_scale: tuple[float, float] = (180.0 / math.pi, 180.0 / math.pi)
    # Measure azimuths along the chord of the compass, so that 359° is next to 0°. On a circle the
    # length of the arc would not give a valid covariance; the chord does
    wrap: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        for name, value in zip(("azimuth", "tilt"), self.length_scale, strict=True):
            if not (math.isfinite(value) and 0.0 < value <= 10_000.0):
                raise ParameterError(
                    f"the length scale of {name} must be above 0 and at most 10,000 degrees, and"
                    f" {value:g} is not"
                )

    @checked
    def coordinates(self, azimuth: Array, tilt: Array) -> Array:
        """Return the points λ in units of the length scale, one row each."""
        together(azimuth=azimuth, tilt=tilt)
        along, up = self.length_scale
        if not self.wrap:
            return np.column_stack([azimuth / along, tilt / up])
        radius = 180.0 / math.pi / along
        turn = np.radians(azimuth)
        return np.column_stack([radius * np.cos(turn), radius * np.sin(turn), tilt / up])


@checked
def rbf(point: Array, points: Array) -> Array:
    """Return Σ(λ, λ') = exp(-||λ - λ'||²) between one point and many."""
    if points.ndim != 2 or point.shape != points.shape[1:]:
        raise ParameterError("points must have a row for each point, as long as point")
    return np.asarray(np.exp(-((points - point) ** 2).sum(axis=1)))


@checked
def phi(t: int, candidates: int, delta: float) -> float:
    """Return ``φ_t = 2 log(|Λ| t² π² / 6δ)``, the squared width of the t-th confidence bound."""
    whole("t", t, low=1, high=10**15)
    whole("candidates", candidates, low=1, high=10**15)
    check_delta(delta)
    return 2.0 * math.log(candidates * t**2 * math.pi**2 / (6.0 * delta))


def check_delta(delta: float) -> None:
    """Refuse a δ that is no probability strictly between 0 and 1."""
    if not (math.isfinite(delta) and 0.0 < delta < 1.0):
        raise ParameterError(f"delta must be above 0 and below 1, and {delta:g} is not")


def check_jitter(jitter: float) -> None:
    """Refuse a jitter that drowns the scores, or that rounding would drown."""
    if not (math.isfinite(jitter) and 1e-12 <= jitter <= 1.0):
        raise ParameterError(f"jitter must be from 1e-12 to 1, and {jitter:g} is not")


class Posterior:
    """Posterior mean and variance on every point of a grid, kept exact after each observation.

    With the Cholesky factor L of Σ(Λ_t, Λ_t) + ηI, the matrix V = L⁻¹ Σ(Λ_t, Λ) gains one row per
    observation; the paper's ``eq:posterior`` is then μ_t = Vᵀ L⁻¹ ℓ_t, and σ_t² is 1 less the
    column sums of V². One observation costs t products per point instead of t² for solving again.
    """

    @checked
    def __init__(self, points: Array, *, capacity: int, jitter: float = 1e-6) -> None:
        check_jitter(jitter)
        if points.ndim != 2:
            raise ParameterError("points must have a row for each point")
        if capacity < 1:
            raise ParameterError("capacity, the most observations to be held, must be at least 1")
        if capacity * len(points) > MOST_NUMBERS:
            raise ParameterError(
                f"{capacity:,} observations of {len(points):,} candidates take more than"
                f" {8 * MOST_NUMBERS // 10**9} GB; take fewer steps or a coarser grid"
            )
        self._points = points
        self._jitter = jitter
        self._rows = np.empty((capacity, len(points)))
        self._count = 0
        self.mean: Array = np.zeros(len(points))
        self.variance: Array = np.ones(len(points))

    def __len__(self) -> int:
        return self._count

    @checked
    def observe(self, index: int, score: float) -> None:
        """Take in the score of one point, in the prior's units."""
        if self._count == len(self._rows):
            raise ParameterError(f"a posterior for {self._count:,} observations takes no more")
        whole("index", index, low=0, high=len(self._points) - 1)
        before = self._rows[: self._count]
        seen = before[:, index]
        # In exact arithmetic the pivot is at least the jitter; rounding must not say otherwise.
        pivot = math.sqrt(max(1.0 + self._jitter - float(seen @ seen), self._jitter))
        row = rbf(self._points[index], self._points)
        row -= seen @ before
        row /= pivot
        # The mean moves by what the score says beyond what was expected at its point.
        self.mean += row * ((score - float(self.mean[index])) / pivot)
        self.variance -= row * row
        np.maximum(self.variance, 0.0, out=self.variance)
        self._rows[self._count] = row
        self._count += 1


class ScalingSource(StrEnum):
    """Where a scaling of scores comes from."""

    NONE = "none"
    PUBLIC = "public"
    DATA = "data"


@dataclass(frozen=True, slots=True)
class Scaling:
    """How scores are brought to the prior's zero mean and unit variance: (ℓ - centre) / spread.

    The paper assumes a prior N(0, 1) and feeds it the fit score as it is: the default. A centre and
    a spread chosen in public keep its argument as it stands. Taken from the scores themselves they
    depend on the data, which the paper's privacy argument does not cover, and ``source`` says so.
    """

    centre: float = 0.0  # what is subtracted
    spread: float = 1.0  # what the difference is divided by
    source: ScalingSource = ScalingSource.NONE  # where the two come from

    def __post_init__(self) -> None:
        check_fields(self)
        if not (math.isfinite(self.centre) and math.isfinite(self.spread) and self.spread > 0.0):
            raise ParameterError("a scaling needs a finite centre and a finite spread above 0")
        if self.source is ScalingSource.NONE and (self.centre, self.spread) != (0.0, 1.0):
            raise ParameterError("a scaling must name its source: Scaling.public or Scaling.of")

    def __repr__(self) -> str:
        if self.source is ScalingSource.DATA:
            return "Scaling(by the data, private)"
        return f"Scaling({self.centre:g}, {self.spread:g}, {self.source.value})"

    @classmethod
    @checked
    def public(cls, centre: float, spread: float) -> Scaling:
        """Return a scaling by numbers chosen without looking at the readings."""
        return cls(centre, spread, ScalingSource.PUBLIC)

    @classmethod
    @checked
    def of(cls, scores: Array) -> Scaling:
        """Return the scaling that standardises some scores: data-dependent."""
        if len(scores) < 2:
            raise ParameterError("standardising scores needs a warm start of at least two points")
        spread = float(scores.std())
        # equal scores spread by rounding alone, and nothing is to be divided by that
        flat = spread <= 1e-12 * float(np.abs(scores).max())
        return cls(float(scores.mean()), 1.0 if flat else spread, ScalingSource.DATA)

    @checked
    def forward(self, score: float) -> float:
        """Return a score in the prior's units."""
        return (score - self.centre) / self.spread

    @checked
    def back(self, values: Array) -> Array:
        """Return values in the prior's units as scores."""
        return np.asarray(self.centre + self.spread * values)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The parameters of a run of GP-UCB."""

    steps: int = 100  # T, the points chosen by the upper confidence bound, after the warm start
    # Points looked at before: how many, drawn with ``seed``, or which, by their index
    warm_start: int | Sequence[int] = 10
    delta: float = 0.1  # δ of the confidence bound: it holds with probability 1 - δ under the prior
    kernel: Kernel = field(default_factory=Kernel)  # the prior's covariance
    # How scores are brought to the prior; None standardises by the warm start's scores
    scaling: Scaling | None = field(default_factory=Scaling)
    jitter: float = 1e-6  # variance added to each observation
    seed: int = 0  # of the warm start

    def __post_init__(self) -> None:
        check_fields(self)
        if not (_is_whole(self.steps) and 1 <= self.steps <= 100_000):
            raise ParameterError(
                f"steps must be a whole number from 1 to 100,000, and {self.steps!r} is not"
            )
        named = self.warm_start if isinstance(self.warm_start, Sequence) else (self.warm_start,)
        if not all(_is_whole(number) for number in named):
            raise ParameterError(
                "warm_start must be a whole number of points, or a sequence of their indices, with"
                " none below 0"
            )
        if not _is_whole(self.seed):
            raise ParameterError(f"seed must be a whole number from 0, and {self.seed!r} is not")
        check_delta(self.delta)
        check_jitter(self.jitter)


@dataclass(frozen=True, slots=True, eq=False)
class BayesResult:
    """What GP-UCB looked at, and what it came to believe."""

    grid: Grid  # the candidates
    points: NDArray[np.intp]  # index of each candidate looked at, in order, the warm start first
    scores: Array  # what was observed there
    mean: Array  # posterior mean of every candidate, in the prior's units
    variance: Array  # posterior variance of every candidate
    warm: int  # how many of the points are the warm start
    settings: SearchSettings  # what it was run with
    scaling: Scaling  # how scores were brought to the prior, as used
    optimum: float | None  # the highest score of the grid where it is known

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        return f"BayesResult({len(self.points)} of {len(self.grid)} candidates, private)"

    @property
    def best_index(self) -> int:
        """The candidate with the highest score seen."""
        return int(self.points[self.scores.argmax()])

    @property
    def best(self) -> Plane:
        """The plane with the highest score seen."""
        return self.grid[self.best_index]

    @property
    def likelihood(self) -> Array:
        """Posterior mean of every candidate as a score: what the paper draws as log-likelihood."""
        return self.scaling.back(self.mean)

    @property
    def regret(self) -> Array:
        """Instantaneous regret r_t: the optimum less what was observed.

        Without a known optimum, the best observation takes its place.
        """
        # one candidate scored alone may differ in its last digit from the same among many
        best = max(float(self.scores.max()), -math.inf if self.optimum is None else self.optimum)
        return best - self.scores

    @property
    def cumulative_regret(self) -> Array:
        """Cumulative regret R_t."""
        return np.cumsum(self.regret)


@checked
def ucb(mean: Array, variance: Array, width: float) -> Array:
    """Return the acquisition μ_{t-1} + √φ_t σ_{t-1}."""
    together(mean=mean, variance=variance)
    number("width", width, low=0.0)
    return mean + math.sqrt(width) * np.sqrt(variance)


@checked
def search_bayesian(
    grid: Grid,
    score: Callable[[Grid], Array],
    *,
    settings: SearchSettings | None = None,
    optimum: float | None = None,
) -> BayesResult:
    """Look for the best candidate of a grid by GP-UCB."""
    settings = settings or SearchSettings()
    warm = _warm_points(settings, len(grid))
    total = len(warm) + settings.steps
    coordinates = settings.kernel.coordinates(grid.surface_azimuth, grid.surface_tilt)
    posterior = Posterior(coordinates, capacity=total, jitter=settings.jitter)
    first = np.array([_observe(grid, score, index) for index in warm])
    scaling = Scaling.of(first) if settings.scaling is None else settings.scaling
    points, scores = list(warm), list(first)
    for index, seen in zip(warm, first, strict=True):
        posterior.observe(index, scaling.forward(seen))
    for t in range(len(warm) + 1, total + 1):
        width = phi(t, len(grid), settings.delta)
        index = int(ucb(posterior.mean, posterior.variance, width).argmax())
        seen = _observe(grid, score, index)
        posterior.observe(index, scaling.forward(seen))
        points.append(index)
        scores.append(seen)
    return BayesResult(
        grid=grid,
        points=np.asarray(points, dtype=np.intp),
        scores=np.asarray(scores, dtype=np.float64),
        mean=posterior.mean,
        variance=posterior.variance,
        warm=len(warm),
        settings=settings,
        scaling=scaling,
        optimum=optimum,
    )


def _is_whole(value: object) -> bool:
    """Tell whether something is a whole number, 0 or more: neither a truth value nor a float."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)


def _warm_points(settings: SearchSettings, candidates: int) -> list[int]:
    """Return the indices of the warm start."""
    asked = settings.warm_start
    if isinstance(asked, Sequence):
        if any(index >= candidates for index in asked):
            raise ParameterError(f"warm_start names candidates outside 0 to {candidates - 1}")
        return [int(index) for index in asked]
    if asked > candidates:
        raise ParameterError(f"a warm start of {asked} is more than the grid's {candidates}")
    rng = np.random.default_rng(settings.seed)
    return [int(index) for index in rng.choice(candidates, size=asked, replace=False)]


def _observe(grid: Grid, score: Callable[[Grid], Array], index: int) -> float:
    piece = slice(index, index + 1)
    part = Grid(grid.surface_azimuth[piece], grid.surface_tilt[piece])
    seen = float(scores_of(score, part)[0])
    if not math.isfinite(seen):
        raise ParameterError("a score must be a finite number for every candidate")
    return seen
