"""Net meters in a fleet: said by the table of systems, by an option, or by two columns."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pandas as pd
import pytest
from fleet_folders import PLACES, inferred, write_systems

from sunveil.cli import main
from sunveil.inference.infer import infer

HOMES = ["a1", "a3"]


@pytest.fixture(scope="module")
def flows(readings):
    """Return two homes as what they take from the grid, what they give, and the difference."""
    frame = readings[readings["system_id"].isin(HOMES)].reset_index(drop=True)
    hours = frame["time"].dt.tz_convert("America/Denver").dt.hour
    usual = 0.5 + 0.5 * (hours >= 17)
    load = usual * np.random.default_rng(4).lognormal(0.0, 0.4, len(frame))
    net = (frame["power_kw"] - load).astype("float32")
    return frame.assign(
        power_kw=net, export_kw=net.clip(lower=0.0), import_kw=(-net).clip(lower=0.0)
    )


@pytest.fixture(scope="module")
def signed(flows):
    return flows[["system_id", "time", "power_kw"]]


@pytest.fixture(scope="module")
def homes_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("homes") / "systems.csv"
    return write_systems(path, {name: PLACES[name] for name in HOMES})


@pytest.fixture(scope="module")
def reference(signed, homes_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("net")
    signed.to_parquet(folder / "fleet.parquet", index=False)
    return inferred(folder / "fleet.parquet", homes_file, folder / "out", net=True)[0]


def test_a_mixed_fleet_says_in_its_table_which_meters_are_net(
    readings, signed, reference, run, tmp_path, monkeypatch
):
    others = readings[readings["system_id"] == "a2"]
    both = pd.concat([signed, others]).sort_values(["system_id", "time"])
    kinds = {"a1": "net", "a2": "generation", "a3": "net", "b1": "gas"}
    rows = [f"{name},{PLACES[name][0]},{PLACES[name][1]},{kind}" for name, kind in kinds.items()]
    (tmp_path / "s.csv").write_text("\n".join(["system_id,latitude,longitude,metering", *rows]))
    reviewed = []
    monkeypatch.setattr(
        "sunveil.fleet.open._records_of", lambda paths, names, context: reviewed.extend(names) or ()
    )
    found, refused = run(both, tmp_path / "s.csv", workers=1)
    assert reviewed == []
    assert [name for name in found.index if found["household_load"][name] is not None] == HOMES
    assert refused["b1"][0] == "meter kind"
    for name in HOMES:
        assert found["surface_tilt"][name] == reference["surface_tilt"][name]
        assert (
            found["household_load"][name]["exporting"]
            == reference["household_load"][name]["exporting"]
        )
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["flags"]["net_meter"] == 2


def test_the_command_says_how_many_net_meters_there_are(signed, homes_file, tmp_path, capsys):
    signed.to_parquet(tmp_path / "fleet.parquet", index=False)
    arguments = [tmp_path / "fleet.parquet", "--systems", homes_file, "--out", tmp_path / "out"]
    assert main(["infer", *map(str, arguments), "--net", "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert said == f"Wrote 2 of 2 systems to {tmp_path / 'out'}, 2 of them net meters\n"


def test_a_net_meter_of_a_fleet_is_inferred_as_one_alone_is(signed, reference):
    found = reference.loc["a1"]
    power = signed[signed["system_id"] == "a1"].set_index("time")["power_kw"].astype(float)
    latitude, longitude = PLACES["a1"]
    alone = infer(power, latitude=latitude, longitude=longitude, net=True).to_row()
    assert found["surface_azimuth"] == pytest.approx(alone["surface_azimuth"], abs=1.0)
    assert found["surface_tilt"] == pytest.approx(alone["surface_tilt"], abs=0.5)
    assert found["dc_capacity_kw"] == pytest.approx(alone["dc_capacity_kw"], rel=0.02)
    here, there = found["household_load"], alone["household_load"]
    assert here["mean_load_kw"] == pytest.approx(there["mean_load_kw"], rel=0.02)
    assert here["self_consumption"] == pytest.approx(there["self_consumption"], abs=0.02)


@pytest.mark.parametrize("layout", ["long", "months", "lists"])
def test_two_columns_are_one_net_meter_in_every_layout(
    layout, flows, homes_file, reference, run, tmp_path
):
    month = "month(make_timestamp(epoch_us(time)))"
    flat = "SELECT system_id, time, export_kw, import_kw"
    path, sql, more = {
        "long": ("fleet.parquet", f"{flat} FROM flows", ""),
        "months": ("fleet", f"{flat}, {month} AS month FROM flows", ", PARTITION_BY (month)"),
        "lists": (
            "fleet.parquet",
            "SELECT system_id, list(export_kw ORDER BY time) AS export_kw,"
            " list(import_kw ORDER BY time) AS import_kw, min(time) AS start,"
            " 60 AS interval_minutes FROM flows GROUP BY system_id",
            "",
        ),
    }[layout]
    with duckdb.connect() as base:
        base.register("flows", flows)
        base.execute(f"COPY ({sql}) TO '{tmp_path / path}' (FORMAT parquet{more})")
    found, there = run(tmp_path / path, homes_file, workers=1)[0], reference
    assert list(found.index) == HOMES
    np.testing.assert_allclose(found["surface_tilt"], there["surface_tilt"], atol=0.1)
    for name in HOMES:
        assert "net_meter" in found["flags"][name]
        loads = [each["household_load"][name]["mean_load_kw"] for each in (found, there)]
        assert loads[0] == pytest.approx(loads[1], rel=0.01)


@pytest.mark.parametrize(
    ("columns", "lists"), [(["export_kw", "import_kw"], False), (["export_kw"], True)]
)
def test_generation_meters_among_net_ones_export_their_generation(
    columns, lists, flows, readings, run, tmp_path
):
    """A simulated fleet is written so: what its table calls generation is read as generation."""
    gross = readings[readings["system_id"] == "a2"].assign(import_kw=np.float32(0.0))
    rows = pd.concat([flows, gross.rename(columns={"power_kw": "export_kw"})])
    rows = rows[["system_id", "time", *columns]].sort_values(["system_id", "time"])
    if lists:
        rows = rows.groupby("system_id").agg(list).reset_index()
    kinds = {"a1": "net", "a2": "generation", "a3": ""}
    table = [f"{name},{PLACES[name][0]},{PLACES[name][1]},{kind}" for name, kind in kinds.items()]
    (tmp_path / "s.csv").write_text("\n".join(["system_id,latitude,longitude,metering", *table]))
    found, _ = run(rows, tmp_path / "s.csv", workers=1)
    assert list(found.index) == ["a1", "a2", "a3"]
    assert ["net_meter" in found["flags"][name] for name in found.index] == [True, False, True]
    assert found["household_load"]["a2"] is None
