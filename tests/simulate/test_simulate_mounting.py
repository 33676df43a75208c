from __future__ import annotations

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.simulate import REAL_FLEET, SystemTruth, draw_systems, on_tracker, with_second_plane
from sunveil.simulate.roster import BACKTRACKING, TURNED_AXES, draw_trackers, second_planes
from sunveil.site import Mount


def test_second_planes_are_about_as_steep_and_half_or_a_quarter_turned():
    turn = np.repeat([180.0, 90.0, np.nan], 1000)
    azimuth, tilt = second_planes(
        np.random.default_rng(1), np.full(3000, 350.0), np.full(3000, 30.0), turn=turn
    )
    assert np.array_equal(np.isnan(azimuth), np.isnan(turn))
    assert np.array_equal(np.isnan(tilt), np.isnan(turn))
    assert np.mean(azimuth[:1000]) == pytest.approx(170.0, abs=0.3)
    assert np.mean(azimuth[1000:2000]) == pytest.approx(80.0, abs=0.3)
    assert np.std(tilt[:2000] - 30.0) == pytest.approx(3.0, abs=0.2)


def test_trackers_differ_and_most_axes_run_north_to_south():
    drawn = draw_trackers(np.random.default_rng(2), 4000)
    south = drawn["axis_azimuth"] == 180.0
    assert np.mean(south) == pytest.approx(1.0 - TURNED_AXES, abs=0.03)
    assert np.all((drawn["axis_azimuth"] >= 90.0) & (drawn["axis_azimuth"] < 270.0))
    assert np.mean(drawn["backtrack"]) == pytest.approx(BACKTRACKING, abs=0.03)
    assert np.ptp(drawn["gcr"]) == pytest.approx(0.25, abs=0.01)
    assert np.ptp(drawn["max_angle"]) == pytest.approx(15.0, abs=0.1)


def test_a_system_gets_a_second_plane_with_the_smaller_share(south_roof: SystemTruth):
    rng = np.random.default_rng(3)
    pairs = [with_second_plane(south_roof, rng=rng) for _ in range(50)]
    shares = np.array([pair.planes[0][1] for pair in pairs])
    assert np.all((shares >= 0.5) & (shares <= 0.8))
    turns = [pair.planes[1][0].surface_azimuth - pair.plane.surface_azimuth for pair in pairs]
    corners = np.abs(np.cos(np.radians(turns))) < 0.5
    assert 15 < np.sum(corners) < 35
    first = np.array([pair.plane.surface_azimuth for pair in pairs])
    assert set(first[corners]) == {south_roof.plane.surface_azimuth}
    # few put modules on a side away from the sun
    assert np.mean(np.abs(np.sin(np.radians(first[~corners]))) > 0.7) > 0.8
    assert len({pair.planes[1][0] for pair in pairs}) == 50


def test_a_system_is_put_on_a_tracker_of_its_own():
    rng = np.random.default_rng(4)
    turning = [on_tracker(truth, rng=rng) for truth in draw_systems(10, seed=1)]
    assert {each.mount for each in turning} == {Mount.RACK}
    assert len({each.tracker for each in turning}) == 10


@pytest.mark.parametrize("wrong", [{"two_planes": 1.5}, {"trackers": -0.1}])
def test_an_impossible_mix_is_refused(wrong):
    with pytest.raises(ParameterError, match="from 0 to 1"):
        REAL_FLEET.with_mix(**wrong)
