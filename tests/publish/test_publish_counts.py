"""Counts of systems: bins, groups, noise, and what ε buys of them."""

from __future__ import annotations

import datetime
import json
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest
from fleet_makers import ANY, KEYS, PLANES, fleet, random_fleet
from hypothesis import given, settings
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.privacy import (
    ConcentratedGuarantee,
    DiscreteGaussian,
    DiscreteLaplace,
    Guarantee,
    PermuteAndFlip,
    System,
)
from sunveil.privacy.discrete_noise import Sensitivity, Spending
from sunveil.privacy.mechanisms import Exponential
from sunveil.publication import write_publication
from sunveil.publication.published_tables import MARGINS, PARTS, Bins
from sunveil.publish.fleet_tables import LABELS, TableChoices, buy, fleet_tables, mount_counts
from sunveil.publish.noisy_counts import (
    SENSITIVITY,
    agreed_counts,
    bin_counts,
    bins_of_planes,
    bins_of_systems,
    count_deviation,
    count_tables,
    draw_counts,
    drawn_deviation,
    groups_of,
    largest_planes,
    sources,
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
    assert Bins(6).labels[0][:2] == ("330 to 30", "30 to 90")
    assert Bins(4).labels[0] == ("N", "E", "S", "W")


@pytest.mark.parametrize(
    ("values", "found"),
    [((180, 0, 4), "0 to 10"), ((180, 10, 4), "10 to 20"), ((180, 9.99, 4), "0 to 10"),
     ((180, -5, 4), "0 to 10"), ((180, 95, 4), "50 to 90"), ((180, np.inf, 4), "50 to 90"),
     ((180, -np.inf, 4), "0 to 10"), ((180, 20, 1e9), "20 to 1000"), ((180, 20, -3.0), "0 to 3"),
     ((NAN, 1, 1), None), ((1, NAN, 1), None), ((1, 1, NAN), None), ((np.inf, 1, 1), None)],
)  # fmt: skip
def test_rows_beyond_the_edges_are_in_the_outermost_bins_and_gaps_unknown(values, found):
    labels = names(Bins(), *values)
    assert labels is None if found is None else found in labels


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


def test_one_cell_is_that_of_the_largest_plane_and_unknown_without_a_capacity():
    rows = fleet([(180, 5, 4)] * 3, planes={1: [(270, 20, 0.3), (90, 35, 0.7)]})
    assert largest_planes(rows).surface_azimuth.tolist() == [180, 90, 180]
    assert largest_planes(rows).surface_tilt.tolist() == [5, 35, 5]
    bins = Bins()
    sectors = np.unravel_index(bins_of_systems(rows, bins), bins.shape)[0]
    assert [bins.labels[0][sector] for sector in sectors] == ["S", "E", "S"]
    rows = fleet([(180, 5, NAN)], planes={0: [(270, 20, 0.4), (90, 35, 0.6)]})
    row, numbers, parts = bins_of_planes(rows, bins)
    assert (row.tolist(), numbers.tolist()) == ([0, 0], [bins.size] * 2)
    assert parts.tolist() == [4, 6]


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


BINS = Bins(4, (0.0, 20.0, 40.0, 90.0), (0.0, 5.0, 10.0))


def grouped(rows):
    return groups_of(rows, key="feeder", keys=KEYS)


def test_counts_are_those_of_the_rows():
    rows = fleet([(180, 30, 4), (180, 30, 4.5), (90, 5, 7), (NAN, 5, 7)], ["F2", "F2", "F1", "F1"])
    values = bin_counts(rows, BINS, grouped(rows)).values.reshape(3, -1)
    assert values.sum(axis=1).tolist() == [2 * PARTS, 2 * PARTS, 0]
    assert values[:, -1].tolist() == [PARTS, 0, 0]
    joint = values[:, :-1].reshape(3, *BINS.shape)
    assert joint[1, 2, 1, 0] == 2 * PARTS
    assert joint[0, 1, 0, 1] == PARTS


PAIR = {0: [(90, 30, 0.68), (270, 35, 0.32)]}


def test_a_system_on_two_planes_counts_in_the_sector_of_each_with_its_share():
    rows = fleet([(100, 5, 7), (180, 30, 4)], planes=PAIR)
    whole = groups_of(rows, key=None, keys=None)
    tables = {name: bin_counts(rows, BINS, whole, table=name).values.tolist() for name in MARGINS}
    assert tables["sectors"] == [0, 7, 10, 3, 0]
    # its effective plane would be in the first band
    assert tables["tilts"] == [0, 20, 0, 0]
    # a class is that of the whole system
    assert tables["capacities"] == [10, 10, 0]


def exact_loss(one, other, epsilon):
    """Return the greatest log-ratio of what both may be published as."""
    moved = np.abs(one.values - other.values).sum()
    return moved / DiscreteLaplace(epsilon).scale(one.sensitivity)


def test_an_audit_would_see_shares_that_do_not_add_up(monkeypatch):
    """A pair that is whole in each of its sectors loses half as much again."""
    ours, theirs = fleet([(0, 5, 7)], planes=PAIR), fleet([(0, 5, 7)])
    whole = groups_of(ours, key=None, keys=None)
    pair = [bin_counts(rows, BINS, whole, table="sectors") for rows in (ours, theirs)]
    assert exact_loss(*pair, 0.5) == pytest.approx(0.5)
    monkeypatch.setattr(
        "sunveil.publish.noisy_counts.whole_parts", lambda planes: np.full(len(planes), PARTS)
    )
    spoilt = [bin_counts(rows, BINS, whole, table="sectors") for rows in (ours, theirs)]
    assert exact_loss(*spoilt, 0.5) == pytest.approx(0.75)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("concentrated", [False, True])
def test_noise_is_as_large_in_systems_as_that_of_whole_ones(epsilon, concentrated):
    """Only that it comes in tenths of a system is new: 1% at ε = 1, and nothing for Gaussian."""
    noise = Spending.asked(epsilon, concentrated=concentrated).noise
    whole = Sensitivity(2, 2)
    assert noise.scale(SENSITIVITY) / PARTS == pytest.approx(noise.scale(whole), rel=1e-12)
    spending = Spending.asked(epsilon, concentrated=concentrated)
    assert drawn_deviation(spending) == pytest.approx(noise.deviation(whole), rel=0.011)


def test_margins_are_those_of_the_joint_counts():
    rows = random_fleet(300)
    joint = bin_counts(rows, BINS, grouped(rows)).values.reshape(3, -1)
    cells = joint[:, :-1].reshape(3, *BINS.shape)
    for name, axes in MARGINS.items():
        added = tuple(axis + 1 for axis in range(3) if axis not in axes)
        found = bin_counts(rows, BINS, grouped(rows), table=name).values.reshape(3, -1)
        np.testing.assert_array_equal(found[:, :-1], cells.sum(axis=added).reshape(3, -1))
        np.testing.assert_array_equal(found[:, -1], joint[:, -1])


BUYS = st.sets(st.sampled_from(list(MARGINS)), min_size=1)


@given(BUYS, st.sampled_from([0.05, 0.5, 5.0]), st.integers(0, 60), st.booleans())
@settings(max_examples=40)
def test_tables_agree_to_the_last_system_whatever_is_bought(names, epsilon, count, concentrated):
    rows = random_fleet(count, seed=count)
    groups = grouped(rows)
    spending = Spending.asked(epsilon, concentrated=concentrated)
    drawn = {name: draw_counts(rows, BINS, groups, spending=spending, table=name) for name in names}
    tables = agreed_counts(drawn, BINS, groups)
    assert names <= set(tables)
    for name, table in tables.items():
        assert table.systems.dtype == np.int64
        assert (table.systems >= 0).all()
        assert (table.unknown >= 0).all()
        whole = table.systems.reshape(3, -1).sum(axis=1) + table.unknown
        np.testing.assert_array_equal(whole, groups.sizes)
        for other, axes in MARGINS.items():
            if set(axes) < set(MARGINS[name]):
                added = tuple(
                    1 + place for place, axis in enumerate(MARGINS[name]) if axis not in axes
                )
                np.testing.assert_array_equal(table.systems.sum(axis=added), tables[other].systems)
        if name in names:
            np.testing.assert_array_equal(table.drawn.noisy, drawn[name].noisy)


def test_a_table_that_is_bought_alone_has_less_noise_than_the_sum_of_a_joint_one():
    sd = drawn_deviation(Spending(1.0))
    assert sources({"sectors": sd}, BINS) == {"sectors": "sectors"}
    assert sources({"counts": sd}, BINS) == dict.fromkeys(MARGINS, "counts")
    # what is not bought is added up from whichever gives the least noise
    both = sources({"counts": sd, "planes": 3.0 * sd}, BINS)
    assert (both["planes"], both["sectors"], both["capacities"]) == ("planes", "counts", "counts")
    assert sources({"counts": sd, "planes": sd}, BINS)["sectors"] == "planes"
    joint = count_deviation("sectors", BINS, sd)
    assert joint / count_deviation("sectors", BINS, sd, source="sectors") == pytest.approx(6**0.5)


def test_an_empty_group_and_an_empty_fleet_are_published_like_the_others():
    rows = fleet([(180, 30, 4)] * 20, ["F1"] * 20)
    groups = grouped(rows)
    found = draw_counts(rows, BINS, groups, spending=Spending(0.1))
    table = count_tables({"counts": found}, BINS, groups)[0]
    empty = [row for row in table.rows if row[0] == "F3"]
    assert len(empty) == BINS.size + 1
    assert {row[4] for row in empty} == {0}
    assert any(row[5] != 0 for row in empty)
    rows = fleet([])
    whole = groups_of(rows, key=None, keys=None)
    found = draw_counts(rows, BINS, whole, spending=Spending(1.0))
    tables = agreed_counts({"counts": found}, BINS, whole)
    assert [table.systems.sum() for table in tables.values()] == [0] * 5


def test_the_error_of_a_sum_grows_with_the_root_of_what_is_added():
    for table, cells in (("counts", 1), ("planes", 2), ("sectors", 6), ("capacities", 12)):
        assert count_deviation(table, BINS, 3.0) == pytest.approx(3.0 * cells**0.5)


TWO_PLANES = [(90, 30, 0.6), (270, 30, 0.4)]
# Two on one plane, one on two, one that turns, one refused and one that nothing can tell.
VALUES = [(180, 30, 4)] * 4 + [(NAN, NAN, NAN), (180, 30, 4)]
MIXED = {"planes": {2: TWO_PLANES}, "turning": {3}, "unresolved": {5}}


def test_every_system_is_in_one_row_of_its_group():
    rows = fleet(VALUES, ["F1", "F3", "F3", "F3", "F3", "F3"], **MIXED)
    counts = mount_counts(rows, grouped(rows)).values
    assert counts.reshape(3, -1).tolist() == [[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 2]]
    (table,) = fleet_tables(rows, TableChoices(tables=("mounts",))).tables
    assert table.column("mount") == list(LABELS)


def test_a_folder_looks_the_same_whatever_systems_stand_on(tmp_path):
    texts = []
    for name, mixed in (("some", MIXED), ("none", {})):
        rows = fleet(VALUES, **mixed)
        made = fleet_tables(rows, TableChoices(epsilon=1.0, tables=("mounts", "sectors", "tilts")))
        folder = tmp_path / name
        write_publication(folder, made, published=datetime.date(2026, 3, 1))
        described = json.loads((folder / "datapackage.json").read_text())["resources"]
        kinds = {
            each["path"]: {field["name"]: field["type"] for field in each["schema"]["fields"]}
            for each in described
        }
        assert kinds["mounts.csv"] == {
            "mount": "string", "systems": "integer", "noisy": "integer", "sd": "number",
        }  # fmt: skip
        # parts of systems are counted by sector
        assert (kinds["sectors.csv"]["systems"], kinds["sectors.csv"]["noisy"]) == (
            "integer",
            "number",
        )
        texts.append([(each["schema"], each["description"]) for each in described])
        said = [(folder / each).read_text() for each in ("README.md", "release-card.yaml")]
        schemas = [pq.read_table(path).schema for path in sorted(folder.glob("*.parquet"))]
        texts[-1] += [*said, *map(str, schemas)]
        for text in map(" ".join, map(str.split, said)):
            assert "A system is in one row." in text
            assert "A system on two planes counts in the" in text
        assert "on two or on a tracker" in " ".join(said[1].split())
    assert texts[0] == texts[1]


def amounts(**asked):
    found = buy(1.0, **{"tables": None, "shares": None, "quantiles": (0.5,), **asked})
    return {name: part.amount for name, part in found.parts.items()}


def test_epsilon_goes_to_what_is_bought_alone():
    assert amounts() == {"counts": 0.5, "totals": 0.25, "quantiles": 0.25}
    assert list(amounts(quantiles=())) == ["counts", "totals"]
    assert amounts(tables=("sectors",)) == {"sectors": 1.0}
    both = ("totals", "sectors")
    assert amounts(tables=both) == {"sectors": 0.5, "totals": 0.5}
    shared = amounts(tables=both, shares={"sectors": 1, "totals": 3})
    assert shared == {"sectors": 0.25, "totals": 0.75}


@pytest.mark.parametrize(
    ("tables", "shares", "quantiles"),
    [
        (None, {"counts": -1.0}, ()), (None, {"counts": NAN}, ()), (None, {"sums": 1.0}, ()),
        (None, {"counts": 0.0}, ()), ((), None, ()), (("counts", "counts"), None, ()),
        (("sums",), None, ()), (("quantiles",), None, ()), (("counts",), {"totals": 1.0}, ()),
        (("counts", "totals"), {"totals": 1.0}, ()), (("counts",), None, (2.0,)),
    ],
)  # fmt: skip
def test_what_cannot_be_bought_is_refused_in_a_sentence(tables, shares, quantiles):
    with pytest.raises(ParameterError) as caught:
        buy(1.0, tables=tables, shares=shares, quantiles=quantiles)
    assert "\n" not in str(caught.value)


def test_an_asked_epsilon_is_itself_or_what_it_costs_as_rho():
    pure, concentrated = (Spending.asked(1.0, concentrated=each) for each in (False, True))
    assert (pure, concentrated) == (Spending(1.0), Spending(0.5, concentrated=True))
    assert pure.guarantee("p") == Guarantee(System(), 1.0, 0.0, "p")
    assert concentrated.guarantee("p") == ConcentratedGuarantee(System(), 0.5, "p")
    assert (pure.noise, pure.selection) == (DiscreteLaplace(1.0), PermuteAndFlip(1.0))
    assert concentrated.noise == DiscreteGaussian(0.5)
    assert isinstance(concentrated.selection, Exponential)


@given(st.floats(1e-6, 1000.0))
def test_a_choice_costs_no_more_than_its_rho(rho):
    spending = Spending(rho, concentrated=True)
    try:
        epsilon = spending.selection.epsilon
    except ParameterError:
        return  # no mechanism has so large an epsilon
    assert Fraction(epsilon) ** 2 <= 8 * Fraction(rho)
    assert epsilon**2 / 8.0 == pytest.approx(rho)
