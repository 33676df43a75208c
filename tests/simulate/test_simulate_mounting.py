from __future__ import annotations

import numpy as np
import pytest

from benchmarks.planes_systems import with_second_plane
from sunveil.errors import ParameterError
from sunveil.simulate import REAL_FLEET, SystemTruth
from sunveil.simulate.roster import BACKTRACKING, TURNED_AXES, draw_trackers


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


@pytest.mark.parametrize("wrong", [{"two_planes": 1.5}, {"trackers": -0.1}])
def test_an_impossible_mix_is_refused(wrong):
    with pytest.raises(ParameterError, match="from 0 to 1"):
        REAL_FLEET.with_mix(**wrong)
