"""What is written in any unit, clock, label and format is read back equal, from any files."""

from __future__ import annotations

import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meter_makers import FACTORS, sunny, write_csv, write_table

from sunveil.errors import MeterError
from sunveil.meters import (
    Label,
    MeterOptions,
    Record,
    from_pandas,
    iter_systems,
    read_meters,
    records_from_frame,
)

ZONES = (
    *("UTC", "UTC-07:00", "+05:30", "Etc/GMT+7", "America/Denver", "Europe/Berlin"),
    "Australia/Sydney",
)
# Around both changes of the clock in each of the zones, and far from any.
STARTS = (
    *("2016-07-01", "2016-03-12", "2016-11-05", "2017-03-25", "2016-10-29", "2016-10-01"),
    "2017-04-01",
)

KINDS = (
    *("naive csv", "aware csv", "naive parquet", "aware parquet", "text", "naive series"),
    "aware series",
)


def stamped(power: pd.Series, *, unit: str, label: Label, zone: str) -> pd.Series:
    """Return a record as a meter would write it."""
    step = power.index[1] - power.index[0]
    hours = step / pd.Timedelta("1h") if unit.endswith("h") else 1.0
    name = zone if "/" in zone or zone == "UTC" else zone.removeprefix("UTC")
    index = (power.index + label.fraction * step).tz_convert(name)
    return pd.Series(power.to_numpy() * FACTORS[unit] * hours, index=index, name=f"x_{unit}")


def assert_equal(record: Record, power: pd.Series) -> None:
    assert (record.times == power.index.tz_localize(None).to_numpy()).all()
    np.testing.assert_allclose(record.power_kw, power.to_numpy(), rtol=1e-12)


@settings(max_examples=90, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    minutes=st.sampled_from([5, 10, 15, 30, 60]),
    days=st.integers(2, 4),
    start=st.sampled_from(STARTS),
    unit=st.sampled_from(sorted(FACTORS)),
    label=st.sampled_from(list(Label)),
    zone=st.sampled_from(ZONES),
    kind=st.sampled_from(KINDS),
    named=st.booleans(),
)
def test_a_record_is_read_back_as_it_was_written(
    seed, minutes, days, start, unit, label, zone, kind, named
):
    power = sunny(days, minutes=minutes, start=start, seed=seed)
    written = stamped(power, unit=unit, label=label, zone=zone)
    naive = written.tz_localize(None)
    options = MeterOptions(
        power_unit="auto" if named else unit,
        label=label,
        timezone=zone if "naive" in kind else None,
        power_column=None if named else "reading",
    )
    column = f"x_{unit}" if named else "reading"
    if "series" in kind:
        series = (naive if "naive" in kind else written).rename(column)
        told = {"timezone": options.timezone, "power_unit": unit, "label": label}
        assert_equal(from_pandas(series, **told), power)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("roof 7.csv" if "csv" in kind else "roof 7.parquet")
        if kind == "naive csv":
            write_csv(path, naive, names=f"time,{column}")
        elif kind == "aware csv":
            write_csv(path, written, names=f"timestamp,{column}", stamp="%Y-%m-%dT%H:%M:%S%z")
        elif kind == "text":
            stamps = [str(each) for each in written.index]
            pd.DataFrame({"time": stamps, column: written.to_numpy()}).to_parquet(path)
        else:
            frame = (naive if "naive" in kind else written).rename(column).rename_axis("time")
            frame.reset_index().to_parquet(path)
        (record,) = read_meters(path, options)
    assert record.system_id == "roof 7"
    assert record.label is label
    assert record.label_known
    assert record.interval_minutes == minutes
    assert record.notes == ()
    assert_equal(record, power)


@settings(max_examples=20, deadline=None)
@given(order=st.permutations(range(4)), seed=st.integers(0, 100))
def test_a_long_table_is_parted_into_its_systems_in_any_order_of_rows(order, seed):
    systems = {f"s{i}": sunny(2, minutes=60, seed=seed + i) for i in range(4)}
    parts = [
        pd.DataFrame({"system_id": name, "time": power.index, "power_kw": power.to_numpy()})
        for name, power in systems.items()
    ]
    table = pd.concat([parts[i] for i in order]).sample(frac=1.0, random_state=seed)
    with tempfile.TemporaryDirectory() as folder:
        csv, parquet = Path(folder) / "fleet.csv", Path(folder) / "fleet.parquet"
        table.to_csv(csv, index=False)
        table.to_parquet(parquet, index=False)
        for records in (read_meters(csv), read_meters(parquet), records_from_frame(table)):
            assert [record.system_id for record in records] == sorted(systems)
            for record in records:
                assert_equal(record, systems[record.system_id])


