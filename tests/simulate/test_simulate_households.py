from __future__ import annotations

import json
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest

from sunveil.errors import ParameterError
from sunveil.simulate import (
    CLEAN_FLEET,
    REAL_FLEET,
    FleetSpec,
    NetColumns,
    NetMix,
    ReadingsLayout,
    simulate_loads,
    write_fleet,
)
from sunveil.simulate.block_power import CellDaylight, block_power, dc_power
from sunveil.simulate.fault_rates import EUROPE, US
from sunveil.simulate.household_loads import (
    HOURS_A_YEAR,
    Generation,
    HouseholdTimes,
    add_net_faults,
    block_loads,
    draw_households,
    net_flows,
)
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.roster import clock_sources, draw_roster
from sunveil.site import Site

HOMES = 2000


def drawn(mix, statistics=US, *, dc_kw=7.0):
    rng = np.random.default_rng(5)
    return draw_households(np.full(HOMES, dc_kw), mix, statistics, rng=rng)


@pytest.mark.parametrize(("statistics", "median"), [(US, 9.5), (EUROPE, 4.2)])
def test_homes_use_two_to_fifteen_megawatt_hours_about_what_is_usual(statistics, median):
    homes = drawn(NetMix(1.0), statistics, dc_kw=statistics.median_kw)
    yearly = homes.mean_kw * HOURS_A_YEAR / 1000.0
    assert yearly.min() >= 2.0
    assert yearly.max() <= 15.0
    assert np.median(yearly) == pytest.approx(median, rel=0.05)


@pytest.mark.parametrize(
    "asked", [{"share": 1.2}, {"share": 0.5, "batteries": -0.1}, {"share": 0.5, "cars": 2.0}]
)
def test_shares_are_from_nothing_to_all(asked):
    with pytest.raises(ParameterError, match="from 0 to 1"):
        NetMix(**asked)


@pytest.mark.parametrize("asked", [{"cars": 0.1}, {"columns": NetColumns.TWO}])
def test_what_stands_behind_net_meters_needs_some(asked):
    with pytest.raises(ParameterError, match="need a share of net meters"):
        NetMix(**asked)


ZONE = "America/Denver"

HOMES_LOADS = 60


@pytest.fixture(scope="module")
def loads(mixed_sky):
    return simulate_loads(mixed_sky.true, HOMES_LOADS, seed=4, timezone=ZONE)


def test_finer_intervals_hold_the_same_energy(mixed_sky, loads):
    fine = simulate_loads(mixed_sky.true, HOMES_LOADS, seed=4, timezone=ZONE, interval_minutes=30)
    assert fine.index[0] == loads.index[0] == pd.Timestamp("2019-01-01", tz="UTC")
    assert np.allclose(fine.resample("60min").mean(), loads, rtol=1e-4)
    with pytest.raises(ParameterError, match="15, 30 or 60"):
        simulate_loads(mixed_sky.true, 1, seed=1, timezone=ZONE, interval_minutes=20)


def test_homes_use_what_they_were_drawn_with(mixed_sky):
    rng = np.random.default_rng(6)
    homes = draw_households(np.full(100, 7.0), NetMix(1.0), US, rng=rng)
    times = HouseholdTimes.of(mixed_sky.true, ZONE)
    made, cooling = block_loads(homes, times, US, rng=rng)
    ratio = made.mean(axis=1) / homes.mean_kw
    assert np.median(ratio) == pytest.approx(1.0, abs=0.06)
    assert np.quantile(ratio, [0.05, 0.95]) == pytest.approx([0.83, 1.15], abs=0.1)
    assert np.all(cooling < 0.5 * made.mean(axis=1))
    assert made.min() > 0.0


def test_hourly_loads_are_spread_about_their_medians_as_real_ones_are(loads):
    """The bounds are wider than what benchmarks.loads finds of simulated homes and of real ones."""
    hour = loads.index.tz_convert(ZONE).hour
    spread = np.log(loads).groupby(hour).std().median()
    assert 0.6 < spread.median() < 0.9
    ratio = loads / loads.groupby(hour).transform("median")
    quantiles = ratio.quantile([0.05, 0.25, 0.75, 0.95]).median(axis=1).to_numpy()
    assert quantiles == pytest.approx([0.3, 0.62, 1.7, 3.7], rel=0.25)


def test_deviations_last_hours_and_come_back_on_other_days(loads):
    logs = np.log(loads)
    off = logs - logs.groupby(loads.index.tz_convert(ZONE).hour).transform("median")
    lasts = {lag: off.corrwith(off.shift(lag)).median() for lag in (1, 6, 24, 168)}
    assert 0.55 < lasts[1] < 0.75
    assert lasts[6] < lasts[24] + 0.05 < lasts[1]
    assert lasts[168] > 0.1


