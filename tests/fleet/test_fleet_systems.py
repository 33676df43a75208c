from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sunveil.errors import SourceError
from sunveil.estimates.estimates_table import RESERVED
from sunveil.fleet.run_plan import find_cells
from sunveil.fleet.systems_table import SYSTEM_NAMES, read_systems
from sunveil.grids import cell_of
from sunveil.meters import MeterOptions
from sunveil.meters.find_columns import find_roles
from sunveil.meters.header_and_units import TableColumn


def write(path, text):
    path.write_text(text)
    return path


def test_systems_come_in_the_order_of_their_names_with_their_keys(tmp_path):
    rows = ["b,40,-105,1600,UTC,F1,00501", "a,41,-106,,,F2,00502"]
    text = "\n".join(["meter_id,lat,lon,elevation,tz,feeder,zip", *rows]) + "\n"
    found = read_systems(write(tmp_path / "s.csv", text))
    assert found.ids.to_pylist() == ["a", "b"]
    np.testing.assert_array_equal(found.latitude, [41.0, 40.0])
    np.testing.assert_array_equal(found.altitude, [np.nan, 1600.0])
    assert [found.zones[code] if code >= 0 else None for code in found.zone] == [None, "UTC"]
    assert found.keys.to_pydict() == {"feeder": ["F2", "F1"], "zip": ["00502", "00501"]}


@pytest.mark.parametrize("line", ["{0},40,-105,{1}", "{0},{1},40,-105"])
@pytest.mark.parametrize(
    "cells",
    [
        {1: '"high\nup"'},
        {1: '"1', 3: '1"'},
        {1: '"x\ny\nz"', 2: '"'},
        {1: '"see\ntime,note\nbelow"', 2: '"see\ntime,note\nbelow"', 4: '"a,b\nc,d"'},
    ],
)
def test_a_line_break_in_quotes_and_stray_quotes_cost_no_other_system(tmp_path, line, cells):
    rows = [line.format(f"s{row}", cells.get(row, "x")) for row in range(6)]
    header = line.replace("40", "latitude").replace("-105", "longitude")
    lines = [header.format("system_id", "note"), *rows, ""]
    found = read_systems(write(tmp_path / "s.csv", "\n".join(lines)))
    assert found.ids.to_pylist() == [f"s{row}" for row in range(6)]
    assert found.refused == ()
    assert all(found.keys["note"][row].as_py() == "x" for row in range(6) if row not in cells)


def test_a_row_of_systems_may_leave_out_the_empty_cells_at_its_end(tmp_path):
    text = 'system_id,latitude,longitude,note,zip\na,40,-105,12" pole\nb,40,-105\nc,40,-105,"3\n'
    found = read_systems(write(tmp_path / "s.csv", f"{text}d,40,-105\ne,40,-105,,1\n"))
    assert found.ids.to_pylist() == ["a", "b", "c", "d", "e"]


def test_a_declared_time_zone_goes_before_those_of_the_table(tmp_path):
    text = "system_id,latitude,longitude,timezone\na,40,-105,UTC\nb,40,-105,Mars/Olympus\n"
    path = write(tmp_path / "s.csv", text)
    own = read_systems(path)
    assert own.options_of(0, MeterOptions()).timezone == "UTC"
    assert [each.system_id for each in own.refused] == ["b"]
    declared = MeterOptions(timezone="UTC-07:00")
    found = read_systems(path, declared)
    assert found.ids.to_pylist() == ["a", "b"]
    assert found.options_of(0, declared).timezone == "UTC-07:00"
    assert found.keys.column_names == []


def test_each_system_may_say_which_meter_it_has(tmp_path):
    rows = [
        "a,40,-105,net",
        "b,40,-105,generation",
        "c,40,-105, Net ",
        "d,40,-105,",
        "e,40,-105,M7",
    ]
    text = "\n".join(["system_id,latitude,longitude,metering", *rows]) + "\n"
    found = read_systems(write(tmp_path / "s.csv", text))
    assert found.net.tolist() == [True, False, True, False]
    assert [found.options_of(row, MeterOptions()).net for row in range(4)] == found.net.tolist()
    assert found.generation.tolist() == [False, True, False, False]
    assert found.read_as_net(all_said=True).tolist() == [True, False, True, True]
    for declared in (MeterOptions(net=True), MeterOptions(export_column="export_kw")):
        assert [found.options_of(row, declared).net for row in (1, 3)] == [False, True]
    assert [(each.system_id, each.kind) for each in found.refused] == [("e", "meter kind")]
    assert "neither generation nor net" in found.refused[0].reason
    assert "M7" not in found.refused[0].reason
    assert found.keys.column_names == []


@pytest.mark.parametrize(
    ("text", "name", "net", "keys"),
    [
        (
            "system_id,latitude,longitude,household,meter,metering\na,40,-105,40031,M7,net\n",
            "a",
            True,
            ["household", "meter"],
        ),
        ("meter,latitude,longitude\nM7,40,-105\n", "M7", False, []),
    ],
)
def test_a_column_meter_is_a_key_or_names_the_systems(tmp_path, text, name, net, keys):
    found = read_systems(write(tmp_path / "s.csv", text))
    assert (found.ids.to_pylist(), found.net.tolist()) == ([name], [net])
    assert found.keys.column_names == keys


