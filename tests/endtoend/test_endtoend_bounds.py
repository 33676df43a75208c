"""Lower bounds of ε from counts: known values, and how often they are wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sunveil.endtoend.bounds import (
    BOUNDS_PER_EVENT,
    epsilon_bound,
    high_share,
    low_share,
    runs_needed,
)
from sunveil.errors import ParameterError


def test_the_shares_are_those_of_the_tables():
    # Clopper and Pearson's 95% interval of 10 in 30, two-sided
    assert low_share(10, 30, 0.025) == pytest.approx(0.1729, abs=1e-4)
    assert high_share(10, 30, 0.025) == pytest.approx(0.5281, abs=1e-4)


def test_what_was_seen_always_or_never_has_bounds_in_closed_form():
    assert low_share(60, 60, 0.001) == pytest.approx(0.001 ** (1 / 60))
    assert high_share(0, 60, 0.001) == pytest.approx(1.0 - 0.001 ** (1 / 60))
    assert (low_share(0, 60, 0.001), high_share(60, 60, 0.001)) == (0.0, 1.0)


def test_a_difference_that_always_shows_gives_the_bound_of_its_runs():
    alpha = 0.001
    share = (alpha / BOUNDS_PER_EVENT) ** (1 / 60)
    expected = math.log(share / (1.0 - share))
    assert epsilon_bound(60, 0, 60, alpha=alpha) == pytest.approx(expected)
    assert 1.8 < expected < 2.0


@given(runs=st.integers(1, 200), data=st.data())
def test_a_bound_is_the_same_both_ways_and_for_the_complement(runs, data):
    first, second = (data.draw(st.integers(0, runs)) for _ in range(2))
    bound = epsilon_bound(first, second, runs, alpha=0.01)
    assert bound >= 0.0
    assert bound == epsilon_bound(second, first, runs, alpha=0.01)
    assert bound == epsilon_bound(runs - first, runs - second, runs, alpha=0.01)


def test_equal_counts_say_nothing():
    for count in (0, 17, 40):
        assert epsilon_bound(count, count, 40, alpha=0.5) == 0.0


@pytest.mark.parametrize("claim", [0.01, 0.1, 1.0, 3.0])
def test_as_many_runs_as_are_needed_exceed_a_claim_and_fewer_do_not(claim):
    runs = runs_needed(claim, alpha=1e-6)
    assert epsilon_bound(runs, 0, runs, alpha=1e-6) > claim
    assert epsilon_bound(runs - 1, 0, runs - 1, alpha=1e-6) <= claim


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.731, 0.269), (0.9, 0.332), (0.05, 0.0184)])
def test_bounds_are_too_high_no_more_often_than_they_may(p, q):
    rng = np.random.default_rng(7)
    true = max(math.log(p / q), math.log((1.0 - q) / (1.0 - p)))
    alpha, runs, audits = 0.2, 80, 2000
    pairs = zip(rng.binomial(runs, p, audits), rng.binomial(runs, q, audits), strict=True)
    wrong = sum(epsilon_bound(int(a), int(b), runs, alpha=alpha) > true for a, b in pairs)
    assert wrong <= alpha * audits


def test_bounds_are_not_so_wide_that_they_find_nothing():
    rng = np.random.default_rng(7)
    pairs = zip(rng.binomial(400, 0.9, 50), rng.binomial(400, 0.1, 50), strict=True)
    assert all(epsilon_bound(int(a), int(b), 400, alpha=1e-6) > 1.0 for a, b in pairs)


@pytest.mark.parametrize(
    "given", [(1, 0, 0.1), (3, 2, 0.1), (-1, 2, 0.1), (1, 2, 0.0), (1, 2, 1.0)]
)
def test_counts_that_cannot_be_are_refused(given):
    count, runs, alpha = given
    with pytest.raises(ParameterError):
        low_share(count, runs, alpha)
