"""The mechanisms that hold in the worst case, each with its exact probabilities.

==================== ======================= ===========================================
mechanism            takes                   for
==================== ======================= ===========================================
``PermuteAndFlip``   a :class:`Score`        one release
``Exponential``      a :class:`Score`        many releases, accounted by ρ = ε²/8 each
``Window``           a :class:`Placement`    a whole record (:mod:`sunveil.privacy.window`)
==================== ======================= ===========================================
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import together
from sunveil.checked import checked
from sunveil.privacy.guarantee import Guarantee, check_release_epsilon
from sunveil.privacy.score import Score
from sunveil.privacy.select import SLACK, LevelTable, draw_level

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
    """Return the log-probability that permute-and-flip takes one given candidate of each group.

    A candidate whose coin shows heads with q is taken with q ∫ Π (1 - t q_j) dt over t from 0 to 1,
    the product being over all others: t is its own place in the order. The integral is by
    Gauss-Legendre on panels that halve towards zero, since the product may fall as fast as
    exp(-t Σ q).

    Parameters
    ----------
    log_coins
        Log-probability of heads of each group's candidates; the largest is zero.
    counts
        How many candidates each group has.
    """
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
    """A mechanism that selects a candidate by how far its level is below the top.

    Parameters
    ----------
    epsilon
        What one draw costs.
    """

    epsilon: float
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

    Parameters
    ----------
    epsilon
        What one draw costs.

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
        What one draw costs.

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
