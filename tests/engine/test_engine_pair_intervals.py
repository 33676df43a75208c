from __future__ import annotations

import numpy as np
import pytest
from engine_makers import pair_of

from sunveil.engine.two_planes import (
    PAIR_PARAMETERS,
    covariance_of_both,
    plane_estimates,
    plane_of_both,
)

PAIR = pair_of((92.0, 30.0, 2.0), (275.0, 30.0, 6.0), haze=0.3, limit=5.0)


def test_the_plane_of_both_has_the_summed_normal_and_all_capacity():
    both = plane_of_both(pair_of((90.0, 30.0, 3.0), (270.0, 30.0, 3.0)))
    assert np.hypot(*both[:2]) == pytest.approx(0.0, abs=1e-9)
    assert np.exp(both[2]) == pytest.approx(6.0)
    corner = plane_of_both(pair_of((90.0, 30.0, 3.0), (180.0, 30.0, 3.0), haze=0.3, limit=5.0))
    assert np.degrees(np.arctan2(*corner[:2])) == pytest.approx(135.0)
    assert np.hypot(*corner[:2]) == pytest.approx(
        np.degrees(np.arctan(np.tan(np.radians(30.0)) / np.sqrt(2.0)))
    )
    np.testing.assert_allclose(corner[3:], [0.3, 1.0, 0.0, np.log(5.0)])


def test_the_covariance_of_both_is_what_draws_of_the_pair_show():
    rng = np.random.default_rng(1)
    root = 0.3 * rng.normal(size=(PAIR_PARAMETERS, PAIR_PARAMETERS))
    root[[2, 5]] *= 0.05
    drawn = [plane_of_both(PAIR + root @ rng.normal(size=PAIR_PARAMETERS)) for _ in range(20_000)]
    stated = covariance_of_both(PAIR, root @ root.T)
    np.testing.assert_allclose(stated[:3, :3], np.cov(np.array(drawn).T)[:3, :3], atol=0.05)


def test_planes_come_with_the_larger_first_and_intervals_about_them():
    covariance = np.diag([4.0, 4.0, 0.01, 4.0, 4.0, 0.01, 0.0, 0.0, 0.0, 0.0])
    large, small = plane_estimates(PAIR, covariance)
    assert (large.surface_azimuth, large.surface_tilt) == pytest.approx((275.0, 30.0))
    assert (small.surface_azimuth, small.surface_tilt) == pytest.approx((92.0, 30.0))
    assert (large.share, small.share) == pytest.approx((0.75, 0.25))
    assert (large.dc_capacity_kw, small.dc_capacity_kw) == pytest.approx((6.0, 2.0))
    for each in (large, small):
        assert each.tilt_interval.width == pytest.approx(2 * 1.645 * 2.0, rel=0.1)
        assert each.azimuth_interval.low < each.surface_azimuth < each.azimuth_interval.high
        assert each.share_interval.low < each.share < each.share_interval.high
    assert large.capacity_interval.high == pytest.approx(6.0 * np.exp(1.645 * 0.1), rel=1e-3)
    # log odds err by both capacities, which err apart here
    odds = np.log(large.share_interval.high / (1.0 - large.share_interval.high))
    assert odds == pytest.approx(np.log(3.0) + 1.645 * np.sqrt(0.02), rel=1e-3)


def test_capacities_that_err_alike_leave_the_share_sure():
    covariance = np.zeros((PAIR_PARAMETERS, PAIR_PARAMETERS))
    covariance[np.ix_([2, 5], [2, 5])] = 0.04
    large, _ = plane_estimates(PAIR, covariance)
    assert large.share_interval.width == pytest.approx(0.0, abs=1e-9)
    assert large.capacity_interval.width > 1.0
