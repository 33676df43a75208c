"""Score; permute-and-flip and exponential mechanism, exact through OpenDP."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sunveil._extras import require_extras
from sunveil._options import check_fields, checked, together
from sunveil.errors import ParameterError
from sunveil.privacy.guarantees import Guarantee, System, Unit, check_epsilon, check_release_epsilon

# No count comes near it, and differences of levels up to it are 64-bit numbers.
_LARGEST = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """How well each candidate of a public list explains private data, in whole numbers: private.

    Parameters
    ----------
    levels
        One whole number per candidate; higher is better.
    sensitivity
        Largest change of a level between neighbours.
    unit
        Unit in which neighbours differ.
    proof
        The page of the documentation that proves the sensitivity.
    one_sided
        Whether neighbours move all levels the same way, up or down: then no two levels move apart
        by more than the sensitivity, and a draw may be twice as sharp (``docs/proofs/clip.md``).
    """

    levels: NDArray[np.int64]
    sensitivity: int
    unit: Unit
    proof: str
    one_sided: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.levels.dtype != np.int64 or self.levels.ndim != 1 or len(self.levels) == 0:
            raise ParameterError("a score is one whole number (int64) per candidate, in one row")
        if not 1 <= self.sensitivity <= _LARGEST:
            raise ParameterError("the sensitivity of a score is 1 or more, and at most 2**62")
        if self.levels.min() < -_LARGEST or self.levels.max() > _LARGEST:
            raise ParameterError("the levels of a score lie within 2**62 of zero")

    @property
    def range(self) -> int:
        """How far neighbours can move two levels apart."""
        return self.sensitivity if self.one_sided else 2 * self.sensitivity

    def __len__(self) -> int:
        return len(self.levels)

    def __repr__(self) -> str:
        return (
            f"Score({len(self.levels)} candidates, sensitivity {self.sensitivity} for {self.unit},"
            " private)"
        )


@dataclass(frozen=True, slots=True)
class Axis:
    """One public dimension of candidates."""

    size: int  # how many values it has
    step: float = 1.0  # distance between neighbouring values, in its own unit
    wraps: bool = False  # whether the last value is next to the first

    def __post_init__(self) -> None:
        check_fields(self)
        if self.size < 1 or not self.step > 0.0:
            raise ParameterError("an axis has at least one value and a positive step")


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Where among public axes a whole record is best explained: private.

    Any function of the record may have placed it: neighbours, which replace the whole record, may
    be placed anywhere.
    """

    place: tuple[int, ...]  # the position along each axis
    axes: tuple[Axis, ...]  # the axes

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.place) != len(self.axes) or not self.axes:
            raise ParameterError("a placement has one position per axis, and at least one axis")
        if any(not 0 <= p < a.size for p, a in zip(self.place, self.axes, strict=True)):
            raise ParameterError("a placement must lie within its axes")

    @property
    def unit(self) -> Unit:
        """What neighbours differ in: the whole record."""
        return System()

    def __repr__(self) -> str:
        sizes = " x ".join(str(axis.size) for axis in self.axes)
        return f"Placement(among {sizes}, private)"


# Logarithms of weights are rounded down to whole multiples of 2**-BITS before the draw.
BITS = 32

# What lies further below the top, in nats, is held here, so that 64 bits can count it.
FARTHEST = 2.0**30

# The ε that is kept back so that rounding, here and in the weights, cannot exceed the claim.
SLACK = 2.0**-24

# Spans of scores up to this are counted in one pass; wider ones are sorted.
_COUNTABLE = 50_000_000


@dataclass(frozen=True, slots=True, eq=False)
class LevelTable:
    """The scores that occur, and how many candidates have each: private."""

    levels: NDArray[np.int64]  # distinct scores, increasing
    counts: NDArray[np.int64]  # how many candidates have each

    def __repr__(self) -> str:
        return "LevelTable(private)"

    @classmethod
    def of(cls, levels: NDArray[np.int64]) -> LevelTable:
        """Return the table of some scores."""
        low = int(levels.min())
        if int(levels.max()) - low > _COUNTABLE:
            distinct, counts = np.unique(levels, return_counts=True)
            return cls(distinct, counts.astype(np.int64))
        tally = np.bincount(levels - low)
        present = np.flatnonzero(tally)
        return cls(present + low, tally[present])

    def spread(self, values: Array, levels: NDArray[np.int64]) -> Array:
        """Return the value of its level for every candidate."""
        return values[np.searchsorted(self.levels, levels)]