def test_a_folder_gives_one_record_per_file_in_the_order_of_names(tmp_path):
    first, second = sunny(seed=1), sunny(seed=2)
    write_csv(tmp_path / "b.csv", first)
    second.rename_axis("time").reset_index().to_parquet(tmp_path / "a.parquet")
    (tmp_path / "notes.md").write_text("not a meter")
    (tmp_path / ".hidden.csv").write_text("not a meter")
    records = read_meters(tmp_path, timezone="UTC", label="start")
    assert [record.system_id for record in records] == ["a", "b"]
    assert_equal(records[0], second)
    assert_equal(records[1], first)


@pytest.mark.parametrize(
    ("names", "unit"),
    [
        ("measured_on,ac_power", 1e-3),
        ("Unnamed: 0,inv2_ac_power__4213", 1e-3),
        (",inv2_ac_power_w__1047", 1e-3),
        ("Datetime,INV1 AC Power [kW]", 1.0),
        ("date,energy_kwh", 4.0),
        ("Timestamp,Wh", 4e-3),
        ("when,generationKWh", 4.0),
        ("time,PowerW", 1e-3),
    ],
)
def test_usual_names_say_the_column_and_its_unit(tmp_path, names, unit):
    power = sunny()
    (record,) = read_meters(write_csv(tmp_path / "a.csv", power, names=names), timezone="UTC")
    np.testing.assert_allclose(record.power_kw, power.to_numpy() * unit, rtol=1e-12)
    assert bool(record.notes) == ("ac_power" in names and "_w_" not in names)


def test_other_columns_are_left_alone_when_the_names_are_told(tmp_path):
    power = sunny()
    frame = pd.DataFrame(
        {"a": power.index, "b": power.to_numpy(), "c": 7.0, "d": "x", "label": False}
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    names = {"time_column": "A", "power_column": "b", "system_column": "d"}
    (record,) = read_meters(tmp_path / "a.csv", **names, power_unit="kW", label="start")
    assert record.system_id == "x"
    assert_equal(record, power)


@pytest.mark.parametrize("scale", [1, 1000])
def test_seconds_and_milliseconds_since_1970_are_utc(tmp_path, scale):
    power = sunny()
    seconds = power.index.tz_localize(None).to_numpy().astype("M8[s]").astype(np.int64) * scale
    pd.DataFrame({"timestamp": seconds, "kW": power.to_numpy()}).to_csv(
        tmp_path / "a.csv", index=False
    )
    pd.DataFrame({"timestamp": seconds, "kW": power.to_numpy()}).to_parquet(tmp_path / "b.parquet")
    for record in read_meters(tmp_path, label="start"):
        assert_equal(record, power)


def test_the_ways_of_writing_csv_make_no_difference(tmp_path):
    power = sunny()
    text = write_csv(tmp_path / "plain.csv", power).read_text()
    (tmp_path / "crlf.csv").write_bytes(text.replace("\n", "\r\n").encode())
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (tmp_path / "comment.csv").write_text("# made by a logger\n\n" + text)
    (tmp_path / "comma.csv").write_text(text.replace(",", ";").replace(".", ","))
    (tmp_path / "tabs.tsv").write_text(text.replace(",", "\t"))
    (tmp_path / "trailing.csv").write_text(text.replace("\n", ",\n").replace("kw,", "kw", 1))
    (tmp_path / "latin.csv").write_bytes(("°," + text.replace("\n2", "\n,2")).encode("latin-1"))
    (tmp_path / "odd [1]'s.csv").write_text(text)
    (tmp_path / "p*.csv").write_text(text)
    pd.read_csv(tmp_path / "plain.csv").to_csv(tmp_path / "packed.csv.gz", index=False)
    records = read_meters(tmp_path, timezone="UTC", label="start")
    assert len(records) == 11
    assert "packed" in {record.system_id for record in records}
    for record in records:
        assert_equal(record, power)


def test_a_record_hides_its_readings(tmp_path):
    (record,) = read_meters(write_csv(tmp_path / "a.csv", sunny()), timezone="UTC")
    assert "private" in repr(record)
    assert not any(str(value) in repr(record) for value in record.power_kw if value > 0)


LINES = [f"a,2024-06-01T{hour:02}:00Z,{100 * hour}" for hour in range(24)]


def write(folder, name, lines, column="power_w"):
    (folder / name).write_text("\n".join([f"system_id,time,{column}", *lines]) + "\n")


def read_one(folder, **options):
    (found,) = iter_systems(folder, MeterOptions(**options))
    return found


def test_halves_of_a_record_are_the_whole(tmp_path):
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    whole.mkdir()
    halves.mkdir()
    write(whole, "all.csv", LINES)
    write(halves, "1.csv", LINES[:12])
    later = pd.DataFrame([line.split(",") for line in LINES[12:]])
    later.columns = ["system_id", "time", "power_w"]
    later.to_parquet(halves / "2.parquet")
    one, two = read_one(whole), read_one(halves)
    np.testing.assert_array_equal(one.times, two.times)
    np.testing.assert_array_equal(one.power_kw, two.power_kw)
    assert one.notes == two.notes


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "feather"])
def test_one_system_is_one_however_its_name_is_written(tmp_path, ending):
    names = ["7", "7.0", " 7 "] if ending != "json" else [7, 7.0, "7"]
    times = pd.date_range("2024-06-01", periods=24, freq="h", tz="UTC")
    table = pd.DataFrame({"system_id": (names * 8), "time": times, "power_kw": range(24)})
    write_table(table, tmp_path / f"meters.{ending}")
    found = read_one(tmp_path)
    assert (found.system_id, found.power_kw.tolist()) == ("7", list(map(float, range(24))))


