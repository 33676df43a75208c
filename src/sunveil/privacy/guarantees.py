"""Readings, Days, System; guarantees; rho to epsilon; integer amounts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from sunveil._options import check_fields, checked, is_number, shown
from sunveil.errors import ParameterError

# One ε, or one ρ, in the ledger's whole numbers.
NANO = 10**9


def to_nano(amount: float | Fraction) -> int:
    """Return an amount of ε or ρ in billionths, rounded up so that nothing is spent unseen."""
    # A float is read as the shortest number that it prints as: 0.1 is a tenth. Mechanisms keep back
    # far more than the difference (`docs/proofs/sampling.md`).
    return math.ceil(as_fraction(amount) * NANO)


def to_nano_below(amount: float | Fraction) -> int:
    """Return an amount in billionths, rounded down: what a promise may hold at most."""
    return math.floor(as_fraction(amount) * NANO)


def as_fraction(amount: float | Fraction) -> Fraction:
    """Return an amount as a fraction, a float as the shortest number that it prints as."""
    if not isinstance(amount, Rational) and not math.isfinite(amount):
        raise ParameterError("an amount of privacy loss must be a finite number")
    if isinstance(amount, Rational):
        # whole numbers of Python's own, since numpy's wrap where they overflow
        found = Fraction(int(amount.numerator), int(amount.denominator))
    else:
        found = Fraction(repr(float(amount)))
    if found < 0:
        raise ParameterError("an amount of privacy loss must not be negative")
    return found


def from_nano(amount: int) -> float:
    """Return billionths as a plain number, to be shown."""
    return amount / NANO


# Every order α above 1 gives a true bound, so the search decides how good it is, never whether it
# holds. These are the logarithms of α - 1 between which the best one lies for any ρ from 1e-9 to
# 1e4 and any δ from 1e-15 to 1e-2.
_LOWEST, _HIGHEST = -12.0, 16.0

_STEPS = 80

# More than the terms of a bound can be rounded by, as a share of their sizes.
_ROUNDING = 1e-13


@checked
def rho_to_epsilon(rho: float, delta: float) -> float:
    """Return the ε that ρ of zero-concentrated DP gives at δ: the least bound over the orders α.

    Rounded up: ρ-zCDP implies (ε, δ)-DP with the number that is returned.
    """
    _check(rho, delta)
    if rho == 0.0:
        return 0.0

    def bound(log_order: float) -> float:
        order, rest, size = _order(log_order, delta)
        return order * rho + rest + _ROUNDING * (order * rho + size)

    return max(0.0, bound(_least(bound)))


@checked
def epsilon_to_rho(epsilon: float, delta: float) -> float:
    """Return the largest ρ with at most a promised ε at δ, a little less for rounding."""
    _check(epsilon, delta)

    def lacking(log_order: float) -> float:
        order, rest, size = _order(log_order, delta)
        return -(epsilon - rest - _ROUNDING * (epsilon + size)) / order

    return max(0.0, -lacking(_least(lacking)) * (1.0 - 1e-12))


def _order(log_order: float, delta: float) -> tuple[float, float, float]:
    """Return α, what the bound adds to αρ, and the size of what is rounded in it."""
    above = math.exp(log_order)
    order = 1.0 + above
    # from the rounded α on, so that only the formula's own terms are rounded
    above = order - 1.0
    share = -(math.log(delta) + math.log(order)) / above
    held = math.log(above / order)
    return order, share + held, abs(math.log(delta)) / above + math.log(order) / above + abs(held)


def _least(bound: Callable[[float], float]) -> float:
    """Return where a function with one valley is least, by the golden section."""
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    low, high = _LOWEST, _HIGHEST
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = bound(left), bound(right)
    for _ in range(_STEPS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = bound(right)
    return (low + high) / 2.0


def _check(amount: float, delta: float) -> None:
    if not (math.isfinite(amount) and amount >= 0.0):
        raise ParameterError("an amount of privacy loss is a finite number, 0 or more")
    if not 0.0 < delta < 1.0:
        raise ParameterError(f"the tight conversion needs a delta between 0 and 1, not {delta:g}")


@dataclass(frozen=True, slots=True)
class Readings:
    """Up to ``k`` readings of one system, each replaced by any other, or by none."""

    k: int = 1

    def __post_init__(self) -> None:
        _check_count("readings", self.k)

    def __str__(self) -> str:
        return "any one reading" if self.k == 1 else f"any {self.k} readings"


@dataclass(frozen=True, slots=True)
class Days:
    """All readings of up to ``k`` days of one system, replaced by any others, or by none."""

    k: int = 1

    def __post_init__(self) -> None:
        _check_count("days", self.k)

    def __str__(self) -> str:
        return "any one day" if self.k == 1 else f"any {self.k} days"


@dataclass(frozen=True, slots=True)
class System:
    """The whole record of one system, replaced by any other record."""

    def __str__(self) -> str:
        return "a system's whole record"


Unit = Readings | Days | System


@checked
def parse_unit(text: str) -> Unit:
    """Return the unit that a text names: ``readings:1``, ``days:7``, ``system``."""
    kind, _, count = text.strip().lower().partition(":")
    if kind == "system" and not count:
        return System()
    if kind in ("readings", "days") and (not count or (count.isdecimal() and len(count) <= 9)):
        k = int(count) if count else 1
        return Readings(k) if kind == "readings" else Days(k)
    raise ParameterError(
        f"a unit of protection is readings:K, days:K or system, and {shown(text)} is none of these"
    )


def unit_name(unit: Unit) -> str:
    """Return the text that :func:`parse_unit` reads back."""
    if isinstance(unit, System):
        return "system"
    return f"{'readings' if isinstance(unit, Readings) else 'days'}:{unit.k}"


@checked
def implies(larger: Unit, smaller: Unit) -> bool:
    """Return whether a guarantee for one unit is one for another, at the same ε.

    A whole record holds any days, and ``k`` days hold any ``k`` readings; never the reverse.
    """
    if isinstance(larger, System):
        return True
    if isinstance(smaller, System):
        return False
    if isinstance(larger, Readings) and isinstance(smaller, Days):
        return False
    return larger.k >= smaller.k


def _check_count(what: str, k: object) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError(f"a unit protects a whole number of {what}, 1 or more: give k as one")


SMALLEST_EPSILON, LARGEST_EPSILON = 1e-4, 50.0

# ε²/2 of the largest ε, and the least that a ledger counts.
SMALLEST_RHO, LARGEST_RHO = 1e-9, 1250.0


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Differential privacy in the worst case: for all neighbours, over the mechanism's coins.

    Parameters
    ----------
    unit
        Unit in which neighbours differ.
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
        Unit in which neighbours differ.
    epsilon, delta
        As for :class:`Guarantee`, but δ also pays for the assumption's failures.
    proof
        Page with the argument.
    condition
        The assumption, in one sentence.
    caveats
        What the argument does not cover.
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
        Unit in which neighbours differ.
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


# One count of a register is part of the differences before and after it. The counts of a day are
# part of the differences of that day and, at its ends, of the days before and after.
REGISTER_READINGS, REGISTER_DAYS = 2, 3


def reach(unit: Unit, *, differenced: bool) -> int:
    """Return how many of a record's readings, or days, one of the source's can change."""
    # Public. A score of differences moves that many times as far as one of readings, so that a
    # release of a register is worth what one of readings is at ε divided by this. Proof:
    # `docs/proofs/agreement.md`, `docs/proofs/day-votes.md`.
    if not differenced or isinstance(unit, System):
        return 1
    return REGISTER_READINGS if isinstance(unit, Readings) else REGISTER_DAYS
