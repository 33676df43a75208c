"""The 15/15 rule, and what two totals under it tell."""

from __future__ import annotations

import numpy as np
import pytest
from fleet_makers import fleet, random_fleet

from sunveil.errors import ParameterError
from sunveil.publish.rule_15_15 import differencing_attack, rule_15_15


@pytest.mark.parametrize(
    ("capacities", "customers", "total_kw"),
    [
        ([5.001] * 15, 15, 75.015),
        ([5.0] * 14, None, None),
        # 15 of 100 is not above 15%, 15.001 of 100.001 is
        ([15.0] + [4.25] * 20, 21, 100.0),
        ([15.001] + [4.25] * 20, None, None),
        # a missing capacity is a customer that adds nothing
        ([5.0] * 14 + [np.nan], 15, 70.0),
    ],
)
def test_fifteen_alike_are_published_to_the_watt_and_fewer_or_larger_ones_suppressed(
    capacities, customers, total_kw
):
    (found,) = rule_15_15(fleet([(180, 20, capacity) for capacity in capacities]))
    assert (found.customers, found.total_kw) == (customers, total_kw)
    assert found.suppressed == (customers is None)


def test_a_group_without_customers_is_suppressed():
    rows = fleet([(0, 0, 5)] * 20, ["a"] * 20)
    full, empty = rule_15_15(rows, key="feeder", keys=("a", "b"))
    assert full.total_kw == 100.0
    assert empty.suppressed


@pytest.mark.parametrize("choice", [{"customers": 0}, {"share": 0.0}, {"share": 1.5}])
def test_thresholds_that_are_none_are_refused(choice):
    with pytest.raises(ParameterError, match="rule"):
        rule_15_15(fleet([(0, 0, 5)]), **choice)


def test_other_thresholds_can_be_asked_for():
    rows = fleet([(0, 0, 5)] * 4)
    assert rule_15_15(rows, customers=4, share=0.25)[0].total_kw == 20.0
    assert rule_15_15(rows, customers=4, share=0.2)[0].suppressed


CLIP = (0.0, 25.0)


def test_two_totals_under_the_rule_give_every_capacity_to_the_watt():
    rows = random_fleet(60)
    found = differencing_attack(rows, range(60), epsilon=1.0, clip_kw=CLIP)
    np.testing.assert_allclose(found.rule_kw, rows.dc_capacity_kw, atol=0.000501)
    assert found.rule_exact == 1.0
    assert repr(found) == "Recovered(60 households, private)"


def test_against_private_totals_the_attack_errs_by_what_the_noise_says():
    """Of 400 households, ten standard errors of a deviation."""
    rows = random_fleet(400)
    found = differencing_attack(rows, range(400), epsilon=1.0, clip_kw=CLIP)
    assert found.stated_sd_kw == pytest.approx(2.0 * 25.0, rel=1e-3)
    assert found.private_error_kw == pytest.approx(found.stated_sd_kw, rel=0.45)
    assert found.private_error_kw > 5.0 * found.guess_error_kw


def test_where_the_rule_suppresses_a_total_it_gives_nothing():
    found = differencing_attack(fleet([(0, 0, 5)] * 15), [0, 3], epsilon=1.0, clip_kw=CLIP)
    assert np.isnan(found.rule_kw).all()
    assert found.rule_exact == 0.0


@pytest.mark.parametrize("targets", [[], [20], [-1]])
def test_households_that_are_none_are_refused(targets):
    with pytest.raises(ParameterError, match="household"):
        differencing_attack(random_fleet(20), targets, epsilon=1.0, clip_kw=CLIP)
