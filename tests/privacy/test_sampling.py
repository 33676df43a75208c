from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from sunveil.errors import ParameterError
from sunveil.privacy import PermuteAndFlip, Readings, Score, mechanisms
from sunveil.privacy.guarantees import LARGEST_EPSILON, SMALLEST_EPSILON
from sunveil.privacy.mechanisms import (
    BITS,
    SLACK,
    Axis,
    Exponential,
    LevelTable,
    Placement,
    draw_exponential,
    draw_level,
    draw_uniform,
    draw_weighted,
)
from sunveil.privacy.two_level_window import Window

# Production randomness cannot be seeded: a right draw fails this once in ten million runs.
FALSE_ALARM = 1e-7
# The largest error of a log-weight before it is rounded that ``docs/proofs/sampling.md`` allows.
ALLOWED = 2.0**-28


def far(counts: object, expected: object) -> float:
    counts, expected = np.asarray(counts, dtype=float), np.asarray(expected, dtype=float)
    return float(((counts - expected) ** 2 / expected).sum())


def test_a_weighted_draw_follows_the_weights():
    """A base of 2 for e gives over 90, a flat draw over 1000; the limit is 35."""
    logs, draws = np.array([-1.3, 0.9, -0.4, 0.2]), 2500
    counts = np.bincount([draw_weighted(logs) for _ in range(draws)], minlength=4)
    expected = draws * np.exp(logs) / np.exp(logs).sum()
    assert far(counts, expected) < chi2.isf(FALSE_ALARM, 3)
    base_2 = draws * 2.0**logs / (2.0**logs).sum()
    assert far(expected, base_2) > 90.0


@pytest.mark.parametrize("count", [2, 5, 10])
def test_a_uniform_draw_is_uniform(count):
    """Of 5 and of 10, digits held to the last index in place of drawn anew give over 100."""
    draws = 1000
    counts = np.bincount([draw_uniform(count) for _ in range(draws)], minlength=count)
    assert len(counts) == count
    assert far(counts, np.full(count, draws / count)) < chi2.isf(FALSE_ALARM, count - 1)
    assert draw_uniform(1) == 0


def test_a_uniform_draw_of_many_reaches_all_of_them():
    count = 300_000
    drawn = np.array([draw_uniform(count) for _ in range(400)])
    assert (drawn >= 0).all()
    found = np.bincount(drawn * 8 // count, minlength=8)
    assert far(found, np.full(8, 50.0)) < chi2.isf(FALSE_ALARM, 7)


def test_a_level_is_drawn_by_its_weight_and_a_candidate_among_its_equals():
    """Levels drawn without their counts give over 500; the limit is 35."""
    levels, draws = np.array([4, 9, 4, 4]), 2500
    table = LevelTable.of(levels)
    probabilities = np.array([0.2, 0.4])
    found = [draw_level(table, np.log(probabilities), levels) for _ in range(draws)]
    expected = draws * np.array([0.2, 0.4, 0.2, 0.2])
    assert far(np.bincount(found, minlength=4), expected) < chi2.isf(FALSE_ALARM, 3)


def drawn_with(monkeypatch: pytest.MonkeyPatch, mechanism: object, score: object) -> np.ndarray:
    """Return the log-probabilities with which OpenDP draws a level: what it was really given."""
    given_to: list[np.ndarray] = []

    def record(levels: np.ndarray, measure: object, scale: float) -> int:
        if scale == 2.0**BITS:
            given_to.append(levels.astype(np.longdouble) / np.longdouble(scale))
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(mechanisms, "_noisy_max", record)
        mechanism.draw(score)
    (logs,) = given_to
    return logs - np.logaddexp.reduce(logs)


def neighbours() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(5)
    pairs = []
    for _ in range(12):
        one = rng.binomial(4000, rng.uniform(0.01, 0.5), 3000)
        pairs.append((one, one + rng.integers(-1, 2, 3000)))
    one = rng.integers(0, 1_000_000, 400)
    pairs.append((one, one + 1 - 2 * (np.arange(400) % 2)))
    return pairs


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
@pytest.mark.parametrize("epsilon", [SMALLEST_EPSILON, 0.1, 1.0, LARGEST_EPSILON])
def test_what_is_really_drawn_is_within_epsilon_of_its_neighbour_and_as_it_is_said(
    monkeypatch, kind, epsilon
):
    """The whole numbers that OpenDP gets, in long double: rounding included, slack used up."""
    for pair in neighbours():
        drawn = []
        for levels in pair:
            score = Score(levels.astype(np.int64), 1, Readings(1), "")
            table = LevelTable.of(score.levels)
            each = drawn_with(monkeypatch, kind(epsilon), score)
            each = table.spread(each - np.log(table.counts.astype(np.longdouble)), score.levels)
            said = kind(epsilon).log_probabilities(score)
            assert np.abs(each - said).max() <= 2.0 * (2.0**-BITS + ALLOWED)
            drawn.append(each)
        assert np.abs(drawn[0] - drawn[1]).max() <= epsilon


def test_the_slack_covers_what_rounding_can_add():
    """Four times a weight's error: two weights and two sums; see ``docs/proofs/sampling.md``."""
    assert 4.0 * (ALLOWED + 2.0**-BITS) < SLACK < SMALLEST_EPSILON / 1000.0


def test_a_window_really_draws_within_epsilon(monkeypatch):
    axes = (Axis(360, 1.0, wraps=True), Axis(19), Axis(84))
    for epsilon in (SMALLEST_EPSILON, 1.0, LARGEST_EPSILON):
        window = Window(epsilon, axes, 31 * 4 * 9)
        drawn = drawn_with(monkeypatch, window, Placement((7, 0, 83), axes))
        inside, outside = math.log(window.inside), math.log(window.size - window.inside)
        ratio = (drawn[0] - inside) - (drawn[1] - outside)
        assert epsilon - 2.0 * SLACK < ratio <= epsilon


# The draw of the paper's mechanism, which tests of it hold to its law


def test_only_differences_between_levels_matter_up_to_the_largest_numbers():
    """With an exponent of 2^40 between them, the lower level is as good as never drawn."""
    levels = np.array([-(2**62), 2**62], dtype=np.int64)
    assert {draw_exponential(levels, sensitivity=2**22, epsilon=1.0) for _ in range(50)} == {1}
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
def test_levels_that_cannot_be_drawn_from_are_refused_without_saying_them(levels, sensitivity):
    with pytest.raises(ParameterError, match="64-bit whole number per candidate") as refused:
        draw_exponential(levels, sensitivity=sensitivity, epsilon=1.0)
    assert "123456" not in str(refused.value)
