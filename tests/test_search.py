"""The search by GP-UCB, compared with Gaussian process regression by scikit-learn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from sunveil.errors import ParameterError
from sunveil.grids import Grid, plane_grid
from sunveil.paper.fit import paper_grid
from sunveil.paper.grid_and_bayesian_search import (
    Kernel,
    Posterior,
    Scaling,
    ScalingSource,
    SearchSettings,
    phi,
    rbf,
    search_bayesian,
    search_exhaustive,
    ucb,
)
from sunveil.site import Plane

AIM = Plane(200.0, 30.0)


def exact_posterior(
    points: np.ndarray, seen: Sequence[int], scores: Sequence[float], *, jitter: float = 1e-6
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of every point after some observations."""
    if not len(seen):
        return np.zeros(len(points)), np.ones(len(points))
    # exp(-d²) is a length scale of 1/√2 in scikit-learn's exp(-d² / 2ℓ²)
    model = GaussianProcessRegressor(
        RBF(1.0 / math.sqrt(2.0), "fixed"), alpha=jitter, optimizer=None
    )
    with warnings.catch_warnings():
        # it says so when rounding makes a variance of zero negative, and sets it to zero
        warnings.filterwarnings("ignore", message="Predicted variances smaller than 0")
        mean, deviation = model.fit(points[list(seen)], scores).predict(points, return_std=True)
    return mean, deviation**2


def exact_picks(points: np.ndarray, scores: np.ndarray, *, steps: int, delta: float) -> list[int]:
    """Return what GP-UCB looks at with no warm start."""
    seen: list[int] = []
    for t in range(1, steps + 1):
        mean, variance = exact_posterior(points, seen, scores[seen])
        width = math.sqrt(phi(t, len(points), delta))
        seen.append(int((mean + width * np.sqrt(variance)).argmax()))
    return seen


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
    optimum = float(hill(grid).max())
    found = search_bayesian(grid, hill, settings=settings, optimum=optimum)
    points = kernel.coordinates(grid.surface_azimuth, grid.surface_tilt)
    expected = exact_picks(points, hill(grid), steps=60, delta=0.1)
    assert len(grid) == 36 * 18
    np.testing.assert_array_equal(found.points, expected)
    mean, variance = exact_posterior(points, expected, hill(grid)[expected])
    np.testing.assert_allclose(found.mean, mean, atol=1e-8)
    np.testing.assert_allclose(found.variance, variance, atol=1e-10)
    np.testing.assert_allclose(found.scores, hill(grid)[expected])
    assert found.best == grid[expected[int(found.scores.argmax())]]
    np.testing.assert_allclose(found.regret, optimum - found.scores)
    np.testing.assert_allclose(found.cumulative_regret, np.cumsum(optimum - found.scores))


def test_confidence_widens_with_every_look_counting_the_warm_start(grid):
    """Each pick is the first of the highest bounds of a posterior made anew from what was seen."""
    settings = SearchSettings(steps=20, warm_start=tuple(range(0, 600, 40)) * 12, delta=0.4)
    found = search_bayesian(grid, hill, settings=settings)
    points = settings.kernel.coordinates(grid.surface_azimuth, grid.surface_tilt)
    for t in range(found.warm + 1, found.warm + 21):
        seen = found.points[: t - 1]
        mean, variance = exact_posterior(points, seen, found.scores[: t - 1])
        bound = ucb(mean, variance, phi(t, len(grid), 0.4))
        assert found.points[t - 1] == bound.argmax()


def test_a_scaling_is_undone_and_says_whether_it_is_public_or_by_the_scores_which_it_hides(grid):
    public = SearchSettings(steps=20, scaling=Scaling.public(-1.0, 0.25))
    found = search_bayesian(grid, hill, settings=public)
    assert found.scaling.source is ScalingSource.PUBLIC
    seen = found.points
    np.testing.assert_allclose(found.mean[seen], (found.scores + 1.0) / 0.25, atol=1e-3)
    np.testing.assert_allclose(found.likelihood[seen], found.scores, atol=1e-3)
    by_scores = SearchSettings(steps=5, warm_start=20, scaling=None)
    found = search_bayesian(grid, hill, settings=by_scores)
    first = found.scores[:20]
    assert found.scaling.source is ScalingSource.DATA
    assert (found.scaling.centre, found.scaling.spread) == (first.mean(), first.std())
    assert not any(digit in repr(found.scaling) for digit in "0123456789")


NO_NUMBER = (math.nan, math.inf)
NO_PROBABILITY = (0.0, 1.0, -0.1, 2.0, *NO_NUMBER)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"steps": 0}, "steps must be a whole number from 1 to 100,000, and 0 is not"),
        *(({"steps": each}, "steps") for each in (-5, 100_001, 10.0, True, math.nan, "many")),
        *(
            ({"warm_start": each}, "warm_start")
            for each in (-1, 2.5, True, (3, -1), (3, 2.7), "10")
        ),
        *(({"seed": each}, "seed") for each in (-1, 0.5)),
        *(({"delta": each}, "delta must be above 0 and below 1") for each in NO_PROBABILITY),
        *(({"jitter": each}, "jitter must be") for each in (0.0, -1e-6, 1e-13, 1.1, *NO_NUMBER)),
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


