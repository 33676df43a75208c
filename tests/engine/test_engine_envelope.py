from __future__ import annotations

import numpy as np
import pytest
from engine_makers import PLANES, point_of
from oracle import angle_between

from sunveil.engine.bright_envelope import (
    APART,
    BRIGHT_SHARE,
    FEWEST,
    STARTS,
    bright_envelope,
    find_starts,
    points_of,
    profiles_of,
    starting_grid,
    starts_within,
)
from sunveil.engine.power_model import CAPACITY, PARAMETERS
from sunveil.site import DAY


def test_groups_hold_the_same_time_of_day_of_ten_days(prepared):
    groups, sky = prepared.groups, prepared.sky
    long = sky.grid.long
    local = long.first + sky.turn + long.step * groups.places.astype(np.int64)
    there = np.isfinite(groups.scale)
    for group in range(0, groups.places.shape[1], 17):
        own = local[there[:, group], group]
        assert len(np.unique(own % DAY)) == 1
        assert np.ptp(own) <= 9 * DAY
        assert np.unique(own // (10 * DAY)).tolist() == [groups.window[group]]
    # every usable interval once
    assert sorted(groups.places[there].tolist()) == sorted(prepared.slot.tolist())
    light = np.ones(long.count)
    light[prepared.slot] = np.maximum(sky.ghi[: sky.usable], 20.0)
    scale = light[prepared.slot[groups.middle]] / light[groups.places]
    np.testing.assert_allclose(groups.scale[there], scale[there], rtol=1e-5)
    # the middle stands for all of it
    middles = prepared.slot[groups.middle]
    assert all(middles[g] in groups.places[there[:, g], g] for g in range(len(middles)))


def test_bright_powers_are_those_of_a_plain_loop(prepared, rows):
    groups = prepared.groups
    given = rows.copy()
    rng = np.random.default_rng(1)
    given[rng.random(given.shape) < 0.3] = np.nan
    given[3, 1000:] = np.nan
    found = bright_envelope(given, groups)
    assert np.isfinite(found[0]).mean() > 0.5
    for system in range(len(given)):
        for group in range(0, found.shape[1], 7):
            own = given[system, groups.places[:, group]] * groups.scale[:, group]
            own = np.sort(own[np.isfinite(own)])
            if len(own) < FEWEST:
                assert np.isnan(found[system, group])
            else:
                rank = int(BRIGHT_SHARE * (len(own) - 1) + 0.5)
                assert found[system, group] == pytest.approx(own[rank], rel=1e-6)
    assert np.isnan(found[3, -5:]).all()


def test_the_starting_planes_lie_close_to_any_plane():
    grid, rng = starting_grid(), np.random.default_rng(0)
    tilt, azimuth = rng.uniform(0.0, 90.0, 500), rng.uniform(0.0, 360.0, 500)
    points = points_of(grid)
    assert len(points) == len(grid)
    for one in zip(azimuth, tilt, strict=True):
        point = point_of(*one)
        assert min(angle_between(point, each) for each in points[::1]) < 15.0


def test_starts_lie_in_the_neighbourhood_of_the_truth(prepared, rows):
    starts, remains = find_starts(bright_envelope(rows, prepared.groups), prepared.groups)
    assert starts.shape == (len(rows), STARTS, PARAMETERS)
    assert (np.diff(remains, axis=1) >= 0.0).all()
    for own, plane in zip(starts, PLANES, strict=True):
        assert min(angle_between(each, point_of(*plane)) for each in own) < 16.0
        for first in range(STARTS):
            for second in range(first):
                assert angle_between(own[first], own[second]) >= APART - 0.1
        assert np.exp(own[0, CAPACITY]) == pytest.approx(6.0, rel=0.15)


def test_a_plane_of_the_grid_is_its_own_best_start(prepared):
    """Its own bright powers leave nothing."""
    points, groups = points_of(starting_grid()), prepared.groups
    chosen = [0, 30, 55, 90]
    starts, remains = find_starts(4.0 * groups.profiles[chosen], groups)
    np.testing.assert_allclose(starts[:, 0, :2], points[chosen, :2])
    np.testing.assert_allclose(np.exp(starts[:, 0, CAPACITY]), 4.0, rtol=1e-4)
    np.testing.assert_allclose(remains[:, 0], 0.0, atol=1e-5)


def test_a_start_within_a_capacity_asks_for_no_more(prepared):
    points, groups = points_of(starting_grid()), prepared.groups
    steep = np.hypot(points[:, 0], points[:, 1]) > 60.0
    north = int(np.flatnonzero(steep & (points[:, 1] > 0.0))[0])
    envelope = np.repeat(4.0 * groups.profiles[[north]], 3, axis=0)
    envelope[:, ::5] = np.nan
    found = starts_within(envelope, groups, np.array([4.2, 2.0, 0.0]))
    assert found[0] == north
    there = np.isfinite(envelope[0])
    shape = groups.profiles[:, there]
    capacity = (shape @ envelope[0, there]) / (shape * shape).sum(axis=1)
    left = ((envelope[0, there] - capacity[:, None] * shape) ** 2).sum(axis=1)
    within = np.flatnonzero(capacity <= 2.0)
    assert found[1] == within[left[within].argmin()]
    # where every plane asks for more, the one that asks for least
    assert found[2] == capacity.argmin()


def test_profiles_are_padded_with_nothing(prepared):
    found = profiles_of(prepared.groups.sheet, point_of(180.0, 30.0)[None], prepared.numbers)
    count = len(prepared.groups.middle)
    assert found.shape[1] % 64 == 0
    assert (found[:, count:] == 0.0).all()
    assert (found[:, :count] > 0.0).mean() > 0.9


def test_a_system_without_readings_has_starts_all_the_same(prepared):
    none = np.full((1, prepared.groups.places.shape[1]), np.nan, dtype=np.float32)
    starts, remains = find_starts(none, prepared.groups)
    assert np.isfinite(starts).all()
    assert np.isfinite(remains).all()
