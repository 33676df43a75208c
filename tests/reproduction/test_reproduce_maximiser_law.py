from __future__ import annotations

import numpy as np
import pytest
from experiment_makers import small_experiment

from reproduction.hexagons import hexagons
from reproduction.maximiser_law import kernel_factor, maximiser_law
from sunveil.paper.grid_and_bayesian_search import rbf


def test_the_factor_gives_the_kernel_back():
    points = np.random.default_rng(1).random((60, 2)) * [6.0, 1.5]
    factor = kernel_factor(points)
    kernel = np.array([rbf(point, points) for point in points])
    assert np.allclose(factor @ factor.T, kernel, atol=1e-6)


def test_probabilities_add_up_and_are_highest_about_the_best_seen():
    run = small_experiment().long
    law = maximiser_law(run, functions=200)
    assert law.probability.sum() == pytest.approx(1.0)
    assert law.highest_log <= 0.0
    # the likeliest regions are among those where the posterior mean is highest
    here = hexagons().of(run.grid.surface_azimuth, run.grid.surface_tilt)
    expected = float((law.probability[here] * run.mean).sum() / law.probability[here].sum())
    assert expected > np.quantile(run.mean, 0.8)
    assert maximiser_law(run, functions=200).probability.tolist() == law.probability.tolist()
