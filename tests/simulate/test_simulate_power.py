from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pvlib
import pytest

from sunveil.simulate import (
    CLEAN_FLEET,
    clipped,
    daylight_saving_stamps,
    draw_systems,
    east_west,
    fast_clock,
    simulate_fleet,
    simulate_power,
    western_horizon,
)
from sunveil.simulate.block_power import CellDaylight, block_power
from sunveil.simulate.fault_rates import SAPM_MOUNTS, US, SimulatedClock
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.roster import CLOCKS, clock_sources, draw_roster
from sunveil.simulate.simulated_sky import SunPath, interval_middles
from sunveil.simulate.system_power import diffuse_modifiers
from sunveil.site import Plane, Site


def exact(truth, sky, **options):
    return simulate_power(truth, sky, seed=1, noise=0.0, **options)  # type: ignore[arg-type]


def clear_day(sky):
    """Return where the true sky has a summer day without a cloud."""
    light = sky.true.ghi > 0.0
    clouds = np.bincount(sky.day[light], sky.clear_index[light] != 1.0)
    day = next(d for d in range(150, 240) if clouds[d] == 0)
    return np.flatnonzero(sky.day == day)


def pvlib_power(truth, sky, where):
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
def test_power_of_a_clear_day_is_pvlibs(south_roof, bright_sky, plane):
    truth = replace(south_roof, planes=((plane, 1.0),))
    where = clear_day(bright_sky)
    ours = exact(truth, bright_sky, step_minutes=10).to_numpy()[where]
    theirs = pvlib_power(truth, bright_sky, where)
    # only the incidence loss of the light around the sun is treated otherwise
    np.testing.assert_allclose(ours, theirs, atol=0.01 * truth.dc_capacity_kw)
    assert ours.sum() == pytest.approx(theirs.sum(), rel=0.01)
    assert theirs.max() > 0.4 * truth.dc_capacity_kw


def test_power_of_the_dullest_day_is_pvlibs(south_roof, mixed_sky):
    inner = (mixed_sky.day > 100) & (mixed_sky.day < 260) & (mixed_sky.true.ghi > 0.0)
    light = np.bincount(mixed_sky.day[inner], mixed_sky.clear_index[inner])
    where = np.flatnonzero(mixed_sky.day == 101 + np.argmin(light[101:]))
    ours = exact(south_roof, mixed_sky, step_minutes=10).to_numpy()[where]
    theirs = pvlib_power(south_roof, mixed_sky, where)
    assert ours.sum() == pytest.approx(theirs.sum(), rel=0.01)
    assert 0.0 < ours.max() < 0.3 * south_roof.dc_capacity_kw


def test_readings_are_means_labelled_at_the_start_in_utc(south_roof, mixed_sky):
    fine = exact(south_roof, mixed_sky, step_minutes=10)
    hourly = exact(south_roof, mixed_sky)
    assert str(hourly.index.tz) == "UTC"
    assert hourly.index[0] == pd.Timestamp("2019-01-01 00:00", tz="UTC")
    assert hourly.name == "south"
    np.testing.assert_allclose(hourly, fine.resample("h").mean())


def test_noise_is_two_percent_of_each_reading(south_roof, mixed_sky):
    clean = exact(south_roof, mixed_sky)
    noisy = simulate_power(south_roof, mixed_sky, seed=5)
    ratio = (noisy / clean)[clean > 0.0]
    assert ratio.std() == pytest.approx(0.02, rel=0.05)
    assert ratio.mean() == pytest.approx(1.0, abs=0.001)
    pd.testing.assert_series_equal(noisy, simulate_power(south_roof, mixed_sky, seed=5))
    assert not noisy.equals(simulate_power(south_roof, mixed_sky, seed=6))


def test_a_western_horizon_removes_only_the_beam_of_the_afternoon(south_roof, bright_sky):
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


def test_a_small_inverter_clips(south_roof, bright_sky):
    truth = clipped(south_roof)
    assert truth.ac_limit_kw == pytest.approx(5.0 / 1.7)
    power = exact(truth, bright_sky)
    assert np.mean(power > truth.ac_limit_kw - 1e-9) > 0.05
    assert exact(south_roof, bright_sky).max() > truth.ac_limit_kw * 1.1


def test_a_pair_gives_what_its_halves_give(south_roof, bright_sky):
    # a large inverter, whose curve is nearly straight, lets the halves add up
    east = replace(south_roof, planes=((Plane(90.0, 25.0), 1.0),), dc_ac_ratio=1.0)
    west = replace(east, planes=((Plane(270.0, 25.0), 1.0),))
    pair = exact(east_west(east), bright_sky)
    halves = 0.5 * (exact(east, bright_sky) + exact(west, bright_sky))
    np.testing.assert_allclose(pair, halves, atol=0.02 * east.dc_capacity_kw)


