from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2

from sunveil.errors import ParameterError
from sunveil.privacy import Guarantee, System
from sunveil.privacy.mechanisms import SLACK, Axis, Placement
from sunveil.privacy.two_level_window import Window, best_window

# Production randomness cannot be seeded: a right draw fails this once in ten million runs.
FALSE_ALARM = 1e-7
CIRCLE, RANGE = Axis(6, 60.0, wraps=True), Axis(5, 15.0)
AXES = (CIRCLE, RANGE)
PLANES = (Axis(72, 5.0, wraps=True), Axis(19, 5.0), Axis(84, 0.1))


def places(axes: tuple[Axis, ...]) -> list[Placement]:
    return [
        Placement(place, axes) for place in itertools.product(*(range(axis.size) for axis in axes))
    ]


def mean_distance(axis: Axis, place: int, value: int, fine: int = 200) -> float:
    """Return the mean distance of a value from a truth anywhere within half a step of a place."""
    truth = place + (np.arange(fine) + 0.5) / fine - 0.5
    apart = np.abs(truth - value)
    if axis.wraps:
        apart = np.minimum(apart % axis.size, axis.size - apart % axis.size)
    return float(apart.mean()) * axis.step


def slow_errors(window: Window, priors: list[np.ndarray] | None = None) -> list[float]:
    """Return the expected error along each axis from the probabilities of every placement."""
    priors = priors or [np.ones(axis.size) for axis in window.axes]
    errors = np.zeros(len(window.axes))
    total = 0.0
    for placed in places(window.axes):
        weight = math.prod(prior[p] for prior, p in zip(priors, placed.place, strict=True))
        total += weight
        for place, probability in np.ndenumerate(window.probabilities(placed)):
            for number, axis in enumerate(window.axes):
                errors[number] += (
                    weight
                    * probability
                    * mean_distance(axis, placed.place[number], place[number], fine=8)
                )
    return (errors / total).tolist()


def shares_of_chance(axes: tuple[Axis, ...], place: tuple[int, ...]) -> np.ndarray:
    """Return the public distance of every candidate, from the definition."""
    found = np.zeros([axis.size for axis in axes])
    for number, axis in enumerate(axes):
        every = np.array(
            [[mean_distance(axis, p, v) for v in range(axis.size)] for p in range(axis.size)]
        )
        shape = [-1 if n == number else 1 for n in range(len(axes))]
        found = found + (every[place[number]] / every.mean()).reshape(shape)
    return found


SMALL = [
    AXES,
    (RANGE, CIRCLE),
    (Axis(7, 2.0, wraps=True),),
    (Axis(9),),
    (Axis(4, wraps=True), Axis(3), Axis(4, 0.5)),
    (Axis(1), Axis(2, wraps=True), Axis(3)),
]


@pytest.mark.parametrize("axes", SMALL, ids=str)
def test_a_window_holds_exactly_as_many_everywhere_and_none_outside_is_nearer(axes):
    """Exhaustive: every number of candidates, every placement."""
    for inside in range(1, math.prod(axis.size for axis in axes) + 1):
        window = Window(1.0, axes, inside)
        for placed in places(axes):
            held = window.members(placed)
            assert held.sum() == inside
            assert held[placed.place]
            apart = shares_of_chance(axes, placed.place)
            if inside < window.size:
                assert apart[held].max() <= apart[~held].min() + 1e-9


def test_a_window_turns_along_a_circle_and_holds_every_smaller_one():
    for placed in places(AXES):
        held = [Window(1.0, AXES, inside).members(placed) for inside in range(1, 31)]
        assert all((small <= large).all() for small, large in itertools.pairwise(held))
        turn, tilt = placed.place
        first = Placement((0, tilt), AXES)
        for inside, turned in enumerate(held, start=1):
            flat = Window(1.0, AXES, inside).members(first)
            np.testing.assert_array_equal(turned, np.roll(flat, turn, axis=0))


@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 8.0, 50.0])
def test_any_two_placements_are_within_exactly_epsilon(epsilon):
    """Exhaustive: every number of candidates, every placement, every candidate."""
    for inside in range(1, 31):
        window = Window(epsilon, AXES, inside)
        tables = np.array([window.probabilities(placed) for placed in places(AXES)])
        np.testing.assert_allclose(tables.sum(axis=(1, 2)), 1.0, rtol=0.0, atol=1e-12)
        loss = (np.log(tables.max(axis=0)) - np.log(tables.min(axis=0))).max()
        whole = window.inside == window.size
        assert loss == pytest.approx(0.0 if whole else epsilon - SLACK, rel=1e-9, abs=1e-12)
        # the normaliser is the same everywhere: nothing but the ratio tells placements apart
        assert len(np.unique(tables)) == (1 if whole else 2)


@pytest.mark.parametrize("place", [(0, 0), (3, 2)])
def test_draws_follow_the_probabilities(place):
    window, draws = Window(1.5, AXES, 6), 1200
    placed = Placement(place, AXES)
    counts = np.zeros((6, 5))
    for _ in range(draws):
        counts[window.draw(placed)] += 1.0
    expected = draws * window.probabilities(placed)
    assert expected.min() > 20.0
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM, 29)


def test_a_window_over_everything_draws_anything():
    window = Window(4.0, AXES, 30)
    found = {window.draw(Placement((0, 0), AXES)) for _ in range(60)}
    assert len(found) > 5
    assert window.probabilities(Placement((0, 0), AXES)).max() == pytest.approx(1.0 / 30.0)


