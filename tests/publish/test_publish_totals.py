from __future__ import annotations

import numpy as np
import pytest
from fleet_makers import KEYS, fleet, neighbours, random_fleet
from hypothesis import given

from sunveil.errors import ParameterError
from sunveil.publish.bins import groups_of
from sunveil.publish.totals import (
    draw_totals,
    group_totals,
    total_deviation,
    total_table,
    watts,
)

CLIP = (1.0, 20.0)
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
    drawn = [draw_totals(rows, groups, clip_kw=CLIP, epsilon=0.5) for _ in range(1000)]
    missed = (np.array(drawn) - true) / 1e3
    stated = total_deviation(clip_kw=CLIP, epsilon=0.5)
    assert stated == pytest.approx(2**0.5 * 19.0 / 0.5, rel=1e-4)
    assert missed.std() == pytest.approx(stated, rel=10.0 * 1.2 / np.sqrt(missed.size))


def test_the_table_keeps_within_what_the_bounds_allow_and_says_the_error():
    rows = fleet([(0, 0, 2)] * 4, ["F1", "F1", "F2", "F2"])
    groups = grouped(rows)
    table = total_table(np.array([-9000, 10_000, 77]), groups, clip_kw=CLIP, epsilon=0.5)
    assert table.column("feeder") == list(KEYS)
    assert table.column("systems") == [2, 2, 0]
    assert table.column("total_kw") == [2.0, 10.0, 0.0]
    assert table.column("noisy_total_kw") == [-9.0, 10.0, 0.077]
    assert table.column("mean_kw") == [1.0, 5.0, None]
    stated = total_deviation(clip_kw=CLIP, epsilon=0.5)
    assert table.column("mean_sd_kw")[:2] == pytest.approx([stated / 2] * 2)
    assert table.column("mean_sd_kw")[2] is None


@pytest.mark.parametrize("clip", [(5.0, 5.0), (-1.0, 5.0), (0.0, NAN), (0.0, 1e9), (0.0, 1e-4)])
def test_bounds_that_are_none_are_refused(clip):
    with pytest.raises(ParameterError, match="clip_kw"):
        watts(np.array([1.0]), clip)
