from __future__ import annotations

import numpy as np
import pytest
from fleet_makers import KEYS, fleet, neighbours, random_fleet
from hypothesis import given

from sunveil.errors import ParameterError
from sunveil.privacy.discrete_noise import Spending
from sunveil.publish.capacity_cap import LOWEST_KW, ClipRule, ladder
from sunveil.publish.noisy_counts import groups_of
from sunveil.publish.totals_and_quantiles import (
    DrawnTotals,
    draw_clipped_totals,
    draw_totals,
    group_totals,
    total_deviation,
    total_table,
    watts,
)

CLIP = (1.0, 20.0)
HALF = Spending(0.5)
NAN = float("nan")


def grouped(rows):
    return groups_of(rows, key="feeder", keys=KEYS)


@given(neighbours())
def test_one_row_moves_one_total_by_the_clipping_at_most(pair):
    before, after = (group_totals(rows, grouped(rows), clip_kw=CLIP) for rows in pair)
    moved = np.abs(before.values - after.values)
    assert before.sensitivity.absolute == 19_000
    assert moved.sum() <= before.sensitivity.absolute
    assert (moved**2).sum() <= before.sensitivity.squared
    assert (moved > 0).sum() <= 1


def test_capacities_are_held_and_missing_ones_are_the_lower_bound():
    found = watts(np.array([0.2, 5.4321, 99.0, NAN, np.inf, -np.inf]), CLIP)
    assert found.tolist() == [1000, 5432, 20000, 1000, 20000, 1000]


def test_totals_are_by_group_in_watts():
    rows = fleet([(0, 0, 2), (0, 0, 3.5), (0, 0, 30)], ["F1", "F1", "F3"])
    assert group_totals(rows, grouped(rows), clip_kw=CLIP).values.tolist() == [5500, 0, 20000]


def test_drawn_totals_miss_by_what_is_stated():
    rows = random_fleet(60)
    groups = grouped(rows)
    true = group_totals(rows, groups, clip_kw=CLIP).values
    drawn = [draw_totals(rows, groups, clip_kw=CLIP, spending=HALF) for _ in range(1000)]
    missed = (np.array([each.totals for each in drawn]) - true) / 1e3
    stated = total_deviation(clip_kw=CLIP, spending=HALF)
    assert stated == pytest.approx(2**0.5 * 19.0 / 0.5, rel=1e-4)
    assert missed.std() == pytest.approx(stated, rel=10.0 * 1.2 / np.sqrt(missed.size))


def test_the_table_keeps_within_what_the_bounds_allow_and_says_the_error():
    rows = fleet([(0, 0, 2)] * 4, ["F1", "F1", "F2", "F2"])
    groups = grouped(rows)
    stated = total_deviation(clip_kw=CLIP, spending=HALF)
    table = total_table(DrawnTotals(np.array([-9000, 10_000, 77]), CLIP, stated), groups)
    assert table.column("feeder") == list(KEYS)
    assert table.column("systems") == [2, 2, 0]
    assert table.column("total_kw") == [2.0, 10.0, 0.0]
    assert table.column("noisy_total_kw") == [-9.0, 10.0, 0.077]
    assert table.column("mean_kw") == [1.0, 5.0, None]
    assert "error_kw" not in [column.name for column in table.columns]
    assert "how much is not known" in table.about
    assert table.column("mean_sd_kw")[:2] == pytest.approx([stated / 2] * 2)
    assert table.column("mean_sd_kw")[2] is None


@pytest.mark.parametrize("clip", [(5.0, 5.0), (-1.0, 5.0), (0.0, NAN), (0.0, 1e9), (0.0, 1e-4)])
def test_bounds_that_are_none_are_refused(clip):
    with pytest.raises(ParameterError, match="clip_kw"):
        watts(np.array([1.0]), clip)


def test_a_drawn_clip_is_said_and_errors_are_of_noise_and_cut_together():
    """At this ε forty systems are cut off with a probability below e^-200."""
    rows = fleet([(0, 0, 2)] * 40 + [(0, 0, 90)] * 40, ["F1"] * 40 + ["F2"] * 40)
    groups = grouped(rows)
    rule = ClipRule(ladder(2000.0), Spending(20.0), 80)
    found = draw_clipped_totals(rows, groups, rule)
    clip = found.clip_kw[1]
    assert clip >= 4 * LOWEST_KW
    table = total_table(found, groups)
    assert table.column("held_at_kw") == [clip] * 3
    # what is drawn is in cells: words are the same whatever the data are
    assert f"{clip:g} kW" not in table.about
    assert "drawn" in table.about
    for size, mean, nine in zip(
        table.column("systems"), table.column("error_kw"), table.column("error_90_kw"), strict=True
    ):
        assert (mean > 0.0) == (nine > 0.0) == (size > 0)
    noise = found.deviation_kw / 2**0.5
    assert table.column("error_kw")[0] >= noise
    assert [round(total) for total in table.column("total_kw")[1:]] == pytest.approx(
        [3600, 0], abs=20.0 * noise
    )


def test_totals_of_all_groups_have_one_clip_and_gaussian_noise_where_rho_is_spent():
    rows = random_fleet(60)
    groups = grouped(rows)
    rule = ClipRule(ladder(20.0), Spending(0.5, concentrated=True), 60)
    assert rule.chosen_with is None
    drawn = [draw_clipped_totals(rows, groups, rule) for _ in range(150)]
    assert {each.clip_kw for each in drawn} == {(0.0, 20.0)}
    true = group_totals(rows, groups, clip_kw=(0.0, 20.0)).values
    missed = (np.array([each.totals for each in drawn]) - true) / 1e3
    assert drawn[0].deviation_kw == pytest.approx(20.0)
    assert missed.std() == pytest.approx(20.0, rel=10.0 * 0.8 / np.sqrt(missed.size))
    assert np.abs(missed).max() < 140.0
