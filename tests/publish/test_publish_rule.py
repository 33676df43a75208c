from __future__ import annotations

import numpy as np
import pytest
from fleet_makers import fleet

from sunveil.errors import ParameterError
from sunveil.publish.rule_15_15 import rule_15_15


def one(*capacities: float):
    (found,) = rule_15_15(fleet([(180, 20, capacity) for capacity in capacities]))
    return found


def test_fifteen_alike_are_published_to_the_watt():
    found = one(*[5.001] * 15)
    assert (found.customers, found.total_kw, found.suppressed) == (15, 75.015, False)


def test_fourteen_are_suppressed_with_their_number():
    found = one(*[5.0] * 14)
    assert (found.customers, found.total_kw, found.suppressed) == (None, None, True)


def test_one_above_fifteen_percent_suppresses_the_group():
    # 15 of 100 is not above, 15.001 of 100.001 is
    assert not one(15.0, *[4.25] * 20).suppressed
    assert one(15.001, *[4.25] * 20).suppressed


def test_a_group_without_customers_is_suppressed():
    rows = fleet([(0, 0, 5)] * 20, ["a"] * 20)
    full, empty = rule_15_15(rows, key="feeder", keys=("a", "b"))
    assert full.total_kw == 100.0
    assert empty.suppressed


def test_a_missing_capacity_is_a_customer_that_adds_nothing():
    found = one(*[5.0] * 14, np.nan)
    assert (found.customers, found.total_kw) == (15, 70.0)


@pytest.mark.parametrize("choice", [{"customers": 0}, {"share": 0.0}, {"share": 1.5}])
def test_thresholds_that_are_none_are_refused(choice):
    with pytest.raises(ParameterError, match="rule"):
        rule_15_15(fleet([(0, 0, 5)]), **choice)


def test_other_thresholds_can_be_asked_for():
    rows = fleet([(0, 0, 5)] * 4)
    assert rule_15_15(rows, customers=4, share=0.25)[0].total_kw == 20.0
    assert rule_15_15(rows, customers=4, share=0.2)[0].suppressed
