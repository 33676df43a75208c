"""One bad system, one bad file, one bad row never stops a fleet."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fleet_folders import (
    PLACES,
    PLANES,
    assert_close,
    copy_of,
    inferred,
    refusals_of,
    stamps,
    values,
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


def kinds(refused):
    return {name: kind for name, (kind, _) in refused.items()}


def damage(path):
    """Damage the pages of a file, whose footer stays."""
    whole = bytearray(path.read_bytes())
    whole[8 : len(whole) // 2] = b"\xff" * (len(whole) // 2 - 8)
    path.write_bytes(bytes(whole))


def test_bad_files_cost_their_systems_alone(layouts, systems_file, tmp_path):
    fleet = copy_of(layouts["files"], tmp_path / "fleet")
    (fleet / "a2.parquet").write_bytes(bytes(range(256)) * 40)
    damage(fleet / "a3.parquet")
    whole = (fleet / "b1.parquet").read_bytes()
    (fleet / "b1.parquet").write_bytes(whole[: len(whole) // 2])
    pd.DataFrame({"system_id": ["a1"], "truth": [1.0]}).to_parquet(fleet / "zz.parquet")
    found, refused = inferred(fleet, systems_file, tmp_path / "out")
    assert list(found.index) == ["a1", "b2", "b3"]
    assert kinds(refused) == dict.fromkeys(("a2", "a3", "b1"), "unreadable")
    assert all(f"{name}.parquet" in reason for name, (_, reason) in refused.items())
    assert "a2.parquet cannot be read" in refused["a2"][1]
    summary = (tmp_path / "out" / "summary.json").read_text()
    assert "a3.parquet" in summary
    assert "zz.parquet has other columns" in summary


def test_a_month_with_damaged_pages_is_missing_of_every_system(layouts, systems_file, tmp_path):
    fleet = copy_of(layouts["months"], tmp_path / "fleet")
    path = sorted(fleet.rglob("*.parquet"))[1]
    damage(path)
    assert infer_fleet(fleet, systems_file, tmp_path / "out").inferred == 6
    assert path.name in (tmp_path / "out" / "summary.json").read_text()


def test_unknown_and_absent_systems_are_refused(layouts, tmp_path):
    places = {name: place for name, place in PLACES.items() if name != "a1"}
    systems = write_systems(tmp_path / "s.csv", {**places, "nobody": (40.0, -105.0)})
    for layout in ("files", "months", "lists", "csv"):
        found, refused = inferred(layouts[layout], systems, tmp_path / f"out {layout}")
        assert kinds(refused) == {"a1": "unknown", "nobody": "no readings"}
        assert list(found.index) == GOOD[1:]


def test_systems_that_the_table_refuses_are_refused_once(layouts, tmp_path):
    path = write_systems(tmp_path / "s.csv", {n: PLACES[n] for n in GOOD if n not in ("a1", "a2")})
    path.write_text(path.read_text() + "a1,,,\na2,40,-105,\na2,41,-105,\n")
    infer_fleet(layouts["file"], path, tmp_path / "out")
    table = pd.read_parquet(tmp_path / "out" / "refused.parquet")
    assert list(zip(table["system_id"], table["kind"], strict=True)) == [
        ("a1", "location"),
        ("a2", "duplicate"),
    ]


EVERY = slice(None)
# What is done to the readings of a2, for a system of that name; of those refused, the kind, and
# the words where they are not those of the reader of single files.
REFUSED = {
    "switch": (values(slice(600, 1400), lambda power: power / 1000.0), "meter", ""),
    "zeros": (values(EVERY, 0.0), "meter", ""),
    "register": (values(EVERY, lambda power: np.cumsum(power + 0.01)), "meter", ""),
    "torn": (lambda rows: pd.concat([rows, rows[12:40].assign(power_kw=9.0)]), "meter", ""),
    "timeless": (
        stamps(slice(10, 15), np.datetime64("NaT")),
        "meter",
        "has readings without a time at rows",
    ),
    "noise": (
        values(EVERY, lambda power: np.random.default_rng(1).random(len(power))),
        "too little data",
        "do not look like PV generation",
    ),
    "short": (lambda rows: rows[:60], "too little data", "system short: "),
}
CLEANED = {
    "spikes": values([50, 500], 5000.0),
    "stuck": values(slice(200, 230), 0.7),
    "missing": values(slice(400), -999.0),
    "off": stamps(slice(10, 15), lambda time: time + np.timedelta64(17, "m")),
    "seconds": stamps(
        EVERY, lambda time: time + (np.arange(len(time)) % 3).astype("timedelta64[s]")
    ),
}
FLAGGED = {
    "net": (
        values(EVERY, lambda power: power - np.random.default_rng(0).exponential(1.0, len(power))),
        "net_meter",
    ),
    "unit": (values(EVERY, lambda power: power / 1000.0), "unlikely_unit"),
}


def test_odd_records_are_refused_cleaned_or_flagged_as_the_reader_of_single_files_does(
    readings, systems_file, layouts, tmp_path
):
    rows = readings[readings["system_id"] == "a2"].reset_index(drop=True)
    rows["time"] = rows["time"].dt.tz_localize(None)
    changes = {**CLEANED, **{name: change for name, (change, *_) in (REFUSED | FLAGGED).items()}}
    odd = pd.concat([change(rows).assign(system_id=name) for name, change in changes.items()])
    odd["time"] = odd["time"].dt.tz_localize("UTC")
    fleet = write_files(tmp_path / "fleet", pd.concat([readings, odd], ignore_index=True))
    places = {**PLACES, **dict.fromkeys(changes, PLACES["a2"])}
    systems = write_systems(tmp_path / "s.csv", places)
    found, refused = inferred(fleet, systems, tmp_path / "out")
    assert kinds(refused) == {name: kind for name, (_, kind, _) in sorted(REFUSED.items())}
    for name, (_, _, words) in REFUSED.items():
        assert words in refused[name][1]
        if not words:
            with pytest.raises(MeterError) as caught:
                read_meters(fleet / f"{name}.parquet")
            assert refused[name][1] == str(caught.value)
    assert "option `force`" in refused["noise"][1]
    assert sorted(found.index) == sorted([*GOOD, *CLEANED, *FLAGGED])
    there = inferred(layouts["files"], systems_file, tmp_path / "plain")[0]
    # what was left out of a record changes its estimate little, and no other at all
    for name, within in (("surface_azimuth", 3.0), ("surface_tilt", 2.0), ("dc_capacity_kw", 0.3)):
        np.testing.assert_allclose(found.loc[list(CLEANED), name], there[name]["a2"], atol=within)
    assert_close(found.loc[GOOD[:3]], there.loc[GOOD[:3]])
    pd.testing.assert_frame_equal(found.loc[GOOD[3:]], there.loc[GOOD[3:]])
    for name, (_, flag) in FLAGGED.items():
        assert [each for each in found.index if flag in found["flags"][each]] == [name]
    assert found["household_load"].drop("net").isna().all()
    (record,) = read_meters(fleet / "net.parquet")
    alone = infer(record, latitude=PLACES["a2"][0], longitude=PLACES["a2"][1]).to_row()
    load = found["household_load"]["net"]["mean_load_kw"]
    assert load == alone["household_load"]["mean_load_kw"]


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


def test_a_fleet_without_a_clock_is_refused_before_anything_is_written(readings, run, tmp_path):
    naive = readings.assign(time=readings["time"].dt.tz_localize(None))
    with pytest.raises(SourceError, match="option `timezone`"):
        run(naive)
    assert not (tmp_path / "out").exists()
    assert len(run(naive, timezone="UTC")[0]) == 6


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
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.parquet").write_bytes(b"no parquet")
    for name, words in (
        ("none", "no file or folder"),
        ("empty", "no meter files"),
        ("bad", "none of the 1 Parquet files"),
    ):
        with pytest.raises(MeterError, match=words):
            infer_fleet(tmp_path / name, systems_file, tmp_path / "out")


def test_a_fleet_of_which_nobody_is_inferred_has_only_unknown_rows_or_ends_with_the_reason(
    readings, systems_file, tmp_path, capsys
):
    write_files(tmp_path / "dark", readings.assign(power_kw=np.float32(0.0)))
    given = [tmp_path / "dark", "--systems", systems_file, "--out", tmp_path / "out"]
    assert main(["infer", *map(str, given)]) == 0
    assert "skipped 6 systems" in capsys.readouterr().err
    assert len(refusals_of(tmp_path / "out")) == 6
    write_files(tmp_path / "others", readings.assign(system_id="x" + readings["system_id"]))
    given = [tmp_path / "others", "--systems", systems_file, "--out", tmp_path / "unknown"]
    assert main(["infer", *map(str, given)]) == 2
    assert "none of 12 systems can be inferred (6 no readings, 6 unknown)" in (
        capsys.readouterr().err
    )


def test_a_folder_of_files_is_read_file_by_file(layouts, systems_file, tmp_path):
    fleet = copy_of(layouts["csv"], tmp_path / "fleet")
    (fleet / "a2.csv").write_bytes(b"\x00\x01 no table at all")
    (fleet / "more").mkdir()
    (fleet / "more" / "b1.csv").write_bytes((fleet / "b1.csv").read_bytes())
    found, refused = inferred(fleet, systems_file, tmp_path / "out")
    assert kinds(refused) == {"a2": "unreadable"}
    assert "a2.csv" in refused["a2"][1]
    # the same rows once more in another folder: joined, and merged
    assert list(found.index) == ["a1", "a3", "b1", "b2", "b3"]


def test_a_file_that_is_a_system_s_own_says_nothing_of_others(layouts, systems_file, tmp_path):
    fleet = copy_of(layouts["csv"], tmp_path / "fleet")
    (fleet / "a1.csv").unlink()
    before = inferred(fleet, systems_file, tmp_path / "before")[1]
    (fleet / "a2.csv").write_text("")
    after = inferred(fleet, systems_file, tmp_path / "after")[1]
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
    whole, _ = inferred(one, systems_file, tmp_path / "whole")
    fleet = tmp_path / "months"
    for month, rows in readings.groupby(readings["time"].dt.month):
        (fleet / f"{month:02}").mkdir(parents=True)
        rows.to_csv(fleet / f"{month:02}" / "meters.csv", index=False)
    parts, _ = inferred(fleet, systems_file, tmp_path / "parts", part_rows=1)
    assert parts.equals(whole)
    assert len(whole) == 6


def test_a_declared_time_zone_goes_before_that_of_the_table(readings, run, tmp_path):
    local = readings["time"].dt.tz_convert("Etc/GMT+7").dt.tz_localize(None)
    rows = "".join(f"{name},{lat},{lon},UTC\n" for name, (lat, lon) in PLACES.items())
    (tmp_path / "systems.csv").write_text("system_id,latitude,longitude,timezone\n" + rows)
    given = {"timezone": "UTC-07:00", "clock": "given"}
    found, _ = run(readings.assign(time=local), tmp_path / "systems.csv", **given)
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
    found, refused = inferred(fleet, systems_file, tmp_path / "out", part_rows=1)
    assert set(refused) == {"b1"}
    assert "join its readings" in refused["b1"][1]
    assert list(found.index) == ["a1", "a2", "a3", "b2", "b3"]


def test_what_is_kept_on_the_way_is_for_its_owner_alone(layouts, systems_file, tmp_path):
    modes = []

    def tell(_):
        modes.append((tmp_path / "out" / ".work").stat().st_mode & 0o777)

    infer_fleet(layouts["months"], systems_file, tmp_path / "out", tell=tell)
    assert set(modes) == {0o700}
    for path in (tmp_path / "out").rglob("*.parquet"):
        assert path.stat().st_mode & 0o777 == 0o600
