"""Checks of noise on counts, and of what its ρ is said to mean, that can fail.

Gaussian noise has infinitely many answers, and its claim is of ρ. So the divergence of neighbours
is summed over the whole law, and the δ that they really need at the ε of the conversion is held
against the δ that was asked for.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.privacy.audit import SamplerFinding, audit_sampler
from sunveil.privacy.concentrated import rho_to_epsilon
from sunveil.privacy.counting import CountNoise, Counts, DiscreteGaussian, Sensitivity
from sunveil.privacy.guarantee import Guaranteed
from sunveil.privacy.units import System

Array = NDArray[np.float64]

ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)
DELTAS = (1e-3, 1e-6, 1e-9)
# What sums over a law may be rounded by.
_ROUNDING = 1e-9
# Noise further out than this many deviations is not summed: less than e^-98 of it.
_REACH = 14.0
_LARGEST_SCALE = 20_000.0


@dataclass(frozen=True, slots=True)
class NoiseNeighbours:
    """Neighbours that move some cells by as much each.

    Parameters
    ----------
    cells
        How many cells move.
    move
        By how much each.
    """

    cells: int
    move: int

    @property
    def sensitivity(self) -> Sensitivity:
        """What noise for these neighbours must be scaled to."""
        return Sensitivity(self.cells * self.move, self.cells * self.move**2)


@dataclass(frozen=True, slots=True)
class ConcentratedFinding:
    """What the exact audit of Gaussian noise found.

    Parameters
    ----------
    mechanism, unit
        What was audited, and what its neighbours differ in.
    rho
        The claim.
    largest
        The largest Rényi divergence of neighbours over its order.
    share_of_delta
        The δ that neighbours need at the ε of the conversion, over the δ asked for: the largest.
    """

    mechanism: str
    unit: str
    rho: float
    largest: float
    share_of_delta: float

    @property
    def holds(self) -> bool:
        """Whether neighbours are no further apart than claimed, but for rounding of sums."""
        within = self.largest <= self.rho * (1.0 + _ROUNDING)
        return within and self.share_of_delta <= 1.0 + _ROUNDING

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON types."""
        return {**asdict(self), "holds": self.holds}


def audit_gaussian(mechanism: DiscreteGaussian, neighbours: NoiseNeighbours) -> ConcentratedFinding:
    """Hold Gaussian noise, and the conversion of its ρ, against neighbours at the largest move.

    Parameters
    ----------
    mechanism
        What is audited.
    neighbours
        How neighbours move the counts.
    """
    noise, logs = _law(mechanism, neighbours.sensitivity)
    moved = mechanism.log_probabilities(noise - neighbours.move, neighbours.sensitivity)
    largest = max(neighbours.cells * _renyi(logs, moved, a) / a for a in ORDERS)
    needed = [
        gaussian_delta(mechanism, neighbours, epsilon=rho_to_epsilon(mechanism.rho, delta)) / delta
        for delta in DELTAS
    ]
    name = type(mechanism).__name__
    return ConcentratedFinding(name, str(System()), mechanism.rho, largest, max(needed))


def gaussian_delta(
    mechanism: DiscreteGaussian, neighbours: NoiseNeighbours, *, epsilon: float
) -> float:
    """Return the least δ with which neighbours are (ε, δ) apart, summed over the whole law.

    Parameters
    ----------
    mechanism
        The noise.
    neighbours
        How they move the counts.
    epsilon
        The ε that is claimed.
    """
    noise, logs = _law(mechanism, neighbours.sensitivity)
    one = np.exp(logs)
    law = one
    for _ in range(neighbours.cells - 1):
        law = np.convolve(law, one)
    # the loss of an answer depends on the sum of the noises of the moved cells alone
    total = neighbours.cells * int(noise[0]) + np.arange(len(law))
    scale = mechanism.scale(neighbours.sensitivity)
    moves = neighbours.cells * neighbours.move**2 - 2.0 * neighbours.move * total
    loss = moves / (2.0 * scale**2)
    return float((law * -np.expm1(np.minimum(epsilon - loss, 0.0))).sum())


def audit_noise(
    mechanism: CountNoise, sensitivity: Sensitivity, draws: int, *, name: str | None = None
) -> SamplerFinding:
    """Hold draws of noise against its law, by a chi-square test.

    Parameters
    ----------
    mechanism, sensitivity
        What is drawn from, and what it is scaled to.
    draws
        How often.
    name
        What it is called in the finding.
    """
    cell = Counts(np.zeros(1, dtype=np.int64), sensitivity, System(), "none")
    called = type(mechanism).__name__ if name is None else name
    return audit_sampler(_OneCell(mechanism), cell, draws, name=called)


@dataclass(frozen=True, slots=True)
class _OneCell:
    """The noise of one count, as a mechanism whose answers are those near it and all others."""

    mechanism: CountNoise

    def guarantee(self, score: Counts) -> Guaranteed:
        return self.mechanism.guarantee(score)

    def probabilities(self, score: Counts) -> Array:
        noise = np.arange(-self._reach(score), self._reach(score) + 1)
        law = np.exp(self.mechanism.log_probabilities(noise, score.sensitivity))
        return np.append(law, max(0.0, 1.0 - float(law.sum())))

    def draw(self, score: Counts) -> int:
        reach = self._reach(score)
        drawn = int(self.mechanism.draw(score)[0] - score.values[0])
        return drawn + reach if abs(drawn) <= reach else 2 * reach + 1

    def _reach(self, score: Counts) -> int:
        return math.ceil(4.0 * self.mechanism.deviation(score.sensitivity))


def _law(mechanism: DiscreteGaussian, sensitivity: Sensitivity) -> tuple[NDArray[np.int64], Array]:
    """Return all noise that has any weight, and the logarithms of its probabilities."""
    scale = mechanism.scale(sensitivity)
    if scale > _LARGEST_SCALE:
        raise ParameterError(f"noise with a scale above {_LARGEST_SCALE:g} is not audited by sums")
    # neighbours lie within √(2ρ) deviations of each other, and orders look further still
    far = _REACH + ORDERS[-1] * math.sqrt(2.0 * mechanism.rho)
    reach = math.ceil(far * scale) + 1
    noise = np.arange(-reach, reach + 1)
    return noise, mechanism.log_probabilities(noise, sensitivity)


def _renyi(ours: Array, theirs: Array, order: float) -> float:
    logs = order * ours + (1.0 - order) * theirs
    top = float(logs.max())
    return (top + math.log(float(np.exp(logs - top).sum()))) / (order - 1.0)
