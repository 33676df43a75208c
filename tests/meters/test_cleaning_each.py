from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meter_makers import refusal, sunny, write_csv

from sunveil.errors import MeterError, ParameterError
from sunveil.meters import MeterOptions, from_pandas, read_meters
from sunveil.meters.record import Cleaning, Record

# What may stand in a cell: the usual, the impossible, the missing, and what loggers write for it.
ANY = st.one_of(
    st.floats(0.0, 10.0),
    st.sampled_from(
        [0.0, -0.0, -5.0, 1e6, 1e300, -1.7e308, math.nan, math.inf, -math.inf, -999.0, -9999.0]
    ),
)
UNITS = st.sampled_from(["W", "kW", "Wh", "kWh"])
DAYS = 3
COUNT = DAYS * 96


def read(power: pd.Series, **options: object) -> Record:
    return from_pandas(power, **{"label": "start", "cleaning": "each", **options})


def by_time(record: Record) -> dict[np.datetime64, float]:
    return dict(zip(record.times.tolist(), record.power_kw.tolist(), strict=True))


def differing(one: Record, other: Record) -> set[object]:
    """Return the times at which two records differ, one of them without a reading included."""
    here, there = by_time(one), by_time(other)
    return {time for time in here.keys() | there.keys() if here.get(time) != there.get(time)}


@settings(max_examples=60)
@given(
    seed=st.integers(0, 9),
    place=st.integers(0, COUNT - 1),
    value=ANY,
    unit=UNITS,
    negate=st.booleans(),
    holes=st.sets(st.integers(0, COUNT - 1), max_size=COUNT // 2),
)
def test_one_replaced_reading_changes_no_other(seed, place, value, unit, negate, holes):
    power = sunny(DAYS, seed=seed)
    power.iloc[list(holes)] = math.nan
    power.iloc[0] = 1.0  # a record without any reading is refused
    other = power.copy()
    other.iloc[max(place, 1)] = value
    records = [read(each, unit=unit, negate=negate) for each in (power, other)]
    moved = power.index[max(place, 1)].tz_localize(None).to_pydatetime()
    assert differing(*records) <= {moved}
    assert records[0].interval_minutes == records[1].interval_minutes == 15.0


@settings(max_examples=30)
@given(seed=st.integers(0, 9), values=st.lists(ANY, min_size=50, max_size=50))
def test_what_becomes_of_a_reading_depends_on_it_alone(seed, values):
    """A reading among fifty wild ones is what it is among the tame."""
    power = sunny(DAYS, seed=seed)
    wild = power.copy()
    wild.iloc[50:100] = values
    tame = read(power)
    rest = {time for time in by_time(tame) if not 50 <= list(by_time(tame)).index(time) < 100}
    assert not differing(tame, read(wild)) & rest


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (2.5, 2.5),
        (0.0, 0.0),
        (-3.0, 0.0),
        (math.nan, None),
        (math.inf, None),
        (-math.inf, None),
        (-999.0, None),
        (-9999.0, None),
        (-99999.0, None),
        (1e300, 1e12),
        (-1e300, 0.0),
    ],
)
def test_each_reading_is_kept_held_or_left_out(value, found):
    power = sunny(2)
    power.iloc[40] = value
    time = power.index[40].tz_localize(None).to_pydatetime()
    record = read(power)
    assert by_time(record).get(time) == found
    assert record.cleaning is Cleaning.EACH


def test_stand_ins_are_told_before_the_unit_is_turned():
    power = 1000.0 * sunny(2)
    power.iloc[40] = -999.0
    time = power.index[40].tz_localize(None).to_pydatetime()
    assert time not in by_time(read(power, unit="W"))
    assert time not in by_time(read(power, unit="W", negate=True))


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(COUNT),
        np.arange(COUNT, dtype=float),
        np.full(COUNT, 3.0),
        np.where(np.arange(COUNT) < COUNT // 2, 3.0, 3000.0),
        np.full(COUNT, -2.0),
        np.where(np.arange(COUNT) == 30, 1e9, 1.0),
    ],
    ids=["zeros", "register", "stuck", "switch", "net", "spike"],
)
def test_nothing_is_refused_or_dropped_because_of_the_record_as_a_whole(values):
    power = pd.Series(values, index=sunny(DAYS).index)
    record = read(power)
    np.testing.assert_array_equal(record.power_kw, np.maximum(values, 0.0))
    np.testing.assert_array_equal(record.times, power.index.tz_localize(None).to_numpy())


