from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from sunveil.errors import ParameterError
from sunveil.privacy import Days, Guarantee, PermuteAndFlip, Readings, Score, System
from sunveil.privacy.mechanisms import (
    SLACK,
    Axis,
    Exponential,
    LevelTable,
    Placement,
    permute_and_flip_logs,
)

# Production randomness cannot be seeded: a right draw fails this once in ten million runs.
FALSE_ALARM = 1e-7
AXES = (Axis(4, 5.0, wraps=True), Axis(3))
BOTH = pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])


def made(levels: object, sensitivity: int = 1) -> Score:
    return Score(np.array(levels, dtype=np.int64), sensitivity, Readings(sensitivity), "a page")


def exact_coins(score: Score, epsilon: float) -> list[Decimal]:
    """Return exp(ε (level - top) / 2Δ) to sixty digits."""
    with localcontext() as context:
        context.prec = 60
        scale = (Decimal(epsilon) - Decimal(SLACK)) / (2 * score.sensitivity)
        return [(scale * int(level - score.levels.max())).exp() for level in score.levels]


def by_permutations(coins: list[float]) -> list[float]:
    """Return permute-and-flip's probabilities from its definition: the first head of an order."""
    total = [0.0] * len(coins)
    orders = list(permutations(range(len(coins))))
    for order in orders:
        left = 1.0
        for candidate in order:
            total[candidate] += left * coins[candidate]
            left *= 1.0 - coins[candidate]
    return [each / len(orders) for each in total]


def by_polynomials(coins: list[Decimal], counts: list[int]) -> list[Decimal]:
    """Return permute-and-flip's probability of one candidate of each group, to many digits.

    The product over all others is a polynomial in t, whose integral is a sum.
    """
    with localcontext() as context:
        context.prec = 400
        found = []
        for mine, coin in enumerate(coins):
            product = [Decimal(1)]
            for group, (other, count) in enumerate(zip(coins, counts, strict=True)):
                for _ in range(count - (group == mine)):
                    longer = [*product, Decimal(0)]
                    for power, factor in enumerate(product):
                        longer[power + 1] -= other * factor
                    product = longer
            integral = sum(factor / (power + 1) for power, factor in enumerate(product))
            found.append(coin * integral)
        return found


LEVELS = st.lists(st.integers(-30, 30), min_size=1, max_size=6)
EPSILONS = st.sampled_from([1e-4, 0.1, 1.0, 4.0, 50.0])


@settings(max_examples=60)
@given(levels=LEVELS, epsilon=EPSILONS, sensitivity=st.integers(1, 5))
@example(levels=[0, 0, 0, 0, 0, 0], epsilon=1.0, sensitivity=1)
@example(levels=[0, 0, -1, -1, -30, 0], epsilon=50.0, sensitivity=1)
@example(levels=[0, -(2**40), 2**60, 2**60, 0, -(2**40)], epsilon=1e-4, sensitivity=2**50)
def test_permute_and_flip_is_its_definition_over_all_orders(levels, epsilon, sensitivity):
    score = made(levels, sensitivity)
    coins = [float(coin) for coin in exact_coins(score, epsilon)]
    found = PermuteAndFlip(epsilon).probabilities(score)
    np.testing.assert_allclose(found, by_permutations(coins), rtol=0.0, atol=1e-12)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)


@settings(max_examples=60)
@given(levels=LEVELS, epsilon=EPSILONS, sensitivity=st.integers(1, 5))
def test_the_exponential_mechanism_is_its_formula_to_thirteen_digits(levels, epsilon, sensitivity):
    score = made(levels, sensitivity)
    coins = exact_coins(score, epsilon)
    exact = [float((coin / sum(coins)).ln()) for coin in coins]
    found = Exponential(epsilon).log_probabilities(score)
    np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-13)
    assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize(
    ("gaps", "counts"),
    [
        ([0.0], [60]),
        ([-0.02, 0.0], [45, 1]),
        ([-37.9, -5.0, -0.3, 0.0], [30, 20, 5, 2]),
        ([-38.1, -5.0, -0.3, 0.0], [30, 20, 5, 2]),
        ([-900.0, -1e-6, 0.0], [1, 40, 1]),
    ],
)
def test_the_integral_is_right_where_candidates_are_many_or_their_coins_never_show_heads(
    gaps, counts
):
    """The errors of log-weights that ``docs/proofs/sampling.md`` allows are below 2^-28."""
    with localcontext() as context:
        context.prec = 400
        coins = [Decimal(gap).exp() for gap in gaps]
        exact = [float(each.ln()) for each in by_polynomials(coins, counts)]
    found = permute_and_flip_logs(np.array(gaps), np.array(counts))
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=1e-12 * (1.0 - min(gaps)))


