from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.stressed_systems import missing_and_snow
from sunveil.errors import ParameterError
from sunveil.simulate import (
    CITIES,
    CLEAN_FLEET,
    REAL_FLEET,
    FaultRates,
    daylight_saving_stamps,
    draw_systems,
    east_west,
    fast_clock,
)
from sunveil.simulate.block_power import add_meter_faults
from sunveil.simulate.fault_rates import EUROPE, TILT_EDGES, US
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.roster import (
    NOMINAL_SOILING,
    SCALES,
    SENTINELS,
    CellDays,
    add_logger_faults,
    draw_cell_days,
    draw_roster,
    wear_down,
)
from sunveil.simulate.simulated_sky import dull_days, simulate_true_sky
from sunveil.site import RUNNING_LOSSES, Losses, Mount, Plane, Site

SYSTEMS = 20_000


@functools.cache
def drawn(statistics):
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


@pytest.mark.parametrize("wrong", [{"two_planes": 1.5}, {"trackers": -0.1}])
def test_an_impossible_mix_is_refused(wrong):
    with pytest.raises(ParameterError, match="from 0 to 1"):
        REAL_FLEET.with_mix(**wrong)
    with pytest.raises(ParameterError, match="n must be a whole number between 1"):
        draw_systems(0, seed=1)


def test_a_larger_draw_begins_with_the_systems_of_a_smaller():
    small, large = draw_systems(5, seed=4), draw_systems(50, seed=4)
    assert [truth.plane for truth in large[:5]] == [truth.plane for truth in small]
    assert len({truth.system_id for truth in large}) == 50


def test_systems_face_as_the_public_lists_do():
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


def test_capacities_are_mostly_homes_with_some_commercial():
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


def test_other_properties_stay_in_their_ranges():
    fleet = draw_systems(500, seed=2)
    gamma = np.array([t.gamma_pdc for t in fleet])
    assert gamma.mean() == pytest.approx(-0.004, abs=1e-4)
    assert gamma.std() == pytest.approx(4e-4, rel=0.2)
    assert all(1.0 <= t.dc_ac_ratio <= 1.3 and 0.15 <= t.albedo <= 0.25 for t in fleet)
    assert {t.losses.system for t in fleet} == {RUNNING_LOSSES}
    assert {t.mount for t in fleet} == {Mount.ROOF, Mount.RACK}
    assert {t.site for t in fleet} == {city.site for city in CITIES}


def test_an_east_west_pair_faces_both_ways(south_roof):
    roof = replace(south_roof, planes=((Plane(90.0, 20.0), 1.0),))
    pair = east_west(roof, share=0.6)
    assert pair.planes == ((Plane(90.0, 20.0), 0.6), (Plane(270.0, 20.0), 0.4))
    assert pair.plane == Plane(90.0, 20.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"planes": ()},
        {"planes": ((Plane(180.0, 20.0), 0.5),)},
        {"dc_capacity_kw": 0.0},
        {"mount": Mount.UNKNOWN},
    ],
)
def test_an_impossible_system_is_refused(south_roof, wrong):
    with pytest.raises(ParameterError, match="south must"):
        replace(south_roof, **wrong)


CELL = SimulatedCell(0, "here", Site(45.0, -93.3, 250.0), "America/Chicago", US, systems=200)


# a day of twelve hours, all year, with a gap
YEAR = np.tile(np.r_[np.zeros(6), np.arange(1.0, 13.0), np.zeros(6)], 365).astype(np.float32)


def written(**rates):
    """Return systems with some faults, and what is written of a year of theirs."""
    given: FaultRates = replace(CLEAN_FLEET, **rates)
    roster = draw_roster(CELL, given, rng=np.random.default_rng(2))
    power = np.tile(YEAR, (CELL.systems, 1))
    power[:, 1000:1030] = np.nan
    add_logger_faults(power, roster)
    return roster, power


def clean():
    power = YEAR.copy()
    power[1000:1030] = np.nan
    return power


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


def drawn_outages(rates):
    return draw_roster(CELL_OUTAGES, rates, rng=np.random.default_rng(2))


def metered(rates, *, gone=slice(0)):
    """Return a year of 5 kW, with some of it gone, after what befalls it."""
    power = np.full((CELL_OUTAGES.systems, HOURS), 5.0, dtype=np.float32)
    power[:, gone] = np.nan
    add_meter_faults(
        power, drawn_outages(rates), rates, interval_minutes=60, rng=np.random.default_rng(3)
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


def drawn_wear(rates):
    return draw_roster(CELL, rates, rng=np.random.default_rng(2))


def quiet(**changed):
    """Days on which nothing happens but what is asked for."""
    none = np.zeros(DAYS)
    days = CellDays(none.astype(int), none.astype(bool), none, none, none + 1.0)
    return replace(days, **changed)


def snowfall(day):
    return np.arange(DAYS) == day


@pytest.fixture(scope="module")
def cold_sky():
    sky = simulate_true_sky(CELL.site, 2019, seed=3, step_minutes=60, clear_days=0.4)
    return replace(sky, weather=replace(sky.weather, temp_air=sky.weather.temp_air - 8.0))


def test_snow_takes_all_at_first_and_leaves_flat_systems_last():
    roster = replace(drawn_wear(CLEAN_FLEET), surface_tilt=np.linspace(0.0, 60.0, CELL.systems))
    wear = wear_down(roster, quiet(snow=snowfall(10), slide=np.full(DAYS, 0.5)))
    assert np.all(wear.kept[:, 9] == 1.0)
    assert np.all(wear.kept[:, 10] == 0.0)
    assert np.all(np.diff(wear.snow_days) <= 0)
    assert wear.snow_days[0] == DAYS - 10  # on the level nothing slides
    assert wear.snow_days[-1] == 3


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
def year():
    index = pd.date_range("2019-01-01", "2020-01-01", freq="h", tz="UTC", inclusive="left")
    return pd.Series(np.arange(1.0, len(index) + 1.0), index=index, name="meter")


def test_daylight_saving_moves_the_stamps_of_summer_by_an_hour(year):
    faulty = daylight_saving_stamps(year, "America/Denver")
    assert faulty.index.is_monotonic_increasing
    assert not faulty.index.has_duplicates
    summer, winter = (pd.Timestamp(f"2019-{m}-15 19:00", tz="UTC") for m in ("07", "01"))
    assert faulty[summer + pd.Timedelta(hours=1)] == year[summer]
    assert faulty[winter] == year[winter]
    # an hour is missing in spring, and the hour that came twice in autumn is kept once
    assert pd.Timestamp("2019-03-10 09:00", tz="UTC") not in faulty.index
    assert len(faulty) == len(year) - 1


def test_a_fast_clock_stamps_late(year):
    faulty = fast_clock(year, 60)
    noon = pd.Timestamp("2019-05-01 12:00", tz="UTC")
    assert faulty[noon + pd.Timedelta(hours=1)] == year[noon]
    assert len(faulty) == len(year)


def test_days_go_missing_whole_and_snow_falls_in_winter_only(year):
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
