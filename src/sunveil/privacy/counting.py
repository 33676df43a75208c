"""Noisy counts and sums: the discrete Laplace mechanism, in exact arithmetic through OpenDP.

Proof: ``docs/proofs/discrete-laplace.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.privacy.guarantee import Guarantee, check_release_epsilon
from sunveil.privacy.select import opendp_prelude
from sunveil.privacy.units import Unit

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# Far from where 64-bit numbers end, noise included.
_LARGEST_VALUE, _LARGEST_SENSITIVITY = 2**62, 2**40


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Whole numbers about private rows, with how far neighbours can move them: private.

    Parameters
    ----------
    values
        One whole number per cell.
    sensitivity
        How far neighbours can move all cells together: the sum of the absolute changes.
    unit
        What neighbours differ in.
    proof
        The page of the documentation that proves the sensitivity.
    """

    values: Whole
    sensitivity: int
    unit: Unit
    proof: str

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64 or self.values.ndim != 1 or len(self.values) == 0:
            raise ParameterError("counts are one whole number (int64) per cell, in one row")
        check_sensitivity(self.sensitivity)
        if self.values.min() < -_LARGEST_VALUE or self.values.max() > _LARGEST_VALUE:
            raise ParameterError("counts lie within 2**62 of zero")

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return (
            f"Counts({len(self.values)} cells, sensitivity {self.sensitivity} for {self.unit},"
            " private)"
        )


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Add to every cell a whole number k with Pr[k] ∝ exp(-|k| / b), b = Δ / ε.

    Parameters
    ----------
    epsilon
        What one draw of all cells costs.

    Privacy
    -------
    Pure ε-DP for the counts' unit, Δ being their sensitivity in the sum of absolute changes. Proof:
    ``docs/proofs/discrete-laplace.md``.
    """

    epsilon: float

    def __post_init__(self) -> None:
        check_release_epsilon(self.epsilon)

    def guarantee(self, counts: Counts) -> Guarantee:
        """Return what one draw of all cells promises."""
        return Guarantee(counts.unit, self.epsilon, 0.0, "docs/proofs/discrete-laplace.md")

    def scale(self, sensitivity: int) -> float:
        """Return b: the smallest near Δ/ε whose loss, by OpenDP's own map, is within ε."""
        check_sensitivity(sensitivity)
        scale = sensitivity / self.epsilon
        # a rounded quotient may fall short of Δ/ε by its last bit
        while _measurement(scale).map(sensitivity) > self.epsilon:
            scale = math.nextafter(scale, math.inf)
        return scale

    def deviation(self, sensitivity: int) -> float:
        """Return the standard deviation of the noise of one cell."""
        return 1.0 / (math.sqrt(2.0) * math.sinh(0.5 / self.scale(sensitivity)))

    def log_probabilities(self, noise: Whole, sensitivity: int) -> Array:
        """Return the logarithm of the probability of each amount of noise, finite for all."""
        scale = self.scale(sensitivity)
        return np.asarray(math.log(math.tanh(0.5 / scale)) - np.abs(noise) / scale)

    def probabilities(self, noise: Whole, sensitivity: int) -> Array:
        """Return the probability of each amount of noise."""
        return np.exp(self.log_probabilities(noise, sensitivity))

    def draw(self, counts: Counts) -> Whole:
        """Return all cells with noise: one release."""
        drawn = _measurement(self.scale(counts.sensitivity))(counts.values)
        return np.array(drawn, dtype=np.int64)


def check_sensitivity(sensitivity: int) -> None:
    """Refuse what is not a whole number from 1 to 2**40."""
    given: Any = sensitivity
    whole = isinstance(given, int) and not isinstance(given, bool)
    if not (whole and 1 <= given <= _LARGEST_SENSITIVITY):
        raise ParameterError("the sensitivity of counts is a whole number from 1 to 2**40")


def _measurement(scale: float) -> Any:
    dp = opendp_prelude()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return dp.m.make_laplace(*space, scale=scale)