def test_wear_and_dirt_lower_the_output_as_asked(south_roof, mixed_sky):
    clean = exact(south_roof, mixed_sky)
    worn = (exact(south_roof, mixed_sky, degradation=0.1) / clean)[clean > 1.0]
    assert worn.iloc[0] == pytest.approx(1.0, abs=0.01)
    assert worn.iloc[-1] == pytest.approx(0.9, abs=0.01)
    dirty = (exact(south_roof, mixed_sky, soiling=0.005) / clean)[clean > 1.0]
    assert 0.8 < dirty.min() < 0.99
    assert dirty.max() == pytest.approx(1.0)
    # rain brings it back: the last reading is not the dirtiest
    assert dirty.diff().max() > 0.01


def test_tabled_diffuse_modifiers_are_marions():
    tilts = np.array([4.0, 12.5, 25.0, 37.0, 52.0, 68.0])
    oracle = pvlib.iam.marion_diffuse("physical", tilts)
    ours = diffuse_modifiers(tilts)
    np.testing.assert_allclose(ours["sky"], oracle["sky"], atol=0.002)
    # what a low tilt sees of the ground is little, so its modifier may be coarse
    seen = (1.0 - np.cos(np.radians(tilts))) / 2.0
    np.testing.assert_allclose(ours["ground"] * seen, oracle["ground"] * seen, atol=0.002)
    sine = np.sin(np.radians(tilts))
    np.testing.assert_allclose(ours["horizon"] * sine, oracle["horizon"] * sine, atol=0.02)


CELL = SimulatedCell(0, "here", Site(39.7, -105.2, 1795.0), "America/Denver", US, systems=24)


# of the block against pvlib, over the capacity
TOLERANCE = 1e-6


# the sky of the fixtures
STEP = 10


def drawn(rates, *, systems=24, seed=1, cell=CELL):
    return draw_roster(replace(cell, systems=systems), rates, rng=np.random.default_rng(seed))


