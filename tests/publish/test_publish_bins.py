from __future__ import annotations

import numpy as np
import pytest
from fleet_makers import ANY, fleet
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.publish.bins import Bins, groups_of

NAN = float("nan")


def names(bins: Bins, *values: float) -> tuple[str, ...] | None:
    (cell,) = bins.cells(fleet([values]))
    if cell == bins.size:
        return None
    place = np.unravel_index(cell, bins.shape)
    return tuple(labels[i] for labels, i in zip(bins.labels, place, strict=True))


@pytest.mark.parametrize(
    ("azimuth", "sector"),
    [(0, "N"), (22.4, "N"), (22.5, "NE"), (337.5, "N"), (337.4, "NW"), (180, "S"), (-90, "W"),
     (360, "N"), (-1e-20, "N"), (-22.500000000000004, "N"), (540, "S")],
)  # fmt: skip
def test_an_azimuth_is_in_the_sector_it_faces(azimuth, sector):
    assert names(Bins(), azimuth, 5.0, 4.0)[0] == sector


@pytest.mark.parametrize(
    ("tilt", "band"),
    [(0, "0 to 10"), (10, "10 to 20"), (9.99, "0 to 10"), (-5, "0 to 10"), (95, "50 to 90"),
     (np.inf, "50 to 90"), (-np.inf, "0 to 10")],
)  # fmt: skip
def test_tilts_beyond_the_edges_are_in_the_outermost_bands(tilt, band):
    assert names(Bins(), 180.0, tilt, 4.0)[1] == band


def test_capacities_beyond_the_edges_are_in_the_outermost_classes():
    assert names(Bins(), 180.0, 20.0, 1e9)[2] == "20 to 1000"
    assert names(Bins(), 180.0, 20.0, -3.0)[2] == "0 to 3"


@pytest.mark.parametrize("values", [(NAN, 1, 1), (1, NAN, 1), (1, 1, NAN), (np.inf, 1, 1)])
def test_a_row_that_lacks_a_value_is_unknown(values):
    assert names(Bins(), *values) is None


@given(ANY, ANY, ANY, st.integers(1, 40))
def test_every_row_is_in_exactly_one_cell(azimuth, tilt, capacity, sectors):
    bins = Bins(sectors, (0.0, 30.0, 90.0), (0.0, 5.0, 10.0, 20.0))
    (cell,) = bins.cells(fleet([(azimuth, tilt, capacity)]))
    assert 0 <= cell <= bins.size == sectors * 6


def test_other_numbers_of_sectors_are_named_by_their_angles():
    assert Bins(6).labels[0][:2] == ("330 to 30", "30 to 90")
    assert Bins(4).labels[0] == ("N", "E", "S", "W")


@pytest.mark.parametrize(
    "choice",
    [{"sectors": 0}, {"sectors": True}, {"sectors": 2.0}, {"tilt_edges": (0.0,)},
     {"tilt_edges": (0.0, 0.0)}, {"capacity_edges_kw": (0.0, NAN)}, {"sectors": 100_000}],
)  # fmt: skip
def test_bins_that_are_none_are_refused(choice):
    with pytest.raises(ParameterError):
        Bins(**choice)


def test_groups_are_those_listed_and_an_empty_one_stays():
    found = groups_of(fleet([(1, 1, 1)] * 3, ["b", "a", "b"]), key="feeder", keys=("a", "b", "c"))
    assert found.names == ("a", "b", "c")
    assert found.sizes.tolist() == [1, 2, 0]


def test_without_a_key_the_fleet_is_one_group():
    assert groups_of(fleet([(1, 1, 1)] * 3), key=None, keys=None).sizes.tolist() == [3]


def test_a_key_that_is_not_listed_is_refused_by_name():
    rows = fleet([(1, 1, 98765)] * 5, ["a", "v", "w", "x", "y"])
    with pytest.raises(ParameterError, match="'v', 'w', 'x' and others") as caught:
        groups_of(rows, key="feeder", keys=("a",))
    assert "98765" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "keys", "words"),
    [(None, ("a",), "without the name"), ("feeder", None, "in advance"), ("feeder", (), "advance"),
     ("feeder", ("a", "a"), "twice"), ("zip", ("a",), "no public column 'zip'")],
)  # fmt: skip
def test_lists_of_groups_that_are_none_are_refused(key, keys, words):
    with pytest.raises(ParameterError, match=words):
        groups_of(fleet([(1, 1, 1)], ["a"]), key=key, keys=keys)
