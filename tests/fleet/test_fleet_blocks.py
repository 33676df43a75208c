"""Blocks, which compiled loops fill, hold what the reader of single files reads of each system."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fleet_folders import stamps, values

from sunveil.fleet import duckdb_reader
from sunveil.fleet import open as opening
from sunveil.fleet.blocks import scatter
from sunveil.fleet.open import open_fleet, some_records
from sunveil.meters import MeterOptions
from sunveil.meters.record import RefusedSystem
from sunveil.site import TimeGrid

ZONES = ("UTC", "UTC-07:00", "America/Denver", "Europe/London", "Australia/Lord_Howe")


def year(zone, minutes=60):
    """Return a year of readings by what a clock on a wall shows, and by its instants."""
    rng = np.random.default_rng(minutes)
    utc = pd.date_range("2019-01-01", "2020-01-01", freq=f"{minutes}min", inclusive="left")
    hours = (utc.hour + utc.minute / 60.0).to_numpy()
    shape = np.maximum(0.0, np.cos((hours - 12.0) / 6.0 * np.pi / 2.0))
    power = (5.0 * shape * rng.uniform(0.2, 1.0, len(utc))).astype("float32")
    known = "Etc/GMT+7" if zone == "UTC-07:00" else zone
    wall = utc.tz_localize("UTC").tz_convert(known).tz_localize(None)
    return pd.DataFrame({"time": wall, "power_kw": power, "utc": utc})


MINUTE = np.timedelta64(1, "m")
SKIPPED = pd.Timestamp("2019-03-10 02")
# Systems that are out of the ordinary: clock, change of the rows, whether they are read once more.
ODD = {
    "gaps": ("America/Denver", lambda rows: rows.sample(frac=0.7, random_state=1).sort_index(), 0),
    "few gaps": ("Europe/London", lambda rows: rows.drop(index=[5, 900, 5000]), 0),
    "blanks": ("UTC", values([500, 516, 540], [-999.0, -9999.0, -99999.0]), 0),
    "missing": ("UTC", values(slice(700, 720), np.nan), 0),
    "minus zero": ("UTC", values(slice(0, 3), -0.0), 0),
    "one other stamp": ("UTC", stamps([300], lambda at: at + MINUTE), 1),
    "half past": (
        "UTC",
        lambda rows: stamps([301], lambda at: at + 30 * MINUTE)(rows.drop(302)),
        1,
    ),
    "two orders": ("UTC", lambda rows: pd.concat([rows[:99], rows[99::2], rows[100::2]]), 0),
    "later first": ("UTC", lambda rows: pd.concat([rows[4000:], rows[:4000]]), 0),
    "missing twice": (
        "UTC",
        lambda rows: pd.concat([rows, rows[10:400:2].assign(power_kw=np.float32(np.nan))]),
        0,
    ),
    "backwards": (
        "America/Denver",
        lambda rows: pd.concat([rows[:99], rows[99:199][::-1], rows[199:]]),
        1,
    ),
    "twice": ("UTC", lambda rows: pd.concat([rows[:100], rows[99:]]), 1),
    "twice later": ("UTC", lambda rows: pd.concat([rows, rows[50:70]]), 1),
    "infinite": ("UTC", values([540], -np.inf), 1),
    "infinite later": (
        "UTC",
        lambda rows: values([-3], np.inf)(pd.concat([rows[9:], rows[:9]])),
        1,
    ),
    "no time": ("UTC", stamps([100], np.datetime64("NaT")), 1),
    "long ago": ("UTC", stamps([100], np.datetime64(1, "us")), 1),
    "far ahead": ("UTC", stamps([100], np.datetime64("2128-06-11")), 1),
    "skipped hour": (
        "America/Denver",
        lambda rows: rows.replace({"time": {pd.Timestamp("2019-03-10 03"): SKIPPED}}),
        1,
    ),
    "off": ("UTC", stamps(slice(10, 15), lambda at: at + 17 * MINUTE), 1),
    "seconds": ("UTC", stamps(slice(None, None, 3), lambda at: at + np.timedelta64(1, "s")), 1),
    "half seconds": ("UTC", stamps(slice(9, 99), lambda at: at + np.timedelta64(400, "ms")), 0),
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Return a fleet of usual and odd systems with its table, and which are to be read again."""
    found = {f"{zone} {minutes}": year(zone, minutes) for zone in ZONES for minutes in (15, 60)}
    zones = {name: name.rpartition(" ")[0] for name in found}
    for name, (zone, change, _) in ODD.items():
        found[name], zones[name] = change(year(zone)), zone
    folder = tmp_path_factory.mktemp("odd")
    frame = pd.concat([rows.assign(system_id=name) for name, rows in found.items()])
    turn = np.isin(np.arange(8760), [1000, *range(5000, 5300), 7001])  # their stamps go on evenly
    both = year("UTC").assign(system_id=np.where(turn, "second", "first"))
    zones |= dict.fromkeys(("first", "second"), "UTC")
    unknown = year("UTC").assign(system_id="unknown")
    frame = pd.concat([frame, both, unknown]).reset_index(drop=True)
    lines = [f"{name},40,-105,{zone}" for name, zone in zones.items()]
    (folder / "s.csv").write_text("\n".join(["system_id,latitude,longitude,timezone", *lines]))
    return frame, folder / "s.csv", sorted(name for name, (*_, again) in ODD.items() if again)


