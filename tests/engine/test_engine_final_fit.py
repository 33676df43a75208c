from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from engine_makers import flags, plane_of, point_of, row_of, rows_of
from hypothesis import given
from hypothesis import strategies as st

from sunveil.engine import infer_generation
from sunveil.engine.clipping import (
    AT_MOST,
    IN_DOUBT,
    LIMITED,
    OVERSHOOT,
    SHORTLY_SHOWN,
    SHOWN_HIGH,
    exclude,
    largest_capacity,
    shown_capacity,
)
from sunveil.engine.coarse_search import modelled_power, search
from sunveil.engine.constants import SystematicErrors
from sunveil.engine.final_fit import fit_finally
from sunveil.engine.intervals import covariances, intervals_of
from sunveil.engine.power_model import CAPACITY, LIMIT, UNLIMITED
from sunveil.estimates import Flag
from sunveil.simulate import Tracker, clipped, tracking
from sunveil.site import Plane, normals


def test_a_limit_that_no_model_reaches_is_none(prepared, rows):
    """A pile that was taken for a limit, far above what the plane gives."""
    searched = search(rows[:1], prepared)
    right = fit_finally(searched, prepared).points
    searched.points[0, LIMIT] = np.log(1.5 * rows[0].max())
    found = fit_finally(searched, prepared)
    assert found.points[0, LIMIT] == UNLIMITED
    np.testing.assert_allclose(found.points[0, :3], right[0, :3], atol=0.02)


def test_more_readings_make_a_surer_plane(prepared, rows):
    few = rows[0].copy()
    few[24 * 60 :] = np.nan
    fit = fit_finally(search(np.stack([rows[0], few]), prepared), prepared)
    bare = SystematicErrors(clock_minutes=0.0, tilt=0.0, across=0.0, capacity=0.0)
    year, weeks = intervals_of(fit.points, fit.covariances(bare)).plane_error_degrees
    assert year < 0.7 * weeks


KW = 6.0


def test_the_capacity_of_two_axes_is_what_its_highest_powers_show(denver, power_of):
    change = partial(tracking, tracker=Tracker(dual_axis=True))
    row = row_of(power_of(180.0, 20.0, change=change), denver.grid)
    found = infer_generation(row[None], denver)
    assert {Flag.NOT_ONE_PLANE, Flag.CAPACITY_BOUNDED} <= set(flags(found, 0))
    assert found.dc_capacity_kw[0] == pytest.approx(KW, rel=0.15)
    assert found.dc_capacity_kw_low[0] < KW < found.dc_capacity_kw_high[0]
    # and its plane may be any
    assert (found.surface_tilt_low[0], found.surface_tilt_high[0]) == (0.0, 90.0)
    assert (found.surface_azimuth_low[0], found.surface_azimuth_high[0]) == (0.0, 360.0)
    assert found.plane_error_degrees[0] == 90.0


def test_a_plane_that_faces_away_from_the_sun_is_believed_where_readings_agree(denver, power_of):
    planes = ((0.0, 45.0), (0.0, 60.0), (20.0, 50.0))
    found = infer_generation(rows_of([power_of(*plane) for plane in planes], denver.grid), denver)
    for place, plane in enumerate(planes):
        assert found.agreement[place] > 0.4
        assert Flag.CAPACITY_BOUNDED not in flags(found, place)
        assert plane_of(found, place).angle_to(Plane(*plane)) < 3.0
        assert found.dc_capacity_kw[place] == pytest.approx(KW, rel=0.1)


@pytest.mark.parametrize("ratio", [1.4, 1.6, 1.7])
def test_clipping_shows_its_limit_and_bounds_no_capacity(denver, power_of, ratio):
    power = power_of(180.0, 25.0, change=partial(clipped, dc_ac_ratio=ratio))
    found = infer_generation(row_of(power, denver.grid)[None], denver)
    assert flags(found, 0) == (Flag.CLIPPING,)
    assert found.ac_limit_kw[0] == pytest.approx(KW / ratio, rel=0.03)
    assert found.dc_capacity_kw[0] == pytest.approx(KW, rel=0.08)
    assert plane_of(found, 0).angle_to(Plane(180.0, 25.0)) < 4.0


@pytest.fixture
def fit(prepared, rows):
    return fit_finally(search(rows, prepared), prepared)


