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


@pytest.mark.parametrize(
    ("make", "given", "said"),
    [
        *(
            (Site, place, "north and east are positive")
            for place in ((91.0, 0.0), (-90.1, 0.0), (0.0, 181.0), (math.nan, 0.0))
        ),
        *((Site, (0.0, 0.0, up), "altitude must be between") for up in (12000.0, math.inf)),
        *(
            (Plane, (180.0, tilt), "surface_tilt must be between 0 and 90")
            for tilt in (-1.0, 90.5, math.nan)
        ),
        (Plane, (math.inf, 20.0), "surface_azimuth must be a finite"),
        *((Losses, (part,), "system losses") for part in (1.0, -0.3)),
        (Losses, (0.1, 1.2), "inverter_efficiency"),
        *((Losses, (0.1, 0.96, gamma), "gamma_pdc") for gamma in (0.004, math.nan)),
    ],
)
def test_what_cannot_be_is_refused_by_name(make, given, said):
    with pytest.raises(ParameterError, match=said):
        make(*given)


def test_an_altitude_that_is_not_given_is_looked_up():
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


def test_the_default_losses_are_their_parts_multiplied_and_given_ones_have_one_part():
    parts = Losses().parts
    assert {name: parts[name] for name in LOSS_PARTS} == dict(LOSS_PARTS)
    kept = math.prod(1.0 - part for part in parts.values())
    assert Losses().system == RUNNING_LOSSES == pytest.approx(1.0 - kept, abs=5e-4)
    # without the correction they are PVWatts' own, less shading, snow and availability
    pvwatts = pvlib.pvsystem.pvwatts_losses(shading=0.0, availability=0.0) / 100.0
    assert 1.0 - kept / CALIBRATION == pytest.approx(pvwatts, abs=5e-4)
    assert Losses(system=0.14).parts == {"given": 0.14}
    assert Losses(system=0.2, inverter_efficiency=0.9).factor == pytest.approx(0.72)


MONTHS = pd.date_range("2019-01-01", periods=12, freq="MS", tz="UTC")
# the corners of the maps, whole degrees, which lie between two rows, and some others
CORNERS = [(90.0, 180.0), (-90.0, -180.0), (0.0, 0.0), (40.0, -105.0), (39.75, -105.25)]
SOME = np.random.default_rng(3).uniform((-89.0, -179.0), (89.0, 179.0), (20, 2)).round(1)
PLACES = [*CORNERS, (-33.9, 151.2), (27.988, 86.925), *SOME.tolist()]


@pytest.mark.parametrize(("latitude", "longitude"), PLACES)
def test_the_maps_say_what_pvlib_says(latitude: float, longitude: float) -> None:
    assert altitude(latitude, longitude) == pvlib.location.lookup_altitude(latitude, longitude)
    theirs = pvlib.clearsky.lookup_linke_turbidity(
        MONTHS, latitude, longitude, interp_turbidity=False
    )
    np.testing.assert_array_equal(monthly_turbidity(latitude, longitude), theirs.to_numpy())


def test_a_grid_of_intervals_has_their_starts_and_may_be_moved():
    grid = TimeGrid(1_546_300_800, 900, 3)
    assert grid.starts.tolist() == [1_546_300_800, 1_546_301_700, 1_546_302_600]
    assert grid.starts.dtype == np.int64
    expected = ["2019-01-01T00:00:00", "2019-01-01T00:15:00", "2019-01-01T00:30:00"]
    assert grid.times.astype(str).tolist() == expected
    assert TimeGrid(0, 900, 10).moved(-1800) == TimeGrid(-1800, 900, 10)
    for step, count, days in ((3600, 24, 1), (3600, 25, 2), (900, 96, 1), (900, 1, 1)):
        assert TimeGrid(0, step, count).days == days
    for step in (59, 3601, 0, -900):
        with pytest.raises(ParameterError, match="1 to 60 minutes"):
            TimeGrid(0, step, 10)
    with pytest.raises(ParameterError, match="at least one"):
        TimeGrid(0, 900, 0)


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


def test_long_intervals_begin_at_half_hours_whenever_the_grid_begins():
    for lead in range(6):
        grid = TimeGrid(1_546_300_800 + 300 * lead, 300, 100)
        assert grid.lead == lead
        assert grid.long == TimeGrid(1_546_300_800, 1800, -(-(100 + lead) // 6))
    short, long = TimeGrid(1_546_300_800 + 900, 900, 40), TimeGrid(1_546_300_800 - 2700, 900, 90)
    assert (short.long.first - long.long.first) % 1800 == 0
    # stamps of middles keep their minutes: quarters begin seven and a half minutes off the quarter
    grid = TimeGrid(1_546_300_800 - 450, 900, 10)
    assert (grid.long.first - grid.first) % 900 == 0
    assert 0 <= grid.first - grid.long.first < 1800
    assert grid.long.step == 1800
