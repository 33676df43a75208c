from __future__ import annotations

import json
from dataclasses import fields
from hashlib import sha256

import duckdb
import numpy as np
import pandas as pd
import pytest

from sunveil.errors import ParameterError, SourceError
from sunveil.simulate import (
    CLEAN_FLEET,
    FaultRates,
    FleetSpec,
    Place,
    ReadingsLayout,
    SimulatedSky,
    read_places,
    simulate_power,
    write_fleet,
)
from sunveil.simulate.fault_rates import EUROPE, US
from sunveil.simulate.places import default_places, lay_cells
from sunveil.simulate.roster import draw_roster
from sunveil.simulate.simulated_sky import simulate_true_sky
from sunveil.simulate.write_fleet import PART_SYSTEMS, SKY_MINUTES, check_folder
from sunveil.site import Plane, Site

SYSTEMS = 150
HERE = Place("here", Site(39.74, -105.0, 1609.0), "America/Denver")


def make(folder, systems=SYSTEMS, *, workers=2, **asked):
    asked = {"cells": 3, "seed": 1} | asked
    assert sum(write_fleet(folder, FleetSpec.of(systems, **asked), workers=workers)) == systems
    return folder


def digests(folder):
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def readings(folder):
    return pd.read_parquet(folder / "readings")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    return make(tmp_path_factory.mktemp("fleet") / "made")


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    return make(tmp_path_factory.mktemp("lists") / "made", layout=ReadingsLayout.LISTS)


@pytest.fixture(scope="module")
def truth(fleet):
    return pd.read_parquet(fleet / "truth.parquet")


def test_the_folder_holds_what_its_readme_says(fleet):
    names = {path.name for path in fleet.iterdir()}
    assert names == {"readings", "systems.parquet", "truth.parquet", "fleet.json", "README.md"}
    page = (fleet / "README.md").read_text(encoding="utf-8")
    for name in names - {"README.md"}:
        assert f"`{name}" in page
    parts = sorted(path.name for path in (fleet / "readings").iterdir())
    assert parts == ["part-00000.parquet", "part-00001.parquet"]


def test_a_file_has_whole_systems_in_spec_and_several_row_groups(fleet):
    for number, systems in enumerate((PART_SYSTEMS, SYSTEMS - PART_SYSTEMS)):
        path = fleet / "readings" / f"part-{number:05d}.parquet"
        rows = pd.read_parquet(path)
        assert rows.equals(rows.sort_values(["system_id", "time"], ignore_index=True))
        assert not rows.duplicated(["system_id", "time"]).any()
        assert rows["system_id"].nunique() == systems
    first = fleet / "readings" / "part-00000.parquet"
    groups = duckdb.execute(f"SELECT count(DISTINCT row_group_id) FROM parquet_metadata('{first}')")
    assert groups.fetchone()[0] >= 3


def test_the_columns_have_the_types_that_duckdb_reads_best(fleet):
    described = duckdb.execute(f"DESCRIBE SELECT * FROM '{fleet}/readings/*.parquet'").fetchall()
    assert [row[:2] for row in described] == [
        ("system_id", "VARCHAR"),
        ("time", "TIMESTAMP WITH TIME ZONE"),
        ("power_kw", "FLOAT"),
    ]


def test_missing_readings_have_no_row_and_the_truth_counts_the_others(fleet, truth):
    rows = readings(fleet)
    assert rows["power_kw"].notna().all()
    counts = rows.groupby("system_id").size()
    assert counts.to_dict() == truth.set_index("system_id")["readings"].to_dict()
    assert counts.max() == 8760
    assert counts.min() < 8000
    assert json.loads((fleet / "fleet.json").read_text())["readings"] == len(rows)


