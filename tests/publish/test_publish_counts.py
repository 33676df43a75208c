from __future__ import annotations

import numpy as np
import pytest
from fleet_makers import KEYS, fleet, neighbours, random_fleet
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from sunveil.privacy import DiscreteLaplace
from sunveil.privacy.discrete_noise import Sensitivity, Spending
from sunveil.publication.published_tables import MARGINS, PARTS, Bins
from sunveil.publish.noisy_counts import (
    SENSITIVITY,
    agreed_counts,
    bin_counts,
    count_deviation,
    count_tables,
    draw_counts,
    drawn_deviation,
    groups_of,
    sources,
)

BINS = Bins(4, (0.0, 20.0, 40.0, 90.0), (0.0, 5.0, 10.0))
NAN = float("nan")


def grouped(rows):
    return groups_of(rows, key="feeder", keys=KEYS)


@given(neighbours())
def test_one_row_moves_all_cells_together_by_two_at_most(pair):
    before, after = (bin_counts(rows, BINS, grouped(rows)).values for rows in pair)
    assert np.abs(before - after).sum() <= SENSITIVITY.absolute
    assert ((before - after) ** 2).sum() <= SENSITIVITY.squared


@given(neighbours())
def test_one_row_moves_cells_of_its_own_group_only(pair):
    before, after = (bin_counts(rows, BINS, grouped(rows)).values for rows in pair)
    moved = (before - after).reshape(len(KEYS), -1)
    assert (np.abs(moved).sum(axis=1) > 0).sum() <= 1
    assert (moved.sum(axis=1) == 0).all()


def test_two_is_reached():
    ours, theirs = fleet([(180, 30, 4)]), fleet([(0, 30, 4)])
    whole = groups_of(ours, key=None, keys=None)
    moved = bin_counts(ours, BINS, whole).values - bin_counts(theirs, BINS, whole).values
    assert np.abs(moved).sum() == 2 * PARTS == SENSITIVITY.absolute
    assert (moved**2).sum() == SENSITIVITY.squared
    assert bin_counts(ours, BINS, whole).sensitivity == SENSITIVITY


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


def test_tables_look_the_same_whether_or_not_a_system_has_two_planes():
    def looks(planes):
        rows = fleet([(180, 30, 4)] * 5, planes=planes)
        whole = groups_of(rows, key=None, keys=None)
        drawn = {"counts": draw_counts(rows, BINS, whole, spending=Spending(1.0))}
        tables = count_tables(drawn, BINS, whole)
        kinds = [[tuple(map(type, row)) for row in table.rows] for table in tables]
        return [(table.name, table.about, table.columns) for table in tables], kinds

    assert looks({}) == looks(PAIR)


@given(neighbours(), st.sampled_from(list(MARGINS)))
def test_one_row_moves_every_margin_by_two_at_most(pair, table):
    before, after = (bin_counts(rows, BINS, grouped(rows), table=table).values for rows in pair)
    assert np.abs(before - after).sum() <= SENSITIVITY.absolute
    assert ((before - after) ** 2).sum() <= SENSITIVITY.squared
    assert before.sum() == after.sum() == PARTS * len(pair[0])


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


def test_the_drawn_noise_follows_its_law_in_every_group():
    """Noise for half the sensitivity would give over 400; the limit is 54."""
    rows, epsilon, reach = random_fleet(400), 5.0, 6
    bins, groups = Bins(16, tuple(range(0, 100, 10)), (0.0, 5.0, 7.0, 9.0, 20.0)), grouped(rows)
    true = bin_counts(rows, bins, groups).values.reshape(3, -1)
    found = draw_counts(rows, bins, groups, spending=Spending(epsilon))
    noise = np.rint(PARTS * found.noisy).astype(np.int64).reshape(3, -1) - true[:, :-1]
    far = np.arange(-6000, 6001)
    law = DiscreteLaplace(epsilon).probabilities(far, SENSITIVITY)
    shares = np.bincount(np.clip(far, -reach, reach) + reach, weights=law)
    for group in noise:
        seen = np.bincount(np.clip(group, -reach, reach) + reach, minlength=2 * reach + 1)
        expected = len(group) * shares
        assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-8, 2 * reach)


def test_each_table_is_a_sum_of_the_joint_one():
    rows = random_fleet(300)
    groups = grouped(rows)
    found = draw_counts(rows, BINS, groups, spending=Spending(1.0))
    tables = {table.name: table for table in count_tables({"counts": found}, BINS, groups)}
    assert list(tables) == ["counts", "planes", "sectors", "tilts", "capacities"]
    for column in ("systems", "noisy"):
        sums: dict[tuple, float] = {}
        joint = tables["counts"]
        for row, value in zip(joint.rows, joint.column(column), strict=True):
            sums[row[:3]] = round(sums.get(row[:3], 0) + value, 1)
        planes = tables["planes"]
        told = {row[:3]: v for row, v in zip(planes.rows, planes.column(column), strict=True)}
        assert told == sums
        whole = {round(sum(table.column(column)), 1) for table in tables.values()}
        assert len(whole) == 1
    assert sum(tables["sectors"].column("systems")) == 300


def test_an_empty_group_is_published_like_the_others():
    rows = fleet([(180, 30, 4)] * 20, ["F1"] * 20)
    groups = grouped(rows)
    found = draw_counts(rows, BINS, groups, spending=Spending(0.1))
    table = count_tables({"counts": found}, BINS, groups)[0]
    empty = [row for row in table.rows if row[0] == "F3"]
    assert len(empty) == BINS.size + 1
    assert {row[4] for row in empty} == {0}
    assert any(row[5] != 0 for row in empty)


def test_a_fleet_without_rows_has_tables_too():
    rows = fleet([])
    whole = groups_of(rows, key=None, keys=None)
    found = draw_counts(rows, BINS, whole, spending=Spending(1.0))
    tables = agreed_counts({"counts": found}, BINS, whole)
    assert [table.systems.sum() for table in tables.values()] == [0] * 5


def test_the_error_of_a_sum_grows_with_the_root_of_what_is_added():
    assert count_deviation("counts", BINS, 3.0) == 3.0
    assert count_deviation("planes", BINS, 3.0) == pytest.approx(3.0 * 2**0.5)
    assert count_deviation("sectors", BINS, 3.0) == pytest.approx(3.0 * 6**0.5)
    assert count_deviation("capacities", BINS, 3.0) == pytest.approx(3.0 * 12**0.5)


def test_drawn_margins_miss_by_what_is_stated():
    """Out of 3,600 cells, ten standard errors of a deviation."""
    rows = random_fleet(500)
    groups = groups_of(rows, key=None, keys=None)
    joint = bin_counts(rows, BINS, groups).values[:-1].reshape(BINS.shape)
    true = joint.sum(axis=2) / PARTS
    runs = [draw_counts(rows, BINS, groups, spending=Spending(1.0)) for _ in range(300)]
    missed = np.array([run.noisy[0].sum(axis=2) - true for run in runs])
    stated = count_deviation("planes", BINS, runs[0].deviation)
    assert missed.std() == pytest.approx(stated, rel=10.0 * 1.2 / np.sqrt(missed.size))
    assert abs(missed.mean()) < 7.0 * stated / np.sqrt(missed.size)
