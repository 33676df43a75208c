from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plot_makers import estimate_of, pair_of, tracker_of
from sunveil.errors import ParameterError, SourceError
from sunveil.estimates import Estimate, Flag
from sunveil.estimates.read_write import (
    MOUNTS,
    RUN,
    SUMMARY,
    FleetPlanes,
    FleetRows,
    planes_of_column,
    read_fleet,
    trackers_of_column,
    unresolved_of_column,
)
from sunveil.inference.run_summary import fixed_planes, plane_kinds

EAST = {"surface_azimuth": 92.0, "surface_tilt": 31.0, "share": 0.6}
WEST = {"surface_azimuth": 271.0, "surface_tilt": 30.0, "share": 0.4}


def system(name: str, planes: object = None) -> dict[str, object]:
    one = {"system_id": name, "surface_azimuth": 180.0, "surface_tilt": 20.0, "dc_capacity_kw": 5.0}
    return one if planes is None else {**one, "planes": planes}


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    """Write estimates as JSON, or as Parquet with every column for all."""
    if path.suffix == ".json":
        rows = [row if len(row) > 1 else {**row, "error": "too little"} for row in rows]
        path.write_text(json.dumps(rows))
    else:
        empty = dict.fromkeys([*system("a"), "planes", "tracker", "flags"])
        pq.write_table(pa.Table.from_pylist([{**empty, **row} for row in rows]), path)
    return path


def listed(rows: FleetRows) -> list[tuple[int, float, float, float]]:
    planes = rows.planes
    columns = (planes.row, planes.surface_azimuth, planes.surface_tilt, planes.share)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_each_system_gives_its_planes_with_shares_that_add_up_to_one(tmp_path, kind):
    rows = [system("a"), system("b", [EAST, WEST]), system("c", []), system("d", [EAST])]
    found = read_fleet(write(tmp_path / f"e.{kind}", [*rows, {"system_id": "e"}]))
    # a single plane and a tracker are told by the columns of the one plane
    assert listed(found)[:-1] == [
        (0, 180.0, 20.0, 1.0),
        (1, 92.0, 31.0, 0.6),
        (1, 271.0, 30.0, 0.4),
        (2, 180.0, 20.0, 1.0),
        (3, 180.0, 20.0, 1.0),
    ]
    assert np.isnan(found.planes.surface_azimuth[-1])
    assert found.planes.share[-1] == 1.0
    assert repr(found.planes) == "FleetPlanes(6 planes, private)"


@pytest.mark.parametrize(
    "wrong",
    [
        {**WEST, "share": -0.4},
        {**WEST, "share": None},
        {**WEST, "share": "half"},
        {**WEST, "share": float("inf")},
        {**WEST, "surface_tilt": "steep"},
        {},
        "secret",
    ],
)
def test_a_plane_that_is_none_leaves_the_one_plane_and_changes_no_other_system(tmp_path, wrong):
    path = tmp_path / "e.json"
    path.write_text(json.dumps([system("a", [EAST, wrong]), system("b", [EAST, WEST])]))
    assert listed(read_fleet(path)) == [
        (0, 180.0, 20.0, 1.0),
        (1, 92.0, 31.0, 0.6),
        (1, 271.0, 30.0, 0.4),
    ]


@pytest.mark.parametrize("factor", [1e-9, 3.0, 1e300])
def test_a_system_weighs_one_whatever_its_shares_are(tmp_path, factor):
    path = tmp_path / "e.json"
    planes = [{**each, "share": factor * each["share"]} for each in (EAST, WEST)]
    path.write_text(json.dumps([system("a", planes)]))
    assert read_fleet(path).planes.share == pytest.approx([0.6, 0.4])
    nothing = [{**each, "share": 0.0} for each in (EAST, WEST)]
    path.write_text(json.dumps([system("a", nothing)]))
    assert listed(read_fleet(path)) == [(0, 180.0, 20.0, 1.0)]


TURNING = {"axis_azimuth": 180.0, "gcr": 0.4}
PAIR = [EAST, WEST]
# What is listed of a system, and what it stands on.
STANDING = [
    ({}, "one plane"),
    ({"planes": [EAST], "tracker": None, "flags": ["clipping"]}, "one plane"),
    ({"planes": PAIR, "flags": ["two_planes"]}, "two planes"),
    ({"planes": [], "tracker": TURNING}, "tracker"),
    ({"planes": [EAST], "flags": ["clipping", "not_one_fixed_plane"]}, "unknown"),
    # what is told goes before the flag, and a tracker before planes
    ({"planes": PAIR, "flags": ["not_one_fixed_plane"]}, "two planes"),
    ({"planes": PAIR, "tracker": TURNING}, "tracker"),
    ({"planes": PAIR, "tracker": TURNING, "dc_capacity_kw": None}, "unknown"),
]


def standing(rows: FleetRows) -> list[str]:
    return [(*MOUNTS, "unknown")[place] for place in rows.mounts]


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_each_system_stands_on_one_thing(tmp_path, kind):
    rows = [{**system(str(place)), **told} for place, (told, _) in enumerate(STANDING)]
    found = read_fleet(write(tmp_path / f"e.{kind}", rows))
    assert standing(found) == [mount for _, mount in STANDING]
    kept = np.arange(len(rows)) % 2 == 1
    assert standing(found.kept(kept)) == [mount for _, mount in STANDING[1::2]]


