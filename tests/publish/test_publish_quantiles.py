from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from fleet_makers import ANY, KEYS, fleet, random_fleet
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.privacy import PermuteAndFlip
from sunveil.privacy.discrete_noise import Spending
from sunveil.publish.noisy_counts import groups_of
from sunveil.publish.totals_and_quantiles import (
    QuantileGrid,
    draw_quantiles,
    grids,
    part_of,
    rank_error,
    rank_score,
)

GRID = QuantileGrid(0.0, 20.0, 40)
VALUES = st.lists(ANY, min_size=1, max_size=15)


@given(VALUES, ANY, st.data(), st.floats(0.01, 0.99))
def test_one_row_moves_no_level_by_more_than_one(values, other, data, probability):
    place = data.draw(st.integers(0, len(values) - 1))
    changed = [*values[:place], other, *values[place + 1 :]]
    ours = rank_score(np.array(values), GRID, probability=probability)
    theirs = rank_score(np.array(changed), GRID, probability=probability)
    assert ours.sensitivity == 1
    assert np.abs(ours.levels - theirs.levels).max() <= 1


@given(VALUES, st.floats(0.01, 0.99))
def test_the_quantile_itself_and_nothing_else_has_level_zero(values, probability):
    places = np.sort(GRID.places(np.array(values)))
    true = places[math.ceil(probability * len(values)) - 1]
    levels = rank_score(np.array(values), GRID, probability=probability).levels
    assert levels[true] == 0
    assert levels.max() == 0
    assert np.flatnonzero(levels == 0).tolist() == [true]


@given(st.lists(st.floats(0.0, 20.0), min_size=1, max_size=60), st.floats(0.05, 5.0))
def test_the_expected_error_is_within_the_stated_bound(values, epsilon):
    score = rank_score(np.array(values), GRID, probability=0.5)
    law = PermuteAndFlip(epsilon).probabilities(score)
    assert -(law * score.levels).sum() <= rank_error(GRID, spending=Spending(epsilon))


def test_values_are_moved_to_the_nearest_of_the_grid():
    moved = GRID.places(np.array([-5.0, 0.26, 19.9, 99.0, np.nan, np.inf]))
    assert moved.tolist() == [0, 1, 40, 40, 0, 40]


def test_capacities_have_a_grid_that_cuts_no_system_off():
    grid = grids(2000.0)["dc_capacity_kw"]
    assert (grid.low, grid.high, grid.geometric) == (0.5, 2000.0, True)
    ratios = grid.values[1:] / grid.values[:-1]
    assert 1.019 < ratios.min() <= ratios.max() <= 1.02 + 1e-12
    places = grid.places(np.array([0.0, np.nan, 0.5, 640.0, 2000.0, 1e9]))
    assert places[[0, 1, 2, 4, 5]].tolist() == [0, 0, 0, grid.steps, grid.steps]
    assert grid.values[places[3]] == pytest.approx(640.0, rel=0.01)
    assert grids(2000.0)["surface_tilt"] == QuantileGrid(0.0, 90.0, 180)


@given(st.lists(ANY, min_size=1, max_size=9))
def test_any_value_has_a_place_in_a_geometric_grid(values):
    grid = grids(2000.0)["dc_capacity_kw"]
    places = grid.places(np.array(values))
    assert ((places >= 0) & (places <= grid.steps)).all()


@given(st.floats(0.01, 50.0), st.integers(1, 30))
def test_the_parts_stay_within_the_whole(epsilon, many):
    each = part_of(Spending(epsilon), many).amount
    assert Fraction(each) * 2 * many <= Fraction(epsilon)
    assert each == pytest.approx(epsilon / (2 * many))


def test_under_a_promise_with_delta_quantiles_are_drawn_by_the_exponential_mechanism():
    part = part_of(Spending(0.5, concentrated=True), 3)
    assert part.selection.rho == pytest.approx(0.5 / 6)
    assert rank_error(GRID, spending=part) == pytest.approx(2 * math.log(41) / (4 / 6) ** 0.5)


def test_a_large_fleet_has_its_quantiles_and_in_order():
    """At this ε a rank error of 300 of 4,000 has a probability below e^-100."""
    rows = random_fleet(4000)
    groups = groups_of(rows, key=None, keys=None)
    table = draw_quantiles(
        rows, groups, largest_kw=25.0, probabilities=(0.75, 0.25, 0.5), spending=Spending(6.0)
    )
    assert table.column("quantity") == ["dc_capacity_kw"] * 3 + ["surface_tilt"] * 3
    assert table.column("probability") == [0.25, 0.5, 0.75] * 2
    for name in ("dc_capacity_kw", "surface_tilt"):
        found = [row[2] for row in table.rows if row[0] == name]
        assert found == sorted(found)
        for p, value in zip((0.25, 0.5, 0.75), found, strict=True):
            assert np.mean(getattr(rows, name) <= value) == pytest.approx(p, abs=0.08)


def test_a_system_on_two_planes_has_the_tilt_of_the_larger():
    """At this ε a rank error of 50 of 100 has a probability of about e^-100."""
    pair = [(90, 22, 0.4), (270, 31, 0.6)]
    rows = fleet([(180, 5, 4)] * 100, planes=dict.fromkeys(range(100), pair))
    groups = groups_of(rows, key=None, keys=None)
    table = draw_quantiles(
        rows, groups, largest_kw=25.0, probabilities=(0.5,), spending=Spending(8.0)
    )
    assert table.column("value")[1] == 31.0


def test_an_empty_group_has_no_quantiles():
    rows = fleet([(180, 30, 4)] * 9, ["F1"] * 9)
    groups = groups_of(rows, key="feeder", keys=KEYS)
    table = draw_quantiles(
        rows, groups, largest_kw=25.0, probabilities=(0.5,), spending=Spending(1.0)
    )
    values = {row[:2]: row[3] for row in table.rows}
    assert values["F1", "surface_tilt"] is not None
    assert values["F2", "surface_tilt"] is None
    assert values["F3", "dc_capacity_kw"] is None


@pytest.mark.parametrize("probabilities", [(0.0,), (1.0,), (0.5, 0.5), (float("nan"),)])
def test_probabilities_that_are_none_are_refused(probabilities):
    rows = random_fleet(9)
    groups = groups_of(rows, key=None, keys=None)
    with pytest.raises(ParameterError, match="quantiles"):
        draw_quantiles(
            rows, groups, largest_kw=25.0, probabilities=probabilities, spending=Spending(1.0)
        )
