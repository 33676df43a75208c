from __future__ import annotations

import math

import gp_oracle
import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.grids import Grid, plane_grid
from sunveil.meters import from_pandas
from sunveil.paper.fit import paper_grid, paper_score
from sunveil.paper.grid_and_bayesian_search import (
    Kernel,
    Scaling,
    ScalingSource,
    SearchSettings,
    phi,
    search_bayesian,
    search_exhaustive,
    ucb,
)
from sunveil.simulate import simulate_fleet
from sunveil.site import Plane

AIM = Plane(200.0, 30.0)


def hill(grid: Grid) -> np.ndarray:
    """Two bumps of different heights: a score like the paper's, below zero and smooth."""
    near = np.exp(-3.0 * (1.0 - grid.normals @ AIM.normal))
    far = np.exp(-20.0 * (1.0 - grid.normals @ Plane(40.0, 70.0).normal))
    return np.asarray(0.6 * near + 0.4 * far - 1.0)


@pytest.fixture(scope="module")
def grid() -> Grid:
    return plane_grid(10.0, 5.0, highest_tilt=85.0)


@pytest.mark.parametrize("wrap", [False, True])
def test_the_picks_are_those_of_a_loop_with_scikit_learn(grid, wrap):
    kernel = Kernel(wrap=wrap)
    settings = SearchSettings(steps=60, warm_start=0, kernel=kernel)
    found = search_bayesian(grid, hill, settings=settings)
    points = kernel.coordinates(grid.surface_azimuth, grid.surface_tilt)
    expected = gp_oracle.picks(points, hill(grid), steps=60, delta=0.1)
    assert len(grid) == 36 * 18
    np.testing.assert_array_equal(found.points, expected)
    mean, variance = gp_oracle.posterior(points, expected, hill(grid)[expected])
    np.testing.assert_allclose(found.mean, mean, atol=1e-8)
    np.testing.assert_allclose(found.variance, variance, atol=1e-10)


def test_within_a_hundred_steps_it_is_near_the_maximiser_of_the_paper_s_fit_score():
    candidates = paper_grid()
    for _, power, weather in simulate_fleet(2, seed=61, sky_minutes=30):
        score = paper_score(from_pandas(power, system_id="one", label="start"), weather)
        exhaustive = search_exhaustive(candidates, score)
        settings = SearchSettings(steps=100, warm_start=0)
        optimum = float(exhaustive.scores.max())
        found = search_bayesian(candidates, score, settings=settings, optimum=optimum)
        best = exhaustive.best
        turned = (found.best.surface_azimuth - best.surface_azimuth + 180.0) % 360.0 - 180.0
        assert abs(turned) <= 10.0
        assert abs(found.best.surface_tilt - best.surface_tilt) <= 6.0
        assert (found.regret >= 0.0).all()


def test_confidence_widens_with_every_look_counting_the_warm_start(grid):
    """Each pick is the first of the highest bounds of a posterior made anew from what was seen."""
    settings = SearchSettings(steps=20, warm_start=tuple(range(0, 600, 40)) * 12, delta=0.4)
    found = search_bayesian(grid, hill, settings=settings)
    points = settings.kernel.coordinates(grid.surface_azimuth, grid.surface_tilt)
    for t in range(found.warm + 1, found.warm + 21):
        seen = found.points[: t - 1]
        mean, variance = gp_oracle.posterior(points, seen, found.scores[: t - 1])
        bound = ucb(mean, variance, phi(t, len(grid), 0.4))
        assert found.points[t - 1] == bound.argmax()


def test_history_and_best_are_what_was_evaluated(grid):
    looked: list[float] = []

    def score(part: Grid) -> np.ndarray:
        assert len(part) == 1
        looked.append(float(hill(part)[0]))
        return hill(part)

    found = search_bayesian(grid, score, settings=SearchSettings(steps=30))
    assert len(found.points) == len(looked) == 40
    assert found.warm == 10
    np.testing.assert_array_equal(found.scores, looked)
    np.testing.assert_allclose(found.scores, hill(grid)[found.points])
    assert hill(grid)[found.best_index] == max(looked)
    assert found.best == grid[found.best_index]


