from __future__ import annotations

import math

import numpy as np
import pvlib
import pytest

from sunveil.errors import ParameterError
from sunveil.grids import Grid, plane_grid, product_grid
from sunveil.pv_model import Sky, sky_at, unit_power
from sunveil.site import SHELTER, Losses, Plane, Site
from sunveil.weather import WeatherCache, clearsky
from sunveil.weather.weather_data import utc_seconds


@pytest.fixture(scope="module")
def sky(tmp_path_factory: pytest.TempPathFactory) -> Sky:
    """A year's daylight hours, the sun at least 5° up, some of them."""
    cache = WeatherCache(tmp_path_factory.mktemp("cache"))
    weather = clearsky(
        Site(39.742, -105.1727, 1795.0), "2019", "2020", step_minutes=60, cache=cache
    )
    whole = sky_at(weather, utc_seconds(weather.times))
    return whole.take(np.flatnonzero(whole.sun[:, 2] > np.sin(np.radians(5.0)))[::7])


def pvlib_power(plane: Plane, sky: Sky, *, losses: Losses, albedo: float) -> np.ndarray:
    """PVWatts through pvlib for one plane, Perez-Driesse, glass on every part of the light."""
    zenith = np.degrees(np.arccos(sky.sun[:, 2]))
    azimuth = np.degrees(np.arctan2(sky.sun[:, 0], sky.sun[:, 1])) % 360.0
    tilt, turn = plane.surface_tilt, plane.surface_azimuth
    aoi = pvlib.irradiance.aoi(tilt, turn, zenith, azimuth)
    parts = pvlib.irradiance.perez_driesse(
        tilt, turn, sky.dhi, sky.dni, sky.dni_extra, zenith, azimuth, return_components=True
    )
    beam = sky.dni * np.maximum(np.cos(np.radians(aoi)), 0.0) + parts["poa_circumsolar"]
    dome = parts["poa_isotropic"] + parts["poa_horizon"]
    ground = pvlib.irradiance.get_ground_diffuse(tilt, sky.ghi, albedo=albedo)
    enters = pvlib.iam.marion_diffuse("physical", tilt)
    light = beam * pvlib.iam.physical(aoi) + dome * float(enters["sky"])
    light += ground * float(np.nan_to_num(enters["ground"]))
    cell = pvlib.temperature.faiman(light, sky.temp_air, SHELTER * sky.wind_speed)
    dc = (1.0 - losses.system) * pvlib.pvsystem.pvwatts_dc(light, cell, 1.0, losses.gamma_pdc)
    return np.asarray(pvlib.inverter.pvwatts(dc, 1.0, eta_inv_nom=losses.inverter_efficiency))


def test_the_power_of_a_grid_is_pvlibs_plane_by_plane(sky):
    grid = plane_grid(60.0, 30.0)
    losses = Losses(system=0.12, inverter_efficiency=0.97)
    power = unit_power(sky, grid.normals, losses=losses, albedo=0.15)
    assert power.shape == (len(grid), len(sky))
    for row in range(len(grid)):
        theirs = pvlib_power(grid[row], sky, losses=losses, albedo=0.15)
        np.testing.assert_allclose(power[row], theirs, atol=1e-4, rtol=0.0)


def test_the_default_losses_are_pvwatts(sky):
    grid = plane_grid(90.0, 45.0)
    np.testing.assert_array_equal(
        unit_power(sky, grid.normals), unit_power(sky, grid.normals, losses=Losses())
    )


def test_the_papers_grid_has_every_whole_degree_once():
    grid = plane_grid(1.0, 1.0, highest_tilt=89.0)
    assert len(grid) == 360 * 90
    pairs = {(grid.surface_azimuth[i], grid.surface_tilt[i]) for i in range(len(grid))}
    assert pairs == {(float(a), float(t)) for a in range(360) for t in range(90)}


def test_a_grid_gives_planes_and_their_normals():
    grid = product_grid(np.array([0.0, 90.0]), np.array([10.0, 20.0]))
    assert [grid[i] for i in range(4)] == [
        Plane(0.0, 10.0),
        Plane(90.0, 10.0),
        Plane(0.0, 20.0),
        Plane(90.0, 20.0),
    ]
    np.testing.assert_allclose(grid.normals[3], Plane(90.0, 20.0).normal)


def test_steps_that_do_not_divide_the_circle_stop_before_north():
    grid = plane_grid(100.0, 40.0)
    assert sorted(set(grid.surface_azimuth)) == [0.0, 100.0, 200.0, 300.0]
    assert sorted(set(grid.surface_tilt)) == [0.0, 40.0, 80.0]


@pytest.mark.parametrize(("azimuth_step", "tilt_step"), [(0.0, 5.0), (5.0, -1.0), (361.0, 5.0)])
def test_a_step_out_of_range_is_refused_by_name(azimuth_step, tilt_step):
    with pytest.raises(ParameterError, match=r"(azimuth|tilt)_step must be above 0"):
        plane_grid(azimuth_step, tilt_step)


def test_a_step_that_is_not_a_number_is_refused():
    with pytest.raises(ParameterError, match="azimuth_step must be"):
        plane_grid(math.nan, 5.0)


def test_a_grid_without_candidates_is_refused():
    with pytest.raises(ParameterError, match="at least one"):
        product_grid(np.array([]), np.array([10.0]))
    with pytest.raises(ParameterError, match="as many azimuths as tilts"):
        Grid(np.zeros(2), np.zeros(3))


@pytest.mark.parametrize("tilt", [-0.1, 90.1])
def test_a_grid_with_a_tilt_out_of_range_is_refused(tilt):
    with pytest.raises(ParameterError, match="between 0 and 90"):
        product_grid(np.array([0.0]), np.array([10.0, tilt]))


def test_a_grid_that_is_not_made_of_numbers_is_refused():
    for azimuth, tilt in ((math.nan, 10.0), (0.0, math.inf)):
        with pytest.raises(ParameterError, match="finite"):
            Grid(np.array([azimuth]), np.array([tilt]))


def test_a_highest_tilt_out_of_range_is_refused():
    with pytest.raises(ParameterError):
        plane_grid(10.0, 10.0, highest_tilt=120.0)
