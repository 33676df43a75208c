from __future__ import annotations

import unicodedata
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook

from sunveil.errors import ParameterError, SourceError
from sunveil.ledger.promises import SystemHome
from sunveil.publish.publisher import published_homes, read_households


@pytest.fixture
def table(tmp_path):
    def write(text):
        path = tmp_path / "households.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_keys_are_read_as_they_are_written(table):
    found = read_households(table("System_ID,Household,meter\n1,007,\n2, 007 ,m-2\n,9,m-3\n"))
    assert found == [SystemHome("1", "007", None, 1), SystemHome("2", "007", "m-2", 2)]


def test_parquet_may_hold_numbers(tmp_path):
    columns = {"plant": ["a", "b"], "household": [7, None], "latitude": [1.0, 2.0]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = read_households(tmp_path / "t.parquet", "plant")
    assert found == [SystemHome("a", "7", None, 1), SystemHome("b", None, None, 2)]


def test_a_table_without_keys_names_no_household(table):
    # in the second the only column that could be the systems' own is the meters'
    for text in ("system_id,latitude\na,1\n", "meter,latitude\na,1\n"):
        assert read_households(table(text)) == []
    with pytest.raises(SourceError, match="no column of systems"):
        read_households(table("household,latitude\na,1\n"))


def in_parquet(path, key, kind=None):
    # a gap makes floats of whole numbers in many programs
    keys = pa.array([key, None], kind)
    pq.write_table(pa.table({"system_id": ["a", "b"], "household": keys}), path)


def in_csv(path, key):
    path.write_text(f"system_id,household\na,{key}\nb,\n", encoding="utf-8")


def in_workbook(path, key):
    book = Workbook()
    for row in (["system_id", "household"], ["a", key], ["b", None]):
        book.active.append(row)
    book.save(path)


@pytest.mark.parametrize(
    ("write", "key", "more"),
    [
        (in_csv, "40031", ()),
        (in_csv, " 40031 ", ()),
        (in_csv, "40031.0", ()),
        (in_csv, "\N{NO-BREAK SPACE}40031", ()),
        (in_parquet, 40031, (pa.int64(),)),
        (in_parquet, 40031, (pa.uint16(),)),
        (in_parquet, 40031.0, (pa.float64(),)),
        (in_parquet, 40031.0, (pa.float32(),)),
        (in_parquet, Decimal("40031.00"), (pa.decimal128(12, 2),)),
        (in_parquet, "40031", (pa.string(),)),
        (in_parquet, "40031 ", (pa.large_string(),)),
        (in_parquet, "40031", (pa.dictionary(pa.int32(), pa.string()),)),
        (in_parquet, b"40031", (pa.binary(),)),
        (in_workbook, 40031, ()),
        (in_workbook, 40031.0, ()),
        (in_workbook, "40031", ()),
    ],
)
def test_a_household_has_one_key_whatever_file_it_comes_from(tmp_path, write, key, more):
    path = tmp_path / {in_csv: "t.csv", in_parquet: "t.parquet", in_workbook: "t.xlsx"}[write]
    write(path, key, *more)
    assert read_households(path) == [SystemHome("a", "40031", None, 1), SystemHome("b", row=2)]


@pytest.mark.parametrize("key", ["0040031", "40031.5", "ab", "A b", "7.0.0", "1E5", "4003\u00e9"])
def test_texts_stay_as_they_are(tmp_path, key):
    in_csv(tmp_path / "t.csv", key)
    in_parquet(tmp_path / "t.parquet", unicodedata.normalize("NFD", key))
    for name in ("t.csv", "t.parquet"):
        assert read_households(tmp_path / name)[0].household == unicodedata.normalize("NFC", key)


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (40031.5, pa.float64()),
        (2.0**53, pa.float64()),
        (2.0**24, pa.float32()),
        (float("inf"), pa.float64()),
        (Decimal("40031.50"), pa.decimal128(12, 2)),
        (True, pa.bool_()),
        (date(2024, 1, 1), pa.date32()),
        ([40031], pa.list_(pa.int64())),
        (b"\xff", pa.binary()),
        ("4.0031E+11", pa.string()),
        ("9007199254740993.0", pa.string()),
        ("4003\u200b1", pa.string()),
        ("4003\u00a01", pa.string()),
    ],
)
def test_what_may_be_another_key_is_refused(tmp_path, key, kind):
    in_parquet(tmp_path / "t.parquet", key, kind)
    with pytest.raises(SourceError, match=r"'household' of t.parquet, row 1 below") as refusal:
        read_households(tmp_path / "t.parquet")
    assert "4003" not in str(refusal.value)


def test_only_who_is_published_is_registered_and_in_one_household():
    homes = [SystemHome("a", "x"), SystemHome("z", "y")]
    assert published_homes(("a", "b"), homes) == (homes[0], SystemHome("b"))
    homes = [SystemHome("7", "x", None, 1), SystemHome("7.0", "y", None, 2)]
    assert published_homes(("8",), homes) == (SystemHome("8"),)
    with pytest.raises(ParameterError, match=r"rows 1 and 2 .* two households"):
        published_homes(("7",), homes)