@pytest.mark.parametrize(
    ("times", "limit", "doubtful", "excluded"),
    [
        (0.95 * IN_DOUBT, None, True, False),
        (1.05 * IN_DOUBT, None, True, True),
        (1.05 * IN_DOUBT, None, False, False),
        (0.95 * LIMITED, 2.0, False, False),
        (1.05 * LIMITED, 2.0, False, True),
        (1.05 * LIMITED, None, False, False),
        (0.95 * AT_MOST, None, False, False),
        (1.05 * AT_MOST, None, False, True),
    ],
)
def test_what_is_in_doubt_or_limited_may_exceed_the_shown_capacity_by_less(
    fit, times, limit, doubtful, excluded
):
    """A wall to the north, whose power stays below the top whatever its capacity here."""
    shown = shown_capacity(fit)[0]
    point = point_of(0.0, 85.0, times * shown, haze=-0.2, heat=1.25, limit=limit)
    fit.points[0], fit.model[0] = point, modelled_power(point[None], fit.prepared)[0]
    assert fit.model[0].max() < OVERSHOOT * fit.searched.readings.top[0]
    found = exclude(fit, np.full(4, doubtful))
    assert found.tolist() == [excluded, False, False, False]
    if excluded:
        assert np.exp(fit.points[0, CAPACITY]) == pytest.approx(shown)
        # what stands in looks like the readings as far as so much capacity allows
        turn = np.degrees(np.arctan2(*fit.points[0, :2])) % 360.0
        assert Plane(turn, np.hypot(*fit.points[0, :2])).angle_to(Plane(180.0, 25.0)) < 15.0
        np.testing.assert_array_equal(fit.model, modelled_power(fit.points, fit.prepared))
    else:
        np.testing.assert_array_equal(fit.points[0], point)


def test_no_model_overshoots_the_record(fit):
    fit.points[2, CAPACITY] += np.log(1.3)
    fit.model[2] *= np.float32(1.3)
    before = fit.points.copy()
    assert exclude(fit, np.zeros(4, dtype=bool)).tolist() == [False, False, True, False]
    np.testing.assert_array_equal(fit.points[[0, 1, 3]], before[[0, 1, 3]])


def test_what_nothing_speaks_against_may_be_as_large_as_it_was_fitted(fit):
    shown, fitted = shown_capacity(fit), np.exp(fit.points[:, CAPACITY])
    nobody, everybody = np.zeros(4, dtype=bool), np.ones(4, dtype=bool)
    np.testing.assert_allclose(largest_capacity(fit, nobody, nobody), fitted)
    np.testing.assert_allclose(largest_capacity(fit, everybody, nobody), SHOWN_HIGH * shown)
    np.testing.assert_allclose(largest_capacity(fit, everybody, everybody), SHORTLY_SHOWN * shown)


def spread(azimuth, tilt, *, angle=1.0, capacity=0.02):
    covariance = np.diag(np.square([angle, angle, capacity, 0.1, 0.1, 0.1, 1.0]))
    return intervals_of(point_of(azimuth, tilt, 5.0)[None], covariance[None])


def width(found):
    turn = float(found.surface_azimuth_high[0] - found.surface_azimuth_low[0])
    return turn if turn >= 360.0 else turn % 360.0


@given(
    st.floats(0, 360), st.floats(12, 60), st.floats(0.5, 3), st.floats(0.5, 3), st.floats(-0.7, 0.7)
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


@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_a_flat_plane_may_face_anywhere(tilt):
    found = spread(180.0, tilt)
    assert (found.surface_azimuth_low[0], found.surface_azimuth_high[0]) == (0.0, 360.0)
    assert 0.0 <= found.surface_tilt_low[0] <= tilt <= found.surface_tilt_high[0]


def test_the_azimuth_interval_widens_as_a_plane_flattens_and_may_pass_north():
    widths = [width(spread(200.0, tilt)) for tilt in (60.0, 30.0, 10.0, 3.0)]
    assert widths == sorted(widths)
    assert widths[-1] > 5.0 * widths[0]
    north = spread(1.0, 30.0, angle=2.0)
    assert north.surface_azimuth_low[0] > 350.0
    assert north.surface_azimuth_high[0] < 10.0
    assert spread(180.0, 89.0, angle=3.0).surface_tilt_high[0] <= 90.0


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
