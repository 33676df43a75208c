from __future__ import annotations

import numpy as np
import pytest

from sunveil.simulate.roster import SECTOR_DEGREES, SECTORS, box_skyline, draw_skylines, sectors_of


def test_sectors_go_round_from_north():
    assert list(sectors_of(np.array([0.0, 4.9, 5.0, 359.9, 360.0, -1.0]))) == [0, 0, 1, 71, 0, 71]


def test_an_obstacle_stands_where_it_stands_and_nowhere_else():
    north, none = box_skyline(
        np.array([2.5, np.nan]), np.array([21.0, np.nan]), np.array([30.0, np.nan])
    )
    assert list(np.flatnonzero(north)) == [0, 1, 2, SECTORS - 2, SECTORS - 1]
    assert set(north[north > 0.0]) == {30.0}
    assert not none.any()


def test_half_of_the_systems_have_a_skyline_that_is_mostly_low():
    drawn = draw_skylines(np.random.default_rng(1), 0.5, 4000)
    has = drawn.any(axis=1)
    assert np.mean(has) == pytest.approx(0.5, abs=0.03)
    assert np.all((drawn >= 0.0) & (drawn <= 60.0))
    highest = drawn[has].max(axis=1)
    assert 15.0 < np.median(highest) < 40.0
    # as high in any direction
    assert np.ptp(drawn.mean(axis=0)) < 1.0
    assert SECTOR_DEGREES * SECTORS == 360.0


def test_trees_and_houses_differ():
    drawn = draw_skylines(np.random.default_rng(2), 1.0, 400)
    steps = np.abs(np.diff(drawn, axis=1)).max(axis=1)
    assert np.mean(steps > 5.0) > 0.3
    assert np.mean(steps < 3.0) > 0.05
