from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sunveil.fleet.file_layouts import FileLayout, look_at
from sunveil.meters import MeterOptions


def write(path: Path, times: pa.Array) -> None:
    names, power = ["a"] * len(times), [0.0] * len(times)
    table = pa.table({"system_id": names, "time": times, "power_kw": power})
    pq.write_table(table, path)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/Denver"])
def test_footers_tell_times_in_every_unit(unit: str, zone: str | None, tmp_path: Path) -> None:
    first, last = (datetime(2019, 3, day, 6, 30, tzinfo=UTC) for day in (1, 4))
    micros = [int(when.timestamp()) * 1_000_000 for when in (first, last)]
    times = pa.array(micros, pa.timestamp("us")).cast(pa.timestamp(unit))
    write(tmp_path / "one.parquet", times.cast(pa.timestamp(unit, zone)) if zone else times)
    source = look_at(tmp_path, MeterOptions())
    assert source.columns.layout is FileLayout.LONG
    assert source.files[0].span == tuple(micros)


def test_times_beyond_any_calendar_tell_no_span(tmp_path: Path) -> None:
    write(tmp_path / "one.parquet", pa.array([0, 2**62], pa.timestamp("us")))
    assert look_at(tmp_path, MeterOptions()).files[0].span is None
