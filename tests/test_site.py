from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pvlib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.site import (
    CALIBRATION,
    LOSS_PARTS,
    RUNNING_LOSSES,
    Losses,
    Plane,
    Site,
    TimeGrid,
    altitude,
    monthly_turbidity,
    normals,
)

azimuths = st.floats(-720.0, 720.0)
tilts = st.floats(0.0, 90.0)
GOLDEN = Site(39.742, -105.1727, 1795.0)


def test_a_place_off_the_globe_is_refused_with_the_rule():
    for latitude, longitude in ((91.0, 0.0), (-90.1, 0.0), (0.0, 181.0), (math.nan, 0.0)):
        with pytest.raises(ParameterError, match="north and east are positive"):
            Site(latitude, longitude)
    with pytest.raises(ParameterError, match="altitude must be between"):
        Site(0.0, 0.0, 12000.0)
    with pytest.raises(ParameterError, match="altitude must be between"):
        Site(0.0, 0.0, math.inf)


def test_an_altitude_left_out_is_looked_up():
    assert Site(39.742, -105.1727).height == pytest.approx(1795.0, abs=500.0)
    assert Site(52.37, 4.9).height == pytest.approx(0.0, abs=20.0)
    assert Site(39.742, -105.1727, 12.0).height == 12.0


def test_the_sun_stands_where_pvlib_says():
    times = pd.date_range("2019-06-01", periods=5, freq="3h", tz="UTC")
    place = pvlib.location.Location(GOLDEN.latitude, GOLDEN.longitude, altitude=GOLDEN.height)
    theirs = place.get_solarposition(times, pressure=None)
    np.testing.assert_allclose(GOLDEN.sun(times)["azimuth"], theirs["azimuth"], atol=1e-9)
    np.testing.assert_allclose(GOLDEN.sun(times)["zenith"], theirs["zenith"], atol=1e-9)


@settings(deadline=None)
@given(azimuths)
def test_azimuths_are_brought_into_one_turn(azimuth):
    plane = Plane(azimuth, 20.0)
    assert 0.0 <= plane.surface_azimuth < 360.0
    assert plane.angle_to(Plane(azimuth + 360.0, 20.0)) == pytest.approx(0.0, abs=1e-5)


def test_a_plane_that_cannot_be_is_refused():
    for tilt in (-1.0, 90.5, math.nan):
        with pytest.raises(ParameterError, match="surface_tilt must be between 0 and 90"):
            Plane(180.0, tilt)
    with pytest.raises(ParameterError, match="surface_azimuth must be a finite"):
        Plane(math.inf, 20.0)


@settings(deadline=None)
@given(azimuths, tilts)
def test_a_normal_has_length_one_and_its_height_is_the_cosine_of_the_tilt(azimuth, tilt):
    normal = Plane(azimuth, tilt).normal
    assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-12)
    assert normal[2] == pytest.approx(math.cos(math.radians(tilt)), abs=1e-12)


def test_normals_point_east_north_and_up():
    found = normals(np.array([90.0, 0.0, 123.0]), np.array([90.0, 90.0, 0.0]))
    np.testing.assert_allclose(found, np.eye(3), atol=1e-12)


@settings(deadline=None)
@given(azimuths, tilts, azimuths, tilts)
def test_the_angle_between_planes_is_symmetric_and_at_most_their_tilts_together(a, b, c, d):
    one, other = Plane(a, b), Plane(c, d)
    angle = one.angle_to(other)
    assert angle == pytest.approx(other.angle_to(one), abs=1e-9)
    assert abs(b - d) - 1e-4 <= angle <= b + d + 1e-4


def test_the_azimuth_of_a_flat_plane_says_nothing():
    assert Plane(0.0, 0.0).angle_to(Plane(180.0, 0.0)) == pytest.approx(0.0, abs=1e-6)


def test_losses_out_of_range_are_refused_by_name():
    for fault, name in (
        ({"system": 1.0}, "system losses"),
        ({"system": -0.3}, "system losses"),
        ({"inverter_efficiency": 1.2}, "inverter_efficiency"),
        ({"gamma_pdc": 0.004}, "gamma_pdc"),
        ({"gamma_pdc": math.nan}, "gamma_pdc"),
    ):
        with pytest.raises(ParameterError, match=name):
            Losses(**fault)


def test_the_factor_of_losses_is_what_is_left_of_dc_power():
    assert Losses(system=0.2, inverter_efficiency=0.9).factor == pytest.approx(0.72)


