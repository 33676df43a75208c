from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_makers import concentrated, conditional, guarantee

from sunveil.errors import ParameterError
from sunveil.ledger.promise import Promise, promise_text, read_promise
from sunveil.privacy.concentrated import rho_to_epsilon
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


def test_gaussian_noise_is_refused_without_a_delta_and_costs_its_rho_with_one():
    with pytest.raises(ParameterError, match="use Laplace noise, or promise a delta"):
        Promise(System(), 2.0).cost(concentrated(0.01), mechanism="discrete-gaussian")
    promise = Promise(System(), 2.0, 1e-6)
    assert promise.cost(concentrated(0.01), mechanism="discrete-gaussian") == 10_000_000
    # whatever it calls itself, ρ is what it costs
    assert promise.cost(concentrated(0.01), mechanism="exponential") == 10_000_000


def test_gaussian_noise_for_a_smaller_unit_is_refused():
    with pytest.raises(ParameterError, match="release for system"):
        Promise(System(), 2.0, 1e-6).cost(
            concentrated(0.01, Days(1)), mechanism="discrete-gaussian"
        )


# ε, δ, and the ρ in billionths that version 0.1 held for it, written down from that version.
OLD_TOTALS = [(4.0, 1e-6, 253_935_578), (1.0, 1e-9, 11_781_160), (100.0, 1e-3, 59_465_069_496)]


@pytest.mark.parametrize(("epsilon", "delta", "total"), OLD_TOTALS)
def test_a_promise_of_version_0_1_keeps_its_text_and_its_total(epsilon, delta, total):
    old = (
        f'{{"conditional":[],"delta":{delta!r},"epsilon":{epsilon!r},"measure":"rho",'
        f'"unit":"system"}}'
    )
    promise = read_promise(old)
    assert promise.conversion == "plain"
    assert promise.total == total
    assert promise_text(promise) == old
    new = Promise(System(), epsilon, delta)
    assert new.total > total
    assert new.to_dict()["conversion"] == "tight"
    assert new != promise


def test_a_promise_without_delta_says_no_conversion():
    old = '{"conditional":[],"delta":0.0,"epsilon":2.0,"measure":"epsilon","unit":"system"}'
    assert read_promise(old) == Promise(System(), 2.0)
    assert promise_text(Promise(System(), 2.0)) == old


@pytest.mark.parametrize(("delta", "conversion"), [(0.0, "plain"), (1e-6, "loose")])
def test_a_conversion_that_is_none_is_refused(delta, conversion):
    with pytest.raises(ParameterError, match="conversion"):
        Promise(System(), 2.0, delta, conversion=conversion)


def test_what_was_spent_is_told_as_an_epsilon():
    assert Promise(System(), 2.0).spent_epsilon(500_000_000) == 0.5
    promise = Promise(System(), 2.0, 1e-6)
    assert promise.spent_epsilon(0) == 0.0
    assert promise.spent_epsilon(10_000_000) == rho_to_epsilon(0.01, 1e-6)
    assert 2.0 * (1 - 1e-6) < promise.spent_epsilon(promise.total) <= 2.0


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
