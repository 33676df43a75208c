from __future__ import annotations

import math

import gp_oracle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.grids import plane_grid
from sunveil.paper import grid_and_bayesian_search
from sunveil.paper.grid_and_bayesian_search import Kernel, Posterior, phi, rbf

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
    mean, variance = gp_oracle.posterior(
        points, [index for index, _ in seen], [score for _, score in seen], jitter=jitter
    )
    # near-duplicates that disagree throw the mean far off elsewhere, in both alike
    np.testing.assert_allclose(ours.mean, mean, rtol=0.0, atol=1e-6 * np.abs(mean).max(initial=1.0))
    np.testing.assert_allclose(ours.variance, variance, rtol=0.0, atol=1e-9)


@given(seen=observations, order=st.randoms(use_true_random=False))
def test_the_order_of_observations_does_not_matter(seen, order):
    points = lay(Kernel())
    shuffled = list(seen)
    order.shuffle(shuffled)
    one, other = after(points, seen, 1e-3), after(points, shuffled, 1e-3)
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-8)
    np.testing.assert_allclose(one.variance, other.variance, atol=1e-8)


def test_before_any_observation_the_posterior_is_the_prior():
    posterior = Posterior(lay(Kernel()), capacity=3)
    assert len(posterior) == 0
    assert not posterior.mean.any()
    assert (posterior.variance == 1.0).all()


@pytest.mark.parametrize("jitter", [1e-12, 1e-6])
def test_a_point_may_be_seen_three_hundred_times(jitter):
    points = lay(Kernel())
    posterior = after(points, [(5, -0.3)] * 300, jitter)
    assert np.isfinite(posterior.mean).all()
    assert (posterior.variance >= 0.0).all()
    assert (posterior.variance <= 1.0).all()
    assert posterior.mean[5] == pytest.approx(-0.3, abs=1e-6)
    assert posterior.variance[5] <= 1e-6


@pytest.mark.parametrize("other", [1, 4, 8])
def test_points_that_differ_by_next_to_nothing_may_disagree(other):
    """A tilt of 1e-6°, an azimuth of 1e-9° and one of 1e-4° away, seen by turns with -1 and 1."""
    points = lay(Kernel())
    seen = [(0 if k % 2 else other, (-1.0) ** k) for k in range(200)]
    ours = after(points, seen)
    mean, variance = gp_oracle.posterior(points, *zip(*seen, strict=True))
    np.testing.assert_allclose(ours.mean, mean, atol=1e-6 * np.abs(mean).max(initial=1.0))
    np.testing.assert_allclose(ours.variance, variance, atol=1e-9)
    assert ours.mean[[0, other]] == pytest.approx(0.0, abs=1e-2)
    assert (ours.variance >= 0.0).all()


def test_a_full_posterior_takes_no_more_and_stays_as_it_was():
    posterior = after(lay(Kernel()), [(0, 1.0), (9, -1.0)])
    mean, variance = posterior.mean.copy(), posterior.variance.copy()
    with pytest.raises(ParameterError, match="takes no more"):
        posterior.observe(3, 0.5)
    np.testing.assert_array_equal(posterior.mean, mean)
    np.testing.assert_array_equal(posterior.variance, variance)
    assert len(posterior) == 2


@pytest.mark.parametrize("wrap", [False, True])
def test_the_correlation_at_one_length_scale_is_one_over_e(wrap):
    kernel = Kernel((2.0, 5.0), wrap=wrap)
    places = np.array([(100.0, 30.0), (102.0, 30.0), (100.0, 35.0), (102.0, 35.0)])
    points = lay(kernel, places)
    expected = [1.0, math.exp(-1.0), math.exp(-1.0), math.exp(-2.0)]
    # a chord of two degrees is 0.005% shorter than its arc
    np.testing.assert_allclose(rbf(points[0], points), expected, rtol=2e-4 if wrap else 1e-12)


def test_wrap_puts_359_next_to_0_and_180_farthest_from_it():
    places = np.column_stack([np.arange(360.0), np.full(360, 30.0)])
    flat, round_ = (lay(Kernel(wrap=wrap), places) for wrap in (False, True))
    assert rbf(flat[0], flat)[359] < 1e-15
    near = rbf(round_[0], round_)
    assert near[359] == pytest.approx(near[1], rel=1e-12)
    assert near[359] > 0.999
    assert near.argmin() == 180


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("scale", [5.0, 57.3, 360.0])
def test_the_kernel_is_a_covariance(wrap, scale):
    grid = plane_grid(15.0, 15.0)
    points = Kernel((scale, scale), wrap=wrap).coordinates(grid.surface_azimuth, grid.surface_tilt)
    matrix = np.stack([rbf(point, points) for point in points])
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 1.0)
    assert np.linalg.eigvalsh(matrix).min() > -1e-10


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
        ((1.0,), "a tuple of a number, a number"),
        ((1.0, 2.0, 3.0), "a tuple of a number, a number"),
        (57.3, "a tuple of a number, a number"),
    ],
)
def test_a_length_scale_out_of_range_is_refused(scale, words):
    with pytest.raises(ParameterError, match=words):
        Kernel(scale)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0, math.nan, math.inf])
def test_a_delta_that_is_no_probability_is_refused(delta):
    with pytest.raises(ParameterError, match="delta must be above 0 and below 1"):
        grid_and_bayesian_search.check_delta(delta)


@pytest.mark.parametrize("jitter", [0.0, -1e-6, 1e-13, 1.1, math.nan, math.inf])
def test_a_jitter_out_of_range_is_refused(jitter):
    with pytest.raises(ParameterError, match="jitter must be"):
        Posterior(lay(Kernel()), capacity=1, jitter=jitter)
