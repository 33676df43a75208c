"""Offsets, zones, daylight saving and labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from meter_makers import refusal, sunny, write_csv

from sunveil.errors import ParameterError
from sunveil.meters import Label, MeterOptions, from_pandas, read_meters, records_from_frame

DENVER_AUTUMN, DENVER_SPRING = "2016-11-05", "2016-03-12"
AGAIN = "repeats in autumn"
AS_TIMES = {"check_names": False, "check_freq": False, "check_index_type": False}


def local_file(path, zone, *, start, minutes=15):
    """Write a record in the wall time of a zone, as a meter with that clock does."""
    power = sunny(3, minutes=minutes, start=start, noon=19.0)
    return power, write_csv(path, power.tz_convert(zone).tz_localize(None))


@pytest.mark.parametrize("minutes", [5, 15, 60])
@pytest.mark.parametrize("start", [DENVER_AUTUMN, DENVER_SPRING])
def test_daylight_saving_is_undone_at_both_changes(tmp_path, start, minutes):
    power, path = local_file(tmp_path / "a.csv", "America/Denver", start=start, minutes=minutes)
    (record,) = read_meters(path, timezone="America/Denver", label="start")
    assert record.timezone == "America/Denver"
    assert (record.times == power.index.tz_localize(None).to_numpy()).all()
    assert (record.power_kw == power.to_numpy()).all()


HOLES = pd.to_datetime(["2016-11-06 07:30Z", "2016-11-06 08:15Z"])
AUTUMN = {
    "readings are missing": (lambda power: power.drop(HOLES), None),
    "rows go backwards": (lambda power: power.iloc[::-1], "sorted"),
    "rows are shuffled": (lambda power: power.iloc[np.r_[100:288, 0:100]], "sorted"),
    "it is there once": (lambda power: power[power.index.floor("h") != HOLES[1].floor("h")], AGAIN),
}


@pytest.mark.parametrize("how", AUTUMN)
def test_the_repeated_hour_is_told_apart_even_where(how, tmp_path):
    change, note = AUTUMN[how]
    power = change(sunny(3, start=DENVER_AUTUMN, noon=19.0))
    path = write_csv(tmp_path / "a.csv", power.tz_convert("America/Denver").tz_localize(None))
    (record,) = read_meters(path, timezone="America/Denver", label="start")
    pd.testing.assert_series_equal(record.to_series(), power.sort_index(), **AS_TIMES)
    assert note is None or any(note in each for each in record.notes)


def test_stamps_that_the_clock_skips_are_refused_with_their_rows(tmp_path):
    power = sunny(3, start=DENVER_SPRING).tz_localize(None)
    message = refusal(write_csv(tmp_path / "a.csv", power), timezone="America/Denver")
    assert "skip in spring, at rows 105 to 108" in message
    assert "UTC-07:00" in message


def test_the_end_of_the_last_interval_before_the_skipped_hour_is_placed(tmp_path):
    power = sunny(3, start=DENVER_SPRING, noon=19.0)
    ends = (power.index + pd.Timedelta("15min")).tz_convert("America/Denver").tz_localize(None)
    written = pd.Series(power.to_numpy(), index=ends)
    written = written.rename({pd.Timestamp("2016-03-13 03:00"): pd.Timestamp("2016-03-13 02:00")})
    path = write_csv(tmp_path / "a.csv", written)
    (record,) = read_meters(path, timezone="America/Denver", label="end")
    assert (record.times == power.index.tz_localize(None).to_numpy()).all()


def test_stamps_keep_their_own_offset_against_a_declared_zone(tmp_path):
    power = sunny().tz_convert("Etc/GMT+7")
    path = write_csv(tmp_path / "a.csv", power, stamp="%Y-%m-%d %H:%M:%S%z")
    (record,) = read_meters(path, timezone="Europe/Berlin", label="start")
    assert record.timezone == "UTC-07:00"
    assert record.times[0] == np.datetime64("2016-07-01T00:00:00")
    assert "UTC-07:00, which was kept over the declared timezone Europe/Berlin" in record.notes[0]


def test_stamps_that_agree_with_the_declared_zone_take_its_name(tmp_path):
    power = sunny(3, start=DENVER_AUTUMN).tz_convert("America/Denver")
    path = write_csv(tmp_path / "a.csv", power, stamp="%Y-%m-%d %H:%M:%S%z")
    (record,) = read_meters(path, timezone="America/Denver", label="start")
    assert (record.timezone, record.notes) == ("America/Denver", ())
    (record,) = read_meters(path)
    assert (record.timezone, record.notes) == ("UTC-07:00", ())


def test_a_parquet_file_of_instants_takes_the_zone_stored_with_it(tmp_path):
    power = sunny().tz_convert("-07:00").rename_axis("time").reset_index()
    power.to_parquet(tmp_path / "a.parquet")
    (record,) = read_meters(tmp_path / "a.parquet")
    assert record.timezone == "UTC-07:00"
    (record,) = read_meters(tmp_path / "a.parquet", timezone="America/Denver")
    assert (record.timezone, record.notes) == ("America/Denver", ())


def test_stamps_with_and_without_offset_in_one_file_are_refused(tmp_path):
    path = write_csv(tmp_path / "a.csv", sunny(), stamp="%Y-%m-%d %H:%M:%SZ")
    path.write_text(path.read_text().replace("01:00:00Z", "01:00:00"))
    assert "without a UTC offset at rows 5 to 485 (6 of them)" in refusal(path)


NAMES = {
    "UTC": ("utc", "Z", "+00:00"),
    "UTC-07:00": ("-07:00", "UTC-7"),
    "UTC+05:30": ["GMT+0530"],
    "Etc/GMT+7": ["Etc/GMT+7"],
}


@pytest.mark.parametrize(("name", "texts"), NAMES.items())
def test_a_timezone_may_be_written_in_many_ways(tmp_path, name, texts):
    path = write_csv(tmp_path / "a.csv", sunny())
    for text in texts:
        (record,) = read_meters(path, timezone=text)
        assert record.timezone == name


WRONG = {
    "timezone": ("Mars/Olympus", "+25:00", "America", "", "../etc/passwd", "-07:75"),
    "power_unit": ["horsepower"],
    "label": ["centre"],
    "duplicates": ["max"],
    "unit_switch": ["yes"],
    "cleaning": ["some"],
}


@pytest.mark.parametrize(("field", "values"), WRONG.items())
def test_an_option_out_of_its_range_is_refused(field, values):
    for value in values:
        with pytest.raises(ParameterError, match=field):
            MeterOptions(**{field: value})


LABELS = {**dict.fromkeys((1, 15, 20), Label.MIDDLE), **dict.fromkeys((30, 60), Label.START)}


@pytest.mark.parametrize(("minutes", "label"), LABELS.items())
def test_an_undeclared_label_is_the_middle_below_half_an_hour_and_else_the_start(
    tmp_path, minutes, label
):
    power = sunny(2, minutes=minutes)
    path = write_csv(tmp_path / "a.csv", power)
    (of_file,) = read_meters(path, timezone="UTC")
    (of_frame,) = records_from_frame(power.to_frame())
    starts = power.index - label.fraction * pd.Timedelta(minutes=minutes)
    for record in (of_file, of_frame, from_pandas(power), from_pandas(power, label="auto")):
        assert record.label is label
        assert not record.label_known
        assert (record.times == starts.tz_localize(None).to_numpy()).all()
        assert (record.power_kw == power.to_numpy()).all()


@pytest.mark.parametrize("minutes", [15, 30, 60])
@pytest.mark.parametrize("label", Label)
def test_a_declared_label_is_known_and_kept(tmp_path, minutes, label):
    power = sunny(2, minutes=minutes)
    path = write_csv(tmp_path / "a.csv", power)
    (of_file,) = read_meters(path, timezone="UTC", label=label.value)
    (of_frame,) = records_from_frame(power.to_frame(), MeterOptions(label=label))
    starts = power.index - label.fraction * pd.Timedelta(minutes=minutes)
    for record in (of_file, of_frame, from_pandas(power, label=label)):
        assert record.label is label
        assert record.label_known
        assert (record.times == starts.tz_localize(None).to_numpy()).all()
