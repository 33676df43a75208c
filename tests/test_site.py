from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pvlib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.pv_model import (
    ac_power,
    cell_temperature,
    dc_power,
    incidence_cosine,
    plane_irradiance,
)
from sunveil.site import (
    CALIBRATION,
    LOSS_PARTS,
    RUNNING_LOSSES,
    Losses,
    Plane,
    Site,
    SkyModel,
    normals,
)

azimuths = st.floats(-720.0, 720.0)
tilts = st.floats(0.0, 90.0)
GOLDEN = Site(39.742, -105.1727, 1795.0)
PLANES = (Plane(180.0, 30.0), Plane(270.0, 18.0), Plane(37.0, 62.5), Plane(95.0, 90.0))


@pytest.fixture(scope="module")
def day() -> tuple[pd.DataFrame, pd.DataFrame]:
    """A day's light and sun, every ten minutes while the sun is up."""
    times = pd.date_range("2019-04-10", periods=144, freq="10min", tz="Etc/GMT+7")
    sun = GOLDEN.sun(times)
    up = sun["apparent_zenith"] < 88.0
    airmass = pvlib.atmosphere.get_relative_airmass(sun["apparent_zenith"][up])
    pressure = pvlib.atmosphere.alt2pres(GOLDEN.height)
    absolute = pvlib.atmosphere.get_absolute_airmass(airmass, pressure)
    sky = pvlib.clearsky.ineichen(
        sun["apparent_zenith"][up], absolute, 3.0, altitude=GOLDEN.height, dni_extra=1370.0
    )
    return sky, sun[up]


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


@settings(deadline=None)
@given(azimuths, tilts, st.floats(0.0, 95.0), azimuths)
def test_the_cosine_of_incidence_is_equation_one(azimuth, tilt, zenith, sun_azimuth):
    b, z = math.radians(tilt), math.radians(zenith)
    turned = math.radians(sun_azimuth - azimuth)
    by_hand = math.cos(b) * math.cos(z) + math.sin(b) * math.sin(z) * math.cos(turned)
    found = incidence_cosine(Plane(azimuth, tilt), np.array([zenith]), np.array([sun_azimuth]))
    assert found[0] == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize("sky_model", SkyModel)
@pytest.mark.parametrize("plane", PLANES)
def test_light_on_a_plane_is_pvlibs_to_the_last_digit(day, plane, sky_model):
    sky, sun = day
    found = plane_irradiance(plane, sky, sun, sky_model=sky_model, albedo=0.3, modifier=False)
    theirs = pvlib.irradiance.get_total_irradiance(
        plane.surface_tilt,
        plane.surface_azimuth,
        sun["apparent_zenith"],
        sun["azimuth"],
        sky["dni"],
        sky["ghi"],
        sky["dhi"],
        dni_extra=pvlib.irradiance.get_extra_radiation(sky.index.day_of_year.to_numpy()),
        albedo=0.3,
        model=sky_model.value,
    )
    np.testing.assert_allclose(found["poa_global"], theirs["poa_global"], atol=1e-9)


@pytest.mark.parametrize("sky_model", SkyModel)
def test_the_parts_of_the_light_add_up_and_the_glass_takes_its_share(day, sky_model):
    sky, sun = day
    plane = Plane(200.0, 35.0)
    with_glass = plane_irradiance(plane, sky, sun, sky_model=sky_model)
    without = plane_irradiance(plane, sky, sun, sky_model=sky_model, modifier=False)
    parts = ["poa_direct", "poa_sky_diffuse", "poa_ground_diffuse"]
    np.testing.assert_allclose(with_glass[parts].sum(axis=1), with_glass["poa_global"])
    assert (with_glass[parts] <= without[parts] + 1e-9).all().all()
    lost = 1.0 - with_glass["poa_global"].sum() / without["poa_global"].sum()
    assert 0.005 < lost < 0.06


def test_a_flat_plane_without_glass_receives_the_global_light(day):
    sky, sun = day
    found = plane_irradiance(
        Plane(0.0, 0.0), sky, sun, sky_model=SkyModel.ISOTROPIC, modifier=False
    )
    # pvlib's own clear sky closes to this
    closure = sky["dni"] * np.cos(np.radians(sun["apparent_zenith"])) + sky["dhi"]
    np.testing.assert_allclose(found["poa_global"], closure, rtol=1e-9)
    assert (found["poa_ground_diffuse"] == 0.0).all()


def test_cells_are_as_warm_as_faiman_says():
    """By hand: 800 / (25 + 6.84 · 2) above the air, where half of the wind reaches the modules."""
    light, air, wind = np.array([800.0, 0.0]), np.array([20.0, 5.0]), np.array([4.0, 1.0])
    found = cell_temperature(light, air, wind)
    np.testing.assert_allclose(found, [20.0 + 800.0 / 38.68, 5.0])
    np.testing.assert_allclose(found, pvlib.temperature.faiman(light, air, wind / 2.0))


def test_dc_power_is_capacity_less_losses_at_standard_conditions():
    losses = Losses(system=0.1)
    assert dc_power(np.array([1000.0]), np.array([25.0]), pdc0=6.0, losses=losses) == 5.4
    hot = dc_power(np.array([1000.0]), np.array([50.0]), pdc0=6.0, losses=losses)
    assert hot == pytest.approx(5.4 * 0.9)


@settings(deadline=None)
@given(st.floats(0.1, 50.0), st.floats(0.0, 1200.0), st.floats(-10.0, 70.0))
def test_dc_power_grows_in_proportion_to_capacity(capacity, light, warmth):
    one, many = (
        dc_power(np.array([light]), np.array([warmth]), pdc0=size, losses=Losses())
        for size in (1.0, capacity)
    )
    np.testing.assert_allclose(many, capacity * one, rtol=1e-12, atol=1e-12)


def test_ac_power_is_pvwatts_inverter_of_the_size_of_the_array():
    direct = np.linspace(0.0, 12.0, 100)
    losses = Losses(inverter_efficiency=0.94)
    theirs = pvlib.inverter.pvwatts(direct, 10.0, eta_inv_nom=0.94)
    np.testing.assert_allclose(ac_power(direct, pdc0=10.0, losses=losses), theirs, atol=1e-12)
    # at full load its efficiency is close to the nominal one, at a twentieth far below
    assert ac_power(np.array([9.0]), pdc0=10.0, losses=losses) == pytest.approx(8.46, rel=0.01)
    assert ac_power(np.array([0.5]), pdc0=10.0, losses=losses) < 0.92 * 0.5


def test_ac_power_stops_at_the_inverters_limit():
    direct = np.array([1.0, 5.0, 9.0])
    free = ac_power(direct, pdc0=10.0, losses=Losses())
    found = ac_power(direct, pdc0=10.0, losses=Losses(), limit=4.0)
    np.testing.assert_allclose(found, [free[0], 4.0, 4.0])
    assert free[1] > 4.0


@given(st.floats(0.1, 50.0), st.just(0.0) | st.floats(1e-6, 1.2))
def test_ac_power_grows_in_proportion_to_the_size_of_the_system(capacity, load):
    one = ac_power(np.array([load]), pdc0=1.0, losses=Losses())
    many = ac_power(np.array([load * capacity]), pdc0=capacity, losses=Losses())
    np.testing.assert_allclose(many, capacity * one, rtol=1e-9, atol=1e-9)


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
