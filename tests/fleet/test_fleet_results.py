from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sunveil.errors import SourceError
from sunveil.estimates import (
    Assumptions,
    Estimate,
    Estimates,
    Flag,
    HouseholdEstimate,
    Interval,
    PlaneEstimate,
    TrackerEstimate,
    YearEstimate,
)
from sunveil.estimates.columns import Number, OptionalNumber, objects
from sunveil.estimates.estimates_table import ESTIMATES, KINDS, write_table
from sunveil.estimates.flags_and_quality import flag_bits
from sunveil.estimates.inference_options import InferOptions
from sunveil.estimates.planes_and_intervals import ClockStep
from sunveil.estimates.read_write import read_assumptions, read_fleet
from sunveil.fleet.run_plan import run_settings
from sunveil.fleet.systems_table import SystemTable
from sunveil.inference.fleet_part import estimates_table
from sunveil.meters import MeterOptions
from sunveil.site import Losses, Mount

HEADER = "system_id,surface_azimuth,surface_tilt,dc_capacity_kw"
FORMATS = ("json", "csv", "parquet")

ROWS = [
    {"system_id": "a", "surface_azimuth": 180.0, "surface_tilt": 20.0, "dc_capacity_kw": 5.0},
    {"system_id": "b", "surface_azimuth": 90.0, "surface_tilt": 35.5, "dc_capacity_kw": 7.25},
]


def test_a_system_that_was_refused_stays_a_row_since_that_is_private_too(tmp_path):
    path = tmp_path / "e.json"
    path.write_text(json.dumps([*ROWS, {"system_id": "c", "error": "too little"}]))
    rows = read_fleet(path)
    assert rows.system_ids == ("a", "b", "c")
    assert rows.surface_tilt[:2].tolist() == [20.0, 35.5]
    assert rows.dc_capacity_kw[:2].tolist() == [5.0, 7.25]
    assert np.isnan([rows.surface_azimuth[2], rows.surface_tilt[2], rows.dc_capacity_kw[2]]).all()


