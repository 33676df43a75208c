from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_makers import point_of, rows_of
from hypothesis import given
from hypothesis import strategies as st

from sunveil.engine import infer_generation
from sunveil.engine.constants import SystematicErrors
from sunveil.engine.intervals import (
    DRAWS,
    Intervals,
    _draws,
    covariances,
    in_plane_axes,
    intervals_of,
)
from sunveil.site import normals

BARE = SystematicErrors(clock_minutes=0.0, tilt=0.0, across=0.0, capacity=0.0, stretch=1.0)


def spread(azimuth: float, tilt: float, *, angle: float = 1.0, capacity: float = 0.02) -> Intervals:
    covariance = np.diag(np.square([angle, angle, capacity, 0.1, 0.1, 0.1, 1.0]))
    return intervals_of(point_of(azimuth, tilt, 5.0)[None], covariance[None])


def width(found: Intervals) -> float:
    turn = float(found.surface_azimuth_high[0] - found.surface_azimuth_low[0])
    return turn if turn >= 360.0 else turn % 360.0


def test_draws_are_standard_normal_and_do_not_go_together():
    draws = _draws()
    assert draws.shape == (2, DRAWS)
    np.testing.assert_allclose(draws.mean(axis=1), 0.0, atol=1e-9)
    np.testing.assert_allclose(np.cov(draws), np.eye(2), atol=1e-9)
    for each in draws:
        assert np.quantile(each, [0.05, 0.5, 0.95]) == pytest.approx([-1.645, 0, 1.645], abs=0.12)


@given(
    st.floats(0, 360),
    st.floats(12, 60),
    st.floats(0.5, 3),
    st.floats(0.5, 3),
    st.floats(-0.7, 0.7),
)
def test_intervals_are_those_of_many_normal_draws(azimuth, tilt, east, north, together):
    cross = together * east * north
    covariance = np.diag([0.0, 0.0, 0.03**2, 0.1, 0.1, 0.1, 1.0])
    covariance[:2, :2] = [[east**2, cross], [cross, north**2]]
    point = point_of(azimuth, tilt, 5.0)
    found = intervals_of(point[None], covariance[None])
    rng = np.random.default_rng(0)
    many = rng.multivariate_normal(point[:2], covariance[:2, :2], 100_000)
    tilts = np.minimum(np.hypot(*many.T), 90.0)
    azimuths = np.degrees(np.arctan2(many[:, 0], many[:, 1]))
    turned = (azimuths - azimuth + 180.0) % 360.0 - 180.0
    scale = max(east, north)
    low, high = np.quantile(tilts, [0.05, 0.95])
    assert found.surface_tilt_low[0] == pytest.approx(low, abs=0.3 * scale)
    assert found.surface_tilt_high[0] == pytest.approx(high, abs=0.3 * scale)
    low, high = np.quantile(turned, [0.05, 0.95])
    loose = np.degrees(0.4 * scale / tilt)
    mine = [
        (each[0] - azimuth + 180.0) % 360.0 - 180.0
        for each in (found.surface_azimuth_low, found.surface_azimuth_high)
    ]
    assert mine == pytest.approx([low, high], abs=loose)
    cosines = normals(azimuths, tilts) @ normals(np.array([azimuth]), np.array([tilt]))[0]
    radius = np.degrees(np.arccos(np.quantile(cosines, 0.1)))
    assert found.plane_error_degrees[0] == pytest.approx(radius, rel=0.15)


def test_one_degree_of_doubt_is_three_degrees_of_interval():
    found = spread(180.0, 30.0)
    assert found.surface_tilt_high[0] - found.surface_tilt_low[0] == pytest.approx(
        2 * 1.645, rel=0.06
    )
    assert width(found) == pytest.approx(2 * 1.645 * np.degrees(1.0 / 30.0), rel=0.08)
    assert found.dc_capacity_kw_high[0] / 5.0 == pytest.approx(np.exp(1.645 * 0.02))
    assert found.dc_capacity_kw_low[0] / 5.0 == pytest.approx(np.exp(-1.645 * 0.02))


@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_a_flat_plane_may_face_anywhere(tilt):
    found = spread(180.0, tilt)
    assert (found.surface_azimuth_low[0], found.surface_azimuth_high[0]) == (0.0, 360.0)
    assert 0.0 <= found.surface_tilt_low[0] <= tilt <= found.surface_tilt_high[0]


def test_the_azimuth_interval_widens_as_a_plane_flattens():
    widths = [width(spread(200.0, tilt)) for tilt in (60.0, 30.0, 10.0, 3.0)]
    assert widths == sorted(widths)
    assert widths[-1] > 5.0 * widths[0]


