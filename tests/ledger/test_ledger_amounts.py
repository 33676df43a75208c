from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import SelfComposedDpEvent, ZCDpEvent
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st
from ledger_makers import guarantee

from sunveil.errors import ParameterError
from sunveil.ledger import Promise
from sunveil.privacy import System
from sunveil.privacy.guarantees import NANO, from_nano, rho_to_epsilon, to_nano, to_nano_below

EPSILONS = st.floats(1e-4, 50.0)
DELTAS = st.floats(1e-15, 1e-2)


@given(st.lists(EPSILONS, min_size=1, max_size=30))
def test_whole_numbers_never_count_less_than_was_spent(amounts):
    spent = sum(Fraction(repr(amount)) for amount in amounts)
    counted = Fraction(sum(to_nano(amount) for amount in amounts), NANO)
    assert spent <= counted < spent + Fraction(len(amounts), NANO)


@given(EPSILONS)
def test_what_a_promise_holds_is_rounded_the_other_way(amount):
    assert Fraction(to_nano_below(amount), NANO) <= Fraction(repr(amount))
    assert 0 <= to_nano(amount) - to_nano_below(amount) <= 1


@given(st.fractions(0, 100))
def test_fractions_are_rounded_exactly(amount):
    assert Fraction(to_nano(amount) - 1, NANO) < amount <= Fraction(to_nano(amount), NANO)


@given(st.integers(0, 10**12))
def test_a_whole_number_survives_being_shown(amount):
    assert to_nano(from_nano(amount)) == amount == to_nano_below(from_nano(amount))


def test_a_tenth_is_a_tenth_whoever_made_it():
    assert to_nano(0.1) == to_nano_below(0.1) == to_nano(np.float64(0.1)) == 10**8
    assert sum(to_nano(0.1) for _ in range(10)) == to_nano_below(1.0)


@pytest.mark.parametrize("amount", [math.nan, math.inf, -1e-9, Fraction(-1, 3)])
def test_what_is_no_amount_is_refused(amount):
    with pytest.raises(ParameterError, match="an amount of privacy loss must"):
        to_nano(amount)


@given(EPSILONS)
def test_the_cost_in_rho_is_rounded_up_from_the_exact_one(epsilon):
    promise = Promise(System(), 100.0, 1e-6)
    square = Fraction(repr(epsilon)) ** 2
    for mechanism, share in (("exponential", 8), ("permute-and-flip", 2)):
        cost = promise.cost(guarantee(epsilon), mechanism=mechanism)
        assert 0 <= Fraction(cost, NANO) - square / share < Fraction(1, NANO)


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_many_exponential_releases_cost_no_less_than_dp_accounting_says(epsilon, delta):
    promise = Promise(System(), 4.0, delta)
    cost = promise.cost(guarantee(epsilon), mechanism="exponential")
    count = promise.total // cost
    assert count >= 1
    ours = rho_to_epsilon(from_nano(count * cost), delta)
    assert ours <= promise.epsilon
    assert ours <= count * epsilon or count < 4.0 / epsilon + 1

    event = SelfComposedDpEvent(ZCDpEvent(epsilon**2 / 8.0), int(count))
    theirs = RdpAccountant().compose(event).get_epsilon(delta)
    assert theirs <= ours * 1.02
    # its orders are coarse, but it is the same conversion
    assert theirs >= ours * (1.0 - 1e-6)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_the_worst_exponential_mechanisms_lose_no_more_together_than_was_counted(share):
    epsilon, count, delta = 0.5, 60, 1e-6
    # two outcomes, whose losses are a range of epsilon apart
    high, low = share * epsilon, (share - 1.0) * epsilon
    p = math.expm1(-low) / (math.exp(-low) - math.exp(-high))
    here = {0: math.log(p), 1: math.log1p(-p)}
    there = {0: here[0] - high, 1: here[1] - low}
    one = privacy_loss_distribution.from_two_probability_mass_functions(
        here, there, value_discretization_interval=1e-4
    )
    lost = one.self_compose(count).get_epsilon_for_delta(delta)
    cost = Promise(System(), 100.0, delta).cost(guarantee(epsilon), mechanism="exponential")
    assert 0.5 * rho_to_epsilon(from_nano(count * cost), delta) < lost
    assert lost <= rho_to_epsilon(from_nano(count * cost), delta)


@pytest.mark.parametrize("amount", [np.uint8(200), np.int32(3), np.uint64(20_000_000_000)])
def test_whole_numbers_of_numpy_do_not_wrap(amount):
    assert to_nano(amount) == int(amount) * 10**9
