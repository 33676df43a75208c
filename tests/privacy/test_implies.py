from __future__ import annotations

import itertools

import pytest

from sunveil.privacy.units import Days, Readings, System, implies

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
