from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_makers import conditional, guarantee

from sunveil.errors import ParameterError
from sunveil.ledger.promise import Promise, promise_text, read_promise
from sunveil.privacy.units import Days, Readings, System, implies

UNITS = [Readings(1), Readings(7), Days(1), Days(7), System()]


@pytest.mark.parametrize("promised", UNITS, ids=str)
@pytest.mark.parametrize("released", UNITS, ids=str)
def test_larger_units_are_charged_to_smaller_and_smaller_refused(promised, released):
    promise = Promise(promised, 2.0)
    if implies(released, promised):
        cost = promise.cost(guarantee(0.5, released), mechanism="permute-and-flip")
        assert cost == 500_000_000
    else:
        with pytest.raises(ParameterError, match="release for"):
            promise.cost(guarantee(0.5, released), mechanism="permute-and-flip")


def test_a_conditional_guarantee_is_refused_unless_it_is_named():
    with pytest.raises(ParameterError, match="conditional"):
        Promise(System(), 2.0).cost(conditional(), mechanism="paper")
    with pytest.raises(ParameterError, match="conditional"):
        Promise(System(), 2.0, conditional=("other",)).cost(conditional(), mechanism="paper")
    allowed = Promise(System(), 2.0, conditional=("paper",))
    assert allowed.cost(conditional(), mechanism="paper") == 10**9
    assert "on condition" in str(allowed)
    assert "on condition" not in str(Promise(System(), 2.0))


def test_a_conditional_guarantee_is_never_counted_as_the_exponential_mechanism():
    promise = Promise(System(), 10.0, 1e-6, ("exponential",))
    assert promise.cost(conditional(), mechanism="exponential") == 500_000_000


def test_a_release_with_a_delta_of_its_own_is_refused():
    with pytest.raises(ParameterError, match="delta of its own"):
        Promise(System(), 2.0, 1e-6).cost(guarantee(delta=1e-9), mechanism="gaussian")


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan, 1001.0])
def test_an_epsilon_that_is_no_promise_is_refused(epsilon):
    with pytest.raises(ParameterError, match="a promise's epsilon"):
        Promise(System(), epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1e-16, 0.02, math.nan])
def test_a_delta_that_is_no_promise_is_refused(delta):
    with pytest.raises(ParameterError, match="a promise's delta"):
        Promise(System(), 1.0, delta)


def test_a_promise_that_holds_nothing_is_refused():
    with pytest.raises(ParameterError, match="too small"):
        Promise(System(), 1e-10)


@given(
    st.sampled_from(UNITS),
    st.floats(0.01, 1000.0),
    st.one_of(st.just(0.0), st.floats(1e-12, 1e-2)),
    st.lists(st.text(max_size=5), max_size=3),
)
def test_a_promise_survives_being_written(unit, epsilon, delta, names):
    promise = Promise(unit, epsilon, delta, tuple(names))
    assert read_promise(promise_text(promise)) == promise
    assert promise.measure == ("epsilon" if delta == 0.0 else "rho")
