from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sunveil.simulate import (
    CLEAN_FLEET,
    FaultRates,
    SimulatedSky,
    daylight_saving_stamps,
    fast_clock,
    simulate_power,
)
from sunveil.simulate.block_power import CellDaylight, block_power
from sunveil.simulate.fault_rates import US, SimulatedClock
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.roster import CLOCKS, SimulatedRoster, clock_sources, draw_roster
from sunveil.simulate.simulated_sky import SunPath, interval_middles
from sunveil.site import Site

CELL = SimulatedCell(0, "here", Site(39.7, -105.2, 1795.0), "America/Denver", US, systems=24)
# of the block against pvlib, over the capacity
TOLERANCE = 1e-6
# the sky of the fixtures
STEP = 10


def drawn(
    rates: FaultRates, *, systems: int = 24, seed: int = 1, cell: SimulatedCell = CELL
) -> SimulatedRoster:
    return draw_roster(replace(cell, systems=systems), rates, rng=np.random.default_rng(seed))


def by_block(
    roster: SimulatedRoster,
    sky: SimulatedSky,
    *,
    interval: int = 60,
    kept: np.ndarray | None = None,
) -> np.ndarray:
    clocks = clock_sources(
        sky.true.times, CELL.timezone, interval_minutes=interval, step_minutes=STEP
    )
    daylight = CellDaylight.of(sky.true)
    return block_power(roster, daylight, clocks=clocks, per_reading=interval // STEP, kept=kept)


def by_pvlib(
    roster: SimulatedRoster,
    row: int,
    sky: SimulatedSky,
    *,
    interval: int = 60,
    kept: np.ndarray | None = None,
) -> pd.Series:
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


def test_the_interval_may_be_half_an_hour(mixed_sky):
    roster = drawn(CLEAN_FLEET, systems=2)
    found = by_block(roster, mixed_sky, interval=30)
    exact = by_pvlib(roster, 1, mixed_sky, interval=30).to_numpy()
    assert found.shape == (2, 17520)
    assert np.max(np.abs(found[1] - exact)) < TOLERANCE * roster.dc_capacity_kw[1]


def stamped(clock: SimulatedClock, sky: SimulatedSky) -> tuple[pd.Series, pd.Series]:
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


def test_where_daylight_is_not_saved_no_clock_saves_it():
    phoenix = replace(CELL, timezone="America/Phoenix")
    rates = replace(CLEAN_FLEET, daylight_saving=1.0)
    assert set(drawn(rates, cell=phoenix).clock) == {CLOCKS.index(SimulatedClock.DECLARED)}
    assert set(drawn(rates).clock) == {CLOCKS.index(SimulatedClock.DAYLIGHT_SAVING)}


@pytest.mark.parametrize("site", [CELL.site, Site(-33.9, 151.2, 20.0), Site(69.6, 18.9, 0.0)])
def test_the_sun_over_many_places_is_pvlib_s(site):
    times = interval_middles(2020, 60)
    zenith, azimuth = SunPath.of(times).over(site)
    sun = site.sun(times)
    assert np.max(np.abs(zenith - sun["apparent_zenith"])) < 1e-9
    assert np.max(np.abs(azimuth - sun["azimuth"])) < 1e-9


def test_south_of_the_equator_systems_face_north():
    south = replace(CELL, site=Site(-33.9, 151.2, 20.0))
    mirrored, given = drawn(CLEAN_FLEET, cell=south), drawn(CLEAN_FLEET)
    assert np.allclose(np.cos(np.radians(mirrored.surface_azimuth + given.surface_azimuth)), -1.0)
    assert np.array_equal(mirrored.surface_tilt, given.surface_tilt)
