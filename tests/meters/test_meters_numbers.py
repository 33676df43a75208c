"""Every cell is a number, or a missing value, by itself."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sunveil.meters.numbers_and_dates import (
    cell_numbers,
    decimal_evidence,
    decimal_mark,
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