CELL = SimulatedCell(0, "here", Site(39.7, -105.2, 1795.0), "America/Denver", US, systems=12)

STEP, SYSTEMS = 10, 40

MARKED = replace(REAL_FLEET, sentinels=0.5)


@pytest.fixture(scope="module")
def generation(mixed_sky):
    rates = replace(CLEAN_FLEET, hour_fast=0.3)
    roster = draw_roster(CELL, rates, rng=np.random.default_rng(1))
    daylight = CellDaylight.of(mixed_sky.true)
    how = {
        "clocks": clock_sources(
            mixed_sky.true.times, CELL.timezone, interval_minutes=60, step_minutes=STEP
        ),
        "per_reading": 60 // STEP,
        "kept": np.full((CELL.systems, int(daylight.days[-1]) + 1), 0.95, dtype=np.float32),
    }
    dc = dc_power(roster, daylight)
    return Generation(roster, daylight, dc=dc, ac=block_power(roster, daylight, **how), **how)


@pytest.fixture(scope="module")
def homes_meters(mixed_sky, generation):
    rng = np.random.default_rng(2)
    capacity = generation.roster.dc_capacity_kw
    households = draw_households(capacity, NetMix(1.0, batteries=1.0), US, rng=rng)
    times = HouseholdTimes.of(mixed_sky.true, CELL.timezone)
    return households, block_loads(households, times, US, rng=rng)[0]


def without_batteries(households):
    return replace(households, battery_kwh=np.zeros(len(households)))


