from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_makers import concentrated, conditional, guarantee, question
from sqlalchemy import update

from sunveil.errors import LedgerConflict, ParameterError
from sunveil.ledger import Promise
from sunveil.ledger.ledger_database import datasets, open_engine
from sunveil.ledger.promises import promise_text, read_promise
from sunveil.privacy import Days, Readings, System
from sunveil.privacy.guarantees import implies, rho_to_epsilon

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


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("conversion", [None, "plain", "tight"])
def test_a_promise_of_another_conversion_is_refused(where, open_ledger, delta, conversion):
    """A total by another conversion may be smaller: read by this one it would be enlarged."""
    ledger = open_ledger(where)
    ledger.create_dataset("d", Promise(System(), 4.0, delta))
    text = promise_text(Promise(System(), 4.0, delta))
    fields = {**json.loads(text), "conversion": conversion}
    if conversion is None:
        del fields["conversion"]
    engine = open_engine(where)
    with engine.begin() as connection:
        connection.execute(update(datasets).values(promise=json.dumps(fields)))
    engine.dispose()
    if conversion == ("tight" if delta else None):
        assert ledger.dataset("d").promise == Promise(System(), 4.0, delta)
        return
    for use in (ledger.dataset, lambda name: ledger.charge(name, question(epsilon=0.1))):
        with pytest.raises(LedgerConflict, match=r"cannot be (read|trusted)"):
            use("d")


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
