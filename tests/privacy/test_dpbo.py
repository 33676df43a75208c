from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from sunveil.errors import ParameterError
from sunveil.paper import DPBO, dpbo
from sunveil.paper.dpbo import Bound, algorithm_2_constant, nu, phi_bar, sensitivity
from sunveil.paper.fit import PosteriorScore
from sunveil.privacy import ConditionalGuarantee, Guarantee, Readings

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
# Production randomness cannot be seeded: a right draw fails this once in ten million runs.
FALSE_ALARM = 1e-7


def exact_sensitivity(candidates: int, steps: int, delta: float, bound: Bound) -> Decimal:
    size, share = Decimal(candidates), Decimal(delta)
    looks = Decimal(steps + 1) ** 2
    if bound is Bound.ALGORITHM_2:
        wide = (2 * (size * looks * PI**2 / (6 * share)).ln()).sqrt()
        return 2 * wide + (2 * (2 * size / share).ln()).sqrt()
    wide = (2 * (size * looks * PI**2 / (2 * share)).ln()).sqrt()
    return 2 * (wide + (6 * size / share).ln().sqrt())


def exact_probabilities(mechanism: DPBO, score: PosteriorScore) -> list[Decimal]:
    """Return exp(ε μ / 2Δ) over its sum, to fifty digits."""
    with localcontext() as context:
        context.prec = 50
        bound = exact_sensitivity(len(score.mean), score.steps, mechanism.delta, mechanism.bound)
        weights = [
            (Decimal(mechanism.epsilon) * Decimal(float(mean)) / (2 * bound)).exp()
            for mean in score.mean
        ]
        return [weight / sum(weights) for weight in weights]


@pytest.fixture(scope="module")
def score() -> PosteriorScore:
    return PosteriorScore(np.array([0.4, -0.1, 0.9, 0.7, -2.5]), 100)


def test_the_constants_are_those_computed_by_hand():
    """|Λ| = 32,400, T = 100, δ = 0.1, from a table of logarithms."""
    assert phi_bar(101, 32_400, 0.1) == pytest.approx(2 * 23.51505, abs=1e-4)
    assert nu(32_400, 0.1) == pytest.approx(14.48026, abs=1e-5)
    assert algorithm_2_constant(32_400, 0.1) == pytest.approx(math.sqrt(2 * 13.38164), abs=1e-5)
    assert sensitivity(32_400, 100, 0.1) == pytest.approx(21.3, abs=0.05)
    assert sensitivity(32_400, 100, 0.1, Bound.ALGORITHM_2) == pytest.approx(18.56, abs=0.01)


@pytest.mark.parametrize("bound", list(Bound))
@pytest.mark.parametrize(
    ("candidates", "steps", "delta"), [(1, 1, 0.999), (648, 60, 0.1), (32_400, 300, 1e-12)]
)
def test_the_sensitivity_is_the_formula_to_the_last_digit(bound, candidates, steps, delta):
    with localcontext() as context:
        context.prec = 50
        exact = exact_sensitivity(candidates, steps, delta, bound)
    found = sensitivity(candidates, steps, delta, bound)
    assert found == pytest.approx(float(exact), rel=1e-14)
    # more candidates, more steps or a smaller δ make it larger
    assert found < sensitivity(candidates + 1, steps, delta, bound)
    assert found < sensitivity(candidates, steps + 1, delta, bound)
    assert found < sensitivity(candidates, steps, 0.9 * delta, bound)


@given(
    mean=st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=30),
    steps=st.integers(1, 1000),
    epsilon=st.sampled_from([1e-6, 0.1, 1.0, 30.0, 1e4, 1e6]),
    delta=st.sampled_from([1e-9, 0.1, 0.9]),
    bound=st.sampled_from(list(Bound)),
)
def test_probabilities_are_the_formula_to_twelve_digits(mean, steps, epsilon, delta, bound):
    mechanism, score = DPBO(epsilon, delta, bound), PosteriorScore(np.array(mean), steps)
    ours = mechanism.probabilities(score)
    exact = np.array([float(p) for p in exact_probabilities(mechanism, score)])
    np.testing.assert_allclose(ours, exact, rtol=0.0, atol=1e-12)
    assert ours.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 10.0, 500.0])
def test_probabilities_are_right_relative_to_themselves_too(epsilon):
    rng = np.random.default_rng(8)
    score = PosteriorScore(rng.uniform(-0.6, 0.0, 600), 100)
    mechanism = DPBO(epsilon, 0.1)
    exact = np.array([float(p) for p in exact_probabilities(mechanism, score)])
    np.testing.assert_allclose(mechanism.probabilities(score), exact, rtol=1e-12)


def test_the_best_becomes_likelier_with_epsilon_until_others_underflow_to_zero(score):
    best = [DPBO(epsilon, 0.1).probabilities(score)[2] for epsilon in (0.01, 0.1, 1.0, 10.0)]
    assert best == sorted(set(best))
    assert DPBO(1.0, 0.1).probabilities(score).argmax() == 2
    assert DPBO(1e6, 0.1).probabilities(score).tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]
    tied = DPBO(1e6, 0.1).probabilities(PosteriorScore(np.array([1.0, 1.0, 0.0]), 5))
    assert tied.tolist() == [0.5, 0.5, 0.0]