def test_an_interval_may_pass_north():
    found = spread(1.0, 30.0, angle=2.0)
    assert found.surface_azimuth_low[0] > 350.0
    assert found.surface_azimuth_high[0] < 10.0


def test_a_steep_plane_stays_within_the_vertical():
    assert spread(180.0, 89.0, angle=3.0).surface_tilt_high[0] <= 90.0


def test_a_system_has_the_same_intervals_alone_and_among_others():
    points = np.array([point_of(180.0, 30.0, 5.0), point_of(90.0, 5.0, 2.0)])
    covariance = np.array([np.eye(7), 4.0 * np.eye(7)])
    both = intervals_of(points, covariance)
    alone = intervals_of(points[1:], covariance[1:])
    assert both.surface_tilt_high[1] == alone.surface_tilt_high[0]
    assert both.surface_azimuth_low[1] == alone.surface_azimuth_low[0]


POINTS = np.array([point_of(180.0, 30.0), point_of(90.0, 20.0), point_of(225.0, 5.0)])


def parts(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(2, 3, 7, 7))
    information, scatter = np.einsum("psij,pskj->psik", roots, roots)
    return POINTS, information + 2.0 * np.eye(7), scatter, rng.normal(size=(3, 7))


def test_axes_lie_along_the_tilt_and_across_it():
    along, across = in_plane_axes(POINTS).transpose(1, 0, 2)
    np.testing.assert_allclose(along, [[0, -1], [1, 0], [-(0.5**0.5), -(0.5**0.5)]], atol=1e-12)
    np.testing.assert_allclose(np.einsum("si,si->s", along, across), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(across, axis=1), 1.0)
    # steeper by a degree, and turned by what a degree of the plane is
    for point, up, side in zip(POINTS, along, across, strict=True):
        tilt = np.hypot(*point[:2])
        assert np.hypot(*(point[:2] + up)) == pytest.approx(tilt + 1.0)
        assert np.hypot(*(point[:2] + 1e-3 * side)) == pytest.approx(tilt, abs=1e-6)


def test_covariances_add_scatter_priors_and_the_clock():
    points, information, scatter, clock = parts()
    errors = SystematicErrors(clock_minutes=2.0, tilt=0.5, across=0.3, capacity=0.1, stretch=1.3)
    found = covariances(points, information, scatter, clock, correlated=7.0, errors=errors)
    # along the tilt and across it, turned to east and north: south, east, and halfway between
    turned = [
        [[0.09, 0.0], [0.0, 0.25]],
        [[0.25, 0.0], [0.0, 0.09]],
        [[0.17, 0.08], [0.08, 0.17]],
    ]
    for system in range(3):
        # and what is known of any system, which is little
        inverse = np.linalg.inv(information[system] + np.diag([1e-4, 1e-4, 1 / 9, 0, 0, 0, 0]))
        moved = inverse @ clock[system] / 7.0
        expected = 1.3**2 * (inverse @ scatter[system] @ inverse / 49.0 + inverse)
        expected += 4.0 * np.outer(moved, moved)
        expected[:2, :2] += turned[system]
        expected[2, 2] += 0.01
        np.testing.assert_allclose(found[system], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "more",
    [{"clock_minutes": 5.0}, {"capacity": 0.05}, {"tilt": 1.0}, {"across": 1.0}, {"stretch": 2.0}],
)
def test_every_doubt_widens(more):
    bare, wide = (
        covariances(*parts(), correlated=60.0, errors=errors)
        for errors in (BARE, replace(BARE, **more))
    )
    for before, after in zip(bare, wide, strict=True):
        assert np.linalg.eigvalsh(before).min() > 0.0
        assert np.linalg.eigvalsh(after - before).min() > -1e-9
        assert np.trace(after) > np.trace(before)


def test_readings_that_say_nothing_give_wide_intervals():
    nothing = np.diag([0.0, 0.0, 0.0, 6.0, 70.0, 11.0, 1.0])[None]
    points = point_of(180.0, 30.0, 5.0)[None]
    total = covariances(
        points, nothing, 0.0 * nothing, np.zeros((1, 7)), correlated=60.0, errors=SystematicErrors()
    )
    found = intervals_of(points, total)
    assert found.plane_error_degrees[0] > 60.0
    assert found.dc_capacity_kw_high[0] / found.dc_capacity_kw_low[0] > 1000.0


def test_a_plane_that_may_as_well_be_flat_has_tilts_from_zero(denver, power_of):
    found = infer_generation(
        rows_of([power_of(150.0, 2.0), power_of(150.0, 15.0)], denver.grid), denver
    )
    assert found.plane_error_degrees[0] > found.surface_tilt[0] > 0.5
    assert found.surface_tilt_low[0] == 0.0 < found.surface_tilt[0] < found.surface_tilt_high[0]
    assert found.surface_tilt_low[1] > 8.0
