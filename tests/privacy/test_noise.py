from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import ZCDpEvent
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from sunveil.errors import ParameterError
from sunveil.privacy import ConcentratedGuarantee, DiscreteGaussian, DiscreteLaplace, System
from sunveil.privacy.discrete_noise import Counts, Sensitivity
from sunveil.privacy.guarantees import epsilon_to_rho, rho_to_epsilon

# Production randomness cannot be seeded: a right draw fails this once in ten million runs.
FALSE_ALARM = 1e-7
EPSILONS = st.floats(1e-4, 50.0)
RHOS = st.floats(1e-9, 1250.0)
ROW, L2 = Sensitivity(2, 2), Sensitivity(2, 4)


def total(move: int) -> Sensitivity:
    return Sensitivity(move, move**2)


def counts(values: list[int], sensitivity: Sensitivity = ROW) -> Counts:
    return Counts(np.array(values, dtype=np.int64), sensitivity, System(), "docs/proofs/counts.md")


@given(EPSILONS, st.integers(1, 2**40))
def test_the_scale_is_enough_for_epsilon_and_no_more_than_that(epsilon, sensitivity):
    scale = DiscreteLaplace(epsilon).scale(total(sensitivity))
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
    scale = DiscreteLaplace(epsilon).scale(ROW)
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
    sensitivity = total(max(int(np.abs(ours - theirs).sum()), 1))
    mechanism, y = DiscreteLaplace(epsilon), np.array(answer[: len(cells)])
    p = mechanism.log_probabilities(y - ours, sensitivity).sum()
    q = mechanism.log_probabilities(y - theirs, sensitivity).sum()
    assert abs(p - q) <= epsilon * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(
    ("mechanism", "sensitivity", "tail"),
    [
        *((DiscreteLaplace(e), n, 1e-9) for e, n in [(0.5, 2), (3.0, 2), (0.05, 1), (9.0, 1)]),
        *((DiscreteGaussian(r), n, 1e-12) for r, n in [(0.5, 2), (40.0, 1), (1e-4, 1), (3e-3, 1)]),
    ],
)
def test_the_law_adds_up_and_has_the_stated_deviation(mechanism, sensitivity, tail):
    noise = np.arange(-4000, 4001)
    law = mechanism.probabilities(noise, total(sensitivity))
    assert law.sum() == pytest.approx(1.0, abs=tail)
    deviation = math.sqrt((law * noise**2).sum())
    assert mechanism.deviation(total(sensitivity)) == pytest.approx(deviation, rel=1000.0 * tail)


@pytest.mark.parametrize(
    ("mechanism", "others", "reach"),
    [
        (DiscreteLaplace(1.0), [(DiscreteLaplace(2.0), ROW)], 8),
        (DiscreteGaussian(0.02), [(DiscreteGaussian(0.01), ROW), (DiscreteGaussian(0.02), L2)], 14),
        (DiscreteGaussian(2.0), [(DiscreteGaussian(1.0), ROW), (DiscreteGaussian(2.0), L2)], 2),
    ],
    ids=str,
)
def test_draws_follow_the_law_and_no_other(mechanism, others, reach):
    """Noise for half the sensitivity or ρ, or for an L2 distance of 2 for √2, gives over 1000."""
    drawn = mechanism.draw(counts([1000] * 20_000)) - 1000
    seen = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=2 * reach + 1)
    far = np.arange(-400, 401)
    distances = []
    for law, sensitivity in [(mechanism, ROW), *others]:
        shares = law.probabilities(far, sensitivity)
        expected = len(drawn) * np.bincount(np.clip(far, -reach, reach) + reach, weights=shares)
        distances.append(((seen - expected) ** 2 / expected).sum())
    assert distances[0] < chi2.isf(FALSE_ALARM, 2 * reach)
    assert min(distances[1:]) > 1000.0


@given(RHOS, st.integers(1, 2**20), st.integers(0, 2**20))
def test_the_gaussian_scale_is_enough_for_rho_and_no_more_than_that(rho, absolute, more):
    sensitivity = Sensitivity(absolute, min(absolute + more, absolute**2))
    scale = Fraction(DiscreteGaussian(rho).scale(sensitivity))
    # Δ₂² / 2σ² <= ρ, in whole numbers
    assert sensitivity.squared <= 2 * scale**2 * Fraction(rho)
    assert float(scale) == pytest.approx(math.sqrt(sensitivity.squared / (2 * rho)), rel=1e-14)


@given(st.integers(1, 2**40), st.integers(0, 2**40))
def test_the_euclidean_sensitivity_is_rounded_up(absolute, more):
    sensitivity = Sensitivity(absolute, min(absolute + more, absolute**2))
    root = sensitivity.euclidean
    assert Fraction(root) ** 2 >= sensitivity.squared > Fraction(root * (1 - 1e-15)) ** 2


def test_gaussian_noise_for_three_histograms_is_smaller_than_laplace_at_the_same_rho():
    laplace = DiscreteLaplace(1.0).deviation(Sensitivity(6, 6))
    assert DiscreteGaussian(0.5).deviation(Sensitivity(6, 6)) < 0.35 * laplace


def test_cells_get_noise_of_their_own():
    drawn = DiscreteLaplace(0.01).draw(counts([0] * 300))
    assert len(set(drawn.tolist())) > 100
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.4


def test_a_draw_promises_the_unit_and_epsilon_or_rho():
    promised = DiscreteLaplace(0.5).guarantee(counts([1, 2]))
    assert (promised.unit, promised.epsilon, promised.delta) == (System(), 0.5, 0.0)
    concentrated = DiscreteGaussian(0.5).guarantee(counts([1, 2]))
    assert isinstance(concentrated, ConcentratedGuarantee)
    assert (concentrated.unit, concentrated.rho) == (System(), 0.5)


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
        Counts(values, ROW, System(), "")
    assert "1.5" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "wrong", "words"),
    [
        (lambda value: Sensitivity(value, 4), [0, -1, True, 1.0, 2**41], r"(?i)sensitivit"),
        (lambda value: Sensitivity(3, value), [0, 2, 10, True, 4.0], r"(?i)sensitivit"),
        (DiscreteGaussian, [0.0, -1.0, math.inf, math.nan, 1e-10, 1251.0, True], "rho"),
        (DiscreteLaplace, [0.0, -1.0, math.inf, math.nan, 1e-5, 51.0], "epsilon"),
    ],
    ids=["absolute", "squared", "rho", "epsilon"],
)
def test_numbers_that_mean_nothing_are_refused(make, wrong, words):
    for value in wrong:
        with pytest.raises(ParameterError, match=words):
            make(value)


DELTAS = st.floats(1e-15, 1e-2)
ORDERS = 1.0 + np.exp(np.linspace(-8.0, 14.0, 4001))
CASES = [(rho, delta) for rho in (1e-6, 1e-3, 0.03, 1.0, 30.0) for delta in (1e-12, 1e-6, 1e-3)]


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
