from __future__ import annotations

import warnings

import numpy as np
import pytest
from engine_makers import PLANES, flags, plane_of, row_of, rows_of

from sunveil.engine import (
    InferOptions,
    constants,
    infer,
    infer_block,
    infer_generation,
    intervals,
    make_sky_table,
    reason,
)
from sunveil.estimates import Flag
from sunveil.estimates.estimates_table import KINDS, not_inferred
from sunveil.estimates.flags_and_quality import (
    EXPORTED_ONLY,
    INFERRED,
    NO_FIT,
    NO_WEATHER,
    TOO_LITTLE,
)
from sunveil.grids import Places
from sunveil.simulate import SystemTruth, fast_clock, simulate_power, simulate_sky
from sunveil.site import Mount, Plane, Site, TimeGrid

# Numbers of estimates that are angles or stand for themselves, and those that scale with power.
SMALL = 1e-4


@pytest.fixture(scope="module")
def four(denver, rows):
    return infer_generation(rows, denver)


def assert_same(one, other, *, within=SMALL):
    """Two runs say the same of the same systems, to a fraction of what is printed."""
    assert len(one) == len(other)
    for name, column in KINDS.items():
        mine, theirs = one.look(column), other.look(column)
        if mine.dtype.kind == "f":
            np.testing.assert_allclose(mine, theirs, rtol=0.0, atol=within, err_msg=name)
        else:
            np.testing.assert_array_equal(mine, theirs, err_msg=name)


def test_simulated_planes_are_recovered(four):
    assert (four.outcome == INFERRED).all()
    for place, plane in enumerate(PLANES):
        assert plane_of(four, place).angle_to(Plane(*plane)) < 2.0
        assert four.dc_capacity_kw[place] == pytest.approx(6.0, rel=0.04)
        assert flags(four, place) == ()
        assert four.surface_tilt_low[place] < plane[1] < four.surface_tilt_high[place]
        assert four.dc_capacity_kw_low[place] < 6.0 < four.dc_capacity_kw_high[place]
        assert 0.0 < four.plane_error_degrees[place] < 6.0
        assert four.agreement[place] > 0.4
        turn = (four.surface_azimuth_high[place] - four.surface_azimuth_low[place]) % 360.0
        assert (plane[0] - four.surface_azimuth_low[place]) % 360.0 < turn
    assert np.isnan(four.ac_limit_kw).all()


def test_haze_and_heat_are_told(four, denver, rows):
    assert (np.abs(four.haze_summer) < 1.0).all()
    assert (np.abs(four.haze_winter) < 1.0).all()
    assert (np.abs(four.heat - Mount.UNKNOWN.heat) < 0.3).all()
    roof = infer_generation(rows, denver, options=InferOptions(mount=Mount.RACK))
    assert (roof.heat < four.heat - 0.1).all()
    dark = infer_generation(rows, denver, options=InferOptions(albedo=0.0))
    assert (dark.dc_capacity_kw > four.dc_capacity_kw).all()


def test_a_block_says_of_each_what_it_says_of_it_alone(four, denver, rows):
    for place in range(len(rows)):
        alone = infer_generation(rows[place : place + 1], denver)
        assert_same(four.take(np.arange(len(rows)) == place), alone, within=0.0)


def test_a_system_does_not_depend_on_what_stands_beside_it(denver, rows, powers):
    """Not on oddrs with other records, clocks and gaps, nor on its place among them."""
    short = rows[1].copy()
    short[:4000] = np.nan
    weeks = rows[2].copy()
    weeks[24 * 45 :] = np.nan
    gaps = rows[3].copy()
    gaps[np.random.default_rng(0).random(len(gaps)) < 0.4] = np.nan
    fast = row_of(fast_clock(powers[2], 60), denver.grid)
    given = np.stack(
        [short, rows[3], fast, rows[0], np.minimum(rows[0], 3.0), weeks, rows[2], gaps, rows[1]]
    )
    found = infer_generation(given, denver)
    assert len(np.unique(found.daylight_readings)) > 4
    for place in range(len(given)):
        alone = infer_generation(given[place : place + 1], denver)
        assert_same(found.take(np.arange(len(given)) == place), alone, within=0.0)
    assert_same(infer_generation(given[::-1], denver).take(np.arange(9) == 0), alone, within=0.0)