@cache
def opendp_prelude() -> Any:
    """Return OpenDP with its mechanisms enabled, under the names of its prelude."""
    # The prelude itself would load scikit-learn, SciPy's statistics and more where they are
    # installed, which takes longer than all else of a release.
    require_extras("publish", purpose="a private release")
    from opendp import domains, measurements, measures, metrics, mod

    mod.enable_features("contrib")
    names = {**vars(domains), **vars(metrics), **vars(measures)}
    return SimpleNamespace(**names, m=measurements)


def _noisy_max(levels: NDArray[np.int64], measure: Any, scale: float) -> int:
    dp = opendp_prelude()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    return int(dp.m.make_noisy_max(*space, measure, scale=scale)(levels))


def draw_exponential(levels: NDArray[np.int64], *, sensitivity: int, epsilon: float) -> int:
    """Return one index with probability proportional to exp(ε level / 2Δ)."""
    check_epsilon(epsilon)
    # without noise enough, OpenDP would return the highest level as it is
    if sensitivity < 1 or levels.ndim != 1 or len(levels) == 0 or levels.dtype != np.int64:
        raise ParameterError(
            "an exact draw needs one 64-bit whole number per candidate, at least one candidate, and"
            " a sensitivity of 1 or more"
        )
    scale = 2.0 * sensitivity / epsilon
    if not math.isfinite(scale):
        raise ParameterError(f"epsilon is too small to draw with, and {epsilon:g} is given")
    return _noisy_max(levels, opendp_prelude().zero_concentrated_divergence(), scale)


def draw_weighted(log_weights: Array) -> int:
    """Return one index with probability proportional to the exponential of its log-weight."""
    # OpenDP's exponential mechanism on the log-weights as whole numbers, at the scale at which it
    # draws exactly in these proportions.
    below = np.maximum(log_weights - log_weights.max(), -FARTHEST)
    steps = np.floor(below * 2.0**BITS).astype(np.int64)
    return _noisy_max(steps, opendp_prelude().zero_concentrated_divergence(), 2.0**BITS)


