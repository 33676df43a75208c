"""Files hold the cells that they were given, to the byte, and say when they cannot."""

from __future__ import annotations

import json
import zipfile
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from sunveil.endtoend.cells import THREE, PrivateCells, meter_cells
from sunveil.endtoend.inputs import ESTIMATE_WRITERS, METER_SOURCES, CannotHold, fleet_folder
from sunveil.endtoend.library import python_release

STAMPS = ("2019-06-01 00:00", "2019-06-01 01:00")
METERS = PrivateCells({"a": (b"1", b'"'), "b": (b"", b"2.5")}, STAMPS)
ROWS = PrivateCells(
    {"a": (b"180", b"30", b"nan")}, ("surface_azimuth", "surface_tilt", "dc_capacity_kw")
)


def numbers_only(data=METERS):
    return data.replaced("a", [1], [b"inf"])


def test_csv_holds_any_bytes(tmp_path):
    data = METERS.replaced("a", [0], [b"\xff\x00,;"])
    text = METER_SOURCES["CSV"].write(tmp_path, data).read_bytes()
    assert text == (
        b"system_id,time,power_kw\na,2019-06-01 00:00,\xff\x00,;\n"
        b'a,2019-06-01 01:00,"\nb,2019-06-01 00:00,\nb,2019-06-01 01:00,2.5\n'
    )


def test_folders_and_archives_hold_the_same(tmp_path):
    folder = METER_SOURCES["folder of CSV"].write(tmp_path, METERS)
    archive = METER_SOURCES["zipped folder"].write(tmp_path, METERS)
    with zipfile.ZipFile(archive) as held:
        assert {name: held.read(name) for name in held.namelist()} == {
            f"meters/{path.name}": path.read_bytes() for path in folder.iterdir()
        }


def test_parquet_of_numbers_holds_numbers_alone(tmp_path):
    path = METER_SOURCES["Parquet, numbers"].write(tmp_path, numbers_only())
    assert pq.read_table(path).column("power_kw").to_pylist() == [1.0, float("inf"), None, 2.5]
    with pytest.raises(CannotHold):
        METER_SOURCES["Parquet, numbers"].write(tmp_path, METERS)


def test_parquet_of_texts_holds_texts_alone(tmp_path):
    path = METER_SOURCES["Parquet, texts"].write(tmp_path, METERS)
    assert pq.read_table(path).column("power_kw").to_pylist() == ["1", '"', None, "2.5"]
    with pytest.raises(CannotHold):
        METER_SOURCES["Parquet, texts"].write(tmp_path, METERS.replaced("a", [0], [b"\xff"]))


def test_green_button_stays_xml(tmp_path):
    data = METERS.replaced("a", [0], [b"<&>"])
    folder = METER_SOURCES["Green Button"].write(tmp_path, data)
    values = ElementTree.parse(folder / "a.xml").iter("{http://naesb.org/espi}value")
    assert [value.text for value in values] == ["<&>", '"']
    (tmp_path / "b").mkdir()
    with pytest.raises(CannotHold):
        METER_SOURCES["Green Button"].write(tmp_path / "b", METERS.replaced("a", [0], [b"\x00"]))


def test_a_fleet_has_its_table_of_systems_beside_it(tmp_path):
    path = fleet_folder(METER_SOURCES["CSV"].write)(tmp_path, METERS)
    assert path.with_name("systems.csv").read_text().splitlines()[1:] == [
        "a,39.5,-0.4,UTC",
        "b,39.5,-0.4,UTC",
    ]


def test_estimates_are_written_as_what_their_format_knows(tmp_path):
    assert (
        ESTIMATE_WRITERS["CSV, semicolons"](tmp_path, ROWS)
        .read_bytes()
        .endswith(b"\na;180;30;nan\n")
    )
    (row,) = json.loads(ESTIMATE_WRITERS["JSON"](tmp_path, ROWS).read_text())
    assert (row["surface_azimuth"], row["dc_capacity_kw"]) == (180.0, "nan")
    (row,) = json.loads(ESTIMATE_WRITERS["JSON with planes"](tmp_path, ROWS).read_text())
    assert [plane["share"] for plane in row["planes"]] == ["nan", 2.0]
    table = pq.read_table(ESTIMATE_WRITERS["Parquet"](tmp_path, ROWS))
    assert table.column("surface_tilt").to_pylist() == [30.0]


def test_a_dataset_of_every_format_is_released_or_refused_in_words(tmp_path, five_days, feed):
    commas = meter_cells(THREE, days=5, decimal=",")
    data = {"Green Button": feed, "CSV, semicolons": commas}
    for name, source in METER_SOURCES.items():
        folder = tmp_path / name
        folder.mkdir()
        path = source.write(folder, data.get(name, five_days))
        door = python_release(unit="readings:1", epsilon=1.0, options=source.options)
        said = door(path).public["refusal"]
        assert "traceback" not in said, name
        assert (said == "none") is (name != "CSV, column to be told"), said