@pytest.mark.parametrize("batch", [2048, 131_072])
@pytest.mark.parametrize("mixed", [False, True])
def test_blocks_hold_what_the_reader_of_single_files_reads(
    mixed, batch, fleet, tmp_path, monkeypatch
):
    frame, systems, odd = fleet
    if mixed:  # rows of all systems in turn, each system's in its own order
        turn = frame.groupby("system_id").cumcount()
        frame = frame.iloc[np.argsort(turn.to_numpy(), kind="stable")]
    table = pa.Table.from_pandas(frame[["system_id", "time", "power_kw"]], preserve_index=False)
    pq.write_table(table, tmp_path / "fleet.parquet", row_group_size=10_000_000)
    monkeypatch.setattr(duckdb_reader, "_BATCH", batch)
    read, again = opening._records_of, []

    def noted(paths, names, context, **more):
        again.extend(names)
        return read(paths, names, context, **more)

    monkeypatch.setattr(opening, "_records_of", noted)
    path, options = tmp_path / "fleet.parquet", MeterOptions(label="start")
    with open_fleet(path, systems, reading=options, workers=1) as opened:
        (part,) = opened.parts
        held, refused = {}, {}
        for block in opened.blocks(part):
            if isinstance(block, RefusedSystem):
                refused[block.system_id] = block.reason
                continue
            for number, power in zip(block.systems.tolist(), block.power, strict=True):
                there = ~np.isnan(power)
                assert not np.signbit(power[there]).any()
                held[opened.names[number]] = block.frame.axis.starts[there], power[there]
        source, table = opened.context.job.source, opened.context.systems
        names = table.ids.to_pylist()
        records = list(some_records([path], source.columns, table, names, options=options))
    assert sorted(again) == sorted(odd + mixed * ["missing twice"])
    assert refused.pop("unknown") == "system unknown is not in s.csv; add its place there"
    assert len(held) + len(refused) == len(records) == len(names)
    for name, record in records:
        if isinstance(record, RefusedSystem):
            assert refused[name] == record.reason
        else:
            seconds, power = held[name]
            np.testing.assert_array_equal(seconds, record.times.astype("M8[s]").view(int))
            np.testing.assert_array_equal(power, record.power_kw.astype("float32"))


@pytest.mark.parametrize("run", [(-1, 1, 5), (198, 1, 3), (0, 50, 5)])
def test_a_run_beyond_the_axis_is_not_written_and_makes_its_system_odd(run):
    axis, (at, stride, rows) = TimeGrid(1_546_300_800, 3600, 200), run
    runs = np.array([[0, axis.first + at * 3600, stride * 3600, 0, rows]])
    power, needs_review = np.full((1, 200), 7.0, dtype=np.float32), np.zeros(1, dtype=np.uint8)
    readings, row = np.ones(9, dtype=np.float32), np.zeros(1, dtype=np.int32)
    scatter(runs, readings, axis, row, shift=0, factor=1.0, needs_review=needs_review, power=power)
    assert needs_review.tolist() == [1]
    assert np.isnan(power).all()
