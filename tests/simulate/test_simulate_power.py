from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pvlib
import pytest

from sunveil.simulate import (
    SimulatedSky,
    SystemTruth,
    clipped,
    east_west,
    simulate_power,
    western_horizon,
)
from sunveil.simulate.fault_rates import SAPM_MOUNTS
from sunveil.simulate.system_power import diffuse_modifiers
from sunveil.site import Plane


def exact(truth: SystemTruth, sky: SimulatedSky, **options: object) -> pd.Series:
    return simulate_power(truth, sky, seed=1, noise=0.0, **options)  # type: ignore[arg-type]


def clear_day(sky: SimulatedSky) -> np.ndarray:
    """Return where the true sky has a summer day without a cloud."""
    light = sky.true.ghi > 0.0
    clouds = np.bincount(sky.day[light], sky.clear_index[light] != 1.0)
    day = next(d for d in range(150, 240) if clouds[d] == 0)
    return np.flatnonzero(sky.day == day)


def pvlib_power(truth: SystemTruth, sky: SimulatedSky, where: np.ndarray) -> np.ndarray:
    """Return AC power by pvlib's own system class."""
    plane, weather = truth.plane, sky.true
    zenith, azimuth = (part[where] for part in weather.sun())
    system = pvlib.pvsystem.PVSystem(
        surface_tilt=plane.surface_tilt,
        surface_azimuth=plane.surface_azimuth,
        albedo=truth.albedo,
        module_parameters={"pdc0": truth.dc_capacity_kw, "gamma_pdc": truth.gamma_pdc},
        inverter_parameters={"pdc0": truth.ac_limit_kw / 0.96},
        temperature_model_parameters=pvlib.temperature.TEMPERATURE_MODEL_PARAMETERS["sapm"][
            SAPM_MOUNTS[truth.mount]
        ],
    )
    extra = pvlib.irradiance.get_extra_radiation(int(weather.times[where[0]].day_of_year))
    parts = system.get_irradiance(
        zenith,
        azimuth,
        weather.dni[where],
        weather.ghi[where],
        weather.dhi[where],
        dni_extra=extra,
        airmass=pvlib.atmosphere.get_relative_airmass(zenith),
        model="perez-driesse",
    )
    iam = system.get_iam(system.get_aoi(zenith, azimuth), iam_model="physical")
    marion = pvlib.iam.marion_diffuse("physical", plane.surface_tilt)
    poa = (
        parts["poa_direct"] * iam
        + parts["poa_sky_diffuse"] * marion["sky"]
        + parts["poa_ground_diffuse"] * marion["ground"]
    )
    poa = np.nan_to_num(poa)
    cell = system.get_cell_temperature(
        poa, weather.temp_air[where], weather.wind_speed[where], model="sapm"
    )
    return np.asarray(
        system.get_ac("pvwatts", system.pvwatts_dc(poa, cell) * (1.0 - truth.losses.system))
    )


@pytest.mark.parametrize("plane", [Plane(180.0, 30.0), Plane(95.0, 15.0), Plane(250.0, 50.0)])
def test_power_of_a_clear_day_is_pvlibs(
    south_roof: SystemTruth, bright_sky: SimulatedSky, plane: Plane
) -> None:
    truth = replace(south_roof, planes=((plane, 1.0),))
    where = clear_day(bright_sky)
    ours = exact(truth, bright_sky, step_minutes=10).to_numpy()[where]
    theirs = pvlib_power(truth, bright_sky, where)
    # only the incidence loss of the light around the sun is treated otherwise
    np.testing.assert_allclose(ours, theirs, atol=0.01 * truth.dc_capacity_kw)
    assert ours.sum() == pytest.approx(theirs.sum(), rel=0.01)
    assert theirs.max() > 0.4 * truth.dc_capacity_kw


def test_power_of_the_dullest_day_is_pvlibs(
    south_roof: SystemTruth, mixed_sky: SimulatedSky
) -> None:
    inner = (mixed_sky.day > 100) & (mixed_sky.day < 260) & (mixed_sky.true.ghi > 0.0)
    light = np.bincount(mixed_sky.day[inner], mixed_sky.clear_index[inner])
    where = np.flatnonzero(mixed_sky.day == 101 + np.argmin(light[101:]))
    ours = exact(south_roof, mixed_sky, step_minutes=10).to_numpy()[where]
    theirs = pvlib_power(south_roof, mixed_sky, where)
    assert ours.sum() == pytest.approx(theirs.sum(), rel=0.01)
    assert 0.0 < ours.max() < 0.3 * south_roof.dc_capacity_kw


def test_there_is_no_power_at_night_nor_beyond_the_limit(
    south_roof: SystemTruth, mixed_sky: SimulatedSky
) -> None:
    power = exact(south_roof, mixed_sky, step_minutes=10)
    dark = mixed_sky.true.sun()[0] >= 90.0
    assert np.all(power.to_numpy()[dark] == 0.0)
    assert power.min() >= 0.0
    assert power.max() <= south_roof.ac_limit_kw
    assert power.isna().sum() == 0
    assert 900.0 < power.sum() / 6.0 / south_roof.dc_capacity_kw < 2000.0