def by_block(roster, sky, *, interval=60, kept=None):
    clocks = clock_sources(
        sky.true.times, CELL.timezone, interval_minutes=interval, step_minutes=STEP
    )
    daylight = CellDaylight.of(sky.true)
    return block_power(roster, daylight, clocks=clocks, per_reading=interval // STEP, kept=kept)


def by_pvlib(roster, row, sky, *, interval=60, kept=None):
    return simulate_power(
        roster.truth(row, cell=CELL),
        sky,
        seed=1,
        step_minutes=interval,
        noise=0.0,
        horizon=roster.horizon(row),
        kept=kept,
    )


@pytest.mark.parametrize(
    "rates",
    [
        replace(CLEAN_FLEET, loss_spread=0.05),
        CLEAN_FLEET.with_mix(two_planes=1.0),
        replace(CLEAN_FLEET, oversized=1.0),
        replace(CLEAN_FLEET, shaded=1.0),
        replace(CLEAN_FLEET, skylines=1.0, shaded=0.5),
        replace(CLEAN_FLEET, trackers=1.0, shaded=0.5),
    ],
    ids=["one plane", "two planes", "clipped", "shaded", "skylines", "trackers"],
)
def test_a_block_has_the_power_that_pvlib_gives_each_system(mixed_sky, rates):
    roster = drawn(rates, systems=8)
    found = by_block(roster, mixed_sky)
    for row in range(len(roster)):
        exact = by_pvlib(roster, row, mixed_sky).to_numpy()
        assert np.max(exact) > 0.3 * roster.dc_capacity_kw[row]
        assert np.max(np.abs(found[row] - exact)) < TOLERANCE * roster.dc_capacity_kw[row]


def test_what_is_left_of_a_day_s_power_is_taken_before_the_inverter(mixed_sky):
    roster = drawn(replace(CLEAN_FLEET, oversized=1.0), systems=2)
    kept = np.random.default_rng(1).uniform(0.0, 1.0, (2, int(mixed_sky.day[-1]) + 1))
    found = by_block(roster, mixed_sky, kept=kept.astype(np.float32))
    for row in range(2):
        exact = by_pvlib(roster, row, mixed_sky, kept=kept[row]).to_numpy()
        whole = by_pvlib(roster, row, mixed_sky).to_numpy()
        assert np.sum(exact) < 0.8 * np.sum(whole)
        assert np.max(np.abs(found[row] - exact)) < TOLERANCE * roster.dc_capacity_kw[row]


@pytest.mark.parametrize("trackers", [0.0, 1.0])
def test_snow_on_the_ground_is_a_higher_albedo(mixed_sky, trackers):
    roster = drawn(replace(CLEAN_FLEET, trackers=trackers), systems=3)
    clocks = clock_sources(mixed_sky.true.times, "UTC", interval_minutes=60, step_minutes=STEP)
    white = CellDaylight.of(mixed_sky.true, whiteness=np.full(int(mixed_sky.day[-1]) + 1, 3.0))
    found = block_power(roster, white, clocks=clocks, per_reading=60 // STEP)
    brighter = replace(roster, albedo=3.0 * roster.albedo)
    assert np.allclose(found, by_block(brighter, mixed_sky), rtol=1e-4, atol=1e-4)
    assert np.sum(found) > 1.005 * np.sum(by_block(roster, mixed_sky))


def stamped(clock, sky):
    """Return what a system's meter says by a clock, and what it would by a right one."""
    right = drawn(CLEAN_FLEET, systems=1)
    code = np.array([CLOCKS.index(clock)])
    wrong = replace(right, clock=code, later_clock=code)
    exact = by_pvlib(right, 0, sky)
    found = pd.Series(by_block(wrong, sky)[0], index=exact.index)
    return found, exact


@pytest.mark.parametrize(
    ("clock", "minutes"),
    [
        (SimulatedClock.HOUR_FAST, 60),
        (SimulatedClock.HOUR_SLOW, -60),
        (SimulatedClock.LABEL_END, 60),
    ],
)
def test_a_clock_that_is_off_moves_what_stands_at_a_stamp(mixed_sky, clock, minutes):
    found, exact = stamped(clock, mixed_sky)
    moved = fast_clock(exact, minutes).reindex(exact.index)
    assert np.array_equal(found.isna(), moved.isna())
    assert found.isna().sum() == 1
    assert np.allclose(found, moved, atol=1e-4, equal_nan=True)


def test_half_an_hour_mixes_the_halves_of_two_readings(mixed_sky):
    found, _ = stamped(SimulatedClock.HALF_HOUR_FAST, mixed_sky)
    halves = by_pvlib(drawn(CLEAN_FLEET, systems=1), 0, mixed_sky, interval=30).to_numpy()
    assert np.allclose(found[1:], (halves[1:-1:2] + halves[2::2]) / 2.0, atol=1e-4)


def test_a_clock_may_step_within_the_record(mixed_sky):
    right = drawn(CLEAN_FLEET, systems=1)
    fast = np.array([CLOCKS.index(SimulatedClock.HOUR_FAST)])
    exact = by_pvlib(right, 0, mixed_sky).to_numpy()
    found = by_block(replace(right, later_clock=fast, clock_step=np.array([0.5])), mixed_sky)[0]
    assert np.allclose(found[:4380], exact[:4380], atol=1e-4)
    assert np.allclose(found[4380:], exact[4379:-1], atol=1e-4)


def test_daylight_saving_left_in_moves_the_summer_alone(mixed_sky):
    found, exact = stamped(SimulatedClock.DAYLIGHT_SAVING, mixed_sky)
    moved = daylight_saving_stamps(exact, CELL.timezone).reindex(exact.index)
    assert np.allclose(found, moved, atol=1e-4, equal_nan=True)
    assert found.isna().sum() == 1  # the hour that is skipped in spring
    assert not np.allclose(found.fillna(0.0), exact, atol=1e-2)


def test_of_the_hour_that_comes_twice_the_first_is_kept():
    times = interval_middles(2019, 30)
    sources, _ = clock_sources(times, CELL.timezone, interval_minutes=60, step_minutes=30)
    row = sources[CLOCKS.index(SimulatedClock.DAYLIGHT_SAVING)]
    # 3 November, 08:00 UTC: the clock goes back from two to one
    back = int(times.searchsorted(pd.Timestamp("2019-11-03T08:00Z")))
    assert list(row[back - 1 : back + 4] - back) == [-3, -2, -1, 2, 3]
    # 10 March, 09:00 UTC: it goes forward from two to three
    ahead = int(times.searchsorted(pd.Timestamp("2019-03-10T09:00Z")))
    assert list(row[ahead - 1 : ahead + 3]) == [ahead - 1, -1, -1, ahead]


@pytest.mark.parametrize("site", [CELL.site, Site(-33.9, 151.2, 20.0), Site(69.6, 18.9, 0.0)])
def test_the_sun_over_many_places_is_pvlib_s(site):
    times = interval_middles(2020, 60)
    zenith, azimuth = SunPath.of(times).over(site)
    sun = site.sun(times)
    assert np.max(np.abs(zenith - sun["apparent_zenith"])) < 1e-9
    assert np.max(np.abs(azimuth - sun["azimuth"])) < 1e-9


def test_a_fleet_is_its_systems_with_one_sky_per_site():
    fleet = list(simulate_fleet(3, seed=9, sky_minutes=30))
    again = list(simulate_fleet(3, seed=9, sky_minutes=30))
    drawn = {truth.system_id: truth for truth in draw_systems(3, seed=9)}
    assert {truth.system_id: truth for truth, _, _ in fleet} == drawn
    for (truth, power, weather), (_, power_again, weather_again) in zip(fleet, again, strict=True):
        assert weather.site == truth.site
        assert power.name == truth.system_id
        assert len(power) == 8760
        pd.testing.assert_series_equal(power, power_again)
        np.testing.assert_array_equal(weather.ghi, weather_again.ghi)
    assert len({id(weather) for *_, weather in fleet}) == len({t.site for t, *_ in fleet})
