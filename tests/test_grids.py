from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sunveil.errors import ParameterError
from sunveil.grids import Cell, Grid, Places, as_placed, cell_of, plane_grid, product_grid
from sunveil.site import Plane, Site, normals


def test_the_papers_grid_has_every_whole_degree_once():
    grid = plane_grid(1.0, 1.0, highest_tilt=89.0)
    assert len(grid) == 360 * 90
    pairs = {(grid.surface_azimuth[i], grid.surface_tilt[i]) for i in range(len(grid))}
    assert pairs == {(float(a), float(t)) for a in range(360) for t in range(90)}


def test_a_grid_gives_planes_and_their_normals_and_stops_before_north():
    grid = product_grid(np.array([0.0, 90.0]), np.array([10.0, 20.0]))
    planes = [Plane(0.0, 10.0), Plane(90.0, 10.0), Plane(0.0, 20.0), Plane(90.0, 20.0)]
    assert [grid[i] for i in range(4)] == planes
    np.testing.assert_allclose(grid.normals[3], planes[3].normal)
    coarse = plane_grid(100.0, 40.0)
    assert sorted(set(coarse.surface_azimuth)) == [0.0, 100.0, 200.0, 300.0]
    assert sorted(set(coarse.surface_tilt)) == [0.0, 40.0, 80.0]


def test_a_grid_that_cannot_be_is_refused_by_name():
    for steps, words in (
        ((0.0, 5.0), "azimuth_step must be above 0"),
        ((361.0, 5.0), "azimuth_step must be above 0"),
        ((5.0, -1.0), "tilt_step must be above 0"),
        ((math.nan, 5.0), "azimuth_step must be"),
    ):
        with pytest.raises(ParameterError, match=words):
            plane_grid(*steps)
    with pytest.raises(ParameterError, match="highest_tilt"):
        plane_grid(10.0, 10.0, highest_tilt=120.0)
    for azimuths, tilts, words in (
        ([], [], "at least one"),
        ([0.0, 0.0], [0.0] * 3, "need one value for each candidate"),
        ([0.0], [-0.1], "between 0 and 90"),
        ([0.0], [90.1], "between 0 and 90"),
        ([math.nan], [10.0], "finite"),
        ([0.0], [math.inf], "finite"),
    ):
        with pytest.raises(ParameterError, match=words):
            Grid(np.array(azimuths), np.array(tilts))


# At latitude and longitude zero, up is x, east is y, north is z.
HERE = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def rotation(latitude: float, longitude: float) -> np.ndarray:
    """Return what turns (east, north, up) at a place into the globe's own axes."""
    turned = Rotation.from_euler("ZY", [longitude, -latitude], degrees=True)
    return turned.as_matrix() @ HERE


def point(azimuth: float, tilt: float) -> np.ndarray:
    turn = np.radians(azimuth)
    return np.array([[tilt * np.sin(turn), tilt * np.cos(turn), 1.0, 2.0, 3.0, 4.0]])


def places(latitude: float, longitude: float) -> Places:
    return Places(np.array([latitude]), np.array([longitude]), np.array([np.nan]))


LATITUDES, LONGITUDES = st.floats(-80, 80), st.floats(-180, 180)


@given(LATITUDES, LONGITUDES, st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 360),
       st.floats(1, 85))  # fmt: skip
def test_a_plane_is_turned_as_its_vector_is(latitude, longitude, north, east, azimuth, tilt):
    site = Site(latitude, longitude, 0.0)
    given = point(azimuth, tilt)
    found = as_placed(given, site, places(latitude + north, longitude + east))
    vector = normals(np.array([azimuth]), np.array([tilt]))[0]
    space = rotation(latitude, longitude) @ vector
    expected = rotation(latitude + north, longitude + east).T @ space
    new = np.degrees(np.arctan2(found[0, 0], found[0, 1])), np.hypot(found[0, 0], found[0, 1])
    np.testing.assert_allclose(
        normals(np.array([new[0]]), np.array([new[1]]))[0], expected, atol=1e-9
    )
    # the rest of a point is left alone
    np.testing.assert_array_equal(found[:, 2:], given[:, 2:])


@given(st.floats(-90, 90), st.floats(-180, 180), st.sampled_from([0.01, 0.02, 0.1, 0.5, 2.0]))
def test_every_place_lies_in_its_cell(latitude, longitude, size):
    site = cell_of(latitude, longitude, size=size).site
    assert abs(site.latitude - latitude) <= size / 2 + 1e-6
    apart = (site.longitude - longitude + 180.0) % 360.0 - 180.0
    assert abs(apart) <= size / 2 + 1e-6
    assert -180.0 <= site.longitude < 180.0


def test_cells_part_halfway_meet_at_the_edges_of_the_map_and_have_bands_of_altitude():
    assert (cell_of(0.0499, 5.0).row, cell_of(0.0501, 5.0).row) == (0, 1)
    assert cell_of(10.0, 180.0) == cell_of(10.0, -180.0)
    assert cell_of(10.0, 179.999) == cell_of(10.0, -179.999)
    assert cell_of(90.0, 0.0).site.latitude == 90.0
    assert cell_of(-90.0, 0.0).site.latitude == -90.0
    assert cell_of(0.0, 0.0) == cell_of(-0.0, -0.0) == cell_of(0.0499, -0.0499)
    altitudes = {1609.0: 1500.0, 1626.0: 1750.0, -5.0: 0.0}
    assert {each: cell_of(40.0, 5.0, each).site.altitude for each in altitudes} == altitudes
    assert cell_of(40.0, 5.0).band is None
    assert cell_of(40.0, 5.0).site == Site(40.0, 5.0)
    assert Cell(397, 2550, 6).site == Site(39.7, -105.0, 1500.0)
    assert len({cell_of(39.7, -105.0, 1600.0), Cell(397, 2550, 6)}) == 1


@pytest.mark.parametrize("size", [0.005, 2.5, 0.0, -1.0, float("nan")])
def test_cells_of_unlikely_sizes_are_refused(size):
    with pytest.raises(ParameterError, match=r"0\.01 to 2 degrees|nan is not one"):
        cell_of(40.0, 5.0, size=size)


@pytest.mark.parametrize("place", [(91.0, 0.0), (0.0, 181.0), (float("nan"), 0.0)])
def test_places_off_the_globe_are_refused(place):
    with pytest.raises(ParameterError):
        cell_of(*place)