def test_readings_are_means_labelled_at_the_start_in_utc(
    south_roof: SystemTruth, mixed_sky: SimulatedSky
) -> None:
    fine = exact(south_roof, mixed_sky, step_minutes=10)
    hourly = exact(south_roof, mixed_sky)
    assert str(hourly.index.tz) == "UTC"
    assert hourly.index[0] == pd.Timestamp("2019-01-01 00:00", tz="UTC")
    assert hourly.name == "south"
    np.testing.assert_allclose(hourly, fine.resample("h").mean())


def test_noise_is_two_percent_of_each_reading(
    south_roof: SystemTruth, mixed_sky: SimulatedSky
) -> None:
    clean = exact(south_roof, mixed_sky)
    noisy = simulate_power(south_roof, mixed_sky, seed=5)
    ratio = (noisy / clean)[clean > 0.0]
    assert ratio.std() == pytest.approx(0.02, rel=0.05)
    assert ratio.mean() == pytest.approx(1.0, abs=0.001)
    pd.testing.assert_series_equal(noisy, simulate_power(south_roof, mixed_sky, seed=5))
    assert not noisy.equals(simulate_power(south_roof, mixed_sky, seed=6))


def test_power_is_proportional_to_capacity(
    south_roof: SystemTruth, mixed_sky: SimulatedSky
) -> None:
    double = replace(south_roof, dc_capacity_kw=10.0)
    np.testing.assert_allclose(exact(double, mixed_sky), 2.0 * exact(south_roof, mixed_sky))


def test_a_western_horizon_removes_only_the_beam_of_the_afternoon(
    south_roof: SystemTruth, bright_sky: SimulatedSky
) -> None:
    free = exact(south_roof, bright_sky, step_minutes=10).to_numpy()
    shaded = exact(
        south_roof, bright_sky, step_minutes=10, horizon=western_horizon(35.0)
    ).to_numpy()
    zenith, azimuth = bright_sky.true.sun()
    hidden = (azimuth > 180.0) & (zenith > 55.0)
    np.testing.assert_array_equal(shaded[~hidden], free[~hidden])
    low_sun = hidden & (zenith < 75.0) & (bright_sky.true.dni > 600.0)
    assert low_sun.sum() > 100
    assert np.all(shaded[low_sun] < 0.6 * free[low_sun])
    assert np.all(shaded[low_sun] > 0.0)


def test_a_small_inverter_clips(south_roof: SystemTruth, bright_sky: SimulatedSky) -> None:
    truth = clipped(south_roof)
    assert truth.ac_limit_kw == pytest.approx(5.0 / 1.7)
    power = exact(truth, bright_sky)
    assert np.mean(power > truth.ac_limit_kw - 1e-9) > 0.05
    assert exact(south_roof, bright_sky).max() > truth.ac_limit_kw * 1.1


def test_a_pair_gives_what_its_halves_give(
    south_roof: SystemTruth, bright_sky: SimulatedSky
) -> None:
    # a large inverter, whose curve is nearly straight, lets the halves add up
    east = replace(south_roof, planes=((Plane(90.0, 25.0), 1.0),), dc_ac_ratio=1.0)
    west = replace(east, planes=((Plane(270.0, 25.0), 1.0),))
    pair = exact(east_west(east), bright_sky)
    halves = 0.5 * (exact(east, bright_sky) + exact(west, bright_sky))
    np.testing.assert_allclose(pair, halves, atol=0.02 * east.dc_capacity_kw)


def test_wear_and_dirt_lower_the_output_as_asked(
    south_roof: SystemTruth, mixed_sky: SimulatedSky
) -> None:
    clean = exact(south_roof, mixed_sky)
    worn = (exact(south_roof, mixed_sky, degradation=0.1) / clean)[clean > 1.0]
    assert worn.iloc[0] == pytest.approx(1.0, abs=0.01)
    assert worn.iloc[-1] == pytest.approx(0.9, abs=0.01)
    dirty = (exact(south_roof, mixed_sky, soiling=0.005) / clean)[clean > 1.0]
    assert 0.8 < dirty.min() < 0.99
    assert dirty.max() == pytest.approx(1.0)
    # rain brings it back: the last reading is not the dirtiest
    assert dirty.diff().max() > 0.01


def test_tabled_diffuse_modifiers_are_marions() -> None:
    tilts = np.array([4.0, 12.5, 25.0, 37.0, 52.0, 68.0])
    oracle = pvlib.iam.marion_diffuse("physical", tilts)
    ours = diffuse_modifiers(tilts)
    np.testing.assert_allclose(ours["sky"], oracle["sky"], atol=0.002)
    # what a low tilt sees of the ground is little, so its modifier may be coarse
    seen = (1.0 - np.cos(np.radians(tilts))) / 2.0
    np.testing.assert_allclose(ours["ground"] * seen, oracle["ground"] * seen, atol=0.002)
    sine = np.sin(np.radians(tilts))
    np.testing.assert_allclose(ours["horizon"] * sine, oracle["horizon"] * sine, atol=0.02)
