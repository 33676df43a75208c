from __future__ import annotations

import numpy as np
import pytest
from experiment_makers import small_experiment

from reproduction.guarantees import changed_readings, guarantees, neighbour, widest_miss


def test_a_neighbour_differs_in_one_day_alone():
    score = small_experiment().score
    other = neighbour(score, 100.0)
    assert not np.array_equal(other.days[0].power, score.days[0].power)
    assert other.days[1:] == score.days[1:]
    assert (other.days[0].power.min(), other.days[0].power.max()) == (0.0, 1.0)
    # a group's score lies between -1 and 0, so that one day moves the sum by at most one
    grid = small_experiment().exhaustive.grid
    assert np.abs(other(grid) - score(grid)).max() <= 1.0


def test_a_score_that_the_posterior_knows_is_within_the_bound():
    experiment = small_experiment()
    scores = experiment.exhaustive.scores
    worst = widest_miss(experiment.short, scores)
    assert widest_miss(experiment.short, scores + 50.0) > worst


def test_lemma_2_holds_with_room_and_the_theorem_is_not_proven():
    experiment = small_experiment()
    near = changed_readings(experiment)
    assert 0.0 < near.moved < 21.0
    first, second, theorem = guarantees([experiment])
    assert second.holds is True
    assert theorem.verdict == "cannot be told"
    assert theorem.subjects[0][1].numbers["largest_loss"] == pytest.approx(near.loss)
    assert "of the bound" in first.measured