# points that are the same, the same but for rounding, near, and far
AZIMUTHS = (0.0, 1e-9, 1e-4, 0.5, 40.0, 180.0, 359.0, 359.9999)
TILTS = (0.0, 1e-6, 20.0, 90.0)
NEIGHBOURS = np.array([(azimuth, tilt) for azimuth in AZIMUTHS for tilt in TILTS])
observations = st.lists(
    st.tuples(st.integers(0, len(NEIGHBOURS) - 1), st.floats(-3.0, 3.0)), min_size=1, max_size=20
)


def lay(kernel: Kernel, places: np.ndarray = NEIGHBOURS) -> np.ndarray:
    return kernel.coordinates(places[:, 0], places[:, 1])


def after(points: np.ndarray, seen: list[tuple[int, float]], jitter: float = 1e-6) -> Posterior:
    posterior = Posterior(points, capacity=len(seen), jitter=jitter)
    for index, score in seen:
        posterior.observe(index, score)
    return posterior


@given(
    seen=observations,
    wrap=st.booleans(),
    scale=st.sampled_from([1.0, 30.0, 180.0 / math.pi, 360.0]),
    jitter=st.sampled_from([1e-6, 1e-3, 1.0]),
)
def test_mean_and_variance_are_those_of_scikit_learn(seen, wrap, scale, jitter):
    points = lay(Kernel((scale, scale), wrap=wrap))
    ours = after(points, seen, jitter)
    mean, variance = exact_posterior(
        points, [index for index, _ in seen], [score for _, score in seen], jitter=jitter
    )
    # near-duplicates that disagree throw the mean far off elsewhere, in both alike
    np.testing.assert_allclose(ours.mean, mean, rtol=0.0, atol=1e-6 * np.abs(mean).max(initial=1.0))
    np.testing.assert_allclose(ours.variance, variance, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("jitter", [1e-12, 1e-6])
def test_a_point_may_be_seen_three_hundred_times(jitter):
    points = lay(Kernel())
    posterior = after(points, [(5, -0.3)] * 300, jitter)
    assert np.isfinite(posterior.mean).all()
    assert (posterior.variance >= 0.0).all()
    assert (posterior.variance <= 1.0).all()
    assert posterior.mean[5] == pytest.approx(-0.3, abs=1e-6)
    assert posterior.variance[5] <= 1e-6


def test_a_full_posterior_takes_no_more_and_stays_as_it_was():
    posterior = after(lay(Kernel()), [(0, 1.0), (9, -1.0)])
    mean, variance = posterior.mean.copy(), posterior.variance.copy()
    with pytest.raises(ParameterError, match="takes no more"):
        posterior.observe(3, 0.5)
    np.testing.assert_array_equal(posterior.mean, mean)
    np.testing.assert_array_equal(posterior.variance, variance)
    assert len(posterior) == 2


def test_wrap_puts_359_next_to_0_and_180_farthest_from_it():
    places = np.column_stack([np.arange(360.0), np.full(360, 30.0)])
    flat, round_ = (lay(Kernel(wrap=wrap), places) for wrap in (False, True))
    assert rbf(flat[0], flat)[359] < 1e-15
    near = rbf(round_[0], round_)
    assert near[359] == pytest.approx(near[1], rel=1e-12)
    assert near[359] > 0.999
    assert near.argmin() == 180


def test_phi_is_the_paper_s():
    """2 log(32400 · 1 · π² / 0.6) = 2 log(532,958.64) and 2 log(32400 · 10201 · π² / 0.6)."""
    assert phi(1, 32_400, 0.1) == pytest.approx(26.3723, abs=1e-4)
    assert phi(101, 32_400, 0.1) == pytest.approx(44.8328, abs=1e-4)
    assert phi(1, 1, math.pi**2 / 6.0 / math.e) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        ((0.0, 1.0), "azimuth must be above 0"),
        ((1.0, -3.0), "tilt must be above 0"),
        ((math.nan, 1.0), "azimuth"),
        ((1.0, math.inf), "tilt"),
        ((10_001.0, 1.0), "at most 10,000"),
        *((wrong, "a tuple of a number, a number") for wrong in ((1.0,), (1.0, 2.0, 3.0), 57.3)),
    ],
)
def test_a_length_scale_out_of_range_is_refused(scale, words):
    with pytest.raises(ParameterError, match=words):
        Kernel(scale)


def closeness(to: Plane):
    def score(grid: Grid) -> np.ndarray:
        return grid.normals @ to.normal

    return score


@pytest.mark.parametrize("aim", [Plane(180.0, 30.0), Plane(13.0, 77.0), Plane(271.5, 4.0)])
def test_the_best_is_that_of_a_loop_over_every_candidate(aim):
    grid = plane_grid(15.0, 10.0)
    found = search_exhaustive(grid, closeness(aim))
    angles = [grid[i].angle_to(aim) for i in range(len(grid))]
    assert found.best.angle_to(aim) == pytest.approx(min(angles), abs=1e-6)
    assert found.best == grid[found.best_index]
    np.testing.assert_allclose(found.scores, np.cos(np.radians(angles)), atol=1e-9)


def test_a_grid_larger_than_a_block_is_scored_whole():
    grid = plane_grid(2.0, 3.0)
    assert len(grid) > 2 * 2048
    sizes: list[int] = []

    def score(part: Grid) -> np.ndarray:
        sizes.append(len(part))
        return part.surface_azimuth + 1000.0 * part.surface_tilt

    found = search_exhaustive(grid, score)
    np.testing.assert_array_equal(found.scores, grid.surface_azimuth + 1000.0 * grid.surface_tilt)
    assert found.best == Plane(358.0, 90.0)
    assert max(sizes) <= 2048
    assert sum(sizes) == len(grid)
