"""The physics of eqs. 1 to 3 against pvlib's own, and its copies against it.

Where the tolerance is not rounding error there is a reason: the modifier of direct light is read
off a table of cosines and Marion's off a table of tilts (together below 0.2 W/m², 2e-4 of full
power), and below 5° of elevation pvlib's Hay-Davies and ours hold the sun up at different heights.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pvlib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvlib_chain import pvlib_ac_power, pvlib_dc_power, sky_irradiance
from sunveil.engine.constants import entering_light, modifiers_by_degree
from sunveil.engine.tracker_model import _views_by_sine
from sunveil.grids import plane_grid
from sunveil.pv_model import (
    LOWEST_FOR_DIFFUSE,
    Sky,
    ac_power,
    diffuse_modifiers,
    direct_modifier,
    extra_radiation,
    incidence_cosine,
    part_load,
    plane_irradiance,
    relative_airmass,
    sky_at,
    sun_vectors,
)
from sunveil.simulate import block_power, system_power
from sunveil.site import Losses, Plane, Site, SkyModel, normals
from sunveil.weather import Weather, WeatherCache, clearsky
from sunveil.weather.weather_data import utc_seconds

SITES = (
    Site(39.742, -105.1727, 1795.0),
    Site(52.52, 13.4, 34.0),
    Site(-33.87, 151.2, 20.0),
    Site(1.35, 103.8, 15.0),
)
FACING = [(0, 0), (180, 30), (270, 18), (37, 62.5), (95, 90), (200, 5.3), (359, 45), (0, 25)]
PLANES = [Plane(float(azimuth), float(tilt)) for azimuth, tilt in FACING]
NORMALS = np.stack([plane.normal for plane in PLANES])
LOW_SUN = np.sin(np.radians(5.0))
azimuths = st.floats(0.0, 360.0)
tilts = st.floats(0.0, 90.0)


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> dict[Site, Weather]:
    """A year of clear hours at every site."""
    cache = WeatherCache(tmp_path_factory.mktemp("cache"))
    return {
        site: clearsky(site, "2019-01-01", "2020-01-01", step_minutes=60, cache=cache)
        for site in SITES
    }


def at_its_own_times(weather: Weather, sky_model: SkyModel = SkyModel.PEREZ) -> Sky:
    return sky_at(weather, utc_seconds(weather.times), sky_model=sky_model)


@settings(deadline=None)
@given(azimuths, tilts, st.floats(0.0, 95.0), st.floats(-720.0, 720.0))
def test_the_cosine_of_incidence_is_equation_one(azimuth, tilt, zenith, sun_azimuth):
    b, z = math.radians(tilt), math.radians(zenith)
    turned = math.radians(sun_azimuth - azimuth)
    by_hand = math.cos(b) * math.cos(z) + math.sin(b) * math.sin(z) * math.cos(turned)
    sun = sun_vectors(np.array([zenith]), np.array([sun_azimuth]))
    found = incidence_cosine(sun, Plane(azimuth, tilt).normal[None])
    assert found[0, 0] == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize("sky_model", SkyModel)
@pytest.mark.parametrize("site", SITES, ids=lambda site: f"{site.latitude:g}")
def test_light_on_planes_is_pvlibs_over_a_year(years, site, sky_model):
    whole = at_its_own_times(years[site], sky_model)
    for part, fewest, atol in (
        (whole.sun[:, 2] > LOW_SUN, 3500, 0.2),
        ((whole.sun[:, 2] > 0.0) & (whole.sun[:, 2] <= LOW_SUN), 20, 8.0),
    ):
        sky = whole.take(part)
        assert len(sky) > fewest
        found = plane_irradiance(sky, NORMALS, albedo=0.25)
        for row, plane in zip(found, PLANES, strict=True):
            theirs = sky_irradiance(plane, sky, sky_model, albedo=0.25)
            np.testing.assert_allclose(row, theirs, atol=atol, rtol=0.0)


def test_power_of_planes_is_pvlibs_pvwatts_with_the_wind_of_a_roof(years):
    sky = at_its_own_times(years[SITES[1]])
    sky = sky.take(sky.sun[:, 2] > LOW_SUN)
    losses = Losses(system=0.1, inverter_efficiency=0.95, gamma_pdc=-0.0035)
    grid = plane_grid(60.0, 30.0)
    for heat, albedo in ((1.0, 0.2), (1.5, 0.15)):
        found = ac_power(sky, grid.normals, losses=losses, albedo=albedo, heat=heat)
        assert found.shape == (len(grid), len(sky))
        for row in range(len(grid)):
            light = sky_irradiance(grid[row], sky, SkyModel.PEREZ, albedo=albedo)
            dc = pvlib_dc_power(light, sky.temp_air, sky.wind_speed, losses, heat=heat)
            theirs = pvlib_ac_power(dc, 1.0, losses)
            np.testing.assert_allclose(found[row], theirs, atol=1e-4, rtol=0.0)
    np.testing.assert_array_equal(
        ac_power(sky, NORMALS), ac_power(sky, NORMALS, losses=Losses(), albedo=0.2, heat=1.0)
    )


def test_the_inverters_curve_is_pvwatts_below_its_limit():
    dc = np.linspace(0.0, 0.99, 200)
    theirs = pvlib.inverter.pvwatts(dc, 1.0, eta_inv_nom=0.94)
    found = part_load(dc, Losses(inverter_efficiency=0.94))
    np.testing.assert_allclose(found, theirs, atol=1e-12)


# The glass and the diffuse sky are stated here, in the kernels of the engine and in the simulator,
# which shares nothing with them. Each entry: what it gives, what pvlib gives, how far apart.
COSINES = np.linspace(0.0, 1.0, 5001)
DEGREES = np.arange(91.0)


def sines(tilts: np.ndarray) -> np.ndarray:
    return np.sin(np.radians(tilts))


def ground_view(tilts: np.ndarray) -> np.ndarray:
    return (1.0 - np.cos(np.radians(tilts))) / 2.0


@pytest.mark.parametrize(
    ("direct_light", "atol"),
    [
        (lambda c: direct_modifier(c) * c, 2e-5),
        (lambda c: np.polynomial.Polynomial(entering_light().astype(float))(2.0 * c - 1.0), 5e-5),
        (lambda c: np.interp(c * block_power.TABLE, np.arange(block_power.TABLE + 2),
                             block_power._incidence()), 1e-6),
    ],
    ids=["model", "engine", "simulator"],
)  # fmt: skip
def test_every_copy_of_the_glass_is_pvlibs(direct_light, atol):
    theirs = COSINES * pvlib.iam.physical(np.degrees(np.arccos(COSINES)))
    # what matters is the modifier times the cosine
    np.testing.assert_allclose(direct_light(COSINES), theirs, atol=atol)


@pytest.mark.parametrize(
    ("sky_and_ground", "tilts", "atol"),
    [
        (lambda t: (diffuse_modifiers(t)[0], ground_view(t) * diffuse_modifiers(t)[1]), DEGREES,
         (6e-4, 6e-4)),
        (lambda _: (modifiers_by_degree()[0], ground_view(DEGREES) * modifiers_by_degree()[1]),
         DEGREES, (6e-4, 6e-4)),
        # no tracker turns farther than 75°, and the ground sends a fifth of its light back
        (lambda t: [np.polynomial.Polynomial(row)(sines(t)) for row in _views_by_sine()],
         DEGREES[:76], (1e-3, 3e-3)),
        (lambda t: (system_power.diffuse_modifiers(t)["sky"],
                    ground_view(t) * system_power.diffuse_modifiers(t)["ground"]), DEGREES,
         (6e-4, 2e-3)),
    ],
    ids=["model", "planes", "trackers", "simulator"],
)  # fmt: skip
def test_every_copy_of_the_glass_for_diffuse_light_is_marions(sky_and_ground, tilts, atol):
    theirs = pvlib.iam.marion_diffuse("physical", tilts)
    sky, ground = sky_and_ground(tilts)
    np.testing.assert_allclose(sky, theirs["sky"], atol=atol[0])
    expected = ground_view(tilts) * np.nan_to_num(theirs["ground"])
    np.testing.assert_allclose(ground, expected, atol=atol[1])


def test_the_suns_geometry_is_pvlibs():
    days = np.arange("2019-01-01", "2020-01-01", dtype="datetime64[D]")
    theirs = pvlib.irradiance.get_extra_radiation(np.arange(1, 366))
    np.testing.assert_allclose(extra_radiation(days.astype("datetime64[s]")), theirs, atol=1e-9)
    # it runs on through the day and into the leap day
    hours = np.arange("2020-02-28", "2020-03-02", dtype="datetime64[h]").astype("datetime64[s]")
    steps = np.diff(extra_radiation(hours))
    assert (steps < 0.0).all()
    assert np.abs(steps).max() < 0.05
    zenith = np.linspace(0.0, 89.0, 90)
    theirs = pvlib.atmosphere.get_relative_airmass(zenith)
    np.testing.assert_allclose(relative_airmass(np.cos(np.radians(zenith))), theirs, rtol=1e-9)
    vector = sun_vectors(np.array([10.0, 60.0, 89.0]), np.array([15.0, 180.0, 300.0]))
    np.testing.assert_allclose(np.degrees(np.arccos(vector[:, 2])), [10.0, 60.0, 89.0])
    turned = np.degrees(np.arctan2(vector[:, 0], vector[:, 1])) % 360.0
    np.testing.assert_allclose(turned, [15.0, 180.0, 300.0])


@pytest.mark.parametrize("site", SITES)
def test_single_precision_is_enough_for_the_power_of_planes(years, site):
    weather = years[site]
    sky = at_its_own_times(weather, SkyModel.PEREZ)
    sky = sky.take(sky.sun[:, 2] > 0.0).hazier(0.3)
    found, double = ac_power(sky.single(), NORMALS), ac_power(sky, NORMALS)
    assert found.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_allclose(found, double, atol=3e-5)
    assert (np.abs(found - double) < 1e-6).mean() > 0.99


def test_a_plane_that_turns_gets_at_each_instant_what_a_fixed_one_would(years):
    sky = at_its_own_times(years[SITES[0]])
    sky = sky.take(np.flatnonzero(sky.sun[:, 2] > LOW_SUN)[: len(PLANES)])
    fixed = plane_irradiance(sky, NORMALS)
    turning = plane_irradiance(sky, NORMALS[None])
    np.testing.assert_allclose(turning[0], np.diagonal(fixed), atol=1e-9)


# Symmetries and limits.


@pytest.fixture(scope="module")
def noons(years) -> Sky:
    """Instants through the year, with the sun everywhere from low to high."""
    sky = at_its_own_times(years[SITES[0]])
    return sky.take(np.flatnonzero(sky.sun[:, 2] > 0.02)[::37])


def one(azimuth: float, tilt: float) -> np.ndarray:
    return normals(np.array([azimuth]), np.array([tilt]))


@settings(max_examples=50, deadline=None)
@given(azimuth=azimuths, tilt=tilts, meridian=azimuths)
def test_a_plane_mirrored_with_the_sun_gives_the_same(noons, azimuth, tilt, meridian):
    turn = np.degrees(np.arctan2(noons.sun[:, 0], noons.sun[:, 1]))
    zenith = np.degrees(np.arccos(noons.sun[:, 2]))
    mirrored = replace(noons, sun=sun_vectors(zenith, 2.0 * meridian - turn))
    ours = ac_power(noons, one(azimuth, tilt))
    theirs = ac_power(mirrored, one(2.0 * meridian - azimuth, tilt))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)  # one entry of the table


@settings(max_examples=50, deadline=None)
@given(azimuth=azimuths, tilt=tilts, albedo=st.floats(0.0, 1.0), heat=st.floats(0.5, 2.0))
def test_power_is_never_negative_nor_absurd(noons, azimuth, tilt, albedo, heat):
    power = ac_power(noons, one(azimuth, tilt), albedo=albedo, heat=heat)
    assert (power >= 0.0).all()
    assert (power < 1.7).all()


def test_the_glass_may_be_left_off_the_light_about_the_sun(noons):
    plane = one(180.0, 60.0)
    usual, letter = (
        plane_irradiance(noons, plane, diffuse_modifier=False, circumsolar_modifier=each)[0]
        for each in (True, False)
    )
    cosine = np.clip(noons.sun @ plane[0], 0.0, 1.0)
    up = np.maximum(noons.sun[:, 2], LOWEST_FOR_DIFFUSE)
    about = noons.dhi * noons.circumsolar / up * cosine
    np.testing.assert_allclose(letter - usual, about * (1.0 - direct_modifier(cosine)), atol=1e-6)
    assert (letter >= usual - 1e-9).all()


# Haze.


def ineichen(site: Site, sky: Sky, turbidity: float) -> dict[str, np.ndarray]:
    """Return pvlib's clear sky at the instants of a sky, with the airmass that a site has."""
    zenith = np.degrees(np.arccos(sky.sun[:, 2]))
    airmass = pvlib.atmosphere.get_absolute_airmass(
        pvlib.atmosphere.get_relative_airmass(zenith), pvlib.atmosphere.alt2pres(site.height)
    )
    return pvlib.clearsky.ineichen(
        zenith, airmass, turbidity, altitude=site.height, dni_extra=sky.dni_extra
    )


