from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from engine_makers import PLANES, flags, rows_of

from sunveil.engine import infer_generation
from sunveil.engine.clock_faults import Laid, _tracked_as_declared
from sunveil.engine.coarse_search import search
from sunveil.engine.one_or_two_planes import tracker_likeness
from sunveil.engine.tracker_model import AXIS, tracker_grid
from sunveil.estimates import Flag
from sunveil.estimates.planes_and_intervals import DECLARED
from sunveil.simulate import Tracker, tracking


@pytest.fixture(scope="module")
def tracked(denver, power_of):
    changes = [partial(tracking, tracker=Tracker(axis_azimuth=axis)) for axis in (150.0, 195.0)]
    return rows_of([power_of(change=change, seed=9) for change in changes], denver.grid)


def test_trackers_look_like_the_tracker_with_their_axis(tracked, prepared):
    searched = search(tracked, prepared)
    found = tracker_likeness(searched, searched.points, prepared)
    np.testing.assert_array_equal(found.suspects(), [0, 1])
    assert (found.by_trackers.min(axis=1) < 0.7 * found.by_plane).all()
    best = tracker_grid()[found.by_trackers.argmin(axis=1), AXIS]
    np.testing.assert_allclose(best, [150.0, 195.0], atol=15.0)


def test_single_planes_do_not(rows, prepared):
    searched = search(rows, prepared)
    found = tracker_likeness(searched, searched.points, prepared)
    assert not len(found.suspects())
    assert found.enough.all()
    assert (found.by_trackers.min(axis=1) > found.by_plane).all()
    assert len(found.by_plane) == len(PLANES)


@pytest.mark.parametrize("late", [0, 1])
def test_a_tracker_keeps_a_right_clock_and_gets_a_wrong_one_repaired(tracked, denver, late):
    found = infer_generation(np.roll(tracked, late, axis=1), denver)
    for place in range(2):
        assert Flag.TRACKER in flags(found, place)
        assert found.clock_offset_minutes[place] == 60.0 * late


def test_no_clock_is_right_under_which_less_looks_like_a_tracker(tracked, prepared):
    """Which plane comes closest to a tracker, and what light it has, does not count."""
    moved = np.roll(tracked, 1, axis=1)
    right, wrong = (
        Laid(DECLARED, rows[:1], prepared, search(rows[:1], prepared), half=False)
        for rows in (tracked, moved)
    )
    assert _tracked_as_declared(right.searched, wrong, prepared)
    assert not _tracked_as_declared(wrong.searched, right, prepared)