def test_lists_hold_the_same_readings_with_nulls(fleet, lists):
    rows = duckdb.execute(f"SELECT * FROM '{lists}/readings/part-00001.parquet'").fetchall()
    assert len(rows) == SYSTEMS - PART_SYSTEMS
    long = dict(
        list(pd.read_parquet(fleet / "readings" / "part-00001.parquet").groupby("system_id"))
    )
    assert [row[0] for row in rows] == sorted(long)
    for system_id, start, minutes, power in rows:
        assert (start.isoformat(), minutes, len(power)) == ("2019-01-01T00:00:00+00:00", 60, 8760)
        there = np.array([value is not None for value in power])
        stamps = pd.date_range(start, periods=8760, freq="60min")[there]
        assert np.array_equal(stamps, pd.DatetimeIndex(long[system_id]["time"]))
        present = np.array([value for value in power if value is not None], dtype=np.float32)
        assert np.array_equal(present, long[system_id]["power_kw"])


def test_systems_stand_within_their_cells(fleet, truth):
    systems = pd.read_parquet(fleet / "systems.parquet")
    names = ["system_id", "latitude", "longitude", "altitude", "timezone", "feeder"]
    assert list(systems) == names
    assert systems.notna().all().all()
    assert list(systems["system_id"]) == list(truth["system_id"])
    for axis in ("latitude", "longitude"):
        centre = truth[f"cell_{axis}"]
        assert np.array_equal(np.round(systems[axis], 1), np.round(centre, 1))
        assert np.std(systems[axis] - centre) > 0.02
    assert 3 < systems["feeder"].nunique() < 20
    assert (
        systems.assign(cell=truth["cell_latitude"]).groupby("feeder")["cell"].nunique().max() == 1
    )


def test_the_truth_names_planes_and_trackers_as_estimates_do(tmp_path):
    rates = CLEAN_FLEET.with_mix(two_planes=0.5, trackers=0.3)
    folder = make(tmp_path / "mixed", 40, cells=1, rates=rates)
    rows = duckdb.execute(
        f"SELECT planes, tracker, dc_capacity_kw, surface_azimuth FROM '{folder}/truth.parquet'"
    ).fetchall()
    found = json.loads((folder / "fleet.json").read_text(encoding="utf-8"))
    assert found["realism"] == "clean"
    counts = {0: 0, 1: 0, 2: 0}
    for planes, tracker, dc_kw, azimuth in rows:
        counts[len(planes)] += 1
        assert (tracker is None) == bool(planes) == (azimuth is not None)
        if tracker is not None and not tracker["dual_axis"]:
            assert set(tracker) > {"axis_azimuth", "backtrack", "gcr", "max_angle"}
            assert 0.25 <= tracker["gcr"] <= 0.5
        if planes:
            assert sum(each["share"] for each in planes) == pytest.approx(1.0)
            assert sum(each["dc_capacity_kw"] for each in planes) == pytest.approx(dc_kw)
            assert planes[0]["share"] >= planes[-1]["share"]
    assert counts[0] == found["found"]["trackers"] > 5
    assert counts[2] == found["found"]["two_planes"] > 8


def test_of_two_planes_the_truth_has_that_of_the_summed_normal(tmp_path):
    rates = CLEAN_FLEET.with_mix(two_planes=1.0)
    folder = make(tmp_path / "pairs", 12, cells=1, rates=rates)
    rows = duckdb.execute(
        f"SELECT planes, surface_azimuth, surface_tilt FROM '{folder}/truth.parquet'"
    ).fetchall()
    for planes, azimuth, tilt in rows:
        summed = sum(
            each["share"] * np.array(Plane(each["surface_azimuth"], each["surface_tilt"]).normal)
            for each in planes
        )
        toward = np.array(Plane(azimuth, tilt).normal)
        assert toward @ summed == pytest.approx(np.linalg.norm(summed))


def test_the_fleet_is_described_for_machines(fleet, truth):
    description = json.loads((fleet / "fleet.json").read_text(encoding="utf-8"))
    asked = [description[name] for name in ("systems", "seed", "realism", "weather")]
    assert asked == [SYSTEMS, 1, "real", None]
    assert description["found"]["clocks"]["declared"] == int(np.sum(truth["clock"] == "declared"))
    assert set(description["habits"]) == {each.name for each in fields(FaultRates)}
    assert sum(cell["systems"] for cell in description["cells"]) == SYSTEMS


