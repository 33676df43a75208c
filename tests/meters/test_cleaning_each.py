from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meter_makers import refusal, sunny, write_csv

from sunveil.errors import MeterError
from sunveil.meters import MeterOptions, Record, from_pandas, read_meters, records_from_frame
from sunveil.meters.record import Cleaning, coarsen

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
    given = {"label": "start", "cleaning": "each", "power_unit": "kW", **options}
    return from_pandas(power, **given)


def by_time(record: Record) -> dict[np.datetime64, float]:
    return dict(zip(record.times.tolist(), record.power_kw.tolist(), strict=True))


def differing(one: Record, other: Record) -> set[object]:
    """Return the times at which two records differ, one of them without a reading included."""
    here, there = by_time(one), by_time(other)
    return {time for time in here.keys() | there.keys() if here.get(time) != there.get(time)}


@settings(max_examples=90)
@given(
    seed=st.integers(0, 9),
    place=st.integers(1, COUNT - 1),
    values=st.lists(ANY, min_size=1, max_size=50),
    unit=UNITS,
    negate=st.booleans(),
    holes=st.sets(st.integers(0, COUNT - 1), max_size=COUNT // 2),
)
def test_replaced_readings_change_no_other(seed, place, values, unit, negate, holes):
    power = sunny(DAYS, seed=seed)
    power.iloc[list(holes)] = math.nan
    power.iloc[0] = 1.0  # a record without any reading is refused
    other = power.copy()
    moved = power.index[place : place + len(values)]
    other[moved] = values[: len(moved)]
    records = [read(each, power_unit=unit, negate=negate) for each in (power, other)]
    assert differing(*records) <= set(moved.tz_localize(None).to_pydatetime())
    assert records[0].interval_minutes == records[1].interval_minutes == 15.0


def flows(seed: int = 0) -> pd.DataFrame:
    """Return what a home gives to the grid and what it takes from it. [kW]"""
    power = sunny(DAYS, seed=seed)
    net = power - 0.2 - np.random.default_rng(seed).random(len(power))
    return pd.DataFrame({"export_kw": net.clip(lower=0.0), "import_kw": (-net).clip(lower=0.0)})


def read_flows(frame: pd.DataFrame, **options: object) -> Record:
    (record,) = records_from_frame(
        frame, MeterOptions(**{"label": "start", "cleaning": "each", **options})
    )
    return record


@settings(max_examples=40)
@given(
    seed=st.integers(0, 9),
    place=st.integers(1, COUNT - 1),
    values=st.tuples(ANY, ANY),
    counted=st.booleans(),
    holes=st.sets(st.tuples(st.integers(0, COUNT - 1), st.integers(0, 1)), max_size=COUNT),
)
def test_one_replaced_row_of_a_net_meter_changes_no_other(seed, place, values, counted, holes):
    """Nor a count of its registers more than the two differences that it is part of."""
    frame = flows(seed).cumsum() if counted else flows(seed)
    for row, column in holes:
        frame.iloc[row, column] = math.nan
    other = frame.copy()
    other.iloc[place] = values
    register = {"register": "cumulative", "power_unit": "kWh"} if counted else {}
    records = [read_flows(each, **register) for each in (frame, other)]
    assert records[0].net
    moved = frame.index[place].tz_localize(None).to_pydatetime()
    before = moved - pd.Timedelta(minutes=15)
    assert differing(*records) <= ({moved, before} if counted else {moved})
    assert records[0].extent == records[1].extent


def test_each_row_of_a_net_meter_is_what_is_given_less_what_is_taken():
    frame = flows()
    frame.iloc[40] = [math.nan, 1.0]
    frame.iloc[41] = [1.0, -999.0]
    frame.iloc[42] = [1.0, 5.0]
    found = by_time(read_flows(frame))
    times = frame.index.tz_localize(None).to_pydatetime()
    assert times[40] not in found
    assert times[41] not in found
    assert found[times[42]] == -4.0


@pytest.mark.parametrize("cleaning", ["record", "each"])
@pytest.mark.parametrize("column", ["export_kw", "import_kw"])
def test_where_one_of_two_registers_starts_again_there_is_no_reading(column, cleaning):
    counts = flows().cumsum() + 100.0
    other = counts.copy()
    other.loc[other.index[100] :, column] -= 100.0
    options = {"register": "cumulative", "power_unit": "kWh", "cleaning": cleaning}
    whole, broken = (by_time(read_flows(each, **options)) for each in (counts, other))
    (lost,) = whole.keys() - broken.keys()
    assert lost == counts.index[99].tz_localize(None).to_pydatetime()
    assert broken == pytest.approx({time: whole[time] for time in broken})


@pytest.mark.parametrize("cell", ["1,5", ",,,", "", "nan", "'", "x;y"])
def test_a_spoilt_cell_of_a_net_meter_costs_its_own_row_alone(cell, tmp_path):
    frame = flows()
    stamps = frame.index.strftime("%Y-%m-%d %H:%M")
    rows = [
        f"home,{taken:.4f},{given:.4f},{stamp}"
        for stamp, given, taken in zip(stamps, frame.export_kw, frame.import_kw, strict=True)
    ]
    spoilt = [*rows[:40], rows[40].replace(",", f",{cell}", 1), *rows[41:]]
    records = []
    for lines in (rows, spoilt):
        path = tmp_path / "a.csv"
        path.write_text("\n".join(["system_id,import_kw,export_kw,time", *lines]) + "\n")
        records += read_meters(path, timezone="UTC", label="start", cleaning="each")
    assert differing(*records) <= {frame.index[40].tz_localize(None).to_pydatetime()}
    assert records[0].extent == records[1].extent


def test_stamps_between_the_two_columns_of_a_net_meter_are_refused(tmp_path):
    """A separator in a cell could not be told from one around the stamps."""
    path = tmp_path / "a.csv"
    path.write_text("import_kw,time,export_kw\n0.1,2024-06-01 00:00,0\n0.1,2024-06-01 01:00,0\n")
    assert "side by side" in refusal(path, timezone="UTC", cleaning="each")


def test_a_net_meter_without_any_reading_is_one_of_none():
    """Zeros would say that the home gave nothing to the grid, at every time."""
    for record in (read_flows(flows() * math.nan), read(sunny(DAYS) * math.nan, net=True)):
        assert len(record.times) == 0
        assert record.net
        times = sunny(DAYS).index.tz_localize(None).to_numpy()[[0, -1]]
        np.testing.assert_array_equal(record.extent, times.astype("M8[s]"))
        assert "0 readings" in repr(record)
        assert len(coarsen(record, 30.0).times) == 0
    assert coarsen(read_flows(flows()), 30.0).net


KEPT = {
    2.5: 2.5,
    0.0: 0.0,
    -3.0: 0.0,
    1e300: 1e12,
    -1e300: 0.0,
    **dict.fromkeys([math.nan, math.inf, -math.inf, -999.0, -9999.0, -99999.0]),
}


@pytest.mark.parametrize(("value", "found"), KEPT.items())
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
    assert time not in by_time(read(power, power_unit="W"))
    assert time not in by_time(read(power, power_unit="W", negate=True))


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
    "pair", [(1234.5678, 2.0), (1.0, 1.0), (0.0, 0.0), (math.nan, 2.0), (1.0, math.inf)]
)
def test_a_time_that_is_there_twice_is_refused_whatever_its_readings(pair):
    """By the rules for the whole record equal readings, dark ones and blanks would pass."""
    with pytest.raises(MeterError, match="more than one row for the same time at row") as refused:
        read(doubled(*pair))
    assert "option `duplicates`" in str(refused.value)
    assert "1234" not in str(refused.value)


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
        assert (len(record.times), record.power_kw.any()) == (len(sunny(2)), False)


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
