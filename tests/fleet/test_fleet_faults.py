"""One bad system, one bad file, one bad row never stops a fleet."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fleet_folders import (
    PLACES,
    PLANES,
    copy_of,
    estimates_of,
    refusals_of,
    write_files,
    write_systems,
)

from sunveil import infer
from sunveil.cli import main
from sunveil.engine import infer as infer_module
from sunveil.errors import MeterError, ParameterError, SourceError
from sunveil.inference import fleet_part, infer_fleet
from sunveil.meters import read_meters

GOOD = ["a1", "a2", "a3", "b1", "b2", "b3"]


@pytest.fixture
def fleet(layouts, tmp_path):
    return copy_of(layouts["files"], tmp_path / "fleet")


def names_of(out):
    return sorted(estimates_of(out).index)


def test_a_file_of_garbage_costs_its_systems_alone(fleet, systems_file, tmp_path):
    (fleet / "a2.parquet").write_bytes(bytes(range(256)) * 40)
    result = infer_fleet(fleet, systems_file, tmp_path / "out")
    assert (result.inferred, result.refused) == (5, 1)
    kind, reason = refusals_of(tmp_path / "out")["a2"]
    assert kind == "unreadable"
    assert "a2.parquet cannot be read" in reason


def test_a_truncated_file_costs_its_systems_alone(fleet, systems_file, tmp_path):
    whole = (fleet / "b1.parquet").read_bytes()
    (fleet / "b1.parquet").write_bytes(whole[: len(whole) // 2])
    infer_fleet(fleet, systems_file, tmp_path / "out")
    assert names_of(tmp_path / "out") == [name for name in GOOD if name != "b1"]
    assert refusals_of(tmp_path / "out")["b1"][0] == "unreadable"


@pytest.mark.parametrize("layout", ["files", "months"])
def test_pages_that_are_damaged_within_are_found_when_they_are_read(
    layout, layouts, systems_file, tmp_path
):
    fleet = copy_of(layouts[layout], tmp_path / "fleet")
    path = sorted(fleet.rglob("*.parquet"))[1]
    whole = bytearray(path.read_bytes())
    whole[8 : len(whole) // 2] = b"\xff" * (len(whole) // 2 - 8)
    path.write_bytes(bytes(whole))
    result = infer_fleet(fleet, systems_file, tmp_path / "out")
    # of months, one is missing; of systems, one
    assert result.inferred == (5 if layout == "files" else 6)
    summary = (tmp_path / "out" / "summary.json").read_text()
    assert path.name in summary


def test_a_file_with_other_columns_is_left_out_by_name(fleet, systems_file, tmp_path):
    pd.DataFrame({"system_id": ["a1"], "truth": [1.0]}).to_parquet(fleet / "zz.parquet")
    result = infer_fleet(fleet, systems_file, tmp_path / "out")
    assert (result.inferred, result.refused) == (6, 0)
    assert "zz.parquet has other columns" in (tmp_path / "out" / "summary.json").read_text()


def test_unknown_and_absent_systems_are_refused(layouts, tmp_path):
    places = {name: place for name, place in PLACES.items() if name != "a1"}
    systems = write_systems(tmp_path / "s.csv", {**places, "nobody": (40.0, -105.0)})
    for layout in ("files", "months", "lists", "csv"):
        out = tmp_path / f"out {layout}"
        infer_fleet(layouts[layout], systems, out)
        refused = refusals_of(out)
        assert {name: kind for name, (kind, _) in refused.items()} == {
            "a1": "unknown",
            "nobody": "no readings",
        }
        assert names_of(out) == GOOD[1:]


def test_systems_that_the_table_refuses_are_refused_once(layouts, tmp_path):
    rows = [f"{n},{lat},{lon}" for n, (lat, lon) in PLACES.items() if n not in ("a1", "a2")]
    rows += ["a1,,", "a2,40,-105", "a2,41,-105"]
    path = tmp_path / "s.csv"
    path.write_text("\n".join(["system_id,latitude,longitude", *rows]) + "\n")
    infer_fleet(layouts["file"], path, tmp_path / "out")
    table = pd.read_parquet(tmp_path / "out" / "refused.parquet")
    assert list(zip(table["system_id"], table["kind"], strict=True)) == [
        ("a1", "location"),
        ("a2", "duplicate"),
    ]


def odd_frame(readings, what):
    """Return readings of which one system, a2, is out of the ordinary."""
    frame = readings.copy()
    own = np.flatnonzero(frame["system_id"] == "a2")
    power = frame["power_kw"].to_numpy().copy()
    if what == "switch":
        power[own[600:1400]] /= 1000.0
    elif what == "zeros":
        power[own] = 0.0
    elif what == "net":
        power[own] -= np.random.default_rng(0).exponential(1.0, len(own))
    elif what == "infinite":
        power[own[100]] = np.inf
    elif what == "register":
        power[own] = np.cumsum(power[own])
    elif what == "spikes":
        power[own[[50, 500]]] = 5000.0
    elif what == "stuck":
        power[own[200:230]] = 0.7
    elif what == "missing":
        power[own[:400]] = -999.0
    frame["power_kw"] = power
    if what == "torn":
        twice = frame.iloc[own[12:40]].assign(power_kw=9.0)
        frame = pd.concat([frame, twice], ignore_index=True)
    elif what == "off":
        frame.loc[own[10:15], "time"] += pd.Timedelta(minutes=17)
    elif what == "seconds":
        frame.loc[own, "time"] += pd.to_timedelta(np.arange(len(own)) % 3, "s")
    elif what == "timeless":
        frame.loc[own[10:15], "time"] = pd.NaT
    elif what == "short":
        frame = frame.drop(index=own[60:])
    return frame


@pytest.mark.parametrize("what", ["switch", "zeros", "register", "torn"])
def test_a_bad_record_is_refused_in_the_words_of_the_reader_of_single_files(
    what, readings, systems_file, tmp_path
):
    path = tmp_path / "fleet.parquet"
    odd_frame(readings, what).to_parquet(path, index=False)
    infer_fleet(path, systems_file, tmp_path / "out")
    with pytest.raises(MeterError) as caught:
        read_meters(path)
    assert refusals_of(tmp_path / "out") == {"a2": ("meter", str(caught.value))}
    assert names_of(tmp_path / "out") == [name for name in GOOD if name != "a2"]


def test_a_meter_that_looks_like_a_net_meter_is_inferred_as_one_system_is(
    readings, systems_file, tmp_path
):
    path = tmp_path / "fleet.parquet"
    odd_frame(readings, "net").to_parquet(path, index=False)
    infer_fleet(path, systems_file, tmp_path / "out")
    (record,) = (each for each in read_meters(path) if each.net)
    alone = infer(record, latitude=PLACES["a2"][0], longitude=PLACES["a2"][1])
    assert refusals_of(tmp_path / "out") == {}
    found = estimates_of(tmp_path / "out")
    assert [name for name in GOOD if "net_meter" in found["flags"][name]] == ["a2"]
    assert found["household_load"].drop("a2").isna().all()
    assert (
        found["household_load"]["a2"]["mean_load_kw"]
        == alone.to_row()["household_load"]["mean_load_kw"]
    )


def test_a_unit_that_makes_no_sense_is_flagged(readings, systems_file, tmp_path):
    power = readings["power_kw"]
    frame = readings.assign(power_kw=power.where(readings["system_id"] != "a2", power / 1000.0))
    frame.to_parquet(tmp_path / "fleet.parquet", index=False)
    infer_fleet(tmp_path / "fleet.parquet", systems_file, tmp_path / "out")
    flags = estimates_of(tmp_path / "out")["flags"]
    assert [name for name in GOOD if "unlikely_unit" in flags[name]] == ["a2"]


def test_readings_without_a_time_refuse_their_system_alone(readings, systems_file, tmp_path):
    odd_frame(readings, "timeless").to_parquet(tmp_path / "fleet.parquet", index=False)
    infer_fleet(tmp_path / "fleet.parquet", systems_file, tmp_path / "out")
    kind, reason = refusals_of(tmp_path / "out")["a2"]
    assert kind == "meter"
    assert "has readings without a time at rows" in reason
    assert len(names_of(tmp_path / "out")) == 5


@pytest.mark.parametrize("what", ["spikes", "stuck", "missing", "off", "seconds"])
def test_an_unusual_record_is_cleaned_as_the_reader_of_single_files_cleans_it(
    what, readings, systems_file, tmp_path
):
    odd_frame(readings, what).to_parquet(tmp_path / "fleet.parquet", index=False)
    infer_fleet(tmp_path / "fleet.parquet", systems_file, tmp_path / "out")
    readings.to_parquet(tmp_path / "plain.parquet", index=False)
    infer_fleet(tmp_path / "plain.parquet", systems_file, tmp_path / "plain")
    found, there = estimates_of(tmp_path / "out"), estimates_of(tmp_path / "plain")
    assert refusals_of(tmp_path / "out") == {}
    # what was left out of one record changes its estimate little, and no other at all
    for name, within in (("surface_azimuth", 3.0), ("surface_tilt", 2.0), ("dc_capacity_kw", 0.3)):
        np.testing.assert_allclose(found[name], there[name], atol=within)
    others = [name for name in GOOD if name.startswith("b")]
    pd.testing.assert_frame_equal(found.loc[others], there.loc[others])


def test_a_system_that_is_no_generation_is_refused_with_the_remedy(
    readings, systems_file, tmp_path
):
    frame = readings.copy()
    own = (frame["system_id"] == "a2").to_numpy()
    frame.loc[own, "power_kw"] = np.random.default_rng(1).random(own.sum(), dtype=np.float32)
    frame.to_parquet(tmp_path / "fleet.parquet", index=False)
    infer_fleet(tmp_path / "fleet.parquet", systems_file, tmp_path / "out")
    refused = refusals_of(tmp_path / "out")
    assert list(refused) == ["a2"]
    assert "do not look like PV generation" in refused["a2"][1]
    assert "option `force`" in refused["a2"][1]


def test_a_short_record_is_too_little_data(readings, systems_file, tmp_path):
    odd_frame(readings, "short").to_parquet(tmp_path / "fleet.parquet", index=False)
    infer_fleet(tmp_path / "fleet.parquet", systems_file, tmp_path / "out")
    kind, reason = refusals_of(tmp_path / "out")["a2"]
    assert kind == "too little data"
    assert reason.startswith("system a2: ")


def test_one_system_that_raises_is_refused_and_its_neighbours_are_not(
    layouts, systems_file, tmp_path, monkeypatch
):
    real = infer_module.infer_block

    def touchy(power, sky, **options):
        # a2 is the second of its cell; only its readings set it off, alone or in a block
        if any(np.nanmax(row) == highest for row in power):
            raise ZeroDivisionError
        return real(power, sky, **options)

    frame = pd.read_parquet(layouts["files"] / "a2.parquet")
    highest = np.float32(frame["power_kw"].max())
    monkeypatch.setattr(fleet_part, "infer_block", touchy)
    result = infer_fleet(layouts["files"], systems_file, tmp_path / "out")
    assert (result.inferred, result.refused) == (5, 1)
    kind, reason = refusals_of(tmp_path / "out")["a2"]
    assert kind == "failed"
    assert "ZeroDivisionError" in reason


def test_a_fleet_without_a_clock_is_refused_before_anything_is_written(
    readings, systems_file, tmp_path
):
    naive = readings.assign(time=readings["time"].dt.tz_localize(None))
    naive.to_parquet(tmp_path / "fleet.parquet", index=False)
    with pytest.raises(SourceError, match="option `timezone`"):
        infer_fleet(tmp_path / "fleet.parquet", systems_file, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    settings = {"timezone": "UTC"}
    result = infer_fleet(tmp_path / "fleet.parquet", systems_file, tmp_path / "out", **settings)
    assert result.inferred == 6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"engine": "abacus"}, "engine must be"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "for the engine dask"),
        ({"workers": 0}, "workers must be"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(change, words, layouts, systems_file, tmp_path):
    with pytest.raises(ParameterError, match=words):
        infer_fleet(layouts["file"], systems_file, tmp_path / "out", **change)


def test_folders_without_readings_are_refused(systems_file, tmp_path):
    with pytest.raises(MeterError, match="no file or folder"):
        infer_fleet(tmp_path / "none", systems_file, tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(MeterError, match="no meter files"):
        infer_fleet(tmp_path / "empty", systems_file, tmp_path / "out")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.parquet").write_bytes(b"no parquet")
    with pytest.raises(MeterError, match="none of the 1 Parquet files"):
        infer_fleet(tmp_path / "bad", systems_file, tmp_path / "out")


def test_a_fleet_of_which_nobody_is_inferred_for_its_readings_has_only_unknown_rows(
    readings, systems_file, tmp_path, capsys
):
    write_files(tmp_path / "dark", readings.assign(power_kw=np.float32(0.0)))
    given = [tmp_path / "dark", "--systems", systems_file, "--out", tmp_path / "out"]
    code = main(["infer", *map(str, given)])
    assert code == 0
    assert "skipped 6 systems" in capsys.readouterr().err
    assert len(refusals_of(tmp_path / "out")) == 6


def test_a_fleet_of_which_the_table_knows_nobody_ends_with_the_reason(
    readings, systems_file, tmp_path, capsys
):
    write_files(tmp_path / "others", readings.assign(system_id="x" + readings["system_id"]))
    given = [tmp_path / "others", "--systems", systems_file, "--out", tmp_path / "out"]
    assert main(["infer", *map(str, given)]) == 2
    assert "none of 12 systems can be inferred (6 no readings, 6 unknown)" in (
        capsys.readouterr().err
    )


def test_a_folder_of_files_is_read_file_by_file(layouts, systems_file, tmp_path):
    fleet = copy_of(layouts["csv"], tmp_path / "fleet")
    (fleet / "a2.csv").write_bytes(b"\x00\x01 no table at all")
    (fleet / "more").mkdir()
    (fleet / "more" / "b1.csv").write_bytes((fleet / "b1.csv").read_bytes())
    infer_fleet(fleet, systems_file, tmp_path / "out")
    refused = refusals_of(tmp_path / "out")
    assert {name: kind for name, (kind, _) in refused.items()} == {
        "a2": "unreadable",
    }
    assert "a2.csv" in refused["a2"][1]
    # the same rows once more in another folder: joined, and merged
    assert names_of(tmp_path / "out") == ["a1", "a3", "b1", "b2", "b3"]


def test_a_file_that_is_a_system_s_own_says_nothing_of_others(layouts, systems_file, tmp_path):
    fleet = copy_of(layouts["csv"], tmp_path / "fleet")
    (fleet / "a1.csv").unlink()
    infer_fleet(fleet, systems_file, tmp_path / "before")
    (fleet / "a2.csv").write_text("")
    infer_fleet(fleet, systems_file, tmp_path / "after")
    before, after = refusals_of(tmp_path / "before"), refusals_of(tmp_path / "after")
    assert before["a1"] == after["a1"] == ("no readings", before["a1"][1])
    assert after["a2"][0] == "unreadable"


@pytest.mark.parametrize("workers", [1, 2])
def test_remedies_of_workers_are_in_the_words_of_whoever_started_them(
    workers, layouts, systems_file, tmp_path, monkeypatch
):
    fleet = copy_of(layouts["csv"], tmp_path / "fleet")
    for name in ("a1", "b1"):
        text = (fleet / f"{name}.csv").read_text()
        (fleet / f"{name}.csv").write_text(text.replace("Z,", ","))
    monkeypatch.setattr("sunveil.inference.workers.SMALL_FLEET", 0)
    monkeypatch.setattr("sunveil.fleet.run_plan.FILES_ROWS", 1)
    given = [fleet, "--systems", systems_file, "--out", tmp_path / "out", "--workers", workers]
    assert main(["infer", *map(str, given)]) == 0
    refused = refusals_of(tmp_path / "out")
    assert set(refused) == {"a1", "b1"}
    assert all("option `timezone`" in reason for _, reason in refused.values())


def test_systems_spread_over_months_of_csv_are_as_from_one_file(readings, systems_file, tmp_path):
    one = tmp_path / "one"
    one.mkdir()
    readings.to_csv(one / "all.csv", index=False)
    infer_fleet(one, systems_file, tmp_path / "whole")
    fleet = tmp_path / "months"
    for month, rows in readings.groupby(readings["time"].dt.month):
        (fleet / f"{month:02}").mkdir(parents=True)
        rows.to_csv(fleet / f"{month:02}" / "meters.csv", index=False)
    infer_fleet(fleet, systems_file, tmp_path / "parts", part_rows=1)
    assert estimates_of(tmp_path / "parts").equals(estimates_of(tmp_path / "whole"))
    assert len(estimates_of(tmp_path / "whole")) == 6


def test_a_declared_time_zone_goes_before_that_of_the_table(readings, tmp_path):
    local = readings["time"].dt.tz_convert("Etc/GMT+7").dt.tz_localize(None)
    readings.assign(time=local).to_parquet(tmp_path / "fleet.parquet", index=False)
    rows = "".join(f"{name},{lat},{lon},UTC\n" for name, (lat, lon) in PLACES.items())
    (tmp_path / "systems.csv").write_text("system_id,latitude,longitude,timezone\n" + rows)
    given = {"timezone": "UTC-07:00", "clock": "given"}
    infer_fleet(tmp_path / "fleet.parquet", tmp_path / "systems.csv", tmp_path / "out", **given)
    found = estimates_of(tmp_path / "out")
    assert all(
        abs(found.loc[name, "surface_azimuth"] - azimuth) < 5.0
        for name, (azimuth, _) in PLANES.items()
    )


def test_a_system_that_two_parts_came_upon_is_refused_and_no_other(
    layouts, systems_file, tmp_path, monkeypatch
):
    fleet = copy_of(layouts["csv"], tmp_path / "fleet")
    rows = pd.read_csv(fleet / "b1.csv").assign(system_id="b1")
    rows.iloc[:1000].to_csv(fleet / "b1.csv", index=False)
    rows.iloc[1000:].to_csv(fleet / "zz.csv", index=False)
    apart = "sunveil.fleet.run_plan.files_together"
    monkeypatch.setattr(apart, lambda paths, options: list(range(len(paths))))
    infer_fleet(fleet, systems_file, tmp_path / "out", part_rows=1)
    refused = refusals_of(tmp_path / "out")
    assert set(refused) == {"b1"}
    assert "join its readings" in refused["b1"][1]
    assert names_of(tmp_path / "out") == ["a1", "a2", "a3", "b2", "b3"]


def test_what_is_kept_on_the_way_is_for_its_owner_alone(layouts, systems_file, tmp_path):
    modes = []

    def tell(_):
        modes.append((tmp_path / "out" / ".work").stat().st_mode & 0o777)

    infer_fleet(layouts["months"], systems_file, tmp_path / "out", tell=tell)
    assert set(modes) == {0o700}
    for path in (tmp_path / "out").rglob("*.parquet"):
        assert path.stat().st_mode & 0o777 == 0o600