def test_tables_of_earlier_versions_have_one_plane_or_say_that_it_is_not_one(tmp_path):
    plain = FleetRows(("a", "b"), *np.full((3, 2), 9.0))
    assert standing(plain) == ["one plane"] * 2
    path = tmp_path / "e.parquet"
    flags = [[], ["not_one_fixed_plane"], []]
    rows = [{**system(name), "flags": each} for name, each in zip("abc", flags, strict=True)]
    rows[2]["surface_tilt"] = None
    pq.write_table(pa.Table.from_pylist(rows), path)
    assert standing(read_fleet(path)) == ["one plane", "unknown", "unknown"]


def test_a_folder_with_a_part_of_another_version_is_refused(tmp_path):
    told = {"planes": PAIR, "flags": ["two_planes"]}
    parts = [system("a"), {**system("b"), "flags": []}, {**system("c"), **told}]
    (tmp_path / "estimates").mkdir()
    for number, row in enumerate(parts):
        part = tmp_path / "estimates" / f"part-{number:05d}.parquet"
        pq.write_table(pa.Table.from_pylist([row]), part)
    refused = pa.Table.from_pylist([{"system_id": "d", "in_systems": True}])
    pq.write_table(refused, tmp_path / "refused.parquet")
    for name in (RUN, SUMMARY):
        (tmp_path / name).write_text("{}")
    with pytest.raises(SourceError, match="another version of Sunveil wrote"):
        read_fleet(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"flags": ["\ud800"]},
        {"flags": "not_one_fixed_plane"},
        {"flags": [["not_one_fixed_plane"], None, {}]},
        {"tracker": "\ud800"},
        {"tracker": [TURNING]},
        {"dc_capacity_kw": "\ud800"},
    ],
)
def test_nonsense_in_a_system_of_a_json_file_changes_no_other(tmp_path, wrong):
    path = tmp_path / "e.json"
    pair, turning = system("b", PAIR), {**system("c"), "tracker": TURNING}
    path.write_text(json.dumps([{**system("a"), **wrong}, pair, turning]))
    mounts = standing(read_fleet(path))
    assert mounts[0] == ("unknown" if "dc_capacity_kw" in wrong else "one plane")
    assert mounts[1:] == ["two planes", "tracker"]


def test_columns_of_another_kind_name_no_tracker_no_flag_and_no_planes():
    for values in (["yes", "no"], [1.0, 0.0], [["not_one_fixed_plane"], []]):
        assert not trackers_of_column(pa.chunked_array([values])).any()
    for values in (["not_one_fixed_plane", ""], [[1.0], []], [True, False]):
        assert not unresolved_of_column(pa.chunked_array([values])).any()
    marked = pa.chunked_array([[True], [None, False]])
    assert trackers_of_column(marked).tolist() == [True, False, False]
    for values in (["roof", "wall"], [["a"], []], [[{"side": "east"}], []]):
        assert len(planes_of_column(pa.chunked_array([values]))) == 0
    assert len(planes_of_column(pa.chunked_array([], pa.list_(pa.struct([]))))) == 0


def test_some_systems_keep_their_own_planes():
    several = FleetPlanes(
        np.array([0, 0, 2, 2]), np.array([1.0, 2.0, 3.0, 4.0]), np.full(4, 30.0), np.full(4, 0.5)
    )
    rows = FleetRows(("a", "b", "c"), *np.full((3, 3), 9.0), several=several)
    kept = rows.kept(np.array([False, True, True]))
    assert kept.system_ids == ("b", "c")
    assert listed(kept) == [(0, 9.0, 9.0, 1.0), (1, 3.0, 30.0, 0.5), (1, 4.0, 30.0, 0.5)]


def test_columns_of_unequal_length_are_refused():
    with pytest.raises(ParameterError, match="unequal"):
        FleetPlanes(np.zeros(1, dtype=np.int64))
    with pytest.raises(ParameterError, match="unequal"):
        FleetRows(("a",), np.zeros(2), np.zeros(1), np.zeros(1))


def table(*estimates: Estimate) -> pa.Table:
    """Estimates as parts of one row each, as a run leaves them."""
    schema = pa.Table.from_pylist([pair_of().to_row(), tracker_of().to_row()]).schema
    parts = [pa.Table.from_pylist([each.to_row()], schema=schema) for each in estimates]
    return pa.concat_tables(parts)


def test_systems_are_counted_by_what_their_modules_stand_on():
    untold = estimate_of(flags=(Flag.CLIPPING, Flag.NOT_ONE_PLANE))
    found = table(estimate_of(), pair_of(), untold, tracker_of(), estimate_of())
    kinds = {kind: which.tolist() for kind, which in plane_kinds(found).items()}
    assert kinds == {
        "one": [True, False, False, False, True],
        "two": [False, True, False, False, False],
        "tracker": [False, False, False, True, False],
        "unresolved": [False, False, True, False, False],
    }


def test_planes_count_by_their_shares_and_trackers_not_at_all():
    found = table(estimate_of(), tracker_of(), pair_of())
    planes = fixed_planes(found, plane_kinds(found)["tracker"])
    assert planes.row.tolist() == [0, 2, 2]
    assert planes.surface_azimuth.tolist() == [200.0, 92.0, 271.0]
    assert planes.share.tolist() == [1.0, 0.6, 0.4]
