from __future__ import annotations

import pytest

from sunveil.errors import ParameterError
from sunveil.privacy import Days, Readings, System


def test_a_unit_says_what_it_protects():
    assert str(Readings()) == "any one reading"
    assert str(Readings(24)) == "any 24 readings"
    assert str(Days()) == "any one day"
    assert str(Days(7)) == "any 7 days"
    assert str(System()) == "a system's whole record"


def test_units_are_equal_only_when_they_protect_the_same():
    assert Readings(2) == Readings(2)
    assert Readings(2) != Readings(3)
    assert Readings(1) != Days(1)
    assert Days(365) != System()
    assert len({Readings(1), Readings(1), Days(1), System(), System()}) == 3


@pytest.mark.parametrize("unit", [Readings, Days])
@pytest.mark.parametrize("k", [0, -1, 1.0, 1.5, True, "1", None, float("nan")])
def test_a_unit_counts_in_whole_numbers_from_one(unit, k):
    with pytest.raises(ParameterError, match=f"whole number of {unit.__name__.lower()}, 1 or more"):
        unit(k)