def test_accents_in_the_name_of_a_file_are_one_letter(tmp_path):
    """Some file systems take them apart, and tables of systems have them whole."""
    lines = [line.partition(",")[2] for line in LINES]
    text = "\n".join(["time,power_w", *lines])
    (tmp_path / unicodedata.normalize("NFD", "Dächer.csv")).write_text(text)
    assert read_one(tmp_path).system_id == unicodedata.normalize("NFC", "Dächer")


def test_sub_folders_are_read_hidden_ones_are_not_and_units_are_converted(tmp_path):
    kilo = [f"a,2024-06-01T{hour:02}:00Z,{hour / 10}" for hour in range(12, 24)]
    for folder in ("1", "2", ".old"):
        (tmp_path / folder).mkdir()
    write(tmp_path / "1", "meters.csv", LINES[:12])
    write(tmp_path / "2", "meters.csv", kilo, column="power_kw")
    write(tmp_path / ".old", "meters.csv", LINES)
    np.testing.assert_allclose(read_one(tmp_path).power_kw, np.arange(24) / 10.0)


def test_both_columns_of_a_net_meter_are_joined_and_converted(tmp_path):
    for half, (column, unit) in enumerate(
        (("export_w,import_w", 1), ("export_kw,import_kw", 1000))
    ):
        rows = LINES[12 * half : 12 * half + 12]
        lines = [
            f"{line.rpartition(',')[0]},{1.0 / unit},{n / unit}" for n, line in enumerate(rows)
        ]
        write(tmp_path, f"{half}.csv", lines, column=column)
    found = read_one(tmp_path)
    assert found.net
    np.testing.assert_allclose(found.power_kw, (1.0 - np.tile(np.arange(12), 2)) / 1000.0)


@pytest.mark.parametrize(
    ("lines", "column", "why"),
    [
        (LINES[12:], "export_w", "a net meter in some files and not"),
        ([line.replace("Z", "") for line in LINES[12:]], "power_w", "UTC offset in some files"),
        (LINES[12:], "energy_wh", "power in some files and energy in others"),
    ],
)
def test_files_that_cannot_be_brought_together_refuse_their_system_alone(
    tmp_path, lines, column, why
):
    write(tmp_path, "1.csv", [*LINES[:12], *(line.replace("a,", "b,") for line in LINES)])
    write(tmp_path, "2.csv", lines, column=column)
    refused, kept = iter_systems(tmp_path, MeterOptions(timezone="UTC"))
    assert isinstance(kept, Record)
    assert (refused.system_id, refused.kind) == ("a", "meter")
    assert why in refused.reason
    assert "1.csv, 2.csv" in refused.reason
    with pytest.raises(MeterError, match=why):
        read_meters(tmp_path, timezone="UTC")
