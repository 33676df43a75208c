from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fleet_folders import (
    PLACES,
    PLANES,
    assert_close,
    contents,
    estimates_of,
    long_frame,
    write_systems,
)

from sunveil.errors import SourceError
from sunveil.estimates.read_write import read_estimates, read_fleet
from sunveil.fleet.open import open_fleet
from sunveil.inference import infer_fleet
from sunveil.inference.infer import infer
from sunveil.meters import MeterOptions
from sunveil.releases.fleet_releases import SystemsToRelease

# One part per system, where a layout lets a part be so small.
SMALL = {"part_rows": 1}


@pytest.fixture(scope="module")
def written(layouts, systems_file, tmp_path_factory):
    out = tmp_path_factory.mktemp("reference") / "out"
    result = infer_fleet(layouts["files"], systems_file, out, workers=1)
    assert (result.inferred, result.refused) == (len(PLANES), 0)
    return out


@pytest.fixture(scope="module")
def reference(written):
    return estimates_of(written)


def test_what_a_run_wrote_is_read_back_as_estimates(layouts, written, reference, tmp_path):
    found, rows = read_estimates(written), reference
    assert (list(found.system_id), found.refused) == (sorted(PLANES), ())
    for estimate in found:
        stored = rows.loc[estimate.system_id]
        assert estimate.to_row()["surface_azimuth"] == stored["surface_azimuth"]
        assert estimate.to_row()["skyline"] == list(stored["skyline"])
        assert (estimate.latitude, estimate.longitude) == PLACES[estimate.system_id]
        assert estimate.assumptions.weather == "clearsky"
    few = write_systems(tmp_path / "few.csv", {name: PLACES[name] for name in ("a1", "b1")})
    few.write_text(few.read_text() + "none,39.7,-105.1,F\n")
    infer_fleet(layouts["files"], few, tmp_path / "out", workers=1)
    found = read_estimates(tmp_path / "out")
    assert list(found.system_id) == ["a1", "b1"]
    assert {each.system_id: each.kind for each in found.refused}["none"] == "no readings"
    part = next((tmp_path / "out" / "estimates").iterdir())
    part.write_bytes(part.read_bytes()[:-20])
    for folder, wanted in ((tmp_path / "out", "cannot be read"), (tmp_path, "is not what sunveil")):
        with pytest.raises(SourceError, match=wanted):
            read_estimates(folder)


@pytest.mark.parametrize(
    "layout", ["file", "shuffled", "months", "folders", "lists", "timed lists"]
)
def test_every_layout_gives_the_same_estimates(layout, layouts, run, reference):
    found, _ = run(layouts[layout], workers=2)
    pd.testing.assert_frame_equal(found, reference)


@pytest.mark.parametrize("layout", ["files", "months", "folders", "csv"])
def test_parts_of_any_size_give_the_same_estimates(
    layout, layouts, systems_file, reference, tmp_path
):
    result = infer_fleet(layouts[layout], systems_file, tmp_path / "out", **SMALL)
    assert result.parts == len(PLANES)
    assert_close(estimates_of(tmp_path / "out"), reference)


def test_parquet_files_that_are_named_after_their_systems_need_no_column_of_them(
    readings, run, reference, tmp_path
):
    (tmp_path / "fleet").mkdir()
    for name, rows in readings.groupby("system_id"):
        path = tmp_path / "fleet" / f"{name}.parquet"
        rows[["time", "power_kw"]].to_parquet(path, index=False)
    assert_close(run(tmp_path / "fleet", workers=1)[0], reference)


def test_a_large_file_is_cut_at_its_row_groups(readings, systems_file, reference, tmp_path):
    readings.to_parquet(tmp_path / "all.parquet", index=False, row_group_size=1000)
    result = infer_fleet(tmp_path / "all.parquet", systems_file, tmp_path / "out", part_rows=3000)
    assert 3 <= result.parts <= 6
    assert_close(estimates_of(tmp_path / "out"), reference)


def test_a_system_that_goes_on_in_the_next_file_is_one_system(readings, run, reference, tmp_path):
    (tmp_path / "fleet").mkdir()
    for number, start in enumerate(range(0, len(readings), 4000)):
        part = readings.iloc[start : start + 4000]
        part.to_parquet(tmp_path / "fleet" / f"{number}.parquet", index=False)
    assert_close(run(tmp_path / "fleet", part_rows=4000)[0], reference)


def test_a_fleet_agrees_with_the_inference_of_one_system(readings, reference):
    for name, rows in readings.groupby("system_id"):
        latitude, longitude = PLACES[name]
        power = rows.set_index("time")["power_kw"].astype(float)
        alone = infer(power, latitude=latitude, longitude=longitude)
        here = reference.loc[name]
        turn = (here["surface_azimuth"] - alone.surface_azimuth + 180.0) % 360.0 - 180.0
        assert abs(turn) < 1.0
        assert here["surface_tilt"] == pytest.approx(alone.surface_tilt, abs=0.5)
        assert here["dc_capacity_kw"] == pytest.approx(alone.dc_capacity_kw, rel=0.02)
        assert here["feeder"] == f"F-{name[0]}"


