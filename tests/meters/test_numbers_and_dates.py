"""Cells are numbers, stamps or missing, each by itself."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import MeterError, ParameterError
from sunveil.meters.find_columns import clock_minutes
from sunveil.meters.numbers_and_dates import (
    NO_TIME,
    WrittenStamps,
    cell_numbers,
    decimal_evidence,
    decimal_mark,
    is_clock,
    is_stamp,
    parse_number,
)


@pytest.mark.parametrize(
    ("cell", "decimal", "value"),
    [
        ("1.5", ".", 1.5),
        ("1,5", ",", 1.5),
        ("1,5", ".", 1.5),
        ("1,234", ".", 1234.0),
        ("1,234", ",", 1.234),
        ("1.234", ",", 1234.0),
        ("1.234,5", ",", 1234.5),
        ("1,234.5", ".", 1234.5),
        ("1 234,5", ",", 1234.5),
        ("1\u202f234,5", ",", 1234.5),
        ("1'234.5", ".", 1234.5),
        ("1,234,567", ".", 1234567.0),
        ("0,123", ".", 0.123),
        ("-.5", ".", -0.5),
        ("\u22125", ".", -5.0),
        ("1e3", ".", 1000.0),
        ("1e999", ".", math.inf),
        ("-Infinity", ".", -math.inf),
    ],
)
def test_a_number_is_read_by_its_decimal_mark(cell, decimal, value):
    assert parse_number(cell, decimal) == (value, "")
    assert cell_numbers(pa.array([cell]), decimal).values[0] == value


@pytest.mark.parametrize(
    "cell", ["", "x", "1_000", "12,34,567", "1.2.3", "0x10", "1 2", "True", "1,,5", "--5", "NaN"]
)
def test_what_is_no_number_is_missing(cell):
    for decimal in ".,":
        assert math.isnan(parse_number(cell, decimal)[0])
        assert np.isnan(cell_numbers(pa.array([cell]), decimal).values[0])


@pytest.mark.parametrize(
    ("cell", "kw", "kind"),
    [
        ("850 W", 0.85, "power"),
        ("1.2kW", 1.2, "power"),
        ("3 MWh", 3000.0, "energy"),
        ("5Wh", 0.005, "energy"),
    ],
)
def test_a_unit_beside_a_number_is_its_own(cell, kw, kind):
    value, found = parse_number(cell, ".")
    assert value == pytest.approx(kw)
    assert found == kind


@given(st.lists(st.text(max_size=8), max_size=20), st.text(max_size=8), st.sampled_from(".,"))
def test_no_cell_changes_another(cells, other, decimal):
    before = cell_numbers(pa.array(cells, pa.string()), decimal).values
    after = cell_numbers(pa.array([*cells, other], pa.string()), decimal).values[:-1]
    np.testing.assert_array_equal(before, after)


@given(st.floats(0, 1e6), st.sampled_from(".,"))
def test_a_written_number_comes_back(value, decimal):
    cell = f"{value:.6f}".replace(".", decimal)
    assert cell_numbers(pa.array([cell]), decimal).values[0] == float(f"{value:.6f}")


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["0,5", "1,234"], ","),
        (["0.5", "1.234"], "."),
        (["1,234", "2,345"], ","),
        (["532", "1,234"], "."),
        (["532", "1.234"], ","),
        (["1.234", "2.345"], "."),
        (["1.234,5"], ","),
        (["12", "7"], "."),
        ([], "."),
    ],
)
def test_the_cells_of_a_system_tell_its_decimal_mark(cells, mark):
    assert decimal_mark(decimal_evidence(pa.array(cells, pa.string()))) == mark


def read(*cells, form=None):
    stamps = WrittenStamps(pa.array(cells, pa.string()), form)
    found = stamps.read(np.arange(len(cells)), where="a.csv")
    times = [None if each == NO_TIME else np.datetime64(int(each), "us") for each in found.wall]
    return [None if each is None else str(each)[:19] for each in times], found


@pytest.mark.parametrize(
    ("cells", "times"),
    [
        (["2016-07-01 00:15:00"], ["2016-07-01T00:15:00"]),
        (["2016-07-01T00:15Z"], ["2016-07-01T00:15:00"]),
        (["2016-07-01", "2016-07-01 00:15:00"], ["2016-07-01T00:00:00", "2016-07-01T00:15:00"]),
        (["01/06/24 10:05PM", "20/06/24 1:00AM"], ["2024-06-01T22:05:00", "2024-06-20T01:00:00"]),
        (["13.06.2020 00:15 - 00:30"], ["2020-06-13T00:15:00"]),
        (["31/12/2019 24:00"], ["2020-01-01T00:00:00"]),
        (["20240601 1005"], ["2024-06-01T10:05:00"]),
        (["202406011005"], ["2024-06-01T10:05:00"]),
        (["Jun 13, 2024 10:00 AM"], ["2024-06-13T10:00:00"]),
        (["13-Jul-12"], ["2012-07-13T00:00:00"]),
        (["1467331200"], ["2016-07-01T00:00:00"]),
        (["1467331200000"], ["2016-07-01T00:00:00"]),
        (["1467331200000000"], ["2016-07-01T00:00:00"]),
        (["1467331200000000000"], ["2016-07-01T00:00:00"]),
        (["45292.0104166667"], ["2024-01-01T00:15:00"]),
        (["2020-01-13 00:00", "Total", ""], ["2020-01-13T00:00:00", None, None]),
        (["13.06.2020 00.15"], ["2020-06-13T00:15:00"]),
        (["Sat 13/06/2020 00:15"], ["2020-06-13T00:15:00"]),
    ],
)
def test_stamps_of_many_kinds_are_read(cells, times):
    assert read(*cells)[0] == times


def test_offsets_are_kept_apart():
    _, found = read(
        "2016-07-01 00:00:00-07:00", "2016-07-01 00:00:00.5+0530", "2016-07-01 00:00 CET"
    )
    np.testing.assert_array_equal(found.offset, [-420.0, 330.0, 60.0])
    assert np.isnan(read("2016-07-01 00:00")[1].offset[0])


def test_most_stamps_decide_how_all_are_read():
    usual = [f"{day:02d}/07/2016 00:00" for day in range(1, 32)]
    assert read(*usual, "07/13/2016 00:00")[0][-1] is None


def test_days_and_months_that_cannot_be_told_apart_are_refused():
    with pytest.raises(MeterError, match="two ways"):
        read("01/02/2016 00:00")


def test_a_format_that_is_none_is_refused():
    with pytest.raises(ParameterError, match="time_format"):
        read("2016-07-01", form="%Q")


@pytest.mark.parametrize("cell", ["1.5", "12.34.5", "0.0", "5/6", "10:05", "123456789", "x", ""])
def test_numbers_and_hours_are_no_stamps(cell):
    assert not is_stamp(cell)


@pytest.mark.parametrize("cell", ["10:05", "1:05 PM"])
def test_hours_are_no_dates(cell):
    assert is_clock(cell)
    assert not is_clock(f"2016-07-01 {cell}")


def test_names_of_columns_tell_the_time_of_day():
    assert clock_minutes(["0:30", "1:00"]) == [30.0, 60.0]
    assert clock_minutes(["00:00 - 00:30", "00:30 - 01:00"]) == [0.0, 30.0]
    assert clock_minutes(["0030", "0100"]) == [30.0, 60.0]
    assert clock_minutes(["0:30", "power"]) is None
