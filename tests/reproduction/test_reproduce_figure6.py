from __future__ import annotations

import math

import numpy as np
import pytest
from experiment_makers import private_experiment, small_experiment

from reproduction.answers import (
    at_best,
    at_chance,
    expected_answer,
    informative_range,
)
from reproduction.figure6 import (
    exact_curve,
    privacy_tradeoff,
)
from sunveil.paper import DPBO
from sunveil.paper.dpbo import Bound
from sunveil.paper.fit import paper_grid
from sunveil.plots.style import PRIVATE
from sunveil.site import Plane


@pytest.fixture(scope="module")
def data():
    return privacy_tradeoff(small_experiment(), draws=2000).data


def by_hand(epsilon: float, delta: float) -> dict[str, float]:
    """Sum over all candidates, one by one."""
    experiment = small_experiment()
    grid, best = experiment.exhaustive.grid, experiment.exhaustive.best
    chances = DPBO(epsilon, delta).probabilities(experiment.posterior)
    azimuth = tilt = off = up = 0.0
    for index, chance in enumerate(chances):
        plane = grid[index]
        azimuth += chance * plane.surface_azimuth
        tilt += chance * plane.surface_tilt
        apart = abs(plane.surface_azimuth - best.surface_azimuth)
        off += chance * min(apart, 360.0 - apart)
        up += chance * abs(plane.surface_tilt - best.surface_tilt)
    squares = ((azimuth - best.surface_azimuth) / 360) ** 2 + ((tilt - best.surface_tilt) / 90) ** 2
    return {
        "expected_azimuth": azimuth,
        "expected_tilt": tilt,
        "normalised_rmse": math.sqrt(squares / 2),
        "azimuth_error": off,
        "tilt_error": up,
    }


@pytest.mark.parametrize("at", [0, 40, 70])
@pytest.mark.parametrize("delta", [1e-10, 0.1])
def test_expectations_are_the_sums_over_all_candidates(data, at, delta):
    curve = next(
        each
        for each in data["curves"]
        if each["delta"] == delta and each["bound"] == Bound.APPENDIX.value
    )
    assert curve["answers"][at] == pytest.approx(by_hand(curve["epsilon"][at], delta))


def test_chance_answers_with_the_middle_of_the_grid():
    grid = paper_grid()
    west = at_chance(grid, Plane(270.0, 18.0))
    assert (west.azimuth, west.tilt) == pytest.approx((179.5, 44.5))
    assert west.azimuth_error == pytest.approx(90.0)
    assert west.rmse == pytest.approx(math.sqrt(((90.5 / 360) ** 2 + (26.5 / 90) ** 2) / 2))
    south = at_chance(grid, Plane(180.0, 45.0))
    assert south.rmse == pytest.approx(0.5 / 90 * math.sqrt((1 / 16 + 1) / 2))
    # no better an answer for that
    assert south.azimuth_error == pytest.approx(90.0)


def test_information_begins_and_ends_where_it_is_said_to():
    experiment = small_experiment()
    grid, best = experiment.exhaustive.grid, experiment.exhaustive.best
    found = informative_range(experiment)
    chance = at_chance(grid, best).azimuth_error
    floor = at_best(grid, experiment.posterior, best).azimuth_error
    for epsilon, share in ((found.first, 0.05), (found.half, 0.5), (found.last, 0.95)):
        chances = DPBO(epsilon, 0.1).probabilities(experiment.posterior)
        error = expected_answer(grid, chances, best).azimuth_error
        assert (chance - error) / (chance - floor) == pytest.approx(share, abs=1e-6)
    assert 0.1 < found.first < found.half < found.last


def test_a_wider_bound_is_the_same_as_a_smaller_epsilon():
    experiment = small_experiment()
    posterior = experiment.posterior
    wide, narrow = (DPBO(1.0, 0.1, bound).sensitivity(posterior) for bound in Bound)
    assert wide > narrow
    first, other = (
        exact_curve(experiment, bound=bound, epsilons=np.array([epsilon])).answers[0].to_dict()
        for bound, epsilon in zip(Bound, (100.0, 100.0 * narrow / wide), strict=True)
    )
    assert first == pytest.approx(other)


def test_the_figure_of_somebodys_readings_is_marked():
    artefact = privacy_tradeoff(private_experiment(), draws=10)
    assert PRIVATE in [text.get_text() for text in artefact.figure.texts]
