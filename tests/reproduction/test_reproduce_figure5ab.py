from __future__ import annotations

import json

import numpy as np
import pytest
from experiment_makers import LONG, SHORT, private_experiment, small_experiment

from reproduction.figure5ab import (
    posterior_map,
    regret_curves,
    regret_growth,
    sampled_hexagons,
)
from reproduction.fleet_search import fleet_search
from reproduction.hexagons import HEIGHT, WIDTH, hexagons
from sunveil.paper.fit import paper_grid
from sunveil.paper.grid_and_bayesian_search import SearchSettings
from sunveil.plots.style import PRIVATE


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
