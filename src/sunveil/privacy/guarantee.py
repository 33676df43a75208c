"""What a release promises, in three types that no code can take for each other.

A :class:`Guarantee` holds for every pair of neighbours and whatever the data are; so does a
:class:`ConcentratedGuarantee`, which counts in ρ and is an ε only beside a δ. A
:class:`ConditionalGuarantee` holds only if an assumption about the data does. None is a kind of
another, so that what asks for one is not given the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from sunveil.arguments import check_fields, is_number, shown
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.privacy.concentrated import rho_to_epsilon
from sunveil.privacy.units import Unit

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-4, 50.0
# ε²/2 of the largest ε, and the least that a ledger counts.
SMALLEST_RHO, LARGEST_RHO = 1e-9, 1250.0


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Differential privacy in the worst case: for all neighbours, over the mechanism's coins.

    Parameters
    ----------
    unit
        What neighbours differ in.
    epsilon, delta
        For every event A and all neighbours, Pr[A] <= exp(ε) Pr'[A] + δ.
    proof
        The page of the documentation that proves it.
    """

    unit: Unit
    epsilon: float
    delta: float
    proof: str

    def __post_init__(self) -> None:
        check_fields(self)
        check_epsilon(self.epsilon)
        _check_delta(self.delta)

    def __str__(self) -> str:
        return f"{_amount(self.epsilon, self.delta)}-DP in the worst case, for {self.unit}"

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as plain JSON types."""
        return {"kind": "worst-case", **_common(self)}


@dataclass(frozen=True, slots=True)
class ConditionalGuarantee:
    """Differential privacy only if an assumption about the data holds.

    Parameters
    ----------
    unit
        What neighbours differ in.
    epsilon, delta
        As for :class:`Guarantee`, but δ also pays for the assumption's failures.
    proof
        Where the argument stands.
    condition
        What is assumed, in one sentence.
    caveats
        What the argument does not cover and was done all the same.
    """

    unit: Unit
    epsilon: float
    delta: float
    proof: str
    condition: str
    caveats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        check_epsilon(self.epsilon)
        _check_delta(self.delta)

    def __str__(self) -> str:
        return (
            f"{_amount(self.epsilon, self.delta)}-DP for {self.unit}, conditional:"
            f" {' '.join((self.condition, *self.caveats))}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as plain JSON types."""
        return {
            "kind": "conditional",
            **_common(self),
            "condition": self.condition,
            "caveats": list(self.caveats),
        }


@dataclass(frozen=True, slots=True)
class ConcentratedGuarantee:
    """Zero-concentrated differential privacy in the worst case: for all neighbours.

    Parameters
    ----------
    unit
        What neighbours differ in.
    rho
        For all neighbours and every α > 1, the Rényi divergence of order α is at most αρ.
    proof
        The page of the documentation that proves it.
    """

    unit: Unit
    rho: float
    proof: str

    def __post_init__(self) -> None:
        check_fields(self)
        check_release_rho(self.rho)

    def __str__(self) -> str:
        return f"ρ = {self.rho:g} zero-concentrated DP in the worst case, for {self.unit}"

    @checked
    def epsilon_at(self, delta: float) -> float:
        """Return the ε with which it is (ε, δ)-DP: ``docs/proofs/concentrated.md``."""
        return rho_to_epsilon(self.rho, delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as plain JSON types."""
        return {
            "kind": "concentrated",
            "unit": str(self.unit),
            "adjacency": "replacement",
            "rho": self.rho,
            "proof": self.proof,
        }


Guaranteed = Guarantee | ConditionalGuarantee | ConcentratedGuarantee


def check_epsilon(epsilon: float) -> None:
    """Refuse an ε that is not a finite number above zero."""
    given: Any = epsilon
    if not (is_number(given) and 0.0 < given < math.inf):
        raise ParameterError(f"epsilon must be a finite number above 0, and {shown(given)} is not")


def check_release_epsilon(epsilon: float) -> None:
    """Refuse an ε that no release can mean: zero, not finite, too small or absurdly large."""
    check_epsilon(epsilon)
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon must be from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}, and"
            f" {shown(epsilon)} is not: less gives an answer of chance, more protects nobody"
        )


def check_release_rho(rho: float) -> None:
    """Refuse a ρ that no release can mean: zero, not finite, too small or absurdly large."""
    given: Any = rho
    number = isinstance(given, Real) and not isinstance(given, bool)
    if not (number and SMALLEST_RHO <= given <= LARGEST_RHO):
        raise ParameterError(
            f"rho must be from {SMALLEST_RHO:g} to {LARGEST_RHO:g}, and {rho} is not: less gives an"
            " answer of chance, more protects nobody"
        )


def _check_delta(delta: float) -> None:
    if not 0.0 <= delta < math.inf:
        raise ParameterError(f"delta must be a finite number, 0 or more, and {delta:g} is not")


def _amount(epsilon: float, delta: float) -> str:
    return f"ε = {epsilon:g}" if delta == 0.0 else f"(ε = {epsilon:g}, δ = {delta:g})"


def _common(guarantee: Guarantee | ConditionalGuarantee) -> dict[str, Any]:
    return {
        "unit": str(guarantee.unit),
        "adjacency": "replacement",
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "proof": guarantee.proof,
    }
