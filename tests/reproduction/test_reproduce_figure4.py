from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from reproduction.figure4 import (
    LARGEST_HOME_KW,
    PLACES,
    HomeFleet,
    capacity_and_peak,
    capacity_statement,
    simulate_homes,
)
from sunveil.plots.style import embedded


@pytest.fixture(scope="module")
def fleet() -> HomeFleet:
    return simulate_homes(40, seed=3)


def test_a_fleet_is_of_homes_spread_over_california(fleet: HomeFleet) -> None:
    assert len(fleet.capacity) == len(fleet.peak) == 40
    assert {fleet.city.count(place.name) for place in PLACES} == {8}
    for place in PLACES:
        assert 32.5 < place.site.latitude < 42.0
        assert -124.5 < place.site.longitude < -114.0
    assert fleet.capacity.min() >= 1.0
    assert fleet.capacity.max() <= LARGEST_HOME_KW
    assert (fleet.low <= fleet.peak).all()
    assert (fleet.peak <= fleet.high).all()
    assert (fleet.high < 1.1 * fleet.capacity).all()


def test_the_statement_says_what_was_counted(fleet: HomeFleet) -> None:
    said = capacity_statement(fleet)
    assert said.holds is True
    assert f"{fleet.rank_correlation:.2f}" in said.measured
    assert f"{100 * fleet.agreeing:.0f}%" in said.measured
    assert fleet.rank_correlation > 0.8
    # the same peaks dealt out at random tell nothing of capacity
    shuffled = replace(fleet, peak=np.random.default_rng(1).permutation(fleet.peak))
    assert capacity_statement(shuffled).holds is False


def test_the_figure_has_a_joint_panel_and_four_densities_on_either_side(fleet: HomeFleet) -> None:
    artefact = capacity_and_peak(fleet)
    axes = {(ax.get_xlabel(), ax.get_ylabel()): ax for ax in artefact.figure.axes}
    joint = axes["Nameplate capacity, DC [kW]", "Daily peak power, AC [W]"]
    dots = [dot for drawn in joint.collections for dot in drawn.get_offsets() * [1.0, 1e-3]]
    assert sorted(map(tuple, np.round(dots, 4))) == sorted(
        zip(artefact.data["dc_capacity_kw"], artefact.data["daily_peak_kw"], strict=True)
    )
    counts = sorted(len(ax.get_lines()) for ax in artefact.figure.axes)
    assert counts == [0, 4, 4, 4]
    points = np.concatenate([np.asarray(line.get_ydata()) for line in joint.get_lines()])
    assert np.allclose(np.sort(points), np.sort(1000.0 * fleet.days.ravel()))  # all of them, in W
    for ax in set(artefact.figure.axes) - {joint}:
        for line in ax.get_lines():
            # a density's integral over capacity or peak is one
            across, dense = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
            if ax.get_ylim() == joint.get_ylim():
                across, dense = dense, across
            assert np.trapezoid(dense, across) == pytest.approx(1.0, abs=0.1)
    assert [artefact.data["quarter"].count(n) for n in (1, 2, 3, 4)] == [10] * 4
    json.dumps(artefact.data, allow_nan=False)
    assert embedded(artefact.figure, artefact.words).source