def test_simulated_draws_are_seeded_and_follow_the_probabilities():
    score = PosteriorScore(np.random.default_rng(3).uniform(-1.5, 1.5, 50), 100)
    mechanism = DPBO(60.0, 0.1)
    draws, same = (
        mechanism.simulate(score, 100_000, rng=np.random.default_rng(4)) for _ in range(2)
    )
    np.testing.assert_array_equal(draws, same)
    expected = 100_000 * mechanism.probabilities(score)
    assert expected.min() > 5.0
    assert expected.max() > 10.0 * expected.min()
    counts = np.bincount(draws, minlength=50)
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-3, 49)
    sure = DPBO(1e6, 0.1).simulate(score, 1000, rng=np.random.default_rng(1))
    assert set(sure) == {int(score.mean.argmax())}


@pytest.mark.parametrize("bound", list(Bound))
def test_exact_draws_follow_the_probabilities(bound):
    score, draws = PosteriorScore(np.array([0.4, -0.1, 0.9, -1.0]), 10), 2500
    mechanism = DPBO(30.0, 0.1, bound)
    counts = np.bincount([mechanism.draw(score) for _ in range(draws)], minlength=4)
    expected = draws * mechanism.probabilities(score)
    assert expected.max() > 3.0 * expected.min()
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM, 3)


def test_a_score_too_large_to_count_is_held_at_the_largest_and_not_turned_round():
    score = PosteriorScore(np.array([0.0, 1e300, 1.0]), 10)
    assert {DPBO(1.0, 0.1).draw(score) for _ in range(50)} == {1}
    low = PosteriorScore(np.array([0.0, -1e300, 1.0]), 10)
    assert {DPBO(1.0, 0.1).draw(low) for _ in range(50)} <= {0, 2}


def test_the_guarantee_of_draws_is_conditional_and_names_its_condition(score):
    found = DPBO(0.1, 0.05).guarantee(score)
    assert type(found) is ConditionalGuarantee
    assert found != Guarantee(found.unit, found.epsilon, found.delta, found.proof)
    assert (found.unit, found.epsilon, found.delta) == (Readings(1), 0.1, 0.05)
    assert found.caveats == ()
    told = json.loads(json.dumps(found.to_dict()))
    assert told["kind"] == "conditional"
    assert "Gaussian process prior" in told["condition"]
    assert "does not hold for the worst case" in str(found)
    many = DPBO(0.1, 0.01).guarantee(score, draws=30)
    assert (many.epsilon, many.delta, many.caveats) == (pytest.approx(3.0), pytest.approx(0.3), ())


def test_what_the_argument_does_not_cover_is_said(score):
    scaled = PosteriorScore(score.mean, 100, data_scaled=True)
    assert DPBO(0.1, 0.1).guarantee(scaled).caveats == (dpbo.DATA_SCALED,)
    smaller = DPBO(0.1, 0.1, Bound.ALGORITHM_2)
    assert smaller.guarantee(score).caveats == (dpbo.UNPROVEN_BOUND,)
    assert DPBO(0.1, 0.1).guarantee(score, draws=10).caveats == (dpbo.VACUOUS,)
    every = smaller.guarantee(scaled, draws=10)
    assert every.caveats == (dpbo.DATA_SCALED, dpbo.UNPROVEN_BOUND, dpbo.VACUOUS)
    assert all(words in str(every) for words in every.caveats)


def test_a_score_hides_its_values():
    shown = repr(PosteriorScore(np.array([0.123456, 0.654321]), 7))
    assert shown == "PosteriorScore(2 candidates, 7 steps, private)"


@pytest.mark.parametrize(
    "mean",
    [
        np.array([0.123456, math.nan]),
        np.array([0.123456, math.inf]),
        np.array([]),
        np.array([[0.123456]]),
    ],
)
def test_a_score_that_is_none_is_refused_without_saying_its_values(mean):
    with pytest.raises(ParameterError, match="one finite number per candidate") as refused:
        PosteriorScore(mean, 5)
    assert "0.123456" not in str(refused.value)


@pytest.mark.parametrize(
    ("asked", "wrong", "words"),
    [
        (lambda e: DPBO(e, 0.1), [0.0, -0.1, math.nan, math.inf], "epsilon must be a finite num"),
        (lambda d: DPBO(0.1, d), [0.0, 1.0, -0.1, math.nan], "delta must be above 0 and below 1"),
        (lambda d: sensitivity(100, 10, d), [0.0, 1.0, -0.1, math.nan], "delta"),
        (lambda n: sensitivity(n, 10, 0.1), [0, -1], "at least one candidate and one step"),
        (lambda n: sensitivity(10, n, 0.1), [0, -1], "at least one candidate and one step"),
    ],
    ids=["epsilon", "delta", "delta of a bound", "candidates", "steps"],
)
def test_what_is_out_of_range_is_refused(asked, wrong, words):
    for value in wrong:
        with pytest.raises(ParameterError, match=words):
            asked(value)


@pytest.mark.parametrize("draws", [0, -3, 2.5, True, math.nan])
def test_draws_that_are_no_number_of_draws_are_refused(score, draws):
    with pytest.raises(ParameterError, match="draws must be a whole number"):
        DPBO(0.1, 0.1).simulate(score, draws, rng=np.random.default_rng(0))
    with pytest.raises(ParameterError, match="draws must be a whole number"):
        DPBO(0.1, 0.1).guarantee(score, draws=draws)


def test_a_refused_draw_says_nothing_of_the_score():
    score = PosteriorScore(np.array([0.123456, -0.654321]), 5)
    with pytest.raises(ParameterError, match="epsilon is too small") as refused:
        DPBO(5e-324, 0.1).draw(score)
    assert not any(value in str(refused.value) for value in ("123456", "654321", "129453"))
