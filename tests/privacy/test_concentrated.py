from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from dp_accounting import ZCDpEvent
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.privacy.guarantees import epsilon_to_rho, rho_to_epsilon

RHOS = st.floats(1e-9, 1250.0)
DELTAS = st.floats(1e-15, 1e-2)
ORDERS = 1.0 + np.exp(np.linspace(-8.0, 14.0, 4001))
CASES = [(rho, delta) for rho in (1e-6, 1e-3, 0.03, 1.0, 30.0) for delta in (1e-12, 1e-6, 1e-3)]


def exact(rho: float, delta: float, order: float) -> mpmath.mpf:
    """Return the bound of one order in fifty digits, by the formula for δ solved for ε."""
    with mpmath.workdps(50):
        a, r, d = mpmath.mpf(order), mpmath.mpf(rho), mpmath.mpf(delta)
        log_factor = a * mpmath.log(1 - 1 / a) - mpmath.log(a - 1)
        return a * r - (mpmath.log(d) - log_factor) / (a - 1)


@pytest.mark.parametrize(("rho", "delta"), CASES)
def test_epsilon_is_the_least_bound_over_the_orders_rounded_up(rho, delta):
    best = max(0, min(exact(rho, delta, order) for order in ORDERS))
    found = rho_to_epsilon(rho, delta)
    # the search looks closer than the grid of orders, so it may find a little less
    assert found <= best * (1 + 1e-9) + 1e-12
    assert found >= best * (1 - mpmath.mpf(10) ** -4)


@given(RHOS, DELTAS)
def test_no_order_does_better_than_what_was_found_and_the_usual_formula_does_worse(rho, delta):
    found, order = rho_to_epsilon(rho, delta), ORDERS
    bounds = order * rho - (math.log(delta) + np.log(order)) / (order - 1) + np.log1p(-1 / order)
    assert found <= max(0.0, bounds.min()) * (1 + 1e-9) + 1e-11
    assert found < rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))


@given(st.floats(1e-3, 1000.0), DELTAS)
def test_the_largest_rho_fits_and_hardly_more_does(epsilon, delta):
    rho = epsilon_to_rho(epsilon, delta)
    assert rho_to_epsilon(rho, delta) <= epsilon
    assert rho_to_epsilon(rho * (1.0 + 1e-6), delta) > epsilon * (1.0 - 1e-9)


@pytest.mark.parametrize(("epsilon", "more"), [(1.0, 0.39), (2.0, 0.30), (4.0, 0.22), (8.0, 0.16)])
def test_a_promise_holds_that_much_more_at_a_millionth(epsilon, more):
    log = math.log(1e6)
    old = (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2
    assert epsilon_to_rho(epsilon, 1e-6) / old - 1.0 == pytest.approx(more, abs=0.006)


@pytest.mark.parametrize(("rho", "delta"), CASES)
def test_opendp_and_dp_accounting_say_the_same(rho, delta):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    gaussian = dp.m.make_gaussian(*space, scale=math.sqrt(0.5 / rho))
    curve = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0)
    assert rho_to_epsilon(rho, delta) == pytest.approx(curve.epsilon(delta), rel=1e-8)
    orders = 1.0 + np.exp(np.linspace(-5.0, 12.0, 3000))
    theirs = RdpAccountant(orders=orders.tolist()).compose(ZCDpEvent(rho)).get_epsilon(delta)
    assert rho_to_epsilon(rho, delta) <= theirs * (1.0 + 1e-9)
    assert rho_to_epsilon(rho, delta) == pytest.approx(theirs, rel=1e-3)


def test_nothing_spent_is_nothing():
    assert rho_to_epsilon(0.0, 1e-6) == 0.0


@pytest.mark.parametrize("convert", [rho_to_epsilon, epsilon_to_rho])
def test_what_is_no_amount_or_no_delta_is_refused(convert):
    for amount in (-1.0, math.nan, math.inf):
        with pytest.raises(ParameterError, match=r"finite number|nan is not one"):
            convert(amount, 1e-6)
    for delta in (0.0, 1.0, -1e-6, math.nan):
        with pytest.raises(ParameterError, match="delta"):
            convert(1.0, delta)
