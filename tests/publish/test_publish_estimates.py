from __future__ import annotations

import json

import numpy as np
import pytest

from sunveil.errors import SourceError
from sunveil.publish.estimates import read_estimates

ROWS = [
    {"system_id": "a", "surface_azimuth": 180.0, "surface_tilt": 20.0, "dc_capacity_kw": 5.0},
    {"system_id": "b", "surface_azimuth": 90.0, "surface_tilt": 35.5, "dc_capacity_kw": 7.25},
]


def test_a_system_that_was_refused_stays_a_row_since_that_is_private_too(tmp_path):
    path = tmp_path / "e.json"
    path.write_text(json.dumps([*ROWS, {"system_id": "c", "error": "too little"}]))
    rows = read_estimates(path)
    assert rows.system_ids == ("a", "b", "c")
    assert rows.surface_tilt[:2].tolist() == [20.0, 35.5]
    assert rows.dc_capacity_kw[:2].tolist() == [5.0, 7.25]
    assert np.isnan([rows.surface_azimuth[2], rows.surface_tilt[2], rows.dc_capacity_kw[2]]).all()


def test_an_empty_cell_of_a_table_is_a_row_without_a_value(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("system_id,surface_azimuth,surface_tilt,dc_capacity_kw\na,180,20,5\nb,,,\n")
    rows = read_estimates(path)
    assert rows.system_ids == ("a", "b")
    assert np.isnan(rows.dc_capacity_kw).tolist() == [False, True]


def test_a_table_brings_its_public_keys(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text(
        "system_id,surface_azimuth,surface_tilt,dc_capacity_kw,feeder\n"
        "a,180,20,5,F1\nb,90,35.5,7.25,F2\n"
    )
    rows = read_estimates(path, keys=["feeder"])
    assert rows.keys["feeder"].tolist() == ["F1", "F2"]
    assert rows.surface_azimuth.tolist() == [180.0, 90.0]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("e.json", "{", "not what sunveil infer"),
        ("e.json", '[{"system_id": "a"}]', "without surface_azimuth"),
        ("e.json", "[]", "no system"),
        ("e.csv", "system_id,power\na,1\n", "lacks one of the columns"),
        (
            "e.csv",
            "system_id,surface_azimuth,surface_tilt,dc_capacity_kw\na,1,2,secret\n",
            "dc_capacity_kw that is not a number",
        ),
    ],
)
def test_what_cannot_be_read_is_told_in_one_sentence(tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SourceError, match=words) as refused:
        read_estimates(path)
    assert "secret" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SourceError, match="there is no file"):
        read_estimates(tmp_path / "nowhere.json")


def test_a_system_named_twice_is_refused(tmp_path):
    path = tmp_path / "e.json"
    path.write_text(json.dumps([ROWS[0], ROWS[0]]))
    with pytest.raises(ValueError, match="twice"):
        read_estimates(path)