@pytest.mark.parametrize(
    ("names", "kind", "months"),
    [
        ((7.0, 8.0), pa.float64(), False),
        ((7.0, 8.0), pa.float64(), True),
        ((7.0, 8.0), pa.float32(), False),
        ((7.0, 8.0), pa.float16(), False),
        ((Decimal("7.00"), Decimal("8.00")), pa.decimal128(9, 2), False),
        ((7, 8), pa.int16(), True),
        (("7.0", "8.0"), pa.string(), False),
        (("7   ", "8   "), pa.string(), True),
        (("7", "8"), pa.dictionary(pa.int32(), pa.string()), False),
        ((b"7", b"8"), pa.binary(), False),
    ],
)
def test_a_system_has_one_name_whatever_type_its_files_give_it(
    names, kind, months, readings, run, tmp_path
):
    rows = readings[readings["system_id"].isin(["a1", "a2"])]
    cells = [names[name == "a2"] for name in rows["system_id"]]
    fleet, path = tmp_path / "fleet", tmp_path / "s.csv"
    fleet.mkdir()
    # called as a column that is made on the way
    table = pa.table(
        {"key": pa.array(cells, kind), "time": rows["time"], "power_kw": rows["power_kw"]}
    )
    month = rows["time"].dt.month.to_numpy() if months else np.zeros(len(rows))
    for each in np.unique(month):
        pq.write_table(table.filter(pa.array(month == each)), fleet / f"{each}.parquet")
    path.write_text("key,latitude,longitude\n7,39.742,-105.1727\n8.0,39.742,-105.1727\n")
    assert run(fleet, path, system_column="key", workers=1)[1] == {}
    found = read_fleet(tmp_path / "out")
    assert found.system_ids == ("7", "8")
    assert np.isfinite(found.dc_capacity_kw).all()
    each_reading = MeterOptions(system_column="key", cleaning="each")
    with open_fleet(fleet, path, reading=each_reading, workers=1) as opened:
        held = SystemsToRelease.of(opened)
        assert (list(held.about()), held.refused) == (["7", "8"], ())


def test_stamps_on_a_wall_are_read_by_the_clock_of_each_system(readings, run, reference, tmp_path):
    zones = {"a": "America/Denver", "b": "UTC-07:00"}
    frame = readings.copy()
    for group, zone in zones.items():
        own = frame["system_id"].str.startswith(group)
        shown = frame.loc[own, "time"].dt.tz_convert("Etc/GMT+7" if "UTC" in zone else zone)
        frame.loc[own, "wall"] = shown.dt.tz_localize(None)
    frame = frame.drop(columns="time").rename(columns={"wall": "time"})
    table = [f"{n},{lat},{lon},{zones[n[0]]}" for n, (lat, lon) in PLACES.items()]
    path = tmp_path / "systems.csv"
    path.write_text("\n".join(["system_id,lat,lon,tz", *table]) + "\n")
    found, refused = run(frame, path)
    assert refused == {}
    for name in ("surface_azimuth", "surface_tilt", "dc_capacity_kw"):
        np.testing.assert_allclose(found[name], reference[name], rtol=2e-3)


def test_units_and_intervals_of_energy_are_understood(readings, run, reference):
    frame = readings.rename(columns={"power_kw": "energy"})
    frame["energy"] = frame["energy"] * 1000.0
    found, _ = run(frame, power_unit="Wh")
    np.testing.assert_allclose(found["dc_capacity_kw"], reference["dc_capacity_kw"], rtol=1e-3)


def test_two_runs_write_the_same_bytes(layouts, systems_file, written, tmp_path):
    infer_fleet(layouts["files"], systems_file, tmp_path / "again", workers=2)
    assert contents(tmp_path / "again") == contents(written)


def test_systems_of_different_years_are_placed_on_their_own(clear_power, reference, run):
    starts = {name: "2012-03-01" if name < "b" else "2019-03-01" for name in PLANES}
    frame = long_frame({n: clear_power(*p, start=starts[n]) for n, p in PLANES.items()})
    frame["time"] += pd.Timedelta(hours=1)
    found, refused = run(frame, label="end")
    assert refused == {}
    np.testing.assert_allclose(found["surface_azimuth"], reference["surface_azimuth"], atol=1.5)
    np.testing.assert_allclose(found["surface_tilt"], reference["surface_tilt"], atol=1.0)
    assert set(found["clock_label"]) == {"end"}


def test_intervals_of_several_lengths_stand_side_by_side(clear_power, run):
    lengths = {name: 15 if name < "b" else 30 for name in PLANES}
    frame = long_frame({n: clear_power(*p, minutes=lengths[n]) for n, p in PLANES.items()})
    found, refused = run(frame, label="start")
    assert refused == {}
    for name, (azimuth, tilt) in PLANES.items():
        assert found.loc[name, "surface_azimuth"] == pytest.approx(azimuth, abs=5.0)
        assert found.loc[name, "surface_tilt"] == pytest.approx(tilt, abs=4.0)
