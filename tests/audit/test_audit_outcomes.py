"""What noise decides is taken out, and nothing else."""

from __future__ import annotations

import json

import pytest

from audit.datasets import THREE
from audit.outcomes import counted, each_near, folder_outcome, masked_json, masked_text

ID = "76b9198f-1f25-496b-bcab-00223e3c492e"
TABLE = {"name": "totals", "columns": [["systems"], ["total_kw"]], "rows": [[3, 12.5]]}


def test_ids_dates_and_places_are_taken_out_of_texts(tmp_path):
    text = f"{tmp_path}/x.csv on 2026-11-16, {ID}, {'ab' * 16}, 3 of 4 systems"
    assert masked_text(text, tmp_path) == "<place>/x.csv on <date>, <id>, <id>, 3 of 4 systems"


@pytest.mark.parametrize(
    ("table", "drawn"), [("totals", {"total_kw"}), ("counts", {"total_kw", "systems"})]
)
def test_the_number_of_systems_is_public_where_it_is_the_size_of_a_group(table, drawn):
    text = masked_json({**TABLE, "name": table})["rows"]
    assert ("12.5" in text, '"systems": 3' in text) == (False, "systems" not in drawn)
    assert text.startswith("1 rows")


def test_rows_of_systems_have_no_order(tmp_path):
    texts = [
        "release_id,surface_azimuth_error\nb,1\na,2\n",
        "release_id,surface_azimuth_error\nc,2\nd,1\n",
    ]
    found = []
    for number, text in enumerate(texts):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "systems.csv").write_text(text)
        found.append(folder_outcome(folder))
    assert found[0].public == found[1].public
    assert [row["release_id"] for row in found[0].drawn] == ["b", "a"]


@pytest.mark.parametrize(
    ("name", "before", "after", "noticed"),
    [
        ("README.md", "3 rows", "4 rows", True),
        ("systems.csv", "noisy\n1\n", "noisy\n1\n2\n", True),
        ("systems.csv", "noisy,sd\n1,2\n", "noisy,sd\n1,3\n", True),
        ("systems.csv", "noisy\n1\n", "noisy\nnan text\n", True),
        ("systems.csv", "noisy,sd\n1,2\n", "noisy,sd\n,2\n", True),
        ("datapackage.json", '{"resources": 1}', '{"resources": 2}', True),
        # what noise and time decide is not
        ("README.md", "on 2026-11-16", "on 2026-11-17", False),
        ("systems.csv", "noisy\n1\n", "noisy\n-20\n", False),
        ("planes.png", "a picture", "another", False),
        ("systems.orange-button.json", '{"Value": 1.5}', '{"Value": 22}', False),
        ("datapackage.json", '{"bytes": 1, "hash": "a"}', '{"bytes": 2, "hash": "b"}', False),
    ],
)
def test_a_file_that_changes_is_noticed_where_nothing_is_drawn(
    tmp_path, name, before, after, noticed
):
    found = []
    for text in (before, after):
        (tmp_path / name).write_text(text)
        found.append(folder_outcome(tmp_path))
    difference = found[0].difference(found[1])
    assert difference.startswith(f"file {name} differs") if noticed else difference == ""


def test_what_a_release_says_of_modules_is_drawn_whether_there_is_any_or_not(tmp_path):
    told = {
        "one": ("one plane,", "a,1,90\n", [{"share": 1.0}], None),
        "two": ("two planes,", "a,1,90\na,2,270\n", [{"share": 0.5}] * 2, None),
        "tracker": ("tracker,180", "", [], {"axis_azimuth": 180.0}),
    }
    found = {}
    for name, (mount, planes, arrays, tracker) in told.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "systems.csv").write_text(f"release_id,mount,axis_azimuth\na,{mount}\n")
        (folder / "planes.csv").write_text(f"release_id,plane,surface_azimuth\n{planes}")
        (folder / "systems.orange-button.json").write_text(json.dumps({"PVArrays": arrays}))
        answer = json.dumps(masked_json({"planes": arrays, "tracker": tracker}))
        found[name] = {**folder_outcome(folder).public, "answer": answer}
    assert found["one"] == found["two"] == found["tracker"]


def row(azimuth, tilt, capacity):
    return {"surface_azimuth": azimuth, "surface_tilt": tilt, "dc_capacity_kw": capacity}


RIGHT = [row(180, 32, "5.9"), row(88, 24, 12), row(270, 40, 3.2)]


def test_each_system_is_looked_for_among_all_rows():
    rule = each_near(THREE)
    assert rule(RIGHT) == rule(RIGHT[::-1]) == "near near near"
    assert rule([row(180, 32, 60.0), *RIGHT[1:]]) == "off near near"
    assert rule([row(180, 32, None), *RIGHT[1:]]) == "off near near"
    assert rule([]) == "off off off"


@pytest.mark.parametrize(("south", "name"), [(0.9, "E W"), ("1.1", "S")])
def test_sectors_are_compared_by_what_was_drawn_in_their_own_table(south, name):
    drawn = {"E": 0.5, "W": "0.5", "S": south}
    rows = [{"table": "sectors", "sector": each, "noisy": n} for each, n in drawn.items()]
    rule = counted("sectors", "sector", ("E", "W"), ("S",))
    assert rule([*rows, {"table": "planes"}]) == name