def test_the_spacing_is_told_by_the_stamps_not_by_which_have_a_reading():
    power = sunny(DAYS)
    power[power.index.minute != 0] = math.nan
    assert read(power).interval_minutes == 15.0
    assert read(power, cleaning="record").interval_minutes == 60.0


def off_grid(stray: int) -> pd.Series:
    """Return a record of a hundred stamps, some of them five minutes late."""
    power = sunny(2).iloc[:100]
    late = np.zeros(100, dtype="timedelta64[m]")
    late[30 : 30 + stray] = 5
    return pd.Series(power.to_numpy(), index=power.index + pd.to_timedelta(late))


def test_stamps_off_the_grid_are_told_by_all_stamps_not_by_which_have_a_reading():
    """One in a hundred is left out; one in the ninety-nine with a reading would be refused."""
    power = off_grid(1)
    assert len(read(power).times) == 99
    power.iloc[60] = math.nan
    assert len(read(power).times) == 98
    gone = off_grid(2)
    with pytest.raises(MeterError, match="at other times than"):
        read(gone)
    gone.iloc[30] = math.nan
    with pytest.raises(MeterError, match="at other times than"):
        read(gone)


def doubled(first: float, second: float) -> pd.Series:
    power = sunny(2)
    again = pd.Series([second], index=power.index[40:41])
    power.iloc[40] = first
    return pd.concat([power, again])


@pytest.mark.parametrize(
    "pair", [(1.0, 2.0), (1.0, 1.0), (0.0, 0.0), (math.nan, 2.0), (1.0, math.inf)]
)
def test_a_time_that_is_there_twice_is_refused_whatever_its_readings(pair):
    """By the rules for the whole record equal readings, dark ones and blanks would pass."""
    with pytest.raises(MeterError, match="more than one row for the same time at row") as refused:
        read(doubled(*pair))
    assert "duplicates=" in str(refused.value)


@pytest.mark.parametrize(
    ("policy", "pair", "found"),
    [
        ("mean", (1.0, 2.0), 1.5),
        ("first", (1.0, 2.0), 1.0),
        ("last", (1.0, 2.0), 2.0),
        ("mean", (math.nan, 2.0), 2.0),
        ("first", (math.nan, 2.0), 2.0),
        ("last", (1.0, -999.0), 1.0),
        ("mean", (1.0, math.inf), 1.0),
        ("mean", (math.nan, math.nan), None),
        ("mean", (1.7e308, 1.7e308), 1e12),
    ],
)
def test_a_time_that_is_there_twice_is_settled_alone(policy, pair, found):
    record = read(doubled(*pair), duplicates=policy)
    time = sunny(2).index[40].tz_localize(None).to_pydatetime()
    assert by_time(record).get(time) == found
    rest = differing(record, read(sunny(2)))
    assert rest <= {time}


def test_a_record_without_any_reading_is_taken_as_zeros():
    for blank in (math.nan, math.inf, -9999.0):
        record = read(sunny(2) * 0.0 + blank)
        assert len(record.times) == len(sunny(2))
        assert not record.power_kw.any()


def test_files_are_read_with_each_reading_alone_too(tmp_path):
    power = sunny(3)
    power.iloc[10] = -999.0
    power.iloc[11] = 1e9
    path = write_csv(tmp_path / "a.csv", power)
    (record,) = read_meters(path, timezone="UTC", label="start", cleaning="each")
    assert record.cleaning is Cleaning.EACH
    assert len(record.times) == len(power) - 1
    assert record.power_kw.max() == 1e9
    (whole,) = read_meters(path, timezone="UTC", label="start")
    assert whole.cleaning is Cleaning.RECORD
    assert whole.power_kw.max() < 5.0


def test_no_message_tells_a_reading(tmp_path):
    power = sunny(3) * 0.0 + 1234.5678
    path = write_csv(tmp_path / "a.csv", pd.concat([power, power.iloc[:5]]))
    assert "1234" not in refusal(path, timezone="UTC", cleaning="each")


def test_a_cleaning_nobody_knows_is_refused():
    with pytest.raises(ParameterError, match="cleaning must be one of record, each"):
        MeterOptions(cleaning="some")
