"""Exact noise on counts and sums, and what an epsilon or rho buys."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields, checked
from sunveil.errors import ParameterError
from sunveil.privacy.guarantees import (
    ConcentratedGuarantee,
    Guarantee,
    System,
    Unit,
    as_fraction,
    check_release_epsilon,
    check_release_rho,
)
from sunveil.privacy.mechanisms import Exponential, PermuteAndFlip, opendp_prelude

Array = NDArray[np.float64]

Whole = NDArray[np.int64]

# Far from where 64-bit numbers end, noise included.
_LARGEST_VALUE, _LARGEST_SENSITIVITY = 2**62, 2**40

# From this deviation on, sums over whole numbers are the integrals to the last bit.
_SMOOTH = 10.0


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Sensitivity of a vector of counts: the most that neighbouring datasets change it."""

    # L1, the sum of the absolute changes: what :class:`DiscreteLaplace` noise is scaled to
    absolute: int
    # L2 squared, the sum of the squared changes: what :class:`DiscreteGaussian` noise is scaled to.
    # A replaced row of one histogram moves two cells by one: 2 and 2. A total moves by Δ: Δ and Δ².
    squared: int

    def __post_init__(self) -> None:
        check_fields(self)
        if not 1 <= self.absolute <= _LARGEST_SENSITIVITY:
            raise ParameterError("the sensitivity of counts is a whole number from 1 to 2**40")
        # whole numbers: |d| <= d², and the square of a sum of sizes is at least that of squares
        if not self.absolute <= self.squared <= self.absolute**2:
            raise ParameterError(
                "the squared sensitivity of counts lies between the absolute one and its square"
            )

    @property
    def euclidean(self) -> float:
        """The root of the squared sensitivity, rounded up."""
        root = math.sqrt(self.squared)
        while Fraction(root) ** 2 < self.squared:
            root = math.nextafter(root, math.inf)
        return root


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Whole numbers about private rows, with how far neighbours can move them: private."""

    values: Whole  # one whole number per cell
    sensitivity: Sensitivity  # how far neighbours can move all cells together
    unit: Unit  # what neighbours differ in
    proof: str  # the page of the documentation that proves the sensitivity

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64 or self.values.ndim != 1 or len(self.values) == 0:
            raise ParameterError("counts are one whole number (int64) per cell, in one row")
        if self.values.min() < -_LARGEST_VALUE or self.values.max() > _LARGEST_VALUE:
            raise ParameterError("counts lie within 2**62 of zero")

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return (
            f"Counts({len(self.values)} cells, sensitivity {self.sensitivity.absolute} for"
            f" {self.unit}, private)"
        )


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Add to every cell a whole number k with Pr[k] ∝ exp(-abs(k) / b), b = Δ / ε.

    Privacy
    -------
    Pure ε-DP for the counts' unit, Δ being their sensitivity in the sum of absolute changes. Proof:
    ``docs/proofs/discrete-laplace.md``.
    """

    epsilon: float  # what one draw of all cells costs

    def __post_init__(self) -> None:
        check_release_epsilon(self.epsilon)

    @checked
    def guarantee(self, counts: Counts) -> Guarantee:
        """Return what one draw of all cells promises."""
        return Guarantee(counts.unit, self.epsilon, 0.0, "docs/proofs/discrete-laplace.md")

    @checked
    def scale(self, sensitivity: Sensitivity) -> float:
        """Return b: the smallest near Δ/ε with a loss, by OpenDP's own map, within ε."""
        return _laplace_scale(self.epsilon, sensitivity.absolute)

    @checked
    def deviation(self, sensitivity: Sensitivity) -> float:
        """Return the standard deviation of the noise of one cell."""
        return 1.0 / (math.sqrt(2.0) * math.sinh(0.5 / self.scale(sensitivity)))

    @checked
    def log_probabilities(self, noise: Whole, sensitivity: Sensitivity) -> Array:
        """Return the logarithm of the probability of each amount of noise, finite for all."""
        scale = self.scale(sensitivity)
        return np.asarray(math.log(math.tanh(0.5 / scale)) - np.abs(noise) / scale)

    @checked
    def probabilities(self, noise: Whole, sensitivity: Sensitivity) -> Array:
        """Return the probability of each amount of noise."""
        return np.asarray(np.exp(self.log_probabilities(noise, sensitivity)))

    @checked
    def draw(self, counts: Counts) -> Whole:
        """Return all cells with noise: one release."""
        drawn = _laplace(self.scale(counts.sensitivity))(counts.values)
        return np.array(drawn, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Add to every cell a whole number k with Pr[k] ∝ exp(-k² / 2σ²), σ = Δ₂ / √(2ρ).

    Privacy
    -------
    ρ-zCDP for the counts' unit, Δ₂² being their squared sensitivity. Proof:
    ``docs/proofs/discrete-gaussian.md``.
    """

    rho: float  # what one draw of all cells costs

    def __post_init__(self) -> None:
        check_release_rho(self.rho)

    @checked
    def guarantee(self, counts: Counts) -> ConcentratedGuarantee:
        """Return what one draw of all cells promises."""
        return ConcentratedGuarantee(counts.unit, self.rho, "docs/proofs/discrete-gaussian.md")

    @checked
    def scale(self, sensitivity: Sensitivity) -> float:
        """Return σ: the smallest near Δ₂/√(2ρ) with a ρ, by OpenDP's own map, within ρ."""
        return _gaussian_scale(self.rho, sensitivity)

    @checked
    def deviation(self, sensitivity: Sensitivity) -> float:
        """Return the standard deviation of the noise of one cell."""
        scale = self.scale(sensitivity)
        if scale > _SMOOTH:
            return scale
        noise = _reach(scale)
        law = np.exp(-0.5 * (noise / scale) ** 2)
        return math.sqrt(float((law * noise**2).sum() / law.sum()))

    @checked
    def log_probabilities(self, noise: Whole, sensitivity: Sensitivity) -> Array:
        """Return the logarithm of the probability of each amount of noise, finite for all."""
        scale = self.scale(sensitivity)
        total = math.sqrt(2.0 * math.pi) * scale
        if scale <= _SMOOTH:
            total = float(np.exp(-0.5 * (_reach(scale) / scale) ** 2).sum())
        return np.asarray(-0.5 * (noise / scale) ** 2 - math.log(total))

    @checked
    def probabilities(self, noise: Whole, sensitivity: Sensitivity) -> Array:
        """Return the probability of each amount of noise."""
        return np.asarray(np.exp(self.log_probabilities(noise, sensitivity)))

    @checked
    def draw(self, counts: Counts) -> Whole:
        """Return all cells with noise: one release."""
        drawn = _gaussian(self.scale(counts.sensitivity))(counts.values)
        return np.array(drawn, dtype=np.int64)


# What counts can be drawn by: each has draw, deviation, guarantee and log_probabilities.
CountNoise = DiscreteLaplace | DiscreteGaussian


def _enough(scale: float, holds: Callable[[float], bool]) -> float:
    """Return the first scale from a given one up that holds: a quotient may be a bit too small."""
    while not holds(scale):
        scale = math.nextafter(scale, math.inf)
    return scale


@lru_cache(maxsize=256)
def _laplace_scale(epsilon: float, moved: int) -> float:
    return _enough(moved / epsilon, lambda b: _laplace(b).map(moved) <= epsilon)


@lru_cache(maxsize=256)
def _gaussian_scale(rho: float, sensitivity: Sensitivity) -> float:
    moved = sensitivity.euclidean
    start = math.sqrt(sensitivity.squared / (2.0 * rho)) * (1.0 - 2.0**-50)
    return _enough(start, lambda sigma: _gaussian(sigma).map(moved) <= rho)


def _reach(scale: float) -> Whole:
    """Return the whole numbers beyond which a Gaussian of a small scale has no weight."""
    reach = math.ceil(40.0 * scale) + 1
    return np.arange(-reach, reach + 1)


def _laplace(scale: float) -> Any:
    dp = opendp_prelude()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return dp.m.make_laplace(*space, scale=scale)


def _gaussian(scale: float) -> Any:
    dp = opendp_prelude()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return dp.m.make_gaussian(*space, scale=scale, MO="ZeroConcentratedDivergence")


@dataclass(frozen=True, slots=True)
class Spending:
    """An amount of privacy loss."""

    amount: float  # how much
    concentrated: bool = False  # whether it is ρ of zero-concentrated DP, or ε

    def __post_init__(self) -> None:
        (check_release_rho if self.concentrated else check_release_epsilon)(self.amount)

    @classmethod
    def asked(cls, epsilon: float, *, concentrated: bool) -> Spending:
        """Return what an asked ε means: itself, or the ρ = ε²/2 that a release of ε costs."""
        check_release_epsilon(epsilon)
        return cls(below(as_fraction(epsilon) ** 2 / 2), True) if concentrated else cls(epsilon)

    def part(self, share: Fraction) -> Spending:
        """Return a share of it, rounded down, so that shares of 1 together stay within it."""
        return Spending(below(Fraction(self.amount) * share), self.concentrated)

    @property
    def noise(self) -> CountNoise:
        """The mechanism that it buys for whole numbers."""
        return DiscreteGaussian(self.amount) if self.concentrated else DiscreteLaplace(self.amount)

    @property
    def selection(self) -> Exponential | PermuteAndFlip:
        """The mechanism that it buys for a choice from a list."""
        if not self.concentrated:
            return PermuteAndFlip(self.amount)
        epsilon = math.sqrt(8.0 * self.amount)
        while Fraction(epsilon) ** 2 > 8 * Fraction(self.amount):
            epsilon = math.nextafter(epsilon, 0.0)
        return Exponential(epsilon)

    def guarantee(self, proof: str) -> Guarantee | ConcentratedGuarantee:
        """Return what spending it promises for whole records."""
        if self.concentrated:
            return ConcentratedGuarantee(System(), self.amount, proof)
        return Guarantee(System(), self.amount, 0.0, proof)


def below(exact: Fraction) -> float:
    """Return the nearest float that is not above."""
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, 0.0)
