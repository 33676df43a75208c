"""Neighbours differ in one unit of one system, and in nothing that is public."""

from __future__ import annotations

import pytest

from sunveil.endtoend.cells import THREE, meter_cells
from sunveil.endtoend.hostile import (
    CHANGES,
    CONSTANTS,
    DAY,
    FEW,
    LONG,
    READING,
    SYSTEM,
    TEARING,
    neighbours,
)


@pytest.fixture(scope="module")
def data():
    return meter_cells(THREE, days=3)


def changed(data, other) -> dict[str, list[int]]:
    """Return which cells differ, by system."""
    found = {}
    for name, cells in data.by_system.items():
        both = zip(cells, other.by_system[name], strict=True)
        places = [place for place, (ours, theirs) in enumerate(both) if ours != theirs]
        if places:
            found[name] = places
    return found


@pytest.mark.parametrize(("unit", "most"), [(READING, 1), (DAY, 24), (SYSTEM, 72)])
def test_neighbours_differ_in_one_unit(data, unit, most):
    made = list(neighbours(data, unit, spots=3))
    assert {each.kind for each in made} >= {"nan", "lone quote", "not UTF-8", "long text"}
    for each in made:
        other = each.of(data)
        ((name, places),) = changed(data, other).items()
        assert name == each.system
        assert places[-1] - places[0] < most
        assert unit != DAY or places[0] // 24 == places[-1] // 24
        assert (other.columns, list(other.by_system)) == (data.columns, list(data.by_system))
        assert len(other.by_system[name]) == len(data.columns)


def test_the_first_cell_of_all_is_among_them_and_so_is_a_bright_one(data):
    places = {each.places[0] for each in neighbours(data, READING, kinds=["text"], spots=3)}
    assert places == {0, 36, 71}
    assert float(data.by_system["home00"][0]) == 0.0 < float(data.by_system["home00"][36])


def test_the_few_of_a_short_audit_are_known():
    assert set(FEW) <= {*CONSTANTS, *LONG, *CHANGES}


def test_what_would_change_nothing_is_no_neighbour(data):
    same = data.replaced("home00", range(72), [b"nan"] * 72)
    assert list(neighbours(same, READING, kinds=["nan"], spots=1)) == []


def test_what_tears_a_line_apart_is_known_as_such():
    ends = {
        kind for kind, cell in CONSTANTS.items() if len(cell.decode("latin-1").splitlines()) > 1
    }
    assert ends == TEARING
