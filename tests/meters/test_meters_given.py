"""Records, and all that readings may come in."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import pytz

from sunveil.errors import MeterError, ParameterError
from sunveil.meters import Label, MeterOptions, Record
from sunveil.meters.dataframes import frame_of, record_of, series_of

INDEX = pd.date_range("2024-06-01", periods=288, freq="30min", tz="UTC", name="time")
POWER = pd.Series(
    np.maximum(np.sin(np.arange(288) * np.pi / 24.0), 0.0).round(3), index=INDEX, name="roof"
)


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame({"time": INDEX.to_pydatetime().tolist(), "roof": POWER.to_numpy()})


START = MeterOptions(label="start")
WAYS = {
    "series": lambda: (POWER, None),
    "frame by its index": lambda: (POWER.to_frame(), None),
    "frame with a column of times": lambda: (POWER.reset_index(), None),
    "array": lambda: (POWER.to_numpy(), INDEX),
    "column of an array": lambda: (POWER.to_numpy()[:, None], INDEX.to_numpy()),
    "list": lambda: (POWER.tolist(), INDEX.to_pydatetime().tolist()),
    "texts as times": lambda: (POWER.to_numpy(), [f"{each:%Y-%m-%dT%H:%MZ}" for each in INDEX]),
    "polars frame": lambda: (polars_frame(), None),
    "polars series": lambda: (polars_frame()["roof"], polars_frame()["time"]),
    "pyarrow table": lambda: (pa.table({"time": pa.array(INDEX), "roof": pa.array(POWER)}), None),
    "pyarrow array": lambda: (pa.array(POWER.to_numpy()), pa.array(INDEX)),
}


@pytest.mark.parametrize("way", WAYS)
def test_readings_are_the_same_whatever_they_come_in(way):
    readings, times = WAYS[way]()
    # numpy's times and lists of them without a zone are in the zone that is given
    found = record_of(readings, MeterOptions(label="start", timezone="UTC"), times=times)
    expected = record_of(POWER, START)
    assert np.array_equal(found.times, expected.times)
    assert np.array_equal(found.power_kw, expected.power_kw)


def test_names_come_along():
    assert record_of(POWER, START).system_id == "roof"
    assert record_of(polars_frame(), START).system_id == "roof"
    assert record_of(POWER.to_numpy(), START, times=INDEX).system_id == "system"
    assert record_of(POWER, START, system_id="barn").system_id == "barn"


def test_a_file_of_one_system_is_read(tmp_path):
    path = tmp_path / "roof.csv"
    POWER.rename("power_kw").to_csv(path)
    for given in (path, str(path)):
        found = record_of(given, START)
        assert isinstance(found, Record)
        assert found.system_id == "roof"
    assert record_of(found, START) is found
    two = pd.concat([POWER.reset_index().assign(system_id=name) for name in "ab"])
    two.rename(columns={"roof": "power_kw"}).to_csv(path, index=False)
    with pytest.raises(ParameterError, match="has 2 systems, and one is inferred here: read them"):
        record_of(path, START)


@pytest.mark.parametrize(
    "zone",
    ["America/Denver", ZoneInfo("America/Denver"), pytz.timezone("America/Denver")],
    ids=["text", "zoneinfo", "pytz"],
)
def test_zones_are_kept_by_their_names(zone):
    assert (
        record_of(POWER.tz_localize(None), MeterOptions(timezone=zone)).timezone == "America/Denver"
    )


@pytest.mark.parametrize(
    "zone", [dt.timezone(dt.timedelta(hours=-7)), pytz.FixedOffset(-420), "UTC-07:00"]
)
def test_offsets_are_zones_too(zone):
    assert record_of(POWER.tz_localize(None), MeterOptions(timezone=zone)).timezone == "UTC-07:00"


@pytest.mark.parametrize(
    ("readings", "times", "words"),
    [
        (POWER.to_numpy(), None, "give them as times="),
        (POWER.to_numpy(), INDEX[:-1], "times has 287 entries for 288 readings"),
        (POWER.to_numpy(), 3, "times must be one time for each reading"),
        (POWER.to_numpy(), np.arange(288), "times must be one time for each reading"),
        (np.zeros((4, 3)), INDEX, "one dimension"),
        (pd.DataFrame({"a": POWER, "b": POWER}), None, "has 2 columns of readings"),
        (pd.DataFrame({"a": [1.0]}), None, "the frame has no times"),
        (pl.Series([1.0, 2.0]), None, "give them as times="),
        ({"a": 1}, None, "and a dict is none of these"),
        (None, None, "and None is none of these"),
        (POWER.astype(complex), None, "must hold numbers"),
        (POWER.reset_index(drop=True), None, "indexed by time"),
    ],
)
def test_what_cannot_be_taken_is_said_with_what_to_give(readings, times, words):
    with pytest.raises(ParameterError, match=words):
        record_of(readings, START, times=times)


def test_a_frame_that_speaks_arrow_is_taken_as_pandas():
    assert frame_of(polars_frame()).columns.tolist() == ["time", "roof"]
    with pytest.raises(ParameterError, match="one series goes to infer"):
        frame_of(POWER)
    with pytest.raises(ParameterError, match="one series goes to infer"):
        frame_of(pl.Series([1.0]))
    assert series_of(POWER) is POWER


def record(**changes):
    """Return a small record, with some of its fields changed."""
    times = np.arange("2016-07-01T10:00", "2016-07-01T11:00", 15, dtype="M8[m]").astype("M8[s]")
    fields = {
        "system_id": "a",
        "times": times,
        "power_kw": np.array([1.0, 2.0, 3.0, 4.0]),
        "interval_minutes": 15.0,
    }
    return Record(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"power_kw": np.ones(3)}, "unequal number"),
        ({"times": np.array([], dtype="M8[s]"), "power_kw": np.ones(0)}, "no readings"),
        ({"power_kw": np.array([1.0, np.nan, 1.0, 1.0])}, "not finite"),
        ({"interval_minutes": 0.5}, "1 to 60 minutes"),
        ({"interval_minutes": 90.0}, "1 to 60 minutes"),
        ({"times": np.full(4, np.datetime64("2016-07-01", "s"))}, "do not increase"),
    ],
)
def test_a_record_that_is_none_is_refused(changes, words):
    with pytest.raises(MeterError, match=words):
        record(**changes)


def test_a_record_shows_its_middles_and_its_series():
    made = record()
    assert made.middles[0] == np.datetime64("2016-07-01T10:07:30")
    assert made.to_series().loc["2016-07-01 10:15Z"] == 2.0
    assert [label.fraction for label in Label] == [0.0, 0.5, 1.0]