def test_parquet_is_read_as_csv_is_and_the_folders_that_it_lies_in_are_no_keys(tmp_path):
    (tmp_path / "year=2024").mkdir()
    path = tmp_path / "year=2024" / "s.parquet"
    columns = {"system_id": ["a"], "latitude": [40.0], "longitude": [-105.0], "feeder": ["F1"]}
    pq.write_table(pa.table(columns), path)
    found = read_systems(path)
    assert (found.ids.to_pylist(), found.keys.column_names) == (["a"], ["feeder"])


def test_a_cell_of_a_key_column_changes_no_other_row(tmp_path):
    rows = ["a,40,-105,1", 'b,40,-105,"', "c,40,-105,2.5", "d,x,-105,3", ",41,-105,4"]
    text = "\n".join(["system_id,latitude,longitude,feeder", *rows]) + "\n"
    found = read_systems(write(tmp_path / "s.csv", text))
    assert found.ids.to_pylist() == ["a", "b", "c"]
    assert found.keys.column("feeder").to_pylist()[::2] == ["1", "2.5"]
    assert [(each.system_id, each.kind) for each in found.refused] == [("d", "location")]
    assert [note for note in found.notes if "name no system" in note]


def test_equal_rows_are_merged_and_contradicting_ones_refused(tmp_path):
    rows = ["007,40,-105,F1"] * 2 + ["b,40,-105,F1", "b,41,-105,F2", "c,40,-105,F3", ",1,1,F"]
    text = "\n".join(["system_id,latitude,longitude,feeder", *rows]) + "\n"
    found = read_systems(write(tmp_path / "s.csv", text))
    assert found.ids.to_pylist() == ["007", "c"]  # a name that looks like a number stays a name
    assert [(each.system_id, each.kind) for each in found.refused] == [("b", "duplicate")]
    assert found.refused_keys.to_pydict() == {"feeder": ["F1"]}
    assert any("repeat others" in note for note in found.notes)
    assert any("name no system" in note for note in found.notes)


@pytest.mark.parametrize(
    ("row", "kind", "words"),
    [
        ("x,,-105,,", "location", "no latitude"),
        ("x,40,somewhere,,", "location", "no longitude"),
        ("x,95,-105,,", "location", "between -90 and 90"),
        ("x,40,-105,99999,", "location", "altitude"),
        ("x,40,-105,,Mars/Base", "timezone", "not known"),
    ],
)
def test_a_row_that_cannot_be_used_refuses_its_system_alone(row, kind, words, tmp_path):
    text = f"system_id,latitude,longitude,altitude,timezone\na,40,-105,,\n{row}\n"
    found = read_systems(write(tmp_path / "s.csv", text))
    assert found.ids.to_pylist() == ["a"]
    (refused,) = found.refused
    assert (refused.system_id, refused.kind) == ("x", kind)
    assert words in refused.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("system_id,longitude\na,1\n", "no column of latitude"),
        ("name,latitude,longitude\na,1,1\n", "no column of systems"),
        ("system_id,latitude,longitude\n", "names no system"),
        ("system_id,LATITUDE,latitude,longitude\na,1,2,3\n", "'latitude'"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_one_sentence(text, words, tmp_path):
    with pytest.raises(SourceError, match=words) as caught:
        read_systems(write(tmp_path / "s.csv", text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(RESERVED - {"system_id", "latitude", "longitude"}))
def test_no_key_may_be_called_like_a_column_that_a_run_writes(name, tmp_path):
    text = f"system_id,latitude,longitude,feeder,{name}\na,1,1,F1,x\n"
    with pytest.raises(SourceError, match=f"column '{name}', .* rename it"):
        read_systems(write(tmp_path / "s.csv", text))


def test_a_table_that_is_not_there_or_garbage_is_refused(tmp_path):
    with pytest.raises(SourceError, match="there is no table"):
        read_systems(tmp_path / "none.csv")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + bytes(range(256)))
    with pytest.raises(SourceError, match="cannot be read"):
        read_systems(tmp_path / "bad.parquet")


def test_the_names_of_the_column_of_systems_are_those_of_meters():
    for name in SYSTEM_NAMES:
        columns = [TableColumn(each) for each in (name, "time", "power_kw")]
        assert find_roles(columns, MeterOptions(), where="x").system == 0


def test_cells_are_those_of_every_system_alone(tmp_path):
    rng = np.random.default_rng(3)
    places = rng.uniform([-80, -180, 0], [80, 180, 3000], (200, 3)).round(3)
    rows = [
        f"s{i:03d},{lat},{lon},{'' if i % 3 else alt}" for i, (lat, lon, alt) in enumerate(places)
    ]
    text = "\n".join(["system_id,latitude,longitude,altitude", *rows]) + "\n"
    systems = read_systems(write(tmp_path / "s.csv", text))
    cells = find_cells(systems, 0.5)
    for at in range(len(systems)):
        assert cells.cells[cells.of[at]] == cell_of(*systems.place(at), size=0.5)
