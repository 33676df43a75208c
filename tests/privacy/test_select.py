from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from sunveil.errors import ParameterError
from sunveil.privacy.mechanisms import draw_exponential

# Production randomness cannot be seeded: a right draw fails this once in ten million runs.
FALSE_ALARM = 1e-7


def test_draws_follow_the_exponential_mechanism():
    """Permute-and-flip gives 130, a factor of two in the scale over 300; the limit is 35."""
    levels, draws = np.array([0, 5, 10, 20]), 2500
    counts = np.bincount(
        [draw_exponential(levels, sensitivity=5, epsilon=1.0) for _ in range(draws)], minlength=4
    )
    expected = np.exp(levels / 10.0)
    expected *= draws / expected.sum()
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM, 3)


def test_only_differences_between_levels_matter_up_to_the_largest_numbers():
    """With an exponent of 2^40 between them, the lower level is as good as never drawn."""
    levels = np.array([-(2**62), 2**62], dtype=np.int64)
    assert {draw_exponential(levels, sensitivity=2**22, epsilon=1.0) for _ in range(50)} == {1}


def test_a_single_candidate_is_drawn():
    assert draw_exponential(np.array([3]), sensitivity=1, epsilon=0.1) == 0


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 5e-324])
def test_an_epsilon_that_cannot_be_drawn_with_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        draw_exponential(np.array([1, 2]), sensitivity=1, epsilon=epsilon)


@pytest.mark.parametrize(
    ("levels", "sensitivity"),
    [
        (np.array([123456, 2]), 0),
        (np.array([123456, 2]), -1),
        (np.array([[123456, 2]]), 1),
        (np.array([], dtype=np.int64), 1),
        (np.array([123456.0, 2.0]), 1),
    ],
)
def test_levels_that_are_no_score_are_refused_without_saying_them(levels, sensitivity):
    with pytest.raises(ParameterError, match="64-bit whole number per candidate") as refused:
        draw_exponential(levels, sensitivity=sensitivity, epsilon=1.0)
    assert "123456" not in str(refused.value)