def draw_uniform(count: int) -> int:
    """Return one of ``count`` indices, all equally likely."""
    # Two digits are drawn, so that the time grows with the square root of the count only, and drawn
    # again where they are no index, which happens less than once in that root.
    if count == 1:
        return 0
    base = math.isqrt(count - 1) + 1
    while True:
        index = _draw_equal(-(-count // base)) * base + _draw_equal(base)
        if index < count:
            return index


def _draw_equal(count: int) -> int:
    return _noisy_max(np.zeros(count, dtype=np.int64), opendp_prelude().max_divergence(), 1.0)


def draw_level(table: LevelTable, log_probabilities: Array, levels: NDArray[np.int64]) -> int:
    """Return one candidate, given the log-probability of a candidate of each level."""
    chosen = draw_weighted(log_probabilities + np.log(table.counts))
    equals = np.flatnonzero(levels == table.levels[chosen])
    return int(equals[draw_uniform(len(equals))])


Array = NDArray[np.float64]

# Below this a coin never matters against 1 in double precision.
_NEVER = -38.0

_PANELS, _NODES = 56, 14

# Levels further below the top than this are raised to it, which keeps rounding below SLACK and
# moves no level further than the top or itself moves. [nats]
_DEEPEST = 2.0**22


def _gaps(table: LevelTable, apart: int, epsilon: float) -> Array:
    """Return how far each level is below the top, in nats; ε is what moving apart may cost."""
    nats = (epsilon - SLACK) / apart
    deepest = min(math.floor(_DEEPEST / nats), np.iinfo(np.int64).max)
    below = np.maximum(table.levels - table.levels[-1], -deepest)
    return np.asarray(nats * below.astype(np.float64))


def _log_sum(logs: Array, counts: NDArray[np.int64]) -> float:
    top = float(logs.max())
    return top + float(np.log((counts * np.exp(logs - top)).sum()))


def permute_and_flip_logs(log_coins: Array, counts: NDArray[np.int64]) -> Array:
    """Return the log-probability that permute-and-flip takes one given candidate of each group."""
    # A candidate with heads in a share q of throws is taken with q ∫ Π (1 - t q_j) dt over t from
    # 0 to 1, the product being over all others: t is its own place in the order. The integral is by
    # Gauss-Legendre on panels that halve towards zero, since the product may fall as fast as exp(-t
    # Σ q).
    places, weights = _nodes()
    fair = log_coins > _NEVER
    coins, many = np.exp(log_coins[fair]), counts[fair].astype(np.float64)
    rare = float((counts[~fair] * np.exp(log_coins[~fair])).sum())
    heads = np.outer(places, coins)
    product = np.exp(np.log1p(-heads) @ many - places * rare)
    shares = np.empty(len(log_coins))
    shares[fair] = (weights * product) @ (1.0 / (1.0 - heads))
    shares[~fair] = float(weights @ product)
    # an integral of what is at most one; on some processors its sum rounds to a last digit above
    return np.asarray(log_coins + np.log(np.minimum(shares, 1.0)))


@functools.cache
def _nodes() -> tuple[Array, Array]:
    """Return places and weights of the integral over [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(_NODES)
    edges = np.concatenate([[0.0], 2.0 ** -np.arange(_PANELS - 1, -1.0, -1.0)])
    low, width = edges[:-1, None], np.diff(edges)[:, None]
    return (low + width * (x + 1.0) / 2.0).ravel(), (width * w / 2.0).ravel()


@dataclass(frozen=True, slots=True)
class Selection(ABC):
    """A mechanism that selects a candidate by how far its level is below the top."""

    epsilon: float  # what one draw costs
    proof: ClassVar[str]

    def __post_init__(self) -> None:
        check_release_epsilon(self.epsilon)

    @staticmethod
    @abstractmethod
    def group_log_probabilities(gaps: Array, counts: NDArray[np.int64]) -> Array:
        """Return the log-probability of one candidate of each group, by its gap in nats."""

    def guarantee(self, score: Score) -> Guarantee:
        """Return what one draw from the score promises."""
        return Guarantee(score.unit, self.epsilon, 0.0, self.proof)

    def log_probabilities(self, score: Score) -> Array:
        """Return the logarithm of the probability of every candidate, finite for all."""
        table = LevelTable.of(score.levels)
        return table.spread(self._log(table, score.range), score.levels)

    def probabilities(self, score: Score) -> Array:
        """Return the probability of every candidate."""
        return np.exp(self.log_probabilities(score))

    def draw(self, score: Score) -> int:
        """Return the index of one candidate: one release."""
        table = LevelTable.of(score.levels)
        return draw_level(table, self._log(table, score.range), score.levels)

    def _log(self, table: LevelTable, apart: int) -> Array:
        return self.group_log_probabilities(_gaps(table, apart, self.epsilon), table.counts)


@dataclass(frozen=True, slots=True)
class Exponential(Selection):
    """The exponential mechanism: Pr[i] ∝ exp(ε level_i / 2Δ), without the 2 for one-sided scores.

    Privacy
    -------
    Pure ε-DP for the score's unit; also ρ = ε²/8 of zero-concentrated DP. Proof:
    ``docs/proofs/exponential.md``.
    """

    proof = "docs/proofs/exponential.md"

    @staticmethod
    @checked
    def group_log_probabilities(gaps: Array, counts: NDArray[np.int64]) -> Array:
        """Return the log-probability of one candidate of each group, by its gap in nats."""
        together(gaps=gaps, counts=counts)
        return gaps - _log_sum(gaps, counts)

    @property
    def rho(self) -> float:
        """What one draw costs in zero-concentrated differential privacy."""
        return self.epsilon**2 / 8.0


@dataclass(frozen=True, slots=True)
class PermuteAndFlip(Selection):
    """Permute-and-flip: try candidates in random order, take i with exp(ε (level_i - top) / 2Δ).

    Equivalently, every candidate flips its coin and one of those that showed heads is taken, all
    equally likely. Never worse in expected score than the exponential mechanism at the same ε.

    Parameters
    ----------
    epsilon
        Cost of one draw.

    Privacy
    -------
    Pure ε-DP for the score's unit. Proof: ``docs/proofs/permute-and-flip.md``.
    """

    proof = "docs/proofs/permute-and-flip.md"

    @staticmethod
    @checked
    def group_log_probabilities(gaps: Array, counts: NDArray[np.int64]) -> Array:
        """Return the log-probability of one candidate of each group, by its gap in nats."""
        together(gaps=gaps, counts=counts)
        return permute_and_flip_logs(gaps, counts)