def test_the_same_seed_gives_the_same_bytes_whatever_the_threads(fleet, tmp_path):
    assert digests(make(tmp_path / "one", workers=1)) == digests(fleet)


def test_a_clean_fleet_is_its_planes_under_its_sky(tmp_path):
    spec = FleetSpec.of(2, places=[HERE], seed=7, rates=CLEAN_FLEET)
    assert list(write_fleet(tmp_path / "clean", spec)) == [2]
    truth = pd.read_parquet(tmp_path / "clean" / "truth.parquet")
    assert set(truth["clock"]) == {"declared"}
    assert set(truth["readings"]) == {8760}
    rng = np.random.default_rng
    cell = spec.cells[0]
    place = (cell.tenths[0] + 900, cell.tenths[1] + 1800)
    roster = draw_roster(cell, CLEAN_FLEET, rng=rng([7, 2, *place]))
    assert np.array_equal(roster.surface_tilt, truth["surface_tilt"])
    seed = int(rng([7, 4, *place]).integers(2**32))
    true = simulate_true_sky(cell.site, 2019, seed=seed, step_minutes=SKY_MINUTES[60])
    sky = SimulatedSky(true.weather, true.weather, true.clear_index, true.day)
    power = readings(tmp_path / "clean")
    for row, (_, found) in enumerate(power.groupby("system_id")):
        exact = simulate_power(roster.truth(row, cell=cell), sky, seed=1, noise=0.0)
        ratio = found["power_kw"].to_numpy()[exact > 1.0] / exact[exact > 1.0]
        assert np.array_equal(pd.DatetimeIndex(found["time"]), exact.index)
        assert np.mean(ratio) == pytest.approx(1.0, abs=0.002)
        assert np.std(ratio) == pytest.approx(roster.noise[row], rel=0.1)


@pytest.mark.parametrize("minutes", [15, 30])
def test_finer_meters_have_more_readings_in_a_leap_year(tmp_path, minutes):
    make(tmp_path / "fine", 2, cells=1, interval_minutes=minutes, year=2020, rates=CLEAN_FLEET)
    rows = readings(tmp_path / "fine")
    assert len(rows) == 2 * 366 * 1440 // minutes
    assert rows["time"].min() == pd.Timestamp("2020-01-01", tz="UTC")
    assert rows["time"].max() == pd.Timestamp("2021-01-01", tz="UTC") - pd.Timedelta(minutes, "min")


def test_a_simulated_fleet_is_replaced_only_when_asked(tmp_path):
    folder = make(tmp_path / "fleet", 2, cells=1)
    before = digests(folder)
    spec = FleetSpec.of(2, cells=1, seed=2)
    with pytest.raises(ParameterError, match="holds a simulated fleet"):
        list(write_fleet(folder, spec))
    assert digests(folder) == before
    list(write_fleet(folder, spec, replace=True))
    assert digests(folder) != before
    assert [path.name for path in tmp_path.iterdir()] == ["fleet"]


@pytest.mark.parametrize("replace", [True, False])
def test_a_folder_of_something_else_is_never_touched(tmp_path, replace):
    (tmp_path / "fleet.json").write_text('{"kind": "thesis"}')
    with pytest.raises(ParameterError, match="holds other files"):
        check_folder(tmp_path, replace=replace)
    with pytest.raises(ParameterError, match="is a file"):
        check_folder(tmp_path / "fleet.json", replace=replace)


def test_a_fleet_that_is_not_finished_leaves_nothing(tmp_path):
    making = write_fleet(tmp_path / "fleet", FleetSpec.of(300, cells=2), workers=1)
    next(making)
    assert len(list(tmp_path.iterdir())) == 1
    making.close()
    assert list(tmp_path.iterdir()) == []