@pytest.mark.parametrize("count", [1, 2, 1000, 500_000, 10**9])
@pytest.mark.parametrize("gap", [-1e-9, -0.5, -20.0, -38.5])
def test_the_integral_is_right_for_up_to_a_billion_equals_below_one_top(gap, count):
    """With one coin at 1 and n at q the top's share is (1 - (1 - q)^(n + 1)) / ((n + 1) q)."""
    with localcontext() as context:
        context.prec = 60
        coin = Decimal(gap).exp()
        top = (1 - (1 - coin) ** (count + 1)) / ((count + 1) * coin)
        exact = [float((1 - top) / count), float(top)]
    found = np.exp(permute_and_flip_logs(np.array([gap, 0.0]), np.array([count, 1])))
    assert found.tolist() == pytest.approx(exact, rel=1e-12)


@BOTH
@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 50.0])
def test_every_candidate_can_be_drawn_however_far_below_the_top(kind, epsilon):
    score = made([0, -1, -10, -1000, -(10**6), -(2**61), -(2**62), 2**62])
    found = kind(epsilon).log_probabilities(score)
    assert np.isfinite(found).all()
    assert (np.diff(found[np.argsort(score.levels)]) >= 0.0).all()
    assert found[-1] <= 0.0


@BOTH
def test_candidates_so_deep_that_rounding_would_matter_are_raised_and_not_lost(kind):
    """2^22 nats below the top, and no deeper: see ``docs/proofs/sampling.md``."""
    found = kind(50.0).log_probabilities(made([-(10**9), -(10**12), 0]))
    assert found[0] == found[1] == pytest.approx(-(2.0**22), rel=1e-5)
    assert kind(50.0).draw(made([-(10**9), -(2**62), 2**62], 2**62)) in {0, 1, 2}


@BOTH
def test_only_differences_of_levels_matter(kind):
    levels = np.array([3, 9, 9, -4])
    here = kind(1.0).log_probabilities(made(levels))
    there = kind(1.0).log_probabilities(made(levels + 2**50))
    np.testing.assert_array_equal(here, there)


NEIGHBOURS = st.integers(1, 4).flatmap(
    lambda reach: st.tuples(
        st.just(reach),
        st.lists(
            st.tuples(st.integers(-25, 25), st.integers(-reach, reach)), min_size=1, max_size=12
        ),
    )
)


@BOTH
@settings(max_examples=150)
@given(pair=NEIGHBOURS, epsilon=EPSILONS)
@example(pair=(1, [(0, -1), (0, 1), (0, 1), (0, 1)]), epsilon=1.0)
@example(pair=(2, [(-25, -2), *[(0, 2)] * 11]), epsilon=50.0)
def test_neighbours_are_within_epsilon_and_of_the_exponential_mechanism_within_rho(
    kind, pair, epsilon
):
    reach, moves = pair
    mechanism = kind(epsilon)
    one = mechanism.log_probabilities(made([level for level, _ in moves], reach))
    other = mechanism.log_probabilities(made([level + move for level, move in moves], reach))
    assert np.abs(one - other).max() <= epsilon
    if kind is Exponential:
        # what ρ = ε²/8 rests on: see docs/proofs/exponential.md
        assert np.ptp(one - other) <= epsilon
        for order in (1.01, 1.5, 2.0, 8.0, 64.0):
            found = np.logaddexp.reduce(order * one - (order - 1.0) * other) / (order - 1.0)
            assert found <= mechanism.rho * order + 1e-9


@BOTH
def test_the_claim_is_nearly_reached_so_it_could_not_be_smaller(kind):
    """A candidate far from the top falls by the sensitivity while all others rise by it."""
    many = 2000
    one, other = made([0, *[0] * many]), made([-1, *[1] * many])
    loss = kind(1.0).log_probabilities(one)[0] - kind(1.0).log_probabilities(other)[0]
    assert 0.99 < loss <= 1.0


@settings(max_examples=100)
@given(levels=st.lists(st.integers(-40, 40), min_size=1, max_size=30), epsilon=EPSILONS)
def test_permute_and_flip_never_expects_less_than_the_exponential_mechanism(levels, epsilon):
    score = made(levels)
    ours = PermuteAndFlip(epsilon).probabilities(score) @ score.levels
    theirs = Exponential(epsilon).probabilities(score) @ score.levels
    assert ours >= theirs - 1e-9


