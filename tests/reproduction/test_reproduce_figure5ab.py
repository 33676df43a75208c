from __future__ import annotations

import json

import numpy as np
import pytest
from experiment_makers import LONG, SHORT, private_experiment, small_experiment

from reproduction.answers import is_near
from reproduction.figure5ab import (
    posterior_map,
    regret_curves,
    regret_growth,
    sampled_hexagons,
)
from reproduction.fleet_search import any_so_far, best_so_far, fleet_search
from reproduction.hexagons import ASPECT, HEIGHT, WIDTH, hexagons
from sunveil.paper.fit import paper_grid
from sunveil.paper.grid_and_bayesian_search import SearchSettings
from sunveil.plots.style import PRIVATE
from sunveil.site import Plane


def distance(azimuth: float, tilt: float) -> np.ndarray:
    """Return how far the middles of the regions are, on paper and around the compass."""
    cells = hexagons()
    along = np.abs(cells.surface_azimuth - azimuth)
    along = np.minimum(along, 360.0 - along)
    return np.hypot(along, ASPECT * (cells.surface_tilt - tilt))


@pytest.mark.parametrize(
    ("azimuth", "tilt"), [(0.0, 0.0), (359.4, 44.0), (359.9, 3.0), (272.0, 18.0), (181.0, 90.0)]
)
def test_a_plane_lies_in_the_region_whose_middle_is_nearest(azimuth, tilt):
    found = hexagons().of(np.array([azimuth]), np.array([tilt]))[0]
    apart = distance(azimuth, tilt)
    assert apart[found] == pytest.approx(apart.min(), abs=1e-9)


def test_regions_are_regular_on_paper():
    cells = hexagons()
    middle = 36 * 10 + 18
    apart = distance(cells.surface_azimuth[middle], cells.surface_tilt[middle])
    # six neighbours, all one width away, and nothing nearer
    assert np.sort(apart)[1:7] == pytest.approx(WIDTH)
    assert np.sort(apart)[7] > 1.5 * WIDTH


def test_regions_share_the_papers_candidates_almost_evenly():
    grid = paper_grid()
    counts = hexagons().count(grid.surface_azimuth, grid.surface_tilt)
    assert counts.sum() == len(grid)
    even = WIDTH * HEIGHT
    assert counts.min() >= 0.8 * even
    assert counts.max() <= 1.2 * even


def test_both_sides_of_north_share_a_region():
    found = hexagons().of(np.array([358.0, 359.9, 0.0, 1.0]), np.full(4, 6.0))
    assert len(set(found.tolist())) == 1


def test_the_mean_of_a_region_is_that_of_its_candidates():
    grid = paper_grid()
    values = np.random.default_rng(0).normal(size=len(grid))
    cells = hexagons()
    mean = cells.mean(grid.surface_azimuth, grid.surface_tilt, values=values)
    inside = cells.of(grid.surface_azimuth, grid.surface_tilt) == 300
    assert mean[300] == pytest.approx(values[inside].mean())


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
    json.dumps(data, allow_nan=False)


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
    json.dumps(data, allow_nan=False)


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
    json.dumps(data, allow_nan=False)


@pytest.mark.parametrize("make", [posterior_map, sampled_hexagons, regret_curves])
def test_figures_of_somebodys_readings_say_so(make):
    artefact = make(private_experiment())
    assert PRIVATE in [text.get_text() for text in artefact.figure.texts]
    assert artefact.data["private"]
    assert PRIVATE not in [text.get_text() for text in make(small_experiment()).figure.texts]


def test_near_wraps_around_north():
    grid = paper_grid()
    near = is_near(grid, Plane(355.0, 20.0))
    inside = {
        (a, t) for a, t in zip(grid.surface_azimuth[near], grid.surface_tilt[near], strict=True)
    }
    assert len(inside) == 21 * 13
    assert (5.0, 26.0) in inside
    assert (6.0, 20.0) not in inside


def test_the_best_so_far_keeps_the_first_of_equals():
    scores = np.array([-3.0, -1.0, -2.0, -1.0, -0.5])
    flags = np.array([True, False, True, True, True])
    assert best_so_far(scores, flags).tolist() == [True, False, False, False, True]
    assert any_so_far(np.array([False, True, False])).tolist() == [False, True, True]


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