PRIORS = [np.array([0.0, 1.0, 5.0, 1.0, 0.0, 0.0]), np.array([8.0, 3.0, 1.0, 0.0, 0.0])]
CIRCLES = [(Axis(size, 2.0, wraps=True),) for size in (7, 2, 1)]


@pytest.mark.parametrize(
    ("axes", "insides", "epsilons", "priors"),
    [
        (AXES, (1, 6, 20, 30), (0.1, 2.0, 6.0), None),
        (AXES, (6,), (2.0,), PRIORS),
        *((axes, range(1, axes[0].size + 1), (1.0,), None) for axes in CIRCLES),
    ],
)
def test_expected_errors_are_those_of_the_probabilities(axes, insides, epsilons, priors):
    for inside, epsilon in itertools.product(insides, epsilons):
        window = Window(epsilon, axes, inside)
        errors = window.expected_errors(priors)
        assert errors == pytest.approx(slow_errors(window, priors), rel=1e-9)
        assert priors is None or errors != window.expected_errors()


@pytest.mark.parametrize("priors", [None, PRIORS], ids=["flat", "given"])
@pytest.mark.parametrize("epsilon", [1e-4, 0.5, 2.0, 4.0, 8.0, 50.0])
def test_the_best_window_has_the_least_error_of_all(epsilon, priors):
    chance = np.array(Window(1e-4, AXES, 30).expected_errors())

    def loss(inside: int) -> float:
        return float(sum(Window(epsilon, AXES, inside).expected_errors(priors) / chance))

    found = best_window(epsilon, AXES, priors=priors)
    assert loss(found.inside) == pytest.approx(min(map(loss, range(1, 31))), rel=1e-9)


# The best box on the same axes: its loss averaged over every place.
BOX = {1.0: 0.8749, 2.0: 0.7443, 4.0: 0.5045, 8.0: 0.2012}


@pytest.mark.parametrize(("epsilon", "box"), BOX.items())
def test_the_ball_loses_less_than_the_best_box(epsilon, box):
    window = best_window(epsilon, PLANES)
    chance = Window(1e-4, PLANES, window.size).expected_errors()
    loss = np.mean(np.divide(window.expected_errors(), chance))
    assert 0.85 * box < loss < 0.98 * box


def test_what_stands_for_all_places_of_a_long_range_is_drawn_from_the_prior():
    """A prior with all weight at one end gives the window of a place at that end."""
    prior = [np.ones(72), np.eye(19)[0], np.eye(84)[40]]
    found = best_window(4.0, PLANES, priors=prior)
    assert found != best_window(4.0, PLANES)
    spread = [np.ones(72), np.ones(19) / 7.0, np.full(84, 3.0)]
    assert best_window(4.0, PLANES, priors=spread) == best_window(4.0, PLANES)


def test_the_window_narrows_as_epsilon_grows():
    sizes = [best_window(epsilon, PLANES).inside for epsilon in (0.1, 1.0, 4.0, 8.0, 20.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1] == 1


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0, 8.0])
def test_azimuth_alone_is_within_a_hundredth_of_the_optimum_and_never_below(epsilon):
    window = best_window(epsilon, (Axis(360, 1.0, wraps=True),))
    (found,) = window.expected_errors()
    optimum = 180.0 / (1.0 + math.exp(epsilon / 2.0))
    assert optimum <= found <= 1.01 * optimum


def test_an_axis_of_one_value_is_no_division_by_zero():
    window = best_window(1.0, (Axis(1), Axis(1, wraps=True)))
    assert window.inside == 1
    assert window.draw(Placement((0, 0), window.axes)) == (0, 0)


def test_the_guarantee_is_for_the_whole_record():
    window = Window(0.7, AXES, 1)
    found = window.guarantee(Placement((0, 0), AXES))
    assert found == Guarantee(System(), 0.7, 0.0, "docs/proofs/window.md")


def test_a_placement_among_other_candidates_is_refused():
    window, other = Window(1.0, AXES, 1), Placement((0, 0), (CIRCLE, Axis(5, 14.0)))
    for use in (window.guarantee, window.probabilities, window.draw):
        with pytest.raises(ParameterError, match="among other candidates"):
            use(other)


def test_a_window_that_is_none_is_refused():
    for axes, inside in (((), 1), (AXES, 0), (AXES, 31), (AXES, -1)):
        with pytest.raises(ParameterError, match="a window"):
            Window(1.0, axes, inside)
    with pytest.raises(ParameterError, match="at least one axis"):
        best_window(1.0, ())


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 1e9, 1e-9])
def test_an_epsilon_that_no_release_can_mean_is_refused(epsilon):
    for make in (lambda: Window(epsilon, AXES, 1), lambda: best_window(epsilon, AXES)):
        with pytest.raises(ParameterError, match="epsilon must be"):
            make()


@pytest.mark.parametrize(
    "priors",
    [
        [np.ones(6)],
        [np.ones(5), np.ones(5)],
        [np.zeros(6), np.ones(5)],
        [-np.ones(6), np.ones(5)],
        [np.full(6, np.nan), np.ones(5)],
        [np.full(6, np.inf), np.ones(5)],
    ],
)
def test_a_prior_that_is_none_is_refused(priors):
    with pytest.raises(ParameterError, match="prior"):
        best_window(1.0, AXES, priors=priors)
    with pytest.raises(ParameterError, match="prior"):
        Window(1.0, AXES, 1).expected_errors(priors)