def test_draws_follow_the_probabilities():
    """A sensitivity forgotten gives over 1000, and the other mechanism over 120."""
    score, draws = made([5, 5, 8, 20], 5), 2500
    law = {kind: draws * kind(1.0).probabilities(score) for kind in (PermuteAndFlip, Exponential)}
    for kind, expected in law.items():
        counts = np.bincount([kind(1.0).draw(score) for _ in range(draws)], minlength=4)
        assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM, 3)
    apart = law[PermuteAndFlip] - law[Exponential]
    assert (apart**2 / law[Exponential]).sum() > 120.0


@BOTH
def test_half_a_million_candidates_are_drawn_from(kind):
    levels = np.random.default_rng(2).binomial(3000, 0.1, 500_000)
    levels[123_456] = 2500
    assert kind(1.0).draw(made(levels)) == 123_456
    assert 0 <= kind(1e-4).draw(made(levels)) < 500_000
    assert kind(1e-4).probabilities(made(levels)).sum() == pytest.approx(1.0, abs=1e-9)


def test_the_guarantee_is_of_the_worst_case_and_for_the_units_of_the_score():
    score = Score(np.array([1, 2]), 8, Days(2), "another page")
    for kind, page in ((Exponential, "exponential"), (PermuteAndFlip, "permute-and-flip")):
        expected = Guarantee(Days(2), 0.3, 0.0, f"docs/proofs/{page}.md")
        assert kind(0.3).guarantee(score) == expected
    assert Exponential(2.0).rho == Fraction(1, 2)  # an eighth of the square


@BOTH
@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 1e9, 1e-9, True, "1", None])
def test_an_epsilon_that_no_release_can_mean_is_refused(kind, epsilon):
    with pytest.raises(ParameterError, match="epsilon must be"):
        kind(epsilon)


@BOTH
def test_a_mechanism_takes_scores_only(kind):
    with pytest.raises(AttributeError):
        kind(1.0).draw(np.array([1, 2, 3]))


# Scores and placements, which are all that is drawn from


@pytest.mark.parametrize(
    "levels",
    [
        np.array([123456.0, 1.0]),
        np.array([123456, 1], dtype=np.int32),
        np.array([[123456, 1]]),
        np.array([], dtype=np.int64),
        np.array([123456, 2**62 + 1]),
        np.array([123456, -(2**62) - 1]),
    ],
)
def test_levels_that_are_no_score_are_refused_without_saying_them(levels):
    with pytest.raises(ParameterError, match=r"(?i)score") as refused:
        Score(levels, 1, Readings(1), "")
    assert "123456" not in str(refused.value)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.0, True, math.nan, 2**62 + 1])
def test_a_sensitivity_is_a_whole_number_from_one(sensitivity):
    with pytest.raises(ParameterError, match=r"(?i)sensitivity of (a )?score"):
        Score(np.array([1, 2]), sensitivity, Readings(1), "")


def test_a_sensitivity_of_numpys_becomes_one_that_does_not_wrap():
    score = Score(np.array([1, 2]), np.int64(2**62), Readings(1), "")
    assert score.range == 2**63


def test_scores_and_placements_hide_what_they_hold():
    score = Score(np.array([1234567, 7654321]), 4, Days(2), "docs/proofs/day-votes.md")
    assert len(score) == 2
    assert repr(LevelTable.of(score.levels)) == "LevelTable(private)"
    assert repr(score) == "Score(2 candidates, sensitivity 4 for any 2 days, private)"
    placed = Placement((3, 2), AXES)
    assert placed.unit == System()
    assert repr(placed) == "Placement(among 4 x 3, private)"


@pytest.mark.parametrize(
    ("size", "step"), [(0, 1.0), (-1, 1.0), (5, 0.0), (5, -1.0), (5, math.nan)]
)
def test_an_axis_without_values_or_step_is_refused(size, step):
    with pytest.raises(ParameterError, match="at least one value and a positive step"):
        Axis(size, step)


@pytest.mark.parametrize(
    ("axes", "place", "words"),
    [
        ((), (), "at least one axis"),
        *((AXES, place, "one position per axis") for place in [(0,), (0, 0, 0), ()]),
        # and no word of where it is
        *((AXES, place, r"^a placement must lie within its axes$")
          for place in [(4, 0), (0, 3), (-1, 0), (0, -1)]),
    ],
)  # fmt: skip
def test_a_placement_has_one_position_within_each_axis(axes, place, words):
    with pytest.raises(ParameterError, match=words):
        Placement(place, axes)
