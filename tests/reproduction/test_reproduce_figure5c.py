from __future__ import annotations

import math

import numpy as np
import pytest
from experiment_makers import SHORT, private_experiment, small_experiment

from reproduction.figure5c import dp_draws
from sunveil.plots.style import PRIVATE

DRAWS = 4000


@pytest.fixture(scope="module")
def data():
    return dp_draws(small_experiment(), draws=DRAWS).data


def test_probabilities_are_told_relative_to_an_even_spread(data):
    mean = small_experiment().short.mean
    # the appendix's constant, written out anew
    size, steps, delta = len(mean), SHORT, 0.1
    phi = 2 * math.log(size * (steps + 1) ** 2 * math.pi**2 / (2 * delta))
    bound = 2 * (math.sqrt(phi) + math.sqrt(math.log(6 * size / delta)))
    assert data["sensitivity"] == pytest.approx(bound)
    weights = np.exp(0.1 * mean / (2 * bound))
    paper = data["at"][0]
    assert paper["epsilon"] == 0.1
    for key, weight in (("largest", weights.max()), ("smallest", weights.min())):
        told = paper[f"{key}_probability_times_candidates"]
        assert told == pytest.approx(weight * size / weights.sum(), rel=1e-12)


def test_draws_at_the_papers_epsilon_are_all_but_even(data):
    paper = data["at"][0]
    ratio = (
        paper["largest_probability_times_candidates"]
        / paper["smallest_probability_times_candidates"]
    )
    exponent = 0.1 * data["score_span"] / (2 * data["sensitivity"])
    assert ratio == pytest.approx(math.exp(exponent))
    assert ratio < 1.01
    assert data["chance_azimuth_error"] == pytest.approx(90.0)
    # four standard errors of a mean of even errors, which deviate by 52°
    assert abs(paper["mean_azimuth_error_of_draws"] - 90.0) < 4 * 52 / math.sqrt(DRAWS)


def test_draws_agree_with_their_exact_expectation(data):
    for each in data["at"]:
        apart = each["mean_azimuth_error_of_draws"] - each["mean_azimuth_error_exact"]
        assert abs(apart) < 4 * 52 / math.sqrt(DRAWS)


def test_the_guarantee_is_conditional_and_counts_every_draw(data):
    one, together = data["guarantee"]["one_draw"], data["guarantee"]["all_draws"]
    assert one["kind"] == together["kind"] == "conditional"
    assert one["epsilon"] == one["delta"] == 0.1
    assert together["epsilon"] == pytest.approx(DRAWS * 0.1)
    assert together["condition"]


def test_draws_from_somebodys_readings_are_marked():
    artefact = dp_draws(private_experiment(), draws=10)
    assert PRIVATE in [text.get_text() for text in artefact.figure.texts]
