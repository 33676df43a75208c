from __future__ import annotations

import numpy as np
import pytest
from engine_makers import PLANES, point_of

from sunveil.engine.final import FinalFit, fit_finally
from sunveil.engine.model import PARAMETERS
from sunveil.engine.search import modelled_power, search
from sunveil.engine.several import NOTHING, Explanation, log_likelihoods, settle


@pytest.fixture
def fit(rows, prepared) -> FinalFit:
    return fit_finally(search(rows, prepared), prepared)


def explanation(fit: FinalFit, systems: list[int], told: list[bool], tilt: float) -> Explanation:
    points = np.array([point_of(PLANES[s][0], tilt, 5.0) for s in systems])
    model = modelled_power(points, fit.prepared)
    covariance = np.zeros((len(systems), PARAMETERS, PARAMETERS))
    return Explanation(np.array(systems), np.array(told), points, model, covariance)


def test_readings_are_likeliest_under_their_own_model(fit):
    every = np.arange(len(PLANES))
    own = log_likelihoods(fit, every, fit.model, fit.kept)
    other = log_likelihoods(fit, every, 0.7 * fit.model, fit.kept)
    assert (own > other + 5.0).all()
    assert (own < 0.0).all()
    assert (log_likelihoods(fit, every, fit.model, 0.0 * fit.kept) == 0.0).all()


def test_the_likeliest_of_what_is_told_wins_and_moves_the_fit(fit):
    before = fit.points.copy()
    near = explanation(fit, [0, 2, 3], [True, True, False], 25.0)
    far = explanation(fit, [0, 1, 2], [True, False, True], 80.0)
    np.testing.assert_array_equal(settle(fit, (far, near)), [1, NOTHING, 1, NOTHING])
    np.testing.assert_array_equal(fit.points[[0, 2]], near.points[:2])
    np.testing.assert_array_equal(fit.model[[0, 2]], near.model[:2])
    np.testing.assert_array_equal(fit.points[[1, 3]], before[[1, 3]])


def test_without_explanations_one_plane_stays(fit):
    before = fit.points.copy()
    assert (settle(fit, ()) == NOTHING).all()
    np.testing.assert_array_equal(fit.points, before)
