from __future__ import annotations

import itertools

import pytest

from sunveil.errors import ParameterError
from sunveil.privacy import Days, Readings, System
from sunveil.privacy.guarantees import implies, parse_unit, unit_name

# From the smallest to the largest, as far as they can be compared.
UNITS = [Readings(1), Readings(2), Readings(365), Days(1), Days(2), Days(365), System()]
# Every pair in which a guarantee for the first is one for the second.
HOLDS = {
    *((unit, unit) for unit in UNITS),
    *((System(), unit) for unit in UNITS),
    (Readings(2), Readings(1)),
    (Readings(365), Readings(1)),
    (Readings(365), Readings(2)),
    (Days(1), Readings(1)),
    (Days(2), Readings(1)),
    (Days(2), Readings(2)),
    (Days(2), Days(1)),
    (Days(365), Readings(1)),
    (Days(365), Readings(2)),
    (Days(365), Readings(365)),
    (Days(365), Days(1)),
    (Days(365), Days(2)),
}


@pytest.mark.parametrize("smaller", UNITS, ids=str)
@pytest.mark.parametrize("larger", UNITS, ids=str)
def test_a_larger_unit_implies_the_smaller_and_never_the_reverse(larger, smaller):
    assert implies(larger, smaller) is ((larger, smaller) in HOLDS)


def test_what_is_implied_by_an_implied_unit_is_implied():
    for first, second, third in itertools.product(UNITS, UNITS, UNITS):
        if implies(first, second) and implies(second, third):
            assert implies(first, third)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("readings:1", Readings(1)),
        ("readings", Readings(1)),
        (" Days:7 ", Days(7)),
        ("days", Days(1)),
        ("system", System()),
        ("SYSTEM", System()),
    ],
)
def test_a_unit_is_read_from_its_name(text, unit):
    assert parse_unit(text) == unit


@pytest.mark.parametrize(
    "text",
    ["", "reading:1", "readings:0", "days:-1", "days:1.5", "system:2", "days:x", "k", "days:²"],
)
def test_a_text_that_names_no_unit_is_refused(text):
    with pytest.raises(ParameterError, match="a unit"):
        parse_unit(text)


@pytest.mark.parametrize("unit", [Readings(1), Readings(24), Days(7), System()])
def test_a_unit_is_read_back_from_its_name(unit):
    assert parse_unit(unit_name(unit)) == unit
