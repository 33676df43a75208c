from __future__ import annotations

import math

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.privacy import Days, Readings, Score, System
from sunveil.privacy.mechanisms import Axis, Placement

AXES = (Axis(4, 5.0, wraps=True), Axis(3))


def test_a_score_says_how_many_candidates_it_has_and_hides_its_levels():
    score = Score(np.array([1234567, 7654321]), 4, Days(2), "docs/proofs/day-votes.md")
    assert len(score) == 2
    assert repr(score) == "Score(2 candidates, sensitivity 4 for any 2 days, private)"


@pytest.mark.parametrize(
    "levels",
    [
        np.array([123456.0, 1.0]),
        np.array([123456, 1], dtype=np.int32),
        np.array([[123456, 1]]),
        np.array([], dtype=np.int64),
        np.array([123456, 2**62 + 1]),
        np.array([123456, -(2**62) - 1]),
    ],
)
def test_levels_that_are_no_score_are_refused_without_saying_them(levels):
    with pytest.raises(ParameterError, match=r"(?i)score") as refused:
        Score(levels, 1, Readings(1), "")
    assert "123456" not in str(refused.value)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.0, True, math.nan, 2**62 + 1])
def test_a_sensitivity_is_a_whole_number_from_one(sensitivity):
    with pytest.raises(ParameterError, match=r"(?i)sensitivity of (a )?score"):
        Score(np.array([1, 2]), sensitivity, Readings(1), "")


def test_a_sensitivity_of_numpys_becomes_one_that_does_not_wrap():
    score = Score(np.array([1, 2]), np.int64(2**62), Readings(1), "")
    assert score.range == 2**63


@pytest.mark.parametrize(
    ("size", "step"), [(0, 1.0), (-1, 1.0), (5, 0.0), (5, -1.0), (5, math.nan)]
)
def test_an_axis_without_values_or_step_is_refused(size, step):
    with pytest.raises(ParameterError, match="at least one value and a positive step"):
        Axis(size, step)


def test_a_placement_protects_the_whole_record_and_hides_itself():
    placed = Placement((3, 2), AXES)
    assert placed.unit == System()
    assert repr(placed) == "Placement(among 4 x 3, private)"


@pytest.mark.parametrize("place", [(0,), (0, 0, 0), ()])
def test_a_placement_has_one_position_per_axis(place):
    with pytest.raises(ParameterError, match="one position per axis"):
        Placement(place, AXES)
    with pytest.raises(ParameterError, match="at least one axis"):
        Placement((), ())


@pytest.mark.parametrize("place", [(4, 0), (0, 3), (-1, 0), (0, -1)])
def test_a_placement_outside_its_axes_is_refused_without_saying_it(place):
    with pytest.raises(ParameterError) as refused:
        Placement(place, AXES)
    assert str(refused.value) == "a placement must lie within its axes"
