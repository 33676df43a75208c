"""What ρ of zero-concentrated privacy means as ε at a δ, by the tight conversion.

Proof: ``docs/proofs/concentrated.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sunveil.checked import checked
from sunveil.errors import ParameterError

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
    """Return the largest ρ whose ε at δ does not exceed a promise, a little less for rounding."""
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
