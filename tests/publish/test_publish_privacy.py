"""What every kind of table must keep: its sensitivity, its share of ε, and the law of its noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from fleet_makers import KEYS, fleet, neighbours, random_fleet
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from sunveil.privacy import DiscreteLaplace
from sunveil.privacy.discrete_noise import Spending
from sunveil.publication.published_tables import MARGINS, PARTS, Bins
from sunveil.publish import synthetic_table
from sunveil.publish.capacity_cap import ClipRule, ladder
from sunveil.publish.fleet_tables import SENSITIVITY as OF_MOUNTS
from sunveil.publish.fleet_tables import TABLES, buy, draw_mounts, mount_counts
from sunveil.publish.noisy_counts import SENSITIVITY, bin_counts, draw_counts, groups_of
from sunveil.publish.synthetic_table import bins_of_rows, tally
from sunveil.publish.totals_and_quantiles import group_totals, part_of

BINS = Bins(4, (0.0, 20.0, 40.0, 90.0), (0.0, 5.0, 10.0))
FLAT = {"singles": synthetic_table.SINGLES, "pairs": synthetic_table.PAIRS}
KINDS = [*MARGINS, "mounts", "totals", *FLAT]


def grouped(rows):
    return groups_of(rows, key="feeder", keys=KEYS)


def counted(rows, table, groups):
    """Return what is drawn of a table, by group, and the sensitivity that its noise is for."""
    if table in FLAT:
        cells = bins_of_rows(rows, BINS)
        flat = np.concatenate([tally(cells, axes, BINS).ravel() for axes in FLAT[table]])
        return flat[None], synthetic_table.SENSITIVITY
    if table == "mounts":
        found, bound = mount_counts(rows, groups), OF_MOUNTS
    elif table == "totals":
        found = group_totals(rows, groups, clip_kw=(1.0, 20.0))
        bound = found.sensitivity
        assert bound.absolute == 19_000
    else:
        found, bound = bin_counts(rows, BINS, groups, table=table), SENSITIVITY
    assert found.sensitivity == bound
    return found.values.reshape(len(groups.names), -1), bound


@pytest.mark.parametrize("table", KINDS)
@given(pair=neighbours())
def test_one_row_moves_the_counts_of_its_own_group_by_the_sensitivity_at_most(pair, table):
    (before, bound), (after, _) = (counted(rows, table, grouped(rows)) for rows in pair)
    moved = before - after
    assert np.abs(moved).sum() <= bound.absolute
    assert (moved**2).sum() <= bound.squared
    assert (np.abs(moved).sum(axis=1) > 0).sum() <= 1
    if table != "totals":
        many = {**dict.fromkeys(MARGINS, PARTS), "mounts": 1}.get(table, 3)
        assert (moved.sum(axis=1) == 0).all()
        assert before.sum() == many * len(pair[0])


@pytest.mark.parametrize("table", ["counts", "mounts", "totals", "singles", "pairs"])
def test_the_sensitivity_is_reached(table):
    pair = fleet([(180, 30, 0)]), fleet([(0, 50, 30)], turning={0})
    whole = groups_of(pair[0], key=None, keys=None)
    (before, bound), (after, _) = (counted(rows, table, whole) for rows in pair)
    assert np.abs(before - after).sum() == bound.absolute
    assert ((before - after) ** 2).sum() == bound.squared


def amounts(way, whole, weights):
    """Return what the parts of a spending cost, by one of the ways to divide it."""
    if way == "weights":
        return [whole.part(Fraction(each, sum(weights))).amount for each in weights]
    if way == "quantiles":
        return [part_of(whole, len(weights)).amount] * 2 * len(weights)
    if way == "clip":
        rule = ClipRule(ladder(2000.0), whole, 300)
        return [rule.chosen_with.amount, rule.drawn_with.amount]
    parts = [mechanism for mechanism, _ in synthetic_table._mechanisms(whole)]
    return [part.rho if whole.concentrated else part.epsilon for part in parts]


@pytest.mark.parametrize("way", ["weights", "quantiles", "clip", "synthetic", "shares"])
@given(st.floats(0.1, 20.0), st.lists(st.integers(1, 9), min_size=1, max_size=6), st.booleans())
def test_parts_add_up_to_the_whole_and_never_above(way, epsilon, weights, concentrated):
    whole = Spending.asked(epsilon, concentrated=concentrated)
    if way == "shares":
        shares = dict(zip(TABLES, weights, strict=False))
        asked = {"tables": None, "shares": shares, "quantiles": (0.5,)}
        bought = buy(epsilon, **asked, concentrated=concentrated)
        assert bought.whole == whole
        found = [bought.parts[name].amount for name in shares]
    else:
        found = amounts(way, whole, weights)
    total = sum(map(Fraction, found))
    assert Fraction(whole.amount) * (1 - Fraction(1, 10**12)) < total <= Fraction(whole.amount)
    if way in ("shares", "weights"):
        assert found == pytest.approx([whole.amount * each / sum(weights) for each in weights])


@pytest.mark.parametrize(
    ("table", "epsilon", "bound", "reach"),
    [("counts", 5.0, SENSITIVITY, 6), ("mounts", 1.0, OF_MOUNTS, 5)],
)
def test_the_drawn_noise_follows_its_law_in_every_group(table, epsilon, bound, reach):
    """Noise for half the sensitivity would give over 400; the limit is 54."""
    if table == "counts":
        rows = random_fleet(400)
        bins = Bins(16, tuple(range(0, 100, 10)), (0.0, 5.0, 7.0, 9.0, 20.0))
        true = bin_counts(rows, bins, grouped(rows)).values.reshape(3, -1)[:, :-1]
        found = draw_counts(rows, bins, grouped(rows), spending=Spending(epsilon)).noisy
        noise = np.rint(PARTS * found).astype(np.int64).reshape(3, -1) - true
    else:
        rows = fleet([], [])
        groups = groups_of(rows, key="feeder", keys=[f"F{i}" for i in range(500)])
        drawn = draw_mounts(rows, groups, spending=Spending(epsilon))
        assert set(drawn.column("systems")) == {0}
        noise = np.array([drawn.column("noisy")])
    far = np.arange(-6000, 6001)
    law = DiscreteLaplace(epsilon).probabilities(far, bound)
    shares = np.bincount(np.clip(far, -reach, reach) + reach, weights=law)
    for group in noise:
        seen = np.bincount(np.clip(group, -reach, reach) + reach, minlength=2 * reach + 1)
        expected = len(group) * shares
        assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-8, 2 * reach)
