from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sunveil.fleet.arrow import (
    flat,
    lists,
    numbers,
    plain,
    read_file,
    rows_at,
    texts,
    truths,
)
from sunveil.fleet.layouts import FileLayout
from sunveil.fleet.source import look_at
from sunveil.meters.options import MeterOptions


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64, np.float32, np.float64])
def test_numbers_become_the_array_that_pyarrow_makes(kind: type) -> None:
    values = np.arange(20).astype(kind)
    assert numbers(values).equals(pa.array(values))
    assert numbers(values[::3]).equals(pa.array(values[::3].copy()))
    assert numbers(values[:0]).equals(pa.array(values[:0]))
    valid = values % 3 != 0
    made = numbers(values, valid)
    made.validate(full=True)
    assert made.equals(pa.array(values, mask=~valid))
    assert made.null_count == 7


@pytest.mark.parametrize("values", [[], ["a"], ["", "å", "sun ☀", "x" * 300]])
def test_texts_become_the_array_that_pyarrow_makes(values: list[str]) -> None:
    made = texts(values)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.string()))
    assert lists([values, [], values]).equals(pa.array([values, [], values], pa.list_(pa.string())))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.5, None, 3.0]),
        pa.array([1, 2, 3], pa.uint64()).slice(1),
        pa.array([1, None, 3], pa.int32()),
        pa.array([1.0, 2.0, None], pa.float32()).slice(1),
        pa.array([], pa.float32()),
        pa.chunked_array([[1, 2], [3]]),
        pa.chunked_array([[1.0, None]]),
        pa.chunked_array([], pa.float64()),
        pa.array([True, False]),
    ],
)
def test_numbers_come_back_as_pyarrow_gives_them(column: pa.Array | pa.ChunkedArray) -> None:
    theirs = column.to_numpy(zero_copy_only=False)
    mine = plain(column)
    assert mine.dtype == theirs.dtype
    np.testing.assert_array_equal(mine, theirs)


def test_a_file_is_read_whole_or_in_part(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    pq.write_table(table, tmp_path / "t.parquet")
    assert read_file(tmp_path / "t.parquet").equals(table)
    assert read_file(tmp_path / "t.parquet", columns=["b"]).equals(table.select(["b"]))


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/Denver"])
def test_footers_tell_times_in_every_unit(unit: str, zone: str | None, tmp_path: Path) -> None:
    first, last = (datetime(2019, 3, day, 6, 30, tzinfo=UTC) for day in (1, 4))
    micros = [int(when.timestamp()) * 1_000_000 for when in (first, last)]
    times = pa.array(micros, pa.timestamp("us")).cast(pa.timestamp(unit))
    times = times.cast(pa.timestamp(unit, zone)) if zone else times
    table = pa.table({"system_id": ["a", "a"], "time": times, "power_kw": [0.0, 1.0]})
    pq.write_table(table, tmp_path / "one.parquet")
    source = look_at(tmp_path, MeterOptions())
    assert source.columns.layout is FileLayout.LONG
    assert source.files[0].span == tuple(micros)


COLUMNS = {
    "texts": pa.array(["a", None, "c", "", "e"] * 60),
    "numbers": pa.array([1, None, 3, 4, 5] * 60),
    "truths": pa.array([True, None, False, True, True] * 60),
    "lists": pa.array([["a"], None, [], ["b", "c"], ["d"]] * 60),
    "words": pa.array(["a", "b", None, "a", "c"] * 60).dictionary_encode(),
    "chunks": pa.chunked_array([["a", "b"], [], ["c"] * 298]),
    "none": pa.chunked_array([], pa.string()),
}


@pytest.mark.parametrize("name", list(COLUMNS))
@pytest.mark.parametrize(
    "rows",
    [[], [3], range(300), [0, 1, 2, 7, 8, 200], [-1, -1, 5, 6, -1], [9, 8, 7], range(0, 300, 2)],
)
def test_rows_are_those_that_pyarrow_takes(name: str, rows: Sequence[int]) -> None:
    column, chosen = COLUMNS[name], np.array(rows, dtype=np.int64)
    if name == "none":
        chosen = np.minimum(chosen, -1)
    found = rows_at(column, chosen)
    wanted = column.take(pa.array([None if row < 0 else row for row in chosen.tolist()], "int64"))
    assert found.type == wanted.type
    assert found.to_pylist() == wanted.to_pylist()


def test_lists_are_laid_end_to_end() -> None:
    column = pa.array([["a"], [], ["b", "c"], ["d"]])
    assert flat(column).to_pylist() == ["a", "b", "c", "d"]
    assert flat(column.slice(1, 2)).to_pylist() == ["b", "c"]
    assert flat(column.slice(1, 0)).to_pylist() == []


def test_truths_become_the_array_that_pyarrow_makes() -> None:
    values = np.arange(19) % 3 == 0
    assert truths(values).equals(pa.array(values))
