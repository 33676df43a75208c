from __future__ import annotations

import numpy as np
import pytest
from fleet_makers import ANY, PLANES, fleet
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.publication.published_tables import PARTS, Bins
from sunveil.publish.noisy_counts import (
    bins_of_planes,
    bins_of_systems,
    groups_of,
    largest_planes,
    whole_parts,
)

NAN = float("nan")


def names(bins: Bins, *values: float) -> tuple[str, ...] | None:
    (number,) = bins_of_systems(fleet([values]), bins)
    if number == bins.size:
        return None
    place = np.unravel_index(number, bins.shape)
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
def test_every_row_is_in_exactly_one_bin(azimuth, tilt, capacity, sectors):
    bins = Bins(sectors, (0.0, 30.0, 90.0), (0.0, 5.0, 10.0, 20.0))
    (number,) = bins_of_systems(fleet([(azimuth, tilt, capacity)]), bins)
    assert 0 <= number <= bins.size == sectors * 6


@given(st.dictionaries(st.integers(0, 4), PLANES, max_size=5))
def test_the_parts_of_every_system_add_up_to_one_system(planes):
    rows = fleet([(180, 20, 5)] * 5, planes=planes)
    row, numbers, parts = bins_of_planes(rows, Bins())
    assert (parts >= 0).all()
    assert np.bincount(row, weights=parts, minlength=5).tolist() == [PARTS] * 5
    assert ((numbers >= 0) & (numbers <= Bins().size)).all()


@pytest.mark.parametrize(
    ("shares", "parts"),
    [([0.68, 0.32], [7, 3]), ([0.5, 0.5], [5, 5]), ([0.75, 0.25], [8, 2]), ([0.96, 0.04], [10, 0]),
     ([0.04, 0.96], [0, 10]), ([1 / 3, 1 / 3, 1 / 3], [4, 3, 3]), ([3.0, 1.0], [8, 2]),
     ([1e-320, 1e-320], [5, 5])],
)  # fmt: skip
def test_parts_are_shares_rounded_so_that_they_add_up(shares, parts):
    rows = fleet([(180, 20, 5)] * 2, planes={1: [(90, 20, share) for share in shares]})
    assert whole_parts(rows.planes).tolist() == [PARTS, *parts]


def test_a_record_with_one_cell_is_in_that_of_its_largest_plane():
    rows = fleet([(180, 5, 4)] * 3, planes={1: [(270, 20, 0.3), (90, 35, 0.7)]})
    assert largest_planes(rows).surface_azimuth.tolist() == [180, 90, 180]
    assert largest_planes(rows).surface_tilt.tolist() == [5, 35, 5]
    bins = Bins()
    sectors = np.unravel_index(bins_of_systems(rows, bins), bins.shape)[0]
    assert [bins.labels[0][sector] for sector in sectors] == ["S", "E", "S"]


def test_a_plane_of_a_system_without_a_capacity_is_unknown():
    rows = fleet([(180, 5, NAN)], planes={0: [(270, 20, 0.4), (90, 35, 0.6)]})
    row, numbers, parts = bins_of_planes(rows, Bins())
    assert (row.tolist(), numbers.tolist()) == ([0, 0], [Bins().size] * 2)
    assert parts.tolist() == [4, 6]


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