def test_the_default_losses_are_their_parts_multiplied():
    parts = Losses().parts
    assert {name: parts[name] for name in LOSS_PARTS} == dict(LOSS_PARTS)
    kept = math.prod(1.0 - part for part in parts.values())
    assert Losses().system == RUNNING_LOSSES == pytest.approx(1.0 - kept, abs=5e-4)
    # without the correction they are PVWatts' own, less shading, snow and availability
    pvwatts = pvlib.pvsystem.pvwatts_losses(shading=0.0, availability=0.0) / 100.0
    assert 1.0 - kept / CALIBRATION == pytest.approx(pvwatts, abs=5e-4)


def test_losses_that_were_given_have_one_part():
    assert Losses(system=0.14).parts == {"given": 0.14}


MONTHS = pd.date_range("2019-01-01", periods=12, freq="MS", tz="UTC")
# the corners of the maps, whole degrees, which lie between two rows, and some others
PLACES = [
    (90.0, 180.0),
    (-90.0, -180.0),
    (0.0, 0.0),
    (40.0, -105.0),
    (39.75, -105.25),
    (-33.9, 151.2),
    (27.988, 86.925),
    *np.random.default_rng(3).uniform((-89.0, -179.0), (89.0, 179.0), (20, 2)).round(1).tolist(),
]


@pytest.mark.parametrize(("latitude", "longitude"), PLACES)
def test_the_maps_say_what_pvlib_says(latitude: float, longitude: float) -> None:
    assert altitude(latitude, longitude) == pvlib.location.lookup_altitude(latitude, longitude)
    theirs = pvlib.clearsky.lookup_linke_turbidity(
        MONTHS, latitude, longitude, interp_turbidity=False
    )
    np.testing.assert_array_equal(monthly_turbidity(latitude, longitude), theirs.to_numpy())


def test_starts_are_evenly_spaced_instants():
    grid = TimeGrid(1_546_300_800, 900, 3)
    assert grid.starts.tolist() == [1_546_300_800, 1_546_301_700, 1_546_302_600]
    assert grid.starts.dtype == np.int64
    expected = ["2019-01-01T00:00:00", "2019-01-01T00:15:00", "2019-01-01T00:30:00"]
    assert grid.times.astype(str).tolist() == expected


@pytest.mark.parametrize("step", [59, 3601, 0, -900])
def test_intervals_that_cannot_be_are_refused(step):
    with pytest.raises(ParameterError, match="1 to 60 minutes"):
        TimeGrid(0, step, 10)


def test_a_grid_of_no_intervals_is_refused():
    with pytest.raises(ParameterError, match="at least one"):
        TimeGrid(0, 900, 0)


@pytest.mark.parametrize(
    ("step", "count", "days"), [(3600, 24, 1), (3600, 25, 2), (900, 96, 1), (900, 1, 1)]
)
def test_days_begun_count_whole(step, count, days):
    assert TimeGrid(0, step, count).days == days


@pytest.mark.parametrize(
    ("step", "per_long"), [(60, 30), (300, 6), (900, 2), (1800, 1), (3600, 1), (1200, 1), (420, 1)]
)
def test_intervals_that_divide_half_an_hour_are_averaged_to_it(step, per_long):
    grid = TimeGrid(1_546_300_800, step, 1000)
    assert grid.per_long == per_long
    if per_long == 1:
        assert grid.long is grid
        assert grid.lead == 0
    else:
        assert grid.long.step == 1800
        assert grid.long.starts[0] <= grid.first
        assert grid.long.starts[-1] + 1800 >= grid.starts[-1] + step


@pytest.mark.parametrize("lead", range(6))
def test_long_intervals_begin_at_half_hours_whenever_the_grid_begins(lead):
    grid = TimeGrid(1_546_300_800 + 300 * lead, 300, 100)
    assert grid.lead == lead
    assert grid.long.first == 1_546_300_800
    assert grid.long.count == -(-(100 + lead) // 6)


def test_stamps_of_middles_keep_their_minutes():
    """Quarter hours read as middles begin seven and a half minutes off the quarter."""
    grid = TimeGrid(1_546_300_800 - 450, 900, 10)
    assert (grid.long.first - grid.first) % 900 == 0
    assert 0 <= grid.first - grid.long.first < 1800
    assert grid.long.step == 1800


def test_a_grid_may_be_moved():
    assert TimeGrid(0, 900, 10).moved(-1800) == TimeGrid(-1800, 900, 10)


def test_two_grids_of_one_clock_have_the_same_long_intervals():
    short, long = TimeGrid(1_546_300_800 + 900, 900, 40), TimeGrid(1_546_300_800 - 2700, 900, 90)
    assert (short.long.first - long.long.first) % 1800 == 0