@pytest.mark.parametrize("site", SITES, ids=lambda site: f"{site.latitude:g}")
@pytest.mark.parametrize("more", [-0.5, 0.5, 1.0])
def test_haze_dims_the_sky_as_another_turbidity_does(years, site, more):
    sky = at_its_own_times(years[site])
    sky = sky.take(np.flatnonzero(sky.sun[:, 2] > np.sin(np.radians(15.0)))[::17])
    base, other = ineichen(site, sky, 3.0), ineichen(site, sky, 3.0 + more)
    hazy = replace(sky, **{name: base[name] for name in ("ghi", "dni", "dhi")}).hazier(more)
    for name in ("ghi", "dni", "dhi"):
        # where the air is very clear, Ineichen holds the beam below a limit, which haze leaves out
        np.testing.assert_allclose(getattr(hazy, name), other[name], rtol=0.01, atol=8.0)


@settings(max_examples=30, deadline=None)
@given(more=st.floats(-0.5, 1.5))
def test_haze_can_be_taken_back(noons, more):
    assert noons.hazier(0.0) is noons
    back = noons.hazier(more).hazier(-more)
    np.testing.assert_allclose(back.dni, noons.dni, rtol=1e-5)
    np.testing.assert_allclose(back.ghi, noons.ghi, rtol=1e-9)
    high = noons.sun[:, 2] > np.sin(np.radians(15.0))
    np.testing.assert_allclose(back.dhi[high], noons.dhi[high], atol=2.0)


