"""What a part of a publication may spend, and the mechanisms that it buys.

Under a promise without δ it is ε: discrete Laplace noise, and permute-and-flip. Under one with δ it
is ρ of zero-concentrated DP: discrete Gaussian noise, and the exponential mechanism. Which of the
two is public, as the promise is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sunveil.ledger.amounts import as_fraction
from sunveil.privacy.counting import CountNoise, DiscreteGaussian, DiscreteLaplace
from sunveil.privacy.guarantee import (
    ConcentratedGuarantee,
    Guarantee,
    check_release_epsilon,
    check_release_rho,
)
from sunveil.privacy.mechanisms import Exponential, PermuteAndFlip
from sunveil.privacy.units import System


@dataclass(frozen=True, slots=True)
class Spending:
    """An amount of privacy loss.

    Parameters
    ----------
    amount
        How much.
    concentrated
        Whether it is ρ of zero-concentrated DP, or ε.
    """

    amount: float
    concentrated: bool = False

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
