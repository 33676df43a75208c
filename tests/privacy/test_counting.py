from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from sunveil.errors import ParameterError
from sunveil.privacy.counting import Counts, DiscreteLaplace
from sunveil.privacy.units import System

# Production randomness cannot be seeded: a right draw fails this once in ten million runs.
FALSE_ALARM = 1e-7
EPSILONS = st.floats(1e-4, 50.0)


def counts(values: list[int], sensitivity: int = 2) -> Counts:
    return Counts(np.array(values, dtype=np.int64), sensitivity, System(), "docs/proofs/counts.md")


@given(EPSILONS, st.integers(1, 2**40))
def test_the_scale_is_enough_for_epsilon_and_no_more_than_that(epsilon, sensitivity):
    scale = DiscreteLaplace(epsilon).scale(sensitivity)
    (up, down), (over, under) = scale.as_integer_ratio(), epsilon.as_integer_ratio()
    # sensitivity / scale <= ε, in whole numbers
    assert sensitivity * down * under <= up * over
    assert scale == pytest.approx(sensitivity / epsilon, rel=1e-14)


@pytest.mark.parametrize("epsilon", [0.7, 1 / 3, 0.1, 1.0])
def test_a_quotient_that_rounds_down_is_raised(epsilon):
    """Two over 0.7 and over a third, as floats, cost one bit too much by OpenDP's map."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    scale = DiscreteLaplace(epsilon).scale(2)
    assert dp.m.make_laplace(*space, scale=scale).map(2) <= epsilon
    assert (scale > 2 / epsilon) == (epsilon in (0.7, 1 / 3))


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(-5, 5)), min_size=1, max_size=6),
    st.lists(st.integers(-200, 200), min_size=6, max_size=6),
    st.floats(0.01, 10.0),
)
def test_neighbours_are_within_epsilon(cells, answer, epsilon):
    ours = np.array([value for value, _ in cells])
    theirs = ours + np.array([move for _, move in cells])
    sensitivity = max(int(np.abs(ours - theirs).sum()), 1)
    mechanism, y = DiscreteLaplace(epsilon), np.array(answer[: len(cells)])
    p = mechanism.log_probabilities(y - ours, sensitivity).sum()
    q = mechanism.log_probabilities(y - theirs, sensitivity).sum()
    assert abs(p - q) <= epsilon * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.5, 2), (3.0, 2), (0.05, 1), (9.0, 1)])
def test_the_law_adds_up_and_has_the_stated_deviation(epsilon, sensitivity):
    mechanism, noise = DiscreteLaplace(epsilon), np.arange(-4000, 4001)
    law = mechanism.probabilities(noise, sensitivity)
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    deviation = math.sqrt((law * noise**2).sum())
    assert mechanism.deviation(sensitivity) == pytest.approx(deviation, rel=1e-6)


def test_draws_follow_the_law():
    """Noise for a sensitivity of 1 instead of 2 would give over 1000; the limit is 59."""
    mechanism, cells, reach = DiscreteLaplace(1.0), 20_000, 8
    drawn = mechanism.draw(counts([1000] * cells)) - 1000
    bins = np.clip(drawn, -reach, reach)
    seen = np.bincount(bins + reach, minlength=2 * reach + 1)
    far = np.arange(-400, 401)
    law = mechanism.probabilities(far, 2)
    expected = cells * np.bincount(np.clip(far, -reach, reach) + reach, weights=law)
    assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM, 2 * reach)
    wrong = DiscreteLaplace(2.0).probabilities(far, 2)
    tight = cells * np.bincount(np.clip(far, -reach, reach) + reach, weights=wrong)
    assert ((tight - expected) ** 2 / expected).sum() > 1000.0


def test_cells_get_noise_of_their_own():
    drawn = DiscreteLaplace(0.01).draw(counts([0] * 300))
    assert len(set(drawn.tolist())) > 100
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.4


def test_a_draw_promises_the_unit_and_epsilon():
    promised = DiscreteLaplace(0.5).guarantee(counts([1, 2]))
    assert (promised.unit, promised.epsilon, promised.delta) == (System(), 0.5, 0.0)


def test_counts_hide_their_values():
    hidden = counts([123456, 654321])
    assert "123456" not in repr(hidden)
    assert "private" in repr(hidden)
    assert len(hidden) == 2


@pytest.mark.parametrize(
    "values",
    [np.array([1.5]), np.array([], dtype=np.int64), np.array([[1]]), np.array([2**62 + 1])],
)
def test_counts_that_are_not_whole_numbers_in_one_row_are_refused_without_a_value(values):
    with pytest.raises(ParameterError) as caught:
        Counts(values, 2, System(), "")
    assert "1.5" not in str(caught.value)


@pytest.mark.parametrize("sensitivity", [0, -1, True, 1.0, 2**41])
def test_a_sensitivity_that_is_none_is_refused(sensitivity):
    with pytest.raises(ParameterError, match="sensitivity"):
        counts([1], sensitivity)
    with pytest.raises(ParameterError, match="sensitivity"):
        DiscreteLaplace(1.0).scale(sensitivity)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan, 1e-5, 51.0])
def test_an_epsilon_that_means_nothing_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        DiscreteLaplace(epsilon)
