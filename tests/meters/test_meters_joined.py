"""Rows of one system in several files, brought together."""

from __future__ import annotations

import json
import unicodedata

import numpy as np
import pandas as pd
import pytest

from sunveil.errors import MeterError
from sunveil.meters import MeterOptions, Record, iter_systems, read_meters

LINES = [f"a,2024-06-01T{hour:02}:00Z,{100 * hour}" for hour in range(24)]


def write(folder, name, lines, column="power_w"):
    (folder / name).write_text("\n".join([f"system_id,time,{column}", *lines]) + "\n")


def read_one(folder, **options):
    (found,) = iter_systems(folder, MeterOptions(**options))
    return found


def test_halves_of_a_record_are_the_whole(tmp_path):
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    whole.mkdir()
    halves.mkdir()
    write(whole, "all.csv", LINES)
    write(halves, "1.csv", LINES[:12])
    later = pd.DataFrame([line.split(",") for line in LINES[12:]])
    later.columns = ["system_id", "time", "power_w"]
    later.to_parquet(halves / "2.parquet")
    one, two = read_one(whole), read_one(halves)
    np.testing.assert_array_equal(one.times, two.times)
    np.testing.assert_array_equal(one.power_kw, two.power_kw)
    assert one.notes == two.notes


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "feather"])
def test_one_system_is_one_however_its_name_is_written(tmp_path, ending):
    names = ["7", "7.0", " 7 "] if ending != "json" else [7, 7.0, "7"]
    times = pd.date_range("2024-06-01", periods=24, freq="h", tz="UTC")
    table = pd.DataFrame({"system_id": (names * 8), "time": times, "power_kw": range(24)})
    path = tmp_path / f"meters.{ending}"
    if ending == "csv":
        table.to_csv(path, index=False)
    elif ending == "json":
        rows = table.assign(time=times.strftime("%Y-%m-%dT%H:%MZ")).to_dict("records")
        path.write_text(json.dumps(rows))
    else:
        getattr(table, f"to_{ending}")(path)
    found = read_one(tmp_path)
    assert (found.system_id, found.power_kw.tolist()) == ("7", list(map(float, range(24))))


def test_accents_in_the_name_of_a_file_are_one_letter(tmp_path):
    """Some file systems take them apart, and tables of systems have them whole."""
    lines = [line.partition(",")[2] for line in LINES]
    text = "\n".join(["time,power_w", *lines])
    (tmp_path / unicodedata.normalize("NFD", "Dächer.csv")).write_text(text)
    assert read_one(tmp_path).system_id == unicodedata.normalize("NFC", "Dächer")


def test_sub_folders_are_read_and_hidden_ones_are_not(tmp_path):
    for half, folder in enumerate(("1", "2")):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, "meters.csv", LINES[12 * half : 12 * half + 12])
    (tmp_path / ".old").mkdir()
    write(tmp_path / ".old", "meters.csv", LINES)
    np.testing.assert_allclose(read_one(tmp_path).power_kw, np.arange(24) / 10.0)


def test_units_of_one_kind_are_converted(tmp_path):
    write(tmp_path, "1.csv", LINES[:12])
    kilo = [f"a,2024-06-01T{hour:02}:00Z,{hour / 10}" for hour in range(12, 24)]
    write(tmp_path, "2.csv", kilo, column="power_kw")
    np.testing.assert_allclose(read_one(tmp_path).power_kw, np.arange(24) / 10.0)


def test_both_columns_of_a_net_meter_are_joined_and_converted(tmp_path):
    for half, (column, unit) in enumerate(
        (("export_w,import_w", 1), ("export_kw,import_kw", 1000))
    ):
        rows = LINES[12 * half : 12 * half + 12]
        lines = [
            f"{line.rpartition(',')[0]},{1.0 / unit},{n / unit}" for n, line in enumerate(rows)
        ]
        write(tmp_path, f"{half}.csv", lines, column=column)
    found = read_one(tmp_path)
    assert found.net
    np.testing.assert_allclose(found.power_kw, (1.0 - np.tile(np.arange(12), 2)) / 1000.0)


@pytest.mark.parametrize(
    ("lines", "column", "why"),
    [
        (LINES[12:], "export_w", "a net meter in some files and not"),
        ([line.replace("Z", "") for line in LINES[12:]], "power_w", "UTC offset in some files"),
        (LINES[12:], "energy_wh", "power in some files and energy in others"),
    ],
)
def test_files_that_cannot_be_brought_together_refuse_their_system_alone(
    tmp_path, lines, column, why
):
    write(tmp_path, "1.csv", [*LINES[:12], *(line.replace("a,", "b,") for line in LINES)])
    write(tmp_path, "2.csv", lines, column=column)
    refused, kept = iter_systems(tmp_path, MeterOptions(timezone="UTC"))
    assert isinstance(kept, Record)
    assert (refused.system_id, refused.kind) == ("a", "meter")
    assert why in refused.reason
    assert "1.csv, 2.csv" in refused.reason
    with pytest.raises(MeterError, match=why):
        read_meters(tmp_path, timezone="UTC")
