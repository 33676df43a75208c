from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.privacy import (
    ConcentratedGuarantee,
    DiscreteGaussian,
    DiscreteLaplace,
    Guarantee,
    PermuteAndFlip,
    System,
)
from sunveil.privacy.discrete_noise import Spending
from sunveil.privacy.mechanisms import Exponential


def test_an_asked_epsilon_is_itself_or_what_it_costs_as_rho():
    assert Spending.asked(1.0, concentrated=False) == Spending(1.0)
    assert Spending.asked(1.0, concentrated=True) == Spending(0.5, concentrated=True)
    assert Spending(1.0).guarantee("p") == Guarantee(System(), 1.0, 0.0, "p")
    assert Spending(0.5, True).guarantee("p") == ConcentratedGuarantee(System(), 0.5, "p")


def test_what_is_bought_goes_with_the_measure():
    pure, concentrated = Spending(1.0), Spending(0.5, concentrated=True)
    assert pure.noise == DiscreteLaplace(1.0)
    assert pure.selection == PermuteAndFlip(1.0)
    assert concentrated.noise == DiscreteGaussian(0.5)
    assert isinstance(concentrated.selection, Exponential)


@given(st.floats(1e-6, 1000.0))
def test_a_choice_costs_no_more_than_its_rho(rho):
    spending = Spending(rho, concentrated=True)
    try:
        epsilon = spending.selection.epsilon
    except ParameterError:
        return  # no mechanism has so large an epsilon
    assert Fraction(epsilon) ** 2 <= 8 * Fraction(rho)
    assert epsilon**2 / 8.0 == pytest.approx(rho)


@given(st.floats(0.01, 50.0), st.lists(st.integers(1, 9), min_size=2, max_size=6), st.booleans())
def test_parts_stay_within_the_whole(epsilon, weights, concentrated):
    whole = Spending.asked(epsilon, concentrated=concentrated)
    parts = [whole.part(Fraction(weight, sum(weights))) for weight in weights]
    assert sum(Fraction(part.amount) for part in parts) <= Fraction(whole.amount)
    assert sum(part.amount for part in parts) == pytest.approx(whole.amount)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf"), 100.0, 1e-5, True])
def test_an_epsilon_that_means_nothing_is_refused(epsilon):
    for concentrated in (False, True):
        with pytest.raises(ParameterError, match="epsilon"):
            Spending.asked(epsilon, concentrated=concentrated)