def test_an_estimate_that_is_no_number_is_no_estimate(denver, rows, monkeypatch):
    def broken(points, covariances):
        found = intervals_of(points, covariances)
        found.dc_capacity_kw_high[1] = np.nan
        return found

    intervals_of = intervals.intervals_of
    monkeypatch.setattr(infer, "intervals_of", broken)
    found = infer_generation(rows, denver)
    assert found.outcome.tolist() == [INFERRED, NO_FIT, INFERRED, INFERRED]
    assert "check their unit" in reason(NO_FIT, 0, source="x")


def test_a_longer_grid_gives_the_same(four, denver, rows):
    grid = denver.grid
    longer = TimeGrid(grid.first - 50 * 3600, grid.step, grid.count + 700)
    given = np.full((len(rows), longer.count), np.nan, dtype=np.float32)
    given[:, 50 : 50 + grid.count] = rows
    found = infer_generation(given, make_sky_table(denver.site, longer))
    assert_same(found, four)


def test_working_on_fewer_at_a_time_changes_nothing(four, denver, rows, monkeypatch):
    places = Places(
        np.full(4, 39.7), -105.0 + np.array([0.0, 0.5, 1.0, 1.5]), np.array([np.nan, 0.0, 9.0, 1e3])
    )
    moved = infer_generation(rows, denver, places=places)
    for chunk in (1, 2 * denver.grid.count, 3 * denver.grid.count):
        monkeypatch.setattr(constants, "CHUNK", chunk)
        assert_same(infer_generation(rows, denver), four)
    assert_same(infer_generation(rows, denver, places=places), moved)


def test_a_factor_on_the_power_is_a_factor_on_the_capacity(four, denver, rows):
    found = infer_generation(rows * np.float32(64.0), denver)
    np.testing.assert_allclose(found.dc_capacity_kw, 64.0 * four.dc_capacity_kw, rtol=1e-4)
    np.testing.assert_allclose(found.surface_azimuth, four.surface_azimuth, atol=0.01)


