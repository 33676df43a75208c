"""Bad input is refused in one sentence that names the place and the remedy."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from meter_makers import assert_no_reading_told, refusal, sunny, write_csv

from sunveil.errors import MeterError, ParameterError
from sunveil.meters import MeterOptions, from_pandas, read_meters, records_from_frame

UNSAID = ("value", "Global [W/m^2]", "poa_irradiance_w", "generation")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b" \n\n", "is empty"),
        ("a.csv", b"# only a comment\n", "a header but no readings"),
        ("a.csv", b"time,power_kw\n", "a header but no readings"),
        ("a.csv", b"time,power_kw\n,\n,\n", "header but no readings"),
        ("a.csv", b"once upon a time\nthere was a meter\n", "not a table"),
        (
            "a.csv",
            b"once, upon, a\ntime, there, was\n",
            "option `time_column`, one of its 3 columns",
        ),
        ("a.csv", b"time,power_kw\n\x00\x01\x02\n", "a header but no readings"),
        ("a.csv", b"ti\x00\x01me,power_kw\n1,2\n", "no meter file"),
        ("a.csv", "time,power_kw\n2016".encode("utf-16"), "a header but no readings"),
        ("a.csv", b"2016-07-01 00:00,1.5\n2016-07-01 00:15,1.5\n", "unit of its readings"),
        ("a.csv", b"a,2016-07-01 00:00,1.5,2\na,2016-07-01 00:15,1.5,2\n", "has no header"),
        ("a.csv", b"1467331200,1.5\n1467332100,1.5\n", "unit of its readings"),
        ("a.csv", b"time,note\n2016-07-01 00:00,x\n", "unit of its column 'note'"),
        ("a.csv", b"time\n2016-07-01 00:00\n", "not a table"),
        ("a.csv", b"time,system_id\n2016-07-01 00:00,x\n", "no column of readings"),
        ("a.csv", b"time,x,y\n2016-07-01 00:00,a,b\n", "no column of readings known by its name"),
        ("a.parquet", b"PAR1 and then nothing", "damaged"),
        ("a.csv.gz", b"\x1f\x8b\x08 and then nothing", "damaged"),
        ("a.xlsx", b"PK\x03\x04....", "damaged"),
        ("a.xls", b"\xd0\xcf\x11\xe0....", "save it as .xlsx or CSV"),
    ],
)
def test_a_file_that_is_no_table_of_readings_is_refused(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    message = refusal(tmp_path / name, timezone="UTC")
    assert words in message
    assert name in message
    assert "1.5" not in message


def test_random_bytes_are_refused(tmp_path):
    for seed in range(20):
        (tmp_path / "a.csv").write_bytes(np.random.default_rng(seed).bytes(3000))
        refusal(tmp_path / "a.csv")


def test_a_missing_file_is_named(tmp_path):
    assert "there is no file or folder" in refusal(tmp_path / "none.csv")
    with pytest.raises(ParameterError, match="a path with names of at most 255 letters"):
        read_meters(tmp_path / "bad\x00name.csv")


def test_a_folder_without_meters_is_refused(tmp_path):
    (tmp_path / "readme.md").write_text("nothing here")
    assert "has no meter files" in refusal(tmp_path)


def test_a_link_to_nowhere_is_refused(tmp_path):
    os.symlink(tmp_path / "nowhere.csv", tmp_path / "a.csv")
    assert "there is no file" in refusal(tmp_path / "a.csv")


@pytest.mark.parametrize("option", ["time_column", "power_column", "system_column"])
def test_a_missing_column_is_named_with_those_there_are(tmp_path, option):
    message = refusal(write_csv(tmp_path / "a.csv", sunny()), **{option: "kwatts"})
    assert "no column 'kwatts'" in message
    assert f"option `{option}`" in message
    assert "'time', 'power_kw'" in message


def test_several_columns_of_readings_are_listed(tmp_path):
    power = sunny()
    columns = {"time": power.index, "east_kw": power.to_numpy(), "west_kw": 1.0, "temp": 1.0}
    pd.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
    message = refusal(tmp_path / "a.csv")
    assert "option `power_column`, one of 'east_kw', 'west_kw'" in message
    (record,) = read_meters(tmp_path / "a.csv", power_column="2", label="start")
    assert (record.power_kw == power.to_numpy()).all()


@pytest.mark.parametrize(
    ("name", "scale", "options", "words"),
    [
        ("power_kw", 1.0, {"power_column": "time"}, "two things"),
        ("power_kw", 1.0, {}, "option `timezone`"),
        ("power_kw", np.nan, {"timezone": "UTC"}, "no reading that is a number"),
        *((name, 1.0, {}, "option `power_unit` as one of W, kW") for name in UNSAID),
    ],
)
def test_a_table_is_refused_with_what_it_needs(tmp_path, name, scale, options, words):
    path = write_csv(tmp_path / "a.csv", scale * sunny(), names=f"time,{name}")
    assert words in refusal(path, **options)


def spoiled(path, row, cell):
    """Write a record with another cell in place of one reading, or of one stamp."""
    lines = write_csv(path, sunny()).read_text().splitlines()
    time, value = lines[row].split(",")
    lines[row] = cell.format(time=time, value=value)
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("2016-13-41 00:00,{value}", "times that cannot be read at row 60"),
        ("1816-07-01 00:00,{value}", "before 1980 or after 2100 at row 60"),
        ("2916-07-01 00:00,{value}", "before 1980 or after 2100 at row 60"),
    ],
)
def test_a_bad_cell_is_named_by_its_row(tmp_path, cell, words):
    message = refusal(spoiled(tmp_path / "a.csv", 60, cell), timezone="UTC")
    assert words in message
    assert_no_reading_told(message, sunny())


@pytest.mark.parametrize(
    ("cell", "note"),
    [
        ("{time},broken", "1 cell without a number"),
        ('{time},"', "1 empty reading"),
        ("{time},1;5", "1 cell without a number"),
        ("{time},inf", "1 infinite reading, among row 60"),
        ("{time},-Infinity", "1 infinite reading, among row 60"),
        ("{time},NaN", "1 empty reading"),
        ("{time},", "1 empty reading"),
        (",{value}", "1 row without a time"),
        ("yesterday,{value}", "1 row without a time"),
    ],
)
def test_a_bad_cell_is_left_out_by_itself(tmp_path, cell, note):
    (record,) = read_meters(spoiled(tmp_path / "a.csv", 60, cell), timezone="UTC", label="start")
    others = np.arange(len(sunny())) != 59
    assert (record.power_kw == sunny().to_numpy()[others]).all()
    assert any(note in each for each in record.notes)


def test_text_in_a_parquet_column_is_left_out(tmp_path):
    power = sunny()
    cells = [str(value) for value in power]
    cells[10:12] = ["x", "y"]
    pd.DataFrame({"time": power.index, "power_kw": cells}).to_parquet(tmp_path / "a.parquet")
    (record,) = read_meters(tmp_path / "a.parquet")
    assert len(record.times) == len(power) - 2
    assert "2 cells without a number, dropped." in record.notes


def test_dates_that_can_be_read_in_two_ways_need_a_format(tmp_path):
    path = write_csv(tmp_path / "a.csv", sunny(1), stamp="%d/%m/%Y %H:%M")
    assert "option `time_format` to %m/%d/%Y %H:%M or to %d/%m/%Y %H:%M" in refusal(
        path, timezone="UTC"
    )
    (record,) = read_meters(path, timezone="UTC", time_format="%d/%m/%Y %H:%M", label="start")
    assert record.times[0] == np.datetime64("2016-07-01T00:00:00")


def test_a_format_that_is_none_is_refused(tmp_path):
    path = write_csv(tmp_path / "a.csv", sunny())
    with pytest.raises(ParameterError, match="time_format"):
        read_meters(path, time_format="%Q")
    assert "no times that can be read" in refusal(path, timezone="UTC", time_format="%d/%m/%Y")


def test_rows_without_a_system_are_refused(tmp_path):
    power = sunny()
    frame = pd.DataFrame({"system_id": "a", "time": power.index, "power_kw": power.to_numpy()})
    frame.loc[5, "system_id"] = None
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert "rows that name no system" in refusal(tmp_path / "a.csv")


def test_errors_of_a_long_table_name_the_system(tmp_path):
    power = sunny()
    frame = pd.DataFrame({"system_id": "roof", "time": power.index, "power_kw": 0.0})
    frame.to_csv(tmp_path / "fleet.csv", index=False)
    assert "fleet.csv, system roof, has only zeros" in refusal(tmp_path / "fleet.csv")


def test_a_series_of_another_shape_is_refused():
    with pytest.raises(ParameterError, match="DatetimeIndex"):
        from_pandas(pd.Series([1.0, 2.0]))
    with pytest.raises(MeterError, match="is empty"):
        from_pandas(sunny().iloc[:0])
    with pytest.raises(MeterError, match="option `timezone`"):
        from_pandas(sunny().tz_localize(None))
    with pytest.raises(MeterError, match="without a time at row 1"):
        from_pandas(pd.Series([1.0, 2.0], index=pd.DatetimeIndex([None, "2016-07-01"])))


def test_a_frame_indexed_by_time_is_one_system():
    power = sunny()
    (record,) = records_from_frame(power.to_frame())
    (beside,) = records_from_frame(power.to_frame().assign(time=power.index))
    assert (beside.times == record.times).all()
    assert (record.power_kw == power.to_numpy()).all()
    texts = pd.DataFrame({"time": power.index.strftime("%Y-%m-%d %H:%M"), "power_kw": power})
    (record,) = records_from_frame(texts.reset_index(drop=True), MeterOptions(timezone="UTC"))
    assert (record.power_kw == power.to_numpy()).all()


def test_a_frame_without_readings_or_times_is_refused():
    with pytest.raises(MeterError, match="is empty"):
        records_from_frame(pd.DataFrame())
    with pytest.raises(MeterError, match="no times that can be read"):
        records_from_frame(pd.DataFrame({"time": ["x"], "power_kw": [1.0]}))


def test_reasons_name_parameters_in_words(tmp_path):
    rows = [
        f"{name},{stamp:%Y-%m-%d %H:%M},{value}"
        for name in "ab"
        for stamp, value in sunny(1, minutes=60).items()
    ]
    path = tmp_path / "homes.csv"
    path.write_text("\n".join(["system_id,time,power_kw", *rows, *["b,yesterday 12:00,1"] * 60]))
    refused = []
    read_meters(path, timezone="UTC", duplicates="first", refused=refused)
    assert [each.system_id for each in refused] == ["b"]
    assert refused[0].reason.endswith("say how they are written with option `time_format`")
