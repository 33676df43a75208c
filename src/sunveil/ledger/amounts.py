"""Privacy loss in whole numbers, always rounded up."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Rational

from sunveil.errors import ParameterError

# One ε, or one ρ, in the ledger's whole numbers.
NANO = 10**9


def to_nano(amount: float | Fraction) -> int:
    """Return an amount of ε or ρ in billionths, rounded up so that nothing is spent unseen.

    A float is read as the shortest number that it prints as: 0.1 is a tenth. Mechanisms keep back
    far more than the difference (``docs/proofs/sampling.md``).
    """
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