def test_what_is_not_used_is_exported_and_what_lacks_is_imported(generation, homes_meters):
    households, loads = homes_meters
    flows = net_flows(generation, loads, without_batteries(households), step_minutes=STEP)
    right = generation.roster.clock == 0
    assert 0 < right.sum() < len(right)
    hourly = loads.reshape(len(loads), -1, 60 // STEP).mean(axis=2)
    net = flows.exported - flows.imported
    assert np.allclose(net[right], (generation.ac - hourly)[right], atol=1e-3)
    # an hour fast: generation and load are stamped alike
    late = ~right
    assert np.allclose(net[late][:, 1:], (generation.ac[:, 1:] - hourly[:, :-1])[late], atol=1e-3)
    assert np.isnan(net[late][:, 0]).all()
    assert np.mean((flows.exported > 0.0) & (flows.imported > 0.0)) > 0.02
    assert np.allclose(flows.used, loads.mean(axis=1), rtol=1e-4)


def test_a_battery_takes_what_is_left_and_gives_most_of_it_back(generation, homes_meters):
    households, loads = homes_meters
    plain = net_flows(generation, loads, without_batteries(households), step_minutes=STEP)
    stored = net_flows(generation, loads, households, step_minutes=STEP)
    taken = np.nanmean(plain.exported, axis=1) - np.nanmean(stored.exported, axis=1)
    given = np.nanmean(plain.imported, axis=1) - np.nanmean(stored.imported, axis=1)
    assert np.all(taken > 0.0)
    assert given / taken == pytest.approx(households.battery_efficiency**2, abs=0.01)
    cycles = 24.0 * taken / households.battery_kwh
    assert np.all(cycles < 1.3)
    assert np.median(cycles) > 0.3
    most = np.nanmax(np.abs(plain.exported - stored.exported), axis=1)
    assert np.all(most <= households.battery_kw + 1e-3)
    at_night = generation.ac == 0.0
    assert np.mean(stored.imported[at_night] == 0.0) > 0.2


def test_a_household_takes_all_from_the_grid_while_its_system_is_down(generation, homes_meters):
    households, loads = homes_meters
    flows = net_flows(generation, loads, without_batteries(households), step_minutes=STEP)
    load = generation.ac - flows.exported + flows.imported
    alive = np.ones_like(generation.ac)
    alive[:, 4000:4048], alive[:, 5000:5010] = 0.0, np.nan
    add_net_faults(flows, generation, alive=alive, rng=np.random.default_rng(3))
    assert np.all(flows.exported[:, 4000:4048] == 0.0)
    assert np.allclose(flows.imported[:, 4000:4048], load[:, 4000:4048], rtol=0.3, atol=2e-3)
    assert np.isnan(flows.exported[:, 5000:5010]).all()
    assert np.isnan(flows.imported[:, 5000:5010]).all()


def make(folder, net, **asked):
    asked = {"cells": 1, "seed": 3, "rates": MARKED, "net": net} | asked
    assert sum(write_fleet(folder, FleetSpec.of(SYSTEMS, **asked), workers=1)) == SYSTEMS
    return folder


def wide(folder, column):
    rows = pd.read_parquet(folder / "readings")
    return rows.pivot_table(index="time", columns="system_id", values=column, observed=True)


@pytest.fixture(scope="module")
def gross(tmp_path_factory):
    return make(tmp_path_factory.mktemp("gross") / "made", NetMix())


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    return make(tmp_path_factory.mktemp("signed") / "made", NetMix(0.5, 0.5, 0.5))


def test_generation_meters_of_a_mixed_fleet_read_what_they_did(gross, signed):
    systems = pd.read_parquet(signed / "systems.parquet").set_index("system_id")
    before, after = wide(gross, "power_kw"), wide(signed, "power_kw")
    same = systems.index[systems["metering"] == "generation"]
    assert 10 < len(same) < 30
    assert before[same].equals(after[same])
    truths = [pd.read_parquet(each / "truth.parquet") for each in (gross, signed)]
    planes = ["surface_azimuth", "surface_tilt", "dc_capacity_kw", "clock", "readings"]
    assert truths[0][planes].equals(truths[1][planes])
    others = systems.index[systems["metering"] == "net"]
    net = after[others]
    assert (net.where(net > -900.0).min() < -0.3).all()


def test_a_fleet_without_net_meters_says_nothing_of_them(gross):
    told = json.loads((gross / "fleet.json").read_text(encoding="utf-8"))
    assert "net" not in told
    assert "Net meters" not in (gross / "README.md").read_text(encoding="utf-8")
    assert "metering" not in pd.read_parquet(gross / "systems.parquet")
    assert "metering" not in pd.read_parquet(gross / "truth.parquet")


def test_the_truth_tells_of_meters_and_households(signed):
    truth = pd.read_parquet(signed / "truth.parquet")
    net = truth["metering"] == "net"
    assert truth.loc[~net, "mean_load_kw"].isna().all()
    homes_meters = truth[net]
    firms = homes_meters["household"] == "business"
    assert homes_meters.loc[~firms, "mean_load_kw"].between(0.1, 5.0).all()
    assert (homes_meters.loc[firms, "dc_capacity_kw"] > 20.0).all()
    assert homes_meters["self_consumption"].between(0.02, 1.0).all()
    assert homes_meters["exporting"].between(0.0, 0.95).all()
    assert set(homes_meters["car"].dropna()) <= {"evening", "night", "midday"}
    assert 3 < homes_meters["battery_kwh"].notna().sum() < len(homes_meters) - 3
    assert (truth.loc[net, "negative_days"] == 0.0).all()
    told = json.loads((signed / "fleet.json").read_text(encoding="utf-8"))
    assert told["found"]["net_meters"] == net.sum()
    assert told["net"] == {"share": 0.5, "batteries": 0.5, "cars": 0.5, "columns": "signed"}
    page = (signed / "README.md").read_text(encoding="utf-8")
    assert "50% of them see the net" in page


def test_two_columns_and_export_alone_are_the_same_flows(signed, tmp_path):
    mix = NetMix(0.5, 0.5, 0.5)
    two = make(tmp_path / "two", replace(mix, columns=NetColumns.TWO))
    exported, imported = wide(two, "export_kw"), wide(two, "import_kw")
    net, marked = wide(signed, "power_kw"), exported < -900.0
    assert np.allclose((exported - imported)[~marked], net[~marked], atol=1e-4, equal_nan=True)
    others = pd.read_parquet(two / "systems.parquet").set_index("system_id")["metering"] == "net"
    assert marked.loc[:, others.index[others]].any(axis=None)
    assert np.array_equal(exported[marked], net[marked], equal_nan=True)
    alone = make(tmp_path / "one", replace(mix, columns=NetColumns.EXPORT))
    assert list(pd.read_parquet(alone / "readings")) == ["system_id", "time", "export_kw"]
    assert wide(alone, "export_kw").equals(exported)


def test_lists_hold_both_columns_and_words_stay_words(tmp_path):
    mix = NetMix(0.2, columns=NetColumns.TWO)
    folder = make(tmp_path / "lists", mix, layout=ReadingsLayout.LISTS)
    columns = duckdb.execute(f"DESCRIBE SELECT * FROM '{folder}/readings/*.parquet'").fetchall()
    assert [row[:2] for row in columns[3:]] == [("import_kw", "FLOAT[]"), ("export_kw", "FLOAT[]")]
    described = duckdb.execute(f"DESCRIBE SELECT * FROM '{folder}/truth.parquet'").fetchall()
    types = {row[0]: row[1] for row in described}
    assert types["car"] == types["metering"] == types["household"] == "VARCHAR"
    assert types["battery_kwh"] == "DOUBLE"
