"""Drawing from a finite distribution in exact arithmetic, through OpenDP.

Candidates of equal score are equally likely, so that a draw is two: of a score among the scores
that occur, by its total weight, and of a candidate among its equals. Hundreds of thousands of
candidates have some hundreds of scores: the draw's time no longer grows with their number, and
hardly depends on how peaked they are.

Proof: ``docs/proofs/sampling.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.privacy.guarantee import check_epsilon

Array = NDArray[np.float64]

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
    """The scores that occur, and how many candidates have each: private.

    Parameters
    ----------
    levels
        Distinct scores, increasing.
    counts
        How many candidates have each.
    """

    levels: NDArray[np.int64]
    counts: NDArray[np.int64]

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
    """Return OpenDP with its mechanisms enabled, under the names of its prelude.

    The prelude itself would load scikit-learn, SciPy's statistics and more where they are
    installed, which takes longer than all else of a release.
    """
    from opendp import domains, measurements, measures, metrics, mod

    mod.enable_features("contrib")
    names = {**vars(domains), **vars(metrics), **vars(measures)}
    return SimpleNamespace(**names, m=measurements)


def _noisy_max(levels: NDArray[np.int64], measure: Any, scale: float) -> int:
    dp = opendp_prelude()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    return int(dp.m.make_noisy_max(*space, measure, scale=scale)(levels))


def draw_exponential(levels: NDArray[np.int64], *, sensitivity: int, epsilon: float) -> int:
    """Return one index with probability proportional to exp(ε level / 2Δ).

    Parameters
    ----------
    levels
        One whole number per candidate.
    sensitivity
        Δ: how far neighbours can move any level.
    epsilon
        The ε of one draw.
    """
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
    """Return one index with probability proportional to the exponential of its log-weight.

    OpenDP's exponential mechanism on the log-weights as whole numbers, at the scale at which it
    draws exactly in these proportions.
    """
    below = np.maximum(log_weights - log_weights.max(), -FARTHEST)
    steps = np.floor(below * 2.0**BITS).astype(np.int64)
    return _noisy_max(steps, opendp_prelude().zero_concentrated_divergence(), 2.0**BITS)


def draw_uniform(count: int) -> int:
    """Return one of ``count`` indices, all equally likely.

    Two digits are drawn, so that the time grows with the square root of the count only, and drawn
    anew where they are no index, which happens less than once in that root.
    """
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
    """Return one candidate, given the log-probability of a candidate of each level.

    Parameters
    ----------
    table
        The levels that occur.
    log_probabilities
        Log-probability of one candidate of each level.
    levels
        The level of every candidate.
    """
    chosen = draw_weighted(log_probabilities + np.log(table.counts))
    equals = np.flatnonzero(levels == table.levels[chosen])
    return int(equals[draw_uniform(len(equals))])
