from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from experiment_makers import LONG, SHORT, small_experiment

from reproduction.answers import at_best, at_chance, expected_answer, informative_range
from reproduction.figure5ab import posterior_map, regret_curves, regret_growth, sampled_hexagons
from reproduction.figure5c import dp_draws
from reproduction.figure6 import exact_curve, privacy_tradeoff
from reproduction.fleet_search import fleet_search
from reproduction.hexagons import HEIGHT, WIDTH, hexagons
from reproduction.readings5c import WORST, readings_figure, readings_of_5c
from sunveil.paper import DPBO
from sunveil.paper.dpbo import Bound
from sunveil.paper.fit import paper_grid
from sunveil.paper.grid_and_bayesian_search import SearchSettings
from sunveil.plots.style import PRIVATE
from sunveil.site import Plane


def test_regions_share_the_papers_candidates_almost_evenly():
    grid = paper_grid()
    counts = hexagons().count(grid.surface_azimuth, grid.surface_tilt)
    assert counts.sum() == len(grid)
    even = WIDTH * HEIGHT
    assert counts.min() >= 0.8 * even
    assert counts.max() <= 1.2 * even


def test_the_posterior_map_holds_the_long_runs_mean():
    experiment = small_experiment()
    data = posterior_map(experiment).data
    assert data["steps"] == LONG
    assert data["highest"] == pytest.approx(experiment.long.mean.max())
    shown = [value for value in data["regions"]["log_likelihood"] if value is not None]
    assert max(shown) <= data["highest"] + 1e-12
    best = experiment.exhaustive.best
    assert data["maximiser"] == {
        "surface_azimuth": best.surface_azimuth,
        "surface_tilt": best.surface_tilt,
    }
    assert data["reported"] == {"surface_azimuth": 270.0, "surface_tilt": 18.0}


def test_counts_of_regions_add_up_to_the_steps():
    experiment = small_experiment()
    data = sampled_hexagons(experiment).data
    assert sum(data["regions"]["count"]) == SHORT
    points, best = data["points"], experiment.exhaustive.best
    near = [
        min(abs(azimuth - best.surface_azimuth), 360.0 - abs(azimuth - best.surface_azimuth)) <= 10
        and abs(tilt - best.surface_tilt) <= 6
        for azimuth, tilt in zip(points["surface_azimuth"], points["surface_tilt"], strict=True)
    ]
    assert data["near_share"] == pytest.approx(sum(near) / SHORT)


def test_regret_is_the_maximum_less_what_was_seen():
    experiment = small_experiment()
    data = regret_curves(experiment).data
    seen = experiment.exhaustive.scores[experiment.long.points]
    lost = experiment.exhaustive.scores.max() - seen
    assert data["long"]["instantaneous"] == pytest.approx(lost.tolist(), abs=1e-12)
    assert data["long"]["cumulative"][-1] == pytest.approx(lost.sum())
    assert data["long"]["average"][-1] == pytest.approx(lost.mean())
    # the longer run begins with the shorter one, as the words beneath the figure say
    assert data["short"]["cumulative"] == pytest.approx(data["long"]["cumulative"][:SHORT])
    expected = np.log(lost.sum() / lost[:SHORT].sum()) / np.log(LONG / SHORT)
    assert regret_growth(experiment.short, experiment.long) == pytest.approx(expected)


@pytest.mark.parametrize(
    "make",
    [
        posterior_map,
        sampled_hexagons,
        regret_curves,
        partial(dp_draws, draws=10),
        partial(privacy_tradeoff, draws=10),
        readings_figure,
    ],
)
def test_figures_of_somebodys_readings_say_so_and_others_do_not(make):
    experiment = small_experiment()
    subject = replace(experiment.subject, reported=None, private=True)
    for private, each in ((True, replace(experiment, subject=subject)), (False, experiment)):
        artefact = make(each)
        assert (PRIVATE in [text.get_text() for text in artefact.figure.texts]) is private
        assert artefact.data["private"] is private
        json.dumps(artefact.data, allow_nan=False)


def test_a_fleets_search_counts_the_systems_found():
    reported: list[tuple[int, int]] = []
    artefact = fleet_search(
        systems=2,
        seed=3,
        settings=SearchSettings(steps=60),
        progress=lambda done, total: reported.append((done, total)),
    )
    data = artefact.data
    assert reported == [(1, 2), (2, 2)]
    assert len(data["step"]) == len(data["share_best_is_near"]) == 70
    assert data["found"] == sum(each["near"] for each in data["searches"])
    assert data["share_best_is_near"][-1] == data["found"] / 2
    for each in data["searches"]:
        best, top = each["best_looked_at"], each["maximiser"]
        off = abs(best["surface_azimuth"] - top["surface_azimuth"])
        close = abs(best["surface_tilt"] - top["surface_tilt"]) <= 6 and min(off, 360 - off) <= 10
        assert close == each["near"]
    json.dumps(data, allow_nan=False)


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


def test_draws_at_the_papers_epsilon_are_all_but_even_and_agree_with_what_is_expected(data):
    paper = data["at"][0]
    most, least = (paper[f"{key}_probability_times_candidates"] for key in ("largest", "smallest"))
    exponent = 0.1 * data["score_span"] / (2 * data["sensitivity"])
    assert most / least == pytest.approx(math.exp(exponent))
    assert most / least < 1.01
    assert data["chance_azimuth_error"] == pytest.approx(90.0)
    # four standard errors of a mean of even errors, which deviate by 52°
    allowed = 4 * 52 / math.sqrt(DRAWS)
    assert abs(paper["mean_azimuth_error_of_draws"] - 90.0) < allowed
    for each in data["at"]:
        apart = each["mean_azimuth_error_of_draws"] - each["mean_azimuth_error_exact"]
        assert abs(apart) < allowed


def test_the_guarantee_is_conditional_and_counts_every_draw(data):
    one, together = data["guarantee"]["one_draw"], data["guarantee"]["all_draws"]
    assert one["kind"] == together["kind"] == "conditional"
    assert one["epsilon"] == one["delta"] == 0.1
    assert together["epsilon"] == pytest.approx(DRAWS * 0.1)
    assert together["condition"]


@pytest.fixture(scope="module")
def found():
    return {each.name: each for each in readings_of_5c(small_experiment())}


def test_as_written_comes_first_and_is_chance_and_the_repair_alone_holds_in_the_worst_case(found):
    first = next(iter(found.values()))
    assert first.name.startswith("as written")
    assert first.azimuth_error == pytest.approx(90.0, abs=1.0)
    assert not first.as_printed
    (repair,) = [each for each in found.values() if each.privacy == WORST]
    assert "solar day" in repair.name
    assert repair.day_epsilon == 0.1


def test_the_figure_has_a_mark_for_every_reading_and_says_what_it_fits(found):
    drawn = readings_figure(small_experiment())
    assert [each["reading"] for each in drawn.data["readings"]] == list(found)
    assert drawn.name == "5c-readings"


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


def test_expectations_are_the_sums_over_all_candidates():
    curves = {
        each["delta"]: each
        for each in privacy_tradeoff(small_experiment(), draws=2000).data["curves"]
        if each["bound"] == Bound.APPENDIX.value
    }
    for delta, at in itertools.product((1e-10, 0.1), (0, 40, 70)):
        expected = by_hand(curves[delta]["epsilon"][at], delta)
        assert curves[delta]["answers"][at] == pytest.approx(expected)


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