@pytest.mark.parametrize(
    "cell",
    [
        b"9" * 5000,
        b'"\xff"',
        b'"\x01"',
        b'"\\ud800"',
        b"[" * 20_000 + b"]" * 20_000,
        b"1,5",
        b'"1',
        b'7.25, "planes": [{}, {"share": [',
        b'7.25, "error": 1',
        b"1}]",
        b"1} {",
        b'1, "\\q": 5',
        b'"}]"',
        b"",
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("field", ["surface_azimuth", "dc_capacity_kw"])
@pytest.mark.parametrize("more", ["", ', "planes": [{"share": 1}, {"share": 2}]'])
def test_a_damaged_estimate_changes_no_other(tmp_path, cell, place, field, more):
    path = tmp_path / "e.json"
    texts = [json.dumps({**ROWS[0], "system_id": name})[:-1] + f"{more}}}" for name in "abc"]
    parts = [text.encode() for text in texts]
    value = str(ROWS[0][field]).encode()
    parts[place] = parts[place].replace(
        b'"%s": %s' % (field.encode(), value), b'"%s": %s' % (field.encode(), cell)
    )
    path.write_bytes(b"[" + b",".join(parts) + b"]")
    rows = read_fleet(path)
    others = [at for at in range(3) if at != place]
    assert rows.system_ids == ("a", "b", "c")
    assert getattr(rows, field)[others].tolist() == [ROWS[0][field]] * 2


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("e.json", "{", "not what sunveil infer"),
        ("e.json", '[{"system_id": "a"}]', "no system with surface_azimuth"),
        ("e.json", '{"a": 1}', "not what sunveil infer"),
        ("e.json", "[]", "no system"),
        ("e.csv", "system_id,power\na,1\n", "lacks one of the columns"),
        ("e.csv", f"{HEADER}\n", "no system"),
        ("e.csv", f"{HEADER}\n,180,20,5\n", "without a system_id"),
        (
            "e.csv",
            "surface_azimuth,system_id,surface_tilt,dc_capacity_kw\n180,a,20,5\n",
            "the column 'system_id' between those of the estimates",
        ),
        ("e.csv", "", "cannot be read|lacks one of the columns"),
        (
            "e.csv",
            f"{HEADER}\n7.000E+11,180,20,5\n",
            r"'system_id' of .*, row 1 below the header: .* digits",
        ),
        ("e.parquet", "no parquet", "cannot be read"),
        ("nowhere.json", None, "there is no file"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_sentence(tmp_path, name, text, words):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(SourceError, match=words):
        read_fleet(path)


@pytest.mark.parametrize(
    "cell", ["secret", "7;5", "1,5", "2019-01-01", "inf", "true", "-", "0x10", '""', "'"]
)
def test_a_cell_that_is_no_number_is_missing_and_changes_no_other(tmp_path, cell):
    """What one household's cell holds must not change how another's is read."""
    path = tmp_path / "e.csv"
    many = [f"s{number},{number % 360},20.5,{number}.25,0{number % 10}" for number in range(3000)]
    path.write_text("\n".join([f"{HEADER},feeder", *many]) + "\n")
    before = read_fleet(path, keys=["feeder"])
    many[17] = f's17,17,20.5,"{cell}",07'
    path.write_text("\n".join([f"{HEADER},feeder", *many]) + "\n")
    after = read_fleet(path, keys=["feeder"])
    assert np.isnan(after.dc_capacity_kw[17])
    others = np.arange(3000) != 17
    np.testing.assert_array_equal(after.dc_capacity_kw[others], before.dc_capacity_kw[others])
    for name in ("surface_azimuth", "surface_tilt"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    assert after.system_ids == before.system_ids
    assert after.keys["feeder"].tolist() == before.keys["feeder"].tolist()
    assert set(before.keys["feeder"].tolist()) == {f"0{digit}" for digit in range(10)}


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_whole_number_of_any_length_changes_no_other_row(tmp_path, digits):
    path = tmp_path / "e.json"
    huge = "7" * digits
    plane = '{"surface_azimuth": 90, "surface_tilt": 20, "share": %s}'
    row = '{"system_id": %s, "surface_azimuth": 180, "surface_tilt": 20, "dc_capacity_kw": %s, %s}'
    lists = [f'"planes": [{plane % share}, {plane % 1}]' for share in ("1", huge)]
    path.write_text(f"[{row % (1, 5, lists[0])}, {row % (2, huge, lists[1])}]")
    found = read_fleet(path)
    assert found.system_ids == ("1", "2")
    np.testing.assert_array_equal(found.dc_capacity_kw, [5.0, np.nan])
    assert found.planes.share.tolist() == [0.5, 0.5, 1.0]


# A row with a line break, a quote that is never closed, or nothing; those with a public column.
PLAIN = ("b,1\n90,21,6", "b,190,2\n1,6", "b,190,21,6\n5", "b,190,21,6\n5,4", 'b,190,21,"6', "b,,,")
KEYED = (
    "b,190,21,6\n5,F2",
    "b,190,21,\n,F2",
    "b,190,21,6\n\n5\n4,F2",
    "b,1\n90,21,6,F2",
    "b,\n,21,6,F2",
    'b,\n,"21,6,F2',
)


@pytest.mark.parametrize("row", [*PLAIN, *KEYED])
def test_a_torn_row_keeps_its_name_and_its_public_column_and_changes_no_other(tmp_path, row):
    path = tmp_path / "e.csv"
    keys = ["feeder"] if row in KEYED else []
    whole = {HEADER: "feeder", "a,180,20,5": "F1", row: "", "c,200,22,7": "F3"}
    lines = [f"{line},{key}" if keys and key else line for line, key in whole.items()]
    path.write_text("\n".join([*lines, ""]))
    found = read_fleet(path, keys=keys)
    assert found.system_ids == ("a", "b", "c")
    assert [found.keys[key].tolist() for key in keys] == [["F1", "F2", "F3"] for _ in keys]
    np.testing.assert_array_equal(found.surface_azimuth[[0, 2]], [180.0, 200.0])
    np.testing.assert_array_equal(found.dc_capacity_kw[[0, 2]], [5.0, 7.0])
    if row in PLAIN[-2:]:
        own = found.surface_azimuth[1], found.dc_capacity_kw[1]
        np.testing.assert_array_equal(own, (190.0, 6.0) if '"' in row else (np.nan, np.nan))


@pytest.mark.parametrize("row", ["b,19\n0,21,6", "b,190,2\n1,6", "b,190"])
def test_a_row_of_private_numbers_alone_is_never_taken_for_the_rest_of_another(tmp_path, row):
    path = tmp_path / "e.csv"
    path.write_text(f"{HEADER},feeder\n{row}\nc,200,22,7\nd,210,23,8,F4\n")
    found = read_fleet(path)
    assert found.system_ids[-2:] == ("c", "d")
    np.testing.assert_array_equal(found.dc_capacity_kw[-2:], [7.0, 8.0])


# Two cells of a row with both separators and line breaks may hold another row: a note is alone.
TORN = ("1,2", '1,"2', '"1,2', '",')
NOTES = ('"see\ntime,note\nbelow"', '"see\nbelow,x"', '"a, b\nc\nd, e, ""f"" g"')
BROKEN = ('"1\n2"', '"1\n\n2"', '"\n"')
QUOTES = ('"', '1"', '"1', '""', '"1"2')
ORDERS = (
    ("system_id", "surface_azimuth", "surface_tilt", "dc_capacity_kw", "feeder"),
    ("feeder", "system_id", "surface_azimuth", "surface_tilt", "dc_capacity_kw"),
    ("dc_capacity_kw", "surface_azimuth", "surface_tilt", "system_id", "feeder"),
)


@given(
    cells=st.dictionaries(
        st.tuples(st.integers(0, 9), st.integers(0, 2)),
        st.sampled_from((*QUOTES, *BROKEN)) | st.sampled_from((*QUOTES, *TORN, *NOTES)),
        max_size=5,
    ),
    order=st.sampled_from(ORDERS),
    feeder=st.sampled_from(["F{}", '"Hill, {}"', '"{}"']),
)
@example(cells={(3, 1): '"1', (3, 2): '2"'}, order=ORDERS[0], feeder="F{}")
@example(cells={(3, 1): '"1\n2"', (4, 0): '"1\n2"'}, order=ORDERS[0], feeder="F{}")
@example(cells={(3, 1): NOTES[0], (4, 2): NOTES[2]}, order=ORDERS[0], feeder="F{}")
@example(cells={(3, 0): '"1,2'}, order=ORDERS[0], feeder='"Hill, {}"')
def test_cells_of_rows_change_neither_their_names_nor_another_row(
    tmp_path_factory, cells, order, feeder
):
    for row in {row for row, _ in cells}:
        own = [cell for (other, _), cell in cells.items() if other == row]
        assume(not ({*own} & {*TORN} and {*own} & {*BROKEN}))
        assume(len(own) == 1 or not {*own} & {*NOTES})
    path = tmp_path_factory.mktemp("rows") / "e.csv"
    numbers = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")
    found = []
    for spoilt in ({}, cells):
        lines = [",".join(order)]
        for row in range(10):
            values = {name: spoilt.get((row, at), f"{row}.5") for at, name in enumerate(numbers)}
            values |= {"system_id": f"s{row}", "feeder": feeder.format(row)}
            lines.append(",".join(values[name] for name in order))
        path.write_text("\n".join([*lines, ""]))
        found.append(read_fleet(path, keys=["feeder"]))
    before, after = found
    assert after.system_ids == before.system_ids
    assert after.keys["feeder"].tolist() == before.keys["feeder"].tolist()
    own = [row not in {row for row, _ in cells} for row in range(10)]
    for name in numbers:
        np.testing.assert_array_equal(getattr(after, name)[own], getattr(before, name)[own])


def test_json_csv_and_parquet_give_the_same_rows(tmp_path):
    import duckdb

    rows = [{**row, "feeder": f"F{place}"} for place, row in enumerate(ROWS)]
    (tmp_path / "e.json").write_text(json.dumps(rows))
    lines = [";".join(map(str, each.values())) for each in rows]
    (tmp_path / "e.csv").write_text("\n".join([";".join(rows[0]), *lines]) + "\n")
    with duckdb.connect() as base:
        base.execute(f"COPY (FROM '{tmp_path}/e.json') TO '{tmp_path}/e.parquet'")
    found = [read_fleet(tmp_path / f"e.{kind}", keys=["feeder"]) for kind in FORMATS]
    for each in found:
        assert each.system_ids == ("a", "b")
        assert each.surface_azimuth.tolist() == [180.0, 90.0]
        assert each.surface_tilt.tolist() == [20.0, 35.5]
        assert each.dc_capacity_kw.tolist() == [5.0, 7.25]
        assert each.keys["feeder"].tolist() == ["F0", "F1"]
        assert repr(each) == "FleetRows(2 systems, private)"


def test_what_a_run_assumed_is_read_from_what_it_wrote_of_itself(tmp_path):
    options = InferOptions(losses=Losses(system=0.1), albedo=0.3, mount=Mount.ROOF)
    settings = run_settings(MeterOptions(), options)
    (tmp_path / "run.json").write_text(json.dumps({"settings": settings}))
    found = read_assumptions(tmp_path)
    assert found == Assumptions(
        options.losses, 0.3, "perez-driesse", "clearsky", "default", options.mount
    )
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(SourceError, match="does not say"):
        read_assumptions(tmp_path)


@pytest.mark.parametrize(("one", "other"), [("a", "a"), (7, "7"), ("7.0", 7), (" a", "a")])
def test_a_system_named_twice_is_refused(tmp_path, one, other):
    path = tmp_path / "e.json"
    path.write_text(json.dumps([{**ROWS[0], "system_id": name} for name in (one, other)]))
    with pytest.raises(ValueError, match="twice"):
        read_fleet(path)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ((7.0, 8.0), pa.float32()),
        ((Decimal("7.00"), Decimal("8.00")), pa.decimal128(9, 2)),
        (("7.0", "8 "), pa.string()),
        ((b"7", b"8"), pa.binary()),
    ],
)
def test_estimates_name_a_system_the_same_whatever_the_type_of_its_column(tmp_path, names, kind):
    columns = {name: [1.0, 2.0] for name in HEADER.split(",")[1:]}
    table = pa.table({"system_id": pa.array(names, kind), **columns})
    pq.write_table(table, tmp_path / "e.parquet")
    assert read_fleet(tmp_path / "e.parquet").system_ids == ("7", "8")


NUMBERS = [
    name
    for name, each in KINDS.items()
    if isinstance(each, (Number, OptionalNumber)) and each.digits is not None
]
NEAR = Interval(1.23456, 2.34567)
HILL = np.where((np.arange(30) >= 20) & (np.arange(30) < 24), np.float32(15.0), np.float32(0.0))
YEARS = tuple(
    YearEstimate(dt.date(year, 3, 1), azimuth, tilt, capacity)
    for year, azimuth, tilt, capacity in ((2019, 181.0, 20.5, 5.1), (2020, 183.0, 21.5, 5.2))
)
ASSUMED = Assumptions(Losses(), 0.2, "perez-driesse", "clearsky", "default")


def written(path: Path, **columns: object) -> tuple[pa.Table, Estimate, Estimate]:
    """Write two systems, the second inferred first: a bare one, and one with several years.

    Returns the table and the estimates in its rows.
    """
    found = Estimates.of(
        **{name: np.array([1.2345, 2.3456]) for name in NUMBERS}
        | {
            "ac_limit_kw": np.array([np.nan, 4.0]),
            "trend_percent_per_year": np.array([np.nan, -0.512]),
            "skyline": np.stack([np.zeros(30, dtype=np.float32), HILL]),
            "years": objects([(), YEARS]),
            "clock_steps": objects([(), (ClockStep(dt.date(2019, 10, 27), -60.0),)]),
            "flags": flag_bits(Flag.SEASONAL_HAZE, np.array([False, True])),
        }
        | columns
    )
    systems = SystemTable(
        pa.array(["a", "b"]), *np.zeros((3, 2)), ("UTC",), np.zeros(2, dtype=np.int32),
        *np.zeros((2, 2), dtype=bool), pa.table({"feeder": ["F1", "F2"]}), (), pa.table({}), (),
        "digest",
    )  # fmt: skip
    found.set(system=np.array([1, 0], dtype=np.int32))
    write_table(path, estimates_table([found], systems))
    table = pq.read_table(path)
    first, second = (Estimate.from_row(row, ASSUMED) for row in table.to_pylist())
    # every column that an estimate has of its own is there, and says the same
    for row, estimate in zip(table.to_pylist(), (first, second), strict=True):
        assert {name: row[name] for name in estimate.to_row()} == estimate.to_row()
    return table, first, second


def test_planes_and_trackers_come_back_from_a_fleets_table(tmp_path):
    """A pair and one plane, then a pair and a tracker: rounded as their own rows are."""
    pair = tuple(
        PlaneEstimate(azimuth, NEAR, tilt, NEAR, part, NEAR, 5.12345678 * part, NEAR)
        for azimuth, tilt, part in ((92.12345, 31.0, 0.61234), (271.0, 30.5, 0.38766))
    )
    near = Interval(0.12345, 60.0)
    turned = TrackerEstimate(178.1234, near, True, 0.9, 0.38, near, 55.0, near)
    path = tmp_path / "e.parquet"
    for tracker in (None, turned):
        _, two, other = written(path, planes=objects([(), pair]), tracker=objects([tracker, None]))
        assert [each.to_row() for each in two.planes] == [each.to_row() for each in pair]
        if tracker is None:
            assert [each.plane for each in other.planes] == [other.plane]
        else:
            assert other.planes == ()
            assert other.tracker is not None
            assert other.tracker.to_row() == turned.to_row()
        rows = read_fleet(path)
        assert rows.planes.row.tolist() == [0, 0, 1]
        assert rows.planes.share == pytest.approx([0.612, 0.388, 1.0])


def test_what_the_method_saw_comes_back_from_a_fleets_table_with_its_keys(tmp_path):
    loads = ((0.51234,) * 24, (float("nan"),) * 24, (0.7,) * 24, (0.6,) * 24)
    home = HouseholdEstimate(0.61234, 0.34567, 0.54321, loads)
    table, hill, bare = written(tmp_path / "e.parquet", household=objects([None, home]))
    assert table.column_names == [*ESTIMATES, "feeder"]
    assert table.column("feeder").to_pylist() == ["F1", "F2"]
    assert (bare.system_id, hill.system_id) == ("b", "a")
    assert (bare.skyline, bare.years, bare.trend_percent_per_year) == ((), (), None)
    assert (bare.clear_hours, bare.haze_summer, bare.haze_winter) == (1.23, 1.2345, 1.2345)
    assert bare.quality == "good"
    assert hill.skyline == tuple(HILL)
    assert hill.years == YEARS
    assert hill.trend_percent_per_year == -0.51
    assert hill.clock.steps == (ClockStep(dt.date(2019, 10, 27), -60.0),)
    assert hill.dc_ac_ratio == pytest.approx(2.3456 / 4.0)
    assert (hill.flags, hill.quality) == ((Flag.SEASONAL_HAZE,), "poor")
    assert hill.household is not None
    stored = [row["household_load"] for row in table.to_pylist()]
    assert hill.household.to_row() == home.to_row() == stored[0]
    assert stored[0]["load_kw"][1] == [None] * 24
    assert (bare.household, stored[1]) == (None, None)
