from __future__ import annotations

import pytest

from sunveil.endtoend.cells import THREE, Truth
from sunveil.endtoend.rules import (
    anything,
    counted,
    each_near,
    many_near,
    most_near,
    total_within,
)


def row(azimuth, tilt, capacity):
    return {"surface_azimuth": azimuth, "surface_tilt": tilt, "dc_capacity_kw": capacity}


RIGHT = [row(180, 32, "5.9"), row(88, 24, 12), row(270, 40, 3.2)]


def test_each_system_is_looked_for_among_all_rows():
    rule = each_near(THREE)
    assert rule(RIGHT) == rule(RIGHT[::-1]) == "near near near"
    assert rule([row(180, 32, 60.0), *RIGHT[1:]]) == "off near near"
    assert rule([row(180, 32, None), *RIGHT[1:]]) == "off near near"
    assert rule([]) == "off off off"


def test_one_may_be_off_where_most_are_asked_for():
    rule = most_near(THREE)
    assert (rule(RIGHT), rule(RIGHT[1:]), rule(RIGHT[:1])) == ("most near", "most near", "few near")


def test_the_compass_is_a_circle():
    rule = many_near(Truth(10.0, 30.0, 5.0), 1)
    assert rule([row(350.0, 60.0, 5.0)]) == "many near"
    assert rule([row(190.0, 60.0, 5.0)]) == "few near"


@pytest.mark.parametrize(
    ("total", "name"), [(95.0, "near"), (200.0, "above"), (-5.0, "below"), (None, "no total")]
)
def test_a_total_is_near_or_on_a_side(total, name):
    rows = [] if total is None else [{"noisy_total_kw": total}, {"other": 1}]
    assert total_within(100.0, 50.0)(rows) == name


@pytest.mark.parametrize(("south", "name"), [(0.9, "E W"), ("1.1", "S")])
def test_sectors_are_compared_by_what_was_drawn_in_their_own_table(south, name):
    drawn = {"E": 0.5, "W": "0.5", "S": south}
    rows = [{"table": "sectors", "sector": each, "noisy": n} for each, n in drawn.items()]
    rule = counted("sectors", "sector", ("E", "W"), ("S",))
    assert rule([*rows, {"table": "planes"}]) == name


def test_whether_anything_is_drawn_is_always_looked_at():
    assert anything(RIGHT) != anything([])
