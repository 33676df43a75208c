from __future__ import annotations

from itertools import pairwise

import pytest

from sunveil.privacy import Days, Readings, System
from sunveil.privacy.guarantees import reach
from sunveil.releases.prior_and_votes import VOTE_RULES, equivalent_epsilon, votes_for
from sunveil.site import TimeGrid

YEAR = TimeGrid(0, 3600, 365 * 24)
QUARTERS = TimeGrid(0, 900, 365 * 96)


def test_a_year_of_hours_has_its_own_epsilon():
    assert equivalent_epsilon(Days(1), 0.2, YEAR, differenced=False) == pytest.approx(0.2)
    assert equivalent_epsilon(Readings(1), 0.2, YEAR, differenced=False) == pytest.approx(0.2)


def test_more_protection_lowers_it_and_more_readings_raise_it():
    assert equivalent_epsilon(Days(4), 0.2, YEAR, differenced=False) == pytest.approx(0.05)
    assert equivalent_epsilon(Days(1), 0.3, YEAR, differenced=True) == pytest.approx(0.1)
    assert equivalent_epsilon(Readings(1), 0.3, YEAR, differenced=True) == pytest.approx(0.15)
    assert equivalent_epsilon(Readings(1), 0.1, QUARTERS, differenced=False) == pytest.approx(0.4)
    assert equivalent_epsilon(Days(1), 0.1, QUARTERS, differenced=False) == pytest.approx(0.1)
    half = TimeGrid(0, 3600, 73 * 24)
    assert equivalent_epsilon(Days(1), 1.0, half, differenced=False) == pytest.approx(0.2)


def test_a_whole_record_reaches_no_further_than_itself():
    assert reach(System(), differenced=True) == 1


def test_rules_begin_at_nothing_and_ask_for_more_with_more_worth():
    assert VOTE_RULES[0].worth == 0.0
    for one, other in pairwise(VOTE_RULES):
        assert one.worth < other.worth
        assert len(one.thresholds) < len(other.thresholds)


@pytest.mark.parametrize("worth", [0.0, 1e-9, 0.3, 0.6, 5.0])
def test_the_rule_is_the_last_that_the_worth_pays_for(worth):
    found = votes_for(worth)
    assert found.worth <= worth
    assert not any(found.worth < rule.worth <= worth for rule in VOTE_RULES)


def test_a_rule_is_for_the_worth_it_begins_at():
    assert [votes_for(rule.worth) for rule in VOTE_RULES] == list(VOTE_RULES)