def test_regret_is_what_the_optimum_is_better_by_and_adds_up(grid):
    optimum = float(hill(grid).max())
    found = search_bayesian(grid, hill, settings=SearchSettings(steps=10), optimum=optimum)
    assert (found.regret > 0.0).all()  # ten steps do not find it
    np.testing.assert_allclose(found.regret, optimum - found.scores)
    np.testing.assert_allclose(found.cumulative_regret, np.cumsum(optimum - found.scores))
    assert found.cumulative_regret[-1] == pytest.approx(found.regret.sum())


def test_a_warm_start_by_number_is_seeded_and_has_no_repeats(grid):
    def warm(seed: int) -> list[int]:
        found = search_bayesian(
            grid, hill, settings=SearchSettings(steps=1, warm_start=50, seed=seed)
        )
        return [int(index) for index in found.points[:50]]

    assert warm(1) == warm(1) != warm(2)
    assert len(set(warm(1))) == 50


def test_a_warm_start_by_index_is_looked_at_first_and_in_order(grid):
    found = search_bayesian(grid, hill, settings=SearchSettings(steps=2, warm_start=(7, 7, 0, 647)))
    assert found.points[:4].tolist() == [7, 7, 0, 647]
    assert found.warm == 4


def test_wrap_lets_what_was_seen_at_359_speak_for_0():
    candidates = plane_grid(1.0, 90.0, highest_tilt=0.0)
    for wrap, farthest in ((False, 0), (True, 179)):
        settings = SearchSettings(steps=1, warm_start=(359,), kernel=Kernel(wrap=wrap))
        assert search_bayesian(candidates, hill, settings=settings).points[-1] == farthest


def test_a_public_scaling_is_named_and_undone(grid):
    scaling = Scaling.public(-1.0, 0.25)
    found = search_bayesian(grid, hill, settings=SearchSettings(steps=20, scaling=scaling))
    assert found.scaling.source is ScalingSource.PUBLIC
    seen = found.points
    np.testing.assert_allclose(found.mean[seen], (found.scores + 1.0) / 0.25, atol=1e-3)
    np.testing.assert_allclose(found.likelihood[seen], found.scores, atol=1e-3)


def test_a_scaling_by_the_scores_is_named_data_dependent_and_hides_them(grid):
    found = search_bayesian(
        grid, hill, settings=SearchSettings(steps=5, warm_start=20, scaling=None)
    )
    first = found.scores[:20]
    assert found.scaling.source is ScalingSource.DATA
    assert (found.scaling.centre, found.scaling.spread) == (first.mean(), first.std())
    assert not any(digit in repr(found.scaling) for digit in "0123456789")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"steps": 0}, "steps must be a whole number from 1 to 100,000, and 0 is not"),
        ({"steps": -5}, "steps"),
        ({"steps": 100_001}, "steps"),
        ({"steps": 10.0}, "steps"),
        ({"steps": True}, "steps"),
        ({"steps": math.nan}, "steps"),
        ({"steps": "many"}, "steps"),
        ({"warm_start": -1}, "warm_start"),
        ({"warm_start": 2.5}, "warm_start"),
        ({"warm_start": True}, "warm_start"),
        ({"warm_start": (3, -1)}, "warm_start"),
        ({"warm_start": (3, 2.7)}, "warm_start"),
        ({"warm_start": "ten"}, "warm_start"),
        ({"seed": -1}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": -0.1}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"jitter": 0.0}, "jitter"),
        ({"jitter": math.nan}, "jitter"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(given, words):
    with pytest.raises(ParameterError, match=words) as refused:
        SearchSettings(**given)
    assert len(str(refused.value).splitlines()) == 1


def unasked(part: Grid) -> np.ndarray:
    raise AssertionError("no score is asked for before the settings are known to be good")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"warm_start": 649}, "a warm start of 649 is more than the grid's 648"),
        ({"warm_start": (0, 648)}, "outside 0 to 647"),
        ({"steps": 100_000, "kernel": Kernel()}, "take fewer steps or a coarser grid"),
    ],
)
def test_settings_that_do_not_fit_the_grid_are_refused_before_any_look(grid, given, words):
    whole = paper_grid() if "kernel" in given else grid
    with pytest.raises(ParameterError, match=words):
        search_bayesian(whole, unasked, settings=SearchSettings(**given))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("warm", [0, 10])
def test_a_score_that_is_no_number_is_refused(grid, value, warm):
    with pytest.raises(ParameterError, match="finite number for every candidate"):
        search_bayesian(
            grid, lambda part: np.full(len(part), value), settings=SearchSettings(warm_start=warm)
        )