# Weather laid onto instants.


def test_weather_between_its_times_is_interpolated(years):
    weather = years[SITES[0]]
    place = int(weather.ghi.argmax())
    stamps = utc_seconds(weather.times)
    between = np.array([stamps[place] + np.timedelta64(900, "s")])
    found = sky_at(weather, between)
    expected = 0.75 * weather.ghi[place] + 0.25 * weather.ghi[place + 1]
    assert found.ghi[0] == pytest.approx(expected)
    assert np.linalg.norm(found.sun[0]) == pytest.approx(1.0)
    assert found.clearness[0] == 1.0


def test_measured_weather_keeps_its_share_of_the_clear_sky_between_its_times(years):
    clear = years[SITES[0]]
    measured = replace(
        clear, ghi=0.8 * clear.ghi, dni=0.5 * clear.dni, source="measured", clear=False
    )
    stamps = utc_seconds(clear.times)
    times = stamps[clear.ghi > 300.0][:200] + np.timedelta64(600, "s")
    found, bare = sky_at(measured, times, clear), sky_at(clear, times)
    bright = bare.ghi > 300.0
    np.testing.assert_allclose(found.ghi[bright], 0.8 * bare.ghi[bright], rtol=1e-6)
    np.testing.assert_allclose(found.dni[bright], 0.5 * bare.dni[bright], rtol=1e-6)
    np.testing.assert_allclose(found.clearness[bright], 0.5, rtol=1e-6)
    closure = found.ghi - found.dni * found.sun[:, 2]
    np.testing.assert_allclose(found.dhi[bright], closure[bright], rtol=1e-9)
