from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.planes_systems import with_second_plane
from benchmarks.stressed_systems import missing_and_snow
from sunveil.errors import ParameterError
from sunveil.simulate import (
    CITIES,
    CLEAN_FLEET,
    PLAIN_FLEET,
    REAL_FLEET,
    FaultRates,
    SystemTruth,
    Tracker,
    daylight_saving_stamps,
    draw_systems,
    east_west,
    fast_clock,
    tracking,
)
from sunveil.simulate.block_power import add_meter_faults
from sunveil.simulate.fault_rates import EUROPE, TILT_EDGES, US, FleetStatistics
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.roster import (
    BACKTRACKING,
    NOMINAL_SOILING,
    SCALES,
    SECTOR_DEGREES,
    SECTORS,
    SENTINELS,
    TURNED_AXES,
    CellDays,
    SimulatedRoster,
    add_logger_faults,
    box_skyline,
    draw_cell_days,
    draw_roster,
    draw_skylines,
    draw_trackers,
    sectors_of,
    wear_down,
)
from sunveil.simulate.simulated_sky import TrueSky, dull_days, simulate_true_sky
from sunveil.site import RUNNING_LOSSES, Losses, Mount, Plane, Site

SYSTEMS = 20_000


@functools.cache
def drawn(statistics: FleetStatistics) -> SimulatedRoster:
    cell = SimulatedCell(0, "here", Site(45.0, 10.0, 0.0), "Europe/Rome", statistics, SYSTEMS)
    return draw_roster(cell, REAL_FLEET, rng=np.random.default_rng(1))