def test_a_fleet_that_cannot_be_finished_leaves_what_was_there(tmp_path):
    folder = make(tmp_path / "fleet", 2, cells=1)
    before = digests(folder)
    making = write_fleet(folder, FleetSpec.of(300, cells=2), replace=True, workers=1)
    next(making)
    (half,) = (path for path in tmp_path.iterdir() if path != folder)
    for path in (half / "readings").iterdir():
        path.unlink()
    (half / "readings").rmdir()
    with pytest.raises(OSError, match="cannot be written"):
        list(making)
    assert digests(folder) == before
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"year": 1900}, "year must be from"),
        ({"interval_minutes": 20}, "15, 30 or 60 minutes"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"systems": 0}, "1 system at least"),
    ],
)
def test_an_impossible_fleet_is_refused(asked, words):
    with pytest.raises(ParameterError, match=words):
        FleetSpec.of(**{"systems": 3, "places": [HERE]} | asked)


TOWNS = (
    "latitude,longitude,altitude,timezone,weight,name\n"
    "40.02,-105.27,1655,America/Denver,9,Boulder\n"
    "-33.87,151.21,20,Australia/Sydney,1,Sydney\n"
)


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_a_list_of_sites_is_read(tmp_path):
    boulder, sydney = read_places(written(tmp_path / "towns.csv", TOWNS))
    assert boulder == Place("Boulder", Site(40.02, -105.27, 1655.0), "America/Denver", 9.0)
    assert (boulder.statistics, sydney.statistics) == (US, EUROPE)


def test_what_a_list_leaves_out_is_filled_in(tmp_path):
    (place,) = read_places(written(tmp_path / "one.csv", "Latitude,Longitude\n40.0,-105.2\n"))
    assert (place.name, place.timezone, place.weight) == ("site 1", "Etc/GMT+7", 1.0)
    assert 1000.0 < place.site.height < 3000.0
    assert place.statistics == US


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lat,longitude\n1,2\n", "lacks the column latitude"),
        ("latitude,longitude\n", "is empty"),
        ("latitude,longitude\n95,2\n", "site 1 of .* is no place: latitude must be between"),
        ("latitude,longitude\nnorth,2\n", "latitude that is not a number"),
        ("latitude,longitude\n2019-01-01,2\n", "latitude that is not a number"),
        ("latitude,longitude,name\n40,,a\n", "no latitude or no longitude"),
        ("latitude,longitude,weight\n40,2,1\n40,3,-1\n", "site 2 of .* weight"),
        ("latitude,longitude,timezone\n40,2,Mars/Base\n", "time zone that is not known"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(tmp_path, text, words):
    with pytest.raises(SourceError, match=words):
        read_places(written(tmp_path / "bad.csv", text))


def test_a_list_that_is_not_there_or_no_table_is_refused(tmp_path):
    with pytest.raises(SourceError, match="not a file"):
        read_places(tmp_path / "none.csv")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(SourceError, match="cannot be read"):
        read_places(tmp_path / "broken.parquet")


def test_cells_are_distinct_and_share_out_all_systems():
    cells = lay_cells(default_places(), systems=5000, cells=200, seed=1)
    assert len({cell.tenths for cell in cells}) == len(cells) == 200
    assert sum(cell.systems for cell in cells) == 5000
    assert min(cell.systems for cell in cells) >= 1
    assert len({cell.systems for cell in cells}) > 10
    assert {cell.name for cell in cells} == {place.name for place in default_places()}
    for cell in cells:
        assert cell.site.latitude == pytest.approx(round(cell.site.latitude, 1))


def test_every_site_has_the_cell_it_stands_in():
    tenths = {cell.tenths for cell in lay_cells(default_places(), systems=60, cells=40, seed=1)}
    for place in default_places():
        own = (round(place.site.latitude * 10), round(place.site.longitude * 10))
        assert own in tenths


def test_weights_say_where_systems_are(tmp_path):
    places = read_places(written(tmp_path / "towns.csv", TOWNS))
    cells = lay_cells(places, systems=10_000, cells=40, seed=1)
    boulder = sum(cell.systems for cell in cells if cell.name == "Boulder")
    # cells differ in size, so that it is not 9,000 just so
    assert 8000 < boulder < 9500


def test_more_cells_than_systems_are_refused():
    with pytest.raises(ParameterError, match="cannot have 5 cells"):
        lay_cells(default_places(), systems=4, cells=5, seed=1)