ODD = {
    "nothing": np.full(8760, np.nan),
    "zero": np.zeros(8760),
    "constant": np.ones(8760),
    "huge": np.full(8760, 1e30),
    "tiny": np.full(8760, 1e-30),
    "one spike": np.where(np.arange(8760) == 4000, 1e30, 0.5),
    "negative": np.full(8760, -1.0),
    "noise": np.random.default_rng(0).uniform(0.0, 1.0, 8760),
    "noise of all sizes": 10.0 ** np.random.default_rng(1).uniform(-30.0, 30.0, 8760),
    "a day": np.where(np.arange(8760) < 24, 1.0, np.nan),
    "sixty readings": np.where(np.arange(8760) < 24 * 7, 1.0, np.nan),
    "one reading in thirty": np.where(np.arange(8760) % 29 == 0, 1.0, 0.0),
    "a week of power": np.where(np.arange(8760) // 24 % 365 // 7 == 28, 1.0, 0.0),
    "infinite": np.full(8760, np.inf),
    "night only": np.where(np.arange(8760) % 24 == 8, 1.0, 0.0),
    **{f"a roof times {factor:g}": factor for factor in (1e30, 1e-30, 1e8, 1e-8)},
}


@pytest.mark.parametrize("name", ODD)
def test_odd_records_never_raise_and_leave_the_others_alone(name, four, denver, rows):
    odd = np.asarray(ODD[name] * (rows[1] if isinstance(ODD[name], float) else 1), np.float32)
    given = np.stack([rows[0], odd, rows[1], odd, rows[2], rows[3]])
    found = infer_generation(given, denver)
    chosen = np.array([True, False, True, False, True, True])
    assert_same(found.take(chosen), four)
    if name in {"nothing", "zero", "negative", "a day", "huge", "tiny", "infinite"}:
        assert found.outcome[[1, 3]].tolist() == [TOO_LITTLE, TOO_LITTLE]
    for each in np.flatnonzero(found.outcome[[1, 3]] == INFERRED) * 2 + 1:
        assert 0.0 <= found.surface_tilt[each] <= 90.0
        assert 0.0 <= found.surface_azimuth[each] < 360.0
        assert found.dc_capacity_kw[each] > 0.0
        assert np.isfinite(found.plane_error_degrees[each])
        assert found.dc_capacity_kw_low[each] < found.dc_capacity_kw_high[each] < np.inf


def test_too_little_data_is_told_and_stops_nobody(four, denver, rows):
    dark, short = np.zeros(8760, dtype=np.float32), np.full(8760, np.nan, dtype=np.float32)
    short[:48] = rows[0, :48]
    found = infer_generation(np.stack([dark, rows[0], short]), denver)
    assert found.outcome.tolist() == [TOO_LITTLE, INFERRED, TOO_LITTLE]
    assert_same(found.take(found.outcome == INFERRED), four.take(np.arange(4) == 0))
    told = reason(int(found.outcome[2]), int(found.daylight_readings[2]), source=denver.source)
    assert told.startswith(f"there are {found.daylight_readings[2]} daylight readings")
    assert "60 are needed" in told
    for field in ("surface_azimuth", "dc_capacity_kw", "surface_tilt_low", "ac_limit_kw", "heat"):
        assert np.isnan(getattr(found, field)[[0, 2]]).all()
    assert found.flags[[0, 2]].tolist() == [0, 0]


def test_nobody_and_nothing_are_inferred_to_nothing(denver):
    assert len(infer_generation(np.empty((0, 8760), dtype=np.float32), denver)) == 0
    nothing = infer_generation(np.full((2, 8760), np.nan, dtype=np.float32), denver)
    assert nothing.outcome.tolist() == [TOO_LITTLE, TOO_LITTLE]


def test_weather_that_covers_nothing_is_told(denver, rows, weathered):
    sky = make_sky_table(denver.site, denver.grid.moved(3 * 366 * 86400), weathered.satellite)
    found = infer_generation(rows, sky)
    assert (found.outcome == NO_WEATHER).all()
    told = reason(NO_WEATHER, 0, source=sky.source)
    assert sky.source in told
    assert "covers none" in told
    night = make_sky_table(Site(78.2, 15.6, 10.0), TimeGrid(denver.grid.first, 3600, 480))
    assert (infer_generation(rows[:, :480], night).outcome == NO_WEATHER).all()


def test_measured_weather_gives_the_planes_too(denver, rows, weathered):
    sky = make_sky_table(denver.site, denver.grid, weathered.satellite)
    found = infer_generation(rows, sky)
    for place, plane in enumerate(PLANES):
        assert plane_of(found, place).angle_to(Plane(*plane)) < 3.0
        assert found.dc_capacity_kw[place] == pytest.approx(6.0, rel=0.06)
    march = make_sky_table(
        denver.site, denver.grid, weathered.satellite.between("2019-02-01", "2019-07-01")
    )
    part = infer_generation(rows, march)
    assert (part.outcome == INFERRED).all()
    assert (part.daylight_readings < 0.5 * found.daylight_readings).all()


@pytest.mark.parametrize(("days", "few"), [(90, True), (130, False)])
def test_few_days_are_flagged(denver, rows, days, few):
    part = rows[:1].copy()
    part[:, 24 * days :] = np.nan
    assert (Flag.TOO_LITTLE_DATA in flags(infer_generation(part, denver), 0)) is few


def test_what_no_plane_explains_is_flagged(denver):
    noise = np.random.default_rng(0).uniform(0.0, 1.0, (1, 8760)).astype(np.float32) ** 8
    forced = infer_generation(noise, denver, options=InferOptions(force=True))
    assert {Flag.LOW_AGREEMENT, Flag.NOT_GENERATION} <= set(flags(forced, 0))


def test_a_place_that_is_always_cloudy_is_inferred_too(denver):
    weather = simulate_sky(denver.site, 2019, seed=4, step_minutes=15, clear_days=0.05)
    planes = ((180.0, 30.0), (105.0, 40.0), (262.0, 33.0))
    powers = [
        simulate_power(
            SystemTruth("one", denver.site, ((Plane(*plane), 1.0),), 6.0, dc_ac_ratio=1.0),
            weather,
            seed=3,
        )
        for plane in planes
    ]
    found = infer_generation(rows_of(powers, denver.grid), denver)
    for place, (azimuth, tilt) in enumerate(planes):
        assert found.surface_azimuth[place] == pytest.approx(azimuth, abs=6.0)
        assert found.surface_tilt[place] == pytest.approx(tilt, abs=5.0)


def test_places_beside_the_skys_own_turn_the_plane(four, denver, rows):
    own = Places.of(denver.site, 4)
    assert_same(infer_generation(rows, denver, places=own), four)
    west = infer_generation(rows, denver, places=own._replace(longitude=own.longitude - 2.0))
    for place in range(4):
        assert 0.5 < plane_of(west, place).angle_to(plane_of(four, place)) < 2.5
    names = ("outcome", "dc_capacity_kw", "haze_summer", "haze_winter", "heat", "agreement")
    for name in (*names, "clear_hours", "skyline", "daylight_readings", "flags"):
        np.testing.assert_array_equal(getattr(west, name), getattr(four, name))


def test_places_of_repaired_clocks_turn_too(denver, powers):
    row = row_of(fast_clock(powers[0], 60), denver.grid)
    places = Places(np.full(3, 39.7), np.array([-105.0, -105.0, -103.0]), np.full(3, np.nan))
    right = row_of(powers[0], denver.grid)
    found = infer_generation(np.stack([right, row, row]), denver, places=places)
    assert found.clock_offset_minutes.tolist() == [0.0, 60.0, 60.0]
    assert 0.5 < plane_of(found, 1).angle_to(plane_of(found, 2)) < 2.5


def test_thinner_air_gives_the_same_power_from_a_smaller_capacity(four, denver, rows):
    own = Places.of(denver.site, 4)
    higher = infer_generation(rows, denver, places=own._replace(altitude=own.altitude + 100.0))
    np.testing.assert_allclose(higher.surface_tilt, four.surface_tilt, atol=1e-6)
    # as a sky made for that height has it, but for air that is half a degree cooler: 0.2%
    there = make_sky_table(Site(39.7, -105.0, denver.site.height + 100.0), denver.grid)
    np.testing.assert_allclose(
        higher.dc_capacity_kw, infer_generation(rows, there).dc_capacity_kw, rtol=2e-3
    )
    assert (higher.dc_capacity_kw < 0.996 * four.dc_capacity_kw).all()


def test_readings_of_any_layout_are_left_as_they_were_and_nothing_warns(four, denver, rows):
    for given in (rows.copy(), rows.astype(np.float64), np.asfortranarray(rows)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_same(infer_generation(given, denver), four)
        np.testing.assert_array_equal(given, rows)
    assert repr(four) == "Estimates(4 systems, private)"


LOCAL = (np.arange(8760) - 7) % 24


@pytest.fixture(scope="module")
def load():
    """A household's load at Denver, hour by hour, with an evening."""
    rng = np.random.default_rng(20)
    shape = 0.5 + 1.2 * np.exp(-(((LOCAL - 19.0) / 2.5) ** 2))
    return (shape * rng.lognormal(0.0, 0.5, len(LOCAL))).astype(np.float32)


def test_what_a_household_leaves_over_is_inferred_as_a_net_meter(denver, rows, load):
    power = np.stack([rows[0], np.maximum(rows[0] - load, 0.0)])
    assert infer_generation(power, denver).outcome.tolist() == [INFERRED, EXPORTED_ONLY]
    found = infer_block(power, denver, net=False)
    assert found.outcome.tolist() == [INFERRED, INFERRED]
    assert found.household[0] is None
    assert Flag.NET_METER not in flags(found, 0)
    assert found.household[1] is not None
    assert {Flag.NET_METER, Flag.EXPORTED_ONLY} <= set(flags(found, 1))


def test_what_was_said_to_be_net_is_inferred_so_at_once(denver, rows, load, monkeypatch):
    monkeypatch.setattr(infer, "infer_generation", None)
    found = infer_block(rows[:1] - load, denver, net=True)
    assert Flag.NET_METER in flags(found, 0)
    assert Flag.EXPORTED_ONLY not in flags(found, 0)
    found = infer_block(np.maximum(rows[:1] - load, 0.0), denver, net=True)
    assert {Flag.NET_METER, Flag.EXPORTED_ONLY} <= set(flags(found, 0))


@pytest.mark.parametrize("force", [False, True])
def test_left_over_power_that_tells_nothing_is_refused_as_such(
    denver, rows, load, force, monkeypatch
):
    def refuse(power, sky, **_):
        return not_inferred(np.full(len(power), NO_FIT), np.full(len(power), 3))

    monkeypatch.setattr(infer, "infer_net_block", refuse)
    power = np.maximum(rows[:1] - load, 0.0)
    found = infer_block(power, denver, net=False, options=InferOptions(force=force))
    assert found.outcome.tolist() == [EXPORTED_ONLY]
    assert not found.flags.any()
    assert np.isnan(found.dc_capacity_kw).all()
