from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sunveil.errors import SourceError
from sunveil.ledger.households import SystemHome
from sunveil.publish.households import published_homes, read_households


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
    assert read_households(table("system_id,latitude\na,1\n")) == []
    # the only column that could be the systems' own
    assert read_households(table("meter,latitude\na,1\n")) == []
    with pytest.raises(SourceError, match="no column of systems"):
        read_households(table("household,latitude\na,1\n"))


def test_only_who_is_published_is_registered():
    homes = [SystemHome("a", "x"), SystemHome("z", "y")]
    assert published_homes(("a", "b"), homes) == (homes[0], SystemHome("b"))