@pytest.mark.parametrize("statistics", [US, EUROPE], ids=["US", "Europe"])
def test_planes_have_the_weights_of_the_list(statistics):
    roster = drawn(statistics)
    single = roster.first_share == 1.0
    sectors = ((roster.surface_azimuth[single] + 22.5) // 45.0 % 8).astype(int)
    assert np.bincount(sectors, minlength=8) / np.sum(single) == pytest.approx(
        statistics.azimuths, abs=0.015
    )
    bands = np.histogram(roster.surface_tilt, TILT_EDGES)[0]
    assert bands / SYSTEMS == pytest.approx(statistics.tilts, abs=0.015)


@pytest.mark.parametrize("statistics", [US, EUROPE], ids=["US", "Europe"])
def test_capacities_have_the_spread_of_the_list(statistics):
    capacity = drawn(statistics).dc_capacity_kw
    homes = capacity[capacity < statistics.largest_home_kw]
    assert np.median(homes) == pytest.approx(statistics.median_kw, rel=0.05)
    assert np.std(np.log(homes)) == pytest.approx(statistics.spread, rel=0.15)
    assert np.mean(capacity > 20.0) == pytest.approx(statistics.commercial, abs=0.01)
    assert np.max(capacity) <= 1000.0


def test_faults_have_their_shares():
    roster = drawn(US)
    found = {
        "shaded": np.mean(~np.isnan(roster.shade_azimuth)),
        "trackers": np.mean(roster.tracker > 0),
        "late": np.mean((roster.begin > 0.0) & (roster.end == 1.0)),
        "short": np.mean(roster.end < 1.0),
        "oversized": np.mean(roster.dc_ac_ratio > 1.35),
    }
    assert found == pytest.approx({name: getattr(REAL_FLEET, name) for name in found}, abs=0.008)
    two = np.mean(roster.first_share < 1.0)
    assert two == pytest.approx(REAL_FLEET.east_west + REAL_FLEET.hipped, abs=0.01)
    steady = np.isnan(roster.clock_step)
    assert np.mean(~steady) == pytest.approx(REAL_FLEET.clock_steps, abs=0.008)
    shares = np.bincount(roster.clock[steady]) / np.sum(steady)
    assert shares == pytest.approx(list(REAL_FLEET.clocks.values()), abs=0.008)


def test_dirt_and_age_are_part_of_the_nominal_losses():
    roster = drawn(US)
    age = np.mean(roster.degradation * roster.age_years)
    losses = np.mean(roster.losses) + age + NOMINAL_SOILING
    assert losses == pytest.approx(Losses().system, abs=0.005)


def test_what_real_records_have_besides_leaves_the_systems_of_a_plain_fleet_as_they_are():
    cell = SimulatedCell(0, "here", Site(45.0, 10.0, 0.0), "Europe/Rome", US, 50)
    real, plain = (
        draw_roster(cell, rates, rng=np.random.default_rng(4))
        for rates in (REAL_FLEET, PLAIN_FLEET)
    )
    for name in ("surface_azimuth", "surface_tilt", "dc_capacity_kw", "shade_azimuth", "begin"):
        assert np.array_equal(getattr(real, name), getattr(plain, name), equal_nan=True)
    assert not np.any(plain.age_years)
    assert np.all(np.isnan(plain.sentinel))
    assert np.array_equal(plain.skyline.any(axis=1), ~np.isnan(plain.shade_azimuth))


def test_trackers_differ_and_most_axes_run_north_to_south():
    drawn = draw_trackers(np.random.default_rng(2), 4000)
    south = drawn["axis_azimuth"] == 180.0
    assert np.mean(south) == pytest.approx(1.0 - TURNED_AXES, abs=0.03)
    assert np.all((drawn["axis_azimuth"] >= 90.0) & (drawn["axis_azimuth"] < 270.0))
    assert np.mean(drawn["backtrack"]) == pytest.approx(BACKTRACKING, abs=0.03)
    assert np.ptp(drawn["gcr"]) == pytest.approx(0.25, abs=0.01)
    assert np.ptp(drawn["max_angle"]) == pytest.approx(15.0, abs=0.1)


def test_a_system_gets_a_second_plane_with_the_smaller_share(south_roof: SystemTruth):
    rng = np.random.default_rng(3)
    pairs = [with_second_plane(south_roof, rng=rng) for _ in range(50)]
    shares = np.array([pair.planes[0][1] for pair in pairs])
    assert np.all((shares >= 0.5) & (shares <= 0.8))
    turns = [pair.planes[1][0].surface_azimuth - pair.plane.surface_azimuth for pair in pairs]
    corners = np.abs(np.cos(np.radians(turns))) < 0.5
    assert 15 < np.sum(corners) < 35
    first = np.array([pair.plane.surface_azimuth for pair in pairs])
    assert set(first[corners]) == {south_roof.plane.surface_azimuth}
    # few put modules on a side away from the sun
    assert np.mean(np.abs(np.sin(np.radians(first[~corners]))) > 0.7) > 0.8
    assert len({pair.planes[1][0] for pair in pairs}) == 50


@pytest.mark.parametrize("wrong", [{"two_planes": 1.5}, {"trackers": -0.1}])
def test_an_impossible_mix_is_refused(wrong):
    with pytest.raises(ParameterError, match="from 0 to 1"):
        REAL_FLEET.with_mix(**wrong)


def test_sectors_go_round_from_north():
    assert list(sectors_of(np.array([0.0, 4.9, 5.0, 359.9, 360.0, -1.0]))) == [0, 0, 1, 71, 0, 71]


def test_an_obstacle_stands_where_it_stands_and_nowhere_else():
    north, none = box_skyline(
        np.array([2.5, np.nan]), np.array([21.0, np.nan]), np.array([30.0, np.nan])
    )
    assert list(np.flatnonzero(north)) == [0, 1, 2, SECTORS - 2, SECTORS - 1]
    assert set(north[north > 0.0]) == {30.0}
    assert not none.any()


def test_half_of_the_systems_have_a_skyline_that_is_mostly_low():
    drawn = draw_skylines(np.random.default_rng(1), 0.5, 4000)
    has = drawn.any(axis=1)
    assert np.mean(has) == pytest.approx(0.5, abs=0.03)
    assert np.all((drawn >= 0.0) & (drawn <= 60.0))
    highest = drawn[has].max(axis=1)
    assert 15.0 < np.median(highest) < 40.0
    # as high in any direction
    assert np.ptp(drawn.mean(axis=0)) < 1.0
    assert SECTOR_DEGREES * SECTORS == 360.0


def test_trees_and_houses_differ():
    drawn = draw_skylines(np.random.default_rng(2), 1.0, 400)
    steps = np.abs(np.diff(drawn, axis=1)).max(axis=1)
    assert np.mean(steps > 5.0) > 0.3
    assert np.mean(steps < 3.0) > 0.05


def test_the_same_seed_draws_the_same_systems() -> None:
    assert draw_systems(20, seed=4) == draw_systems(20, seed=4)
    assert draw_systems(20, seed=4) != draw_systems(20, seed=5)


def test_a_larger_draw_begins_with_the_systems_of_a_smaller() -> None:
    small, large = draw_systems(5, seed=4), draw_systems(50, seed=4)
    assert [truth.plane for truth in large[:5]] == [truth.plane for truth in small]
    assert len({truth.system_id for truth in large}) == 50


def test_systems_face_as_the_public_lists_do() -> None:
    planes = [truth.plane for truth in draw_systems(3000, seed=1)]
    azimuth = np.array([plane.surface_azimuth for plane in planes])
    tilt = np.array([plane.surface_tilt for plane in planes])
    assert 0.4 < np.mean(np.abs(azimuth - 180.0) < 22.5) < 0.55
    assert 0.75 < np.mean(np.abs(azimuth - 180.0) < 67.5) < 0.92
    assert 0.03 < np.mean(np.abs(azimuth - 90.0) < 22.5) < 0.10
    assert 0.05 < np.mean(np.abs(azimuth - 270.0) < 22.5) < 0.13
    assert 0.005 < np.mean((azimuth < 22.5) | (azimuth > 337.5)) < 0.04
    assert 0.03 < np.mean(tilt < 5.0) < 0.08
    assert 0.03 < np.mean(tilt > 50.0) < 0.09
    assert 20.0 < np.median(tilt) < 32.0


def test_capacities_are_mostly_homes_with_some_commercial() -> None:
    fleet = draw_systems(3000, seed=1)
    american = [t.dc_capacity_kw for t in fleet if t.timezone.startswith("America/")]
    european = [t.dc_capacity_kw for t in fleet if t.timezone.startswith("Europe/")]
    assert np.median(american) == pytest.approx(7.2, abs=0.5)
    assert np.median(european) == pytest.approx(2.2, abs=0.15)
    assert np.quantile(american, 0.9) == pytest.approx(13.9, abs=2.5)
    assert np.quantile(european, 0.9) == pytest.approx(3.4, abs=0.4)
    assert 0.02 < np.mean(np.array(american) > 20.0) < 0.07
    assert 100.0 < max(american) <= 1000.0
    assert min(american + european) >= 1.0


def test_other_properties_stay_in_their_ranges() -> None:
    fleet = draw_systems(500, seed=2)
    gamma = np.array([t.gamma_pdc for t in fleet])
    assert gamma.mean() == pytest.approx(-0.004, abs=1e-4)
    assert gamma.std() == pytest.approx(4e-4, rel=0.2)
    assert all(1.0 <= t.dc_ac_ratio <= 1.3 and 0.15 <= t.albedo <= 0.25 for t in fleet)
    assert {t.losses.system for t in fleet} == {RUNNING_LOSSES}
    assert {t.mount for t in fleet} == {Mount.ROOF, Mount.RACK}
    assert {t.site for t in fleet} == {city.site for city in CITIES}


def test_losses_spread_only_when_asked() -> None:
    losses = [t.losses.system for t in draw_systems(500, seed=2, loss_spread=0.03)]
    assert np.std(losses) == pytest.approx(0.03, rel=0.2)


def test_an_east_west_pair_faces_both_ways(south_roof: SystemTruth) -> None:
    roof = replace(south_roof, planes=((Plane(90.0, 20.0), 1.0),))
    pair = east_west(roof, share=0.6)
    assert pair.planes == ((Plane(90.0, 20.0), 0.6), (Plane(270.0, 20.0), 0.4))
    assert pair.plane == Plane(90.0, 20.0)


def test_a_tracking_system_stands_on_an_open_rack(south_roof: SystemTruth) -> None:
    assert tracking(south_roof, Tracker()).mount is Mount.RACK


@pytest.mark.parametrize(
    "wrong",
    [
        {"planes": ()},
        {"planes": ((Plane(180.0, 20.0), 0.5),)},
        {"dc_capacity_kw": 0.0},
        {"mount": Mount.UNKNOWN},
    ],
)
def test_an_impossible_system_is_refused(south_roof: SystemTruth, wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="south must"):
        replace(south_roof, **wrong)


def test_an_empty_fleet_is_refused() -> None:
    with pytest.raises(ParameterError, match="n must be a whole number between 1"):
        draw_systems(0, seed=1)


CELL = SimulatedCell(0, "here", Site(45.0, -93.3, 250.0), "America/Chicago", US, systems=200)
# a day of twelve hours, all year, with a gap
YEAR = np.tile(np.r_[np.zeros(6), np.arange(1.0, 13.0), np.zeros(6)], 365).astype(np.float32)


def written(**rates: float) -> tuple[SimulatedRoster, np.ndarray]:
    """Return systems with some faults, and what is written of a year of theirs."""
    given: FaultRates = replace(CLEAN_FLEET, **rates)
    roster = draw_roster(CELL, given, rng=np.random.default_rng(2))
    power = np.tile(YEAR, (CELL.systems, 1))
    power[:, 1000:1030] = np.nan
    add_logger_faults(power, roster)
    return roster, power


def clean() -> np.ndarray:
    power = YEAR.copy()
    power[1000:1030] = np.nan
    return power


def test_loggers_without_faults_write_what_they_are_given():
    _, power = written()
    assert np.array_equal(power, np.tile(clean(), (CELL.systems, 1)), equal_nan=True)


def test_sentinels_stand_where_readings_are_missing():
    roster, power = written(sentinels=0.3)
    marked = ~np.isnan(roster.sentinel)
    assert np.mean(marked) == pytest.approx(0.3, abs=0.1)
    assert set(np.unique(power[marked, 1000:1030])) == set(SENTINELS)
    assert np.isnan(power[~marked, 1000:1030]).all()
    assert np.nanmin(np.delete(power, np.s_[1000:1030], axis=1)) == 0.0


def test_negative_readings_stand_in_one_stretch_by_day():
    roster, power = written(negative=0.3)
    has = ~np.isnan(roster.negative_begin)
    below = power < 0.0
    assert np.array_equal(below.any(axis=1), has)
    assert not below[:, YEAR == 0.0].any()
    days = (np.array([np.ptp(np.flatnonzero(row)) for row in below[has]]) + 1) / 24.0
    assert np.all((days > 2.0) & (days < 41.0))


def test_a_stuck_logger_repeats_a_reading_by_day_and_night():
    roster, power = written(stuck=0.3)
    has = ~np.isnan(roster.stuck_begin)
    at_night = power[:, YEAR == 0.0] > 0.0
    assert 0.2 < np.mean(has) < 0.4
    assert not at_night[~has].any()
    # short spells may fall into one day, or one night
    assert np.mean(at_night[has].any(axis=1)) > 0.8
    row = int(np.flatnonzero(at_night.any(axis=1))[0])
    assert len(np.unique(power[row][(power[row] > 0.0) & (YEAR == 0.0)])) == 1


def test_a_month_may_have_another_scale():
    roster, power = written(wrong_scale=0.5)
    has = ~np.isnan(roster.scale_begin)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = power / clean()
    for row in np.flatnonzero(has):
        other = ratio[row][np.isfinite(ratio[row]) & (ratio[row] != 1.0)]
        assert np.allclose(other, roster.scale_factor[row])
        # the gap may take thirty of them
        assert 26 * 12 < len(other) <= 31.5 * 12
    assert set(roster.scale_factor[has]) == set(SCALES)
    assert np.nanmax(np.abs(ratio[~has] - 1.0)) == 0.0


CELL_OUTAGES = SimulatedCell(
    0, "here", Site(45.0, -93.3, 250.0), "America/Chicago", US, systems=300
)
HOURS = 8760


def drawn_outages(rates: FaultRates) -> SimulatedRoster:
    return draw_roster(CELL_OUTAGES, rates, rng=np.random.default_rng(2))


def metered(rates: FaultRates, *, gone: slice = slice(0)) -> np.ndarray:
    """Return a year of 5 kW, with some of it gone, after what befalls it."""
    power = np.full((CELL_OUTAGES.systems, HOURS), 5.0, dtype=np.float32)
    power[:, gone] = np.nan
    add_meter_faults(
        power,
        drawn_outages(rates),
        rates,
        interval_minutes=60,
        rng=np.random.default_rng(3),
    )
    return power


def test_a_clean_fleet_has_noise_and_nothing_else():
    power = metered(CLEAN_FLEET)
    spread = np.std(power / 5.0 - 1.0, axis=1)
    assert np.median(spread) == pytest.approx(0.02, rel=0.1)
    assert np.quantile(spread, 0.9) > 1.4 * np.median(spread)
    assert np.all(power > 0.0)


@pytest.mark.parametrize(
    ("name", "rate", "shortest", "longest"),
    [("hour_gaps", 4.0, 1, 12), ("day_gaps", 1.0, 24, 168), ("week_gaps", 0.5, 168, 1344)],
)
def test_gaps_are_as_many_and_as_long_as_they_should_be(name, rate, shortest, longest):
    gone = np.isnan(metered(replace(CLEAN_FLEET, **{name: rate})))
    starts = np.flatnonzero(np.diff(np.pad(gone, ((0, 0), (1, 1))).ravel().astype(int)) == 1)
    ends = np.flatnonzero(np.diff(np.pad(gone, ((0, 0), (1, 1))).ravel().astype(int)) == -1)
    assert len(starts) == pytest.approx(rate * CELL_OUTAGES.systems, rel=0.3)
    lengths = ends - starts
    # gaps may meet, and end with the year
    assert np.mean((lengths >= shortest) & (lengths <= longest)) > 0.85
    assert np.any(~gone.any(axis=1))


@pytest.mark.parametrize("name", ["down_days", "down_weeks"])
def test_a_system_that_is_down_says_zero(name):
    power = metered(replace(CLEAN_FLEET, **{name: 1.0}))
    assert not np.isnan(power).any()
    assert 0.0 < np.mean(power == 0.0) < 0.1


def test_records_may_begin_late_or_be_short():
    there = ~np.isnan(metered(replace(CLEAN_FLEET, late=0.2, short=0.2)))
    late = ~there[:, 0] & there[:, -1]
    days = np.sum(there, axis=1) / 24.0
    assert np.mean(late) == pytest.approx(0.2, abs=0.08)
    assert np.mean(days < 41.0) == pytest.approx(0.2, abs=0.1)
    assert np.min(days) >= 1.0
    assert np.mean(days == 365.0) == pytest.approx(0.6, abs=0.1)


DAYS = 366


def drawn_wear(rates: FaultRates) -> SimulatedRoster:
    return draw_roster(CELL, rates, rng=np.random.default_rng(2))


def quiet(**changed: np.ndarray) -> CellDays:
    """Days on which nothing happens but what is asked for."""
    none = np.zeros(DAYS)
    days = CellDays(none.astype(int), none.astype(bool), none, none, none + 1.0)
    return replace(days, **changed)


def snowfall(day: int) -> np.ndarray:
    return np.arange(DAYS) == day


@pytest.fixture(scope="module")
def cold_sky() -> TrueSky:
    sky = simulate_true_sky(CELL.site, 2019, seed=3, step_minutes=60, clear_days=0.4)
    return replace(sky, weather=replace(sky.weather, temp_air=sky.weather.temp_air - 8.0))


def test_a_clean_system_keeps_all_of_its_power():
    wear = wear_down(drawn_wear(CLEAN_FLEET), quiet())
    assert np.all(wear.kept == 1.0)
    assert not wear.snow_days.any()
    assert not wear.soiling_loss.any()


def test_snow_takes_all_at_first_and_leaves_flat_systems_last():
    roster = replace(drawn_wear(CLEAN_FLEET), surface_tilt=np.linspace(0.0, 60.0, CELL.systems))
    wear = wear_down(roster, quiet(snow=snowfall(10), slide=np.full(DAYS, 0.5)))
    assert np.all(wear.kept[:, 9] == 1.0)
    assert np.all(wear.kept[:, 10] == 0.0)
    assert np.all(np.diff(wear.snow_days) <= 0)
    assert wear.snow_days[0] == DAYS - 10  # on the level nothing slides
    assert wear.snow_days[-1] == 3


def test_snow_melts_from_the_flattest():
    roster = replace(drawn_wear(CLEAN_FLEET), surface_tilt=np.zeros(CELL.systems))
    wear = wear_down(roster, quiet(snow=snowfall(10), melt=np.full(DAYS, 0.3)))
    assert set(wear.snow_days) == {4}


def test_a_covered_string_gives_nothing_and_the_others_all():
    roster = drawn_wear(CLEAN_FLEET)
    wear = wear_down(roster, quiet(snow=snowfall(10), melt=np.full(DAYS, 0.4)))
    left = {
        strings: set(np.round(wear.kept[roster.snow_strings == strings, 11], 3))
        for strings in (1, 2, 3)
    }
    assert left == {1: {0.0}, 2: {0.0}, 3: {np.float32(0.333)}}


def test_it_snows_on_dull_days_below_freezing_only(cold_sky):
    rates = replace(CLEAN_FLEET, snowfall=0.5)
    days = draw_cell_days(cold_sky, rates, rng=np.random.default_rng(1))
    weather = cold_sky.weather
    dull = dull_days(cold_sky.day, cold_sky.clear_index, weather.ghi)
    warmth = np.bincount(cold_sky.day, weather.temp_air) / np.bincount(cold_sky.day)
    assert 5 < days.snow.sum() < 60
    assert np.all(dull[days.snow] & (warmth[days.snow] < 0.0))
    assert np.all(days.whiteness[days.snow] > 3.0)
    assert days.snow.sum() <= np.sum(days.whiteness > 1.0) < 200
    warm = replace(cold_sky, weather=replace(weather, temp_air=weather.temp_air + 60.0))
    assert not draw_cell_days(warm, rates, rng=np.random.default_rng(1)).snow.any()


def test_dirt_builds_up_and_rain_washes_it_off(cold_sky):
    rates = replace(CLEAN_FLEET, soiling=0.002, soiling_spread=0.0)
    days = draw_cell_days(cold_sky, rates, rng=np.random.default_rng(1))
    kept = wear_down(drawn_wear(rates), days).kept[0]
    assert np.all(kept[days.since_rain == 0] == 1.0)
    dry = np.flatnonzero(np.diff(kept) < 0.0)
    assert np.diff(kept)[dry] == pytest.approx(-0.002, abs=1e-6)
    assert np.all(kept[1:][np.diff(kept) > 0.0] == 1.0)
    assert 20 < np.sum(days.since_rain == 0) < 150


def test_a_dry_season_lets_dirt_build_up_for_months(cold_sky):
    longest = [
        draw_cell_days(
            cold_sky,
            replace(CLEAN_FLEET, dry_seasons=share),
            rng=np.random.default_rng(1),
        ).since_rain.max()
        for share in (0.0, 1.0)
    ]
    assert longest[0] < 60
    assert 115 < longest[1] < 215


def test_systems_age():
    rates = replace(CLEAN_FLEET, degradation=0.01, oldest_years=20.0)
    roster = drawn_wear(rates)
    wear = wear_down(roster, quiet())
    assert wear.kept[:, 0] == pytest.approx(1.0 - 0.01 * roster.age_years)
    assert wear.kept[:, 0] - wear.kept[:, 365] == pytest.approx(0.01, abs=1e-5)
    assert np.max(roster.age_years) > 19.0


def test_a_dead_string_takes_its_share_for_its_time():
    roster = drawn_wear(replace(CLEAN_FLEET, dead_strings=0.3))
    wear = wear_down(roster, quiet())
    dead = roster.dead_share > 0.0
    assert np.mean(dead) == pytest.approx(0.3, abs=0.1)
    assert np.all(wear.kept[~dead] == 1.0)
    assert wear.kept[dead].min(axis=1) == pytest.approx(1.0 - roster.dead_share[dead])
    length = np.sum(wear.kept[dead] < 1.0, axis=1)
    assert np.all((length >= 59) & (length <= 301))


@pytest.fixture
def year() -> pd.Series:
    index = pd.date_range("2019-01-01", "2020-01-01", freq="h", tz="UTC", inclusive="left")
    return pd.Series(np.arange(1.0, len(index) + 1.0), index=index, name="meter")


def test_daylight_saving_moves_the_stamps_of_summer_by_an_hour(year: pd.Series) -> None:
    faulty = daylight_saving_stamps(year, "America/Denver")
    assert faulty.index.is_monotonic_increasing
    assert not faulty.index.has_duplicates
    summer, winter = (pd.Timestamp(f"2019-{m}-15 19:00", tz="UTC") for m in ("07", "01"))
    assert faulty[summer + pd.Timedelta(hours=1)] == year[summer]
    assert faulty[winter] == year[winter]
    # an hour is missing in spring, and the hour that came twice in autumn is kept once
    assert pd.Timestamp("2019-03-10 09:00", tz="UTC") not in faulty.index
    assert len(faulty) == len(year) - 1


def test_a_fast_clock_stamps_late(year: pd.Series) -> None:
    faulty = fast_clock(year, 60)
    noon = pd.Timestamp("2019-05-01 12:00", tz="UTC")
    assert faulty[noon + pd.Timedelta(hours=1)] == year[noon]
    assert len(faulty) == len(year)


def test_days_go_missing_whole_and_snow_falls_in_winter_only(year: pd.Series) -> None:
    zone = "America/Denver"
    faulty = missing_and_snow(year, seed=3, timezone=zone)
    local = faulty.index.tz_convert(zone)
    counts = faulty.groupby(local.date).size()
    days = pd.Index(year.index.tz_convert(zone).date).unique()
    assert len(days) - len(counts) == round(0.05 * len(days))
    assert set(counts) <= {23, 24, 25, 7, 17}  # changes of the clock, and the ends of a UTC year
    snow = faulty == 0.0
    snowy_days = snow.groupby(local.date).mean()
    assert set(snowy_days) == {0.0, 1.0}
    assert 5 <= (snowy_days == 1.0).sum() <= 30
    assert {day.month for day in snowy_days.index[snowy_days == 1.0]} <= {12, 1, 2, 3}
    kept = faulty[~snow]
    pd.testing.assert_series_equal(kept, year[kept.index], check_freq=False)


def test_the_same_seed_breaks_a_record_in_the_same_places(year: pd.Series) -> None:
    pd.testing.assert_series_equal(missing_and_snow(year, seed=3), missing_and_snow(year, seed=3))
    assert not missing_and_snow(year, seed=3).equals(missing_and_snow(year, seed=4))
