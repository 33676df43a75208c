from __future__ import annotations

import numpy as np
import pytest
from experiment_makers import small_experiment

from reproduction.figure4 import HomeFleet
from reproduction.scope import rule_of_fifteen, scope


@pytest.fixture(scope="module")
def fleet() -> HomeFleet:
    peaks = np.arange(2.0, 22.0)
    return HomeFleet(("Chino",) * 20, peaks, peaks, peaks, peaks, np.column_stack([peaks, peaks]))


def test_two_aggregates_of_fifteen_tell_a_home(fleet):
    told = rule_of_fifteen(fleet)
    assert told.holds is True
    assert told.numbers["told"] == 17.0


def test_what_lies_beyond_the_experiment_is_told_with_numbers(fleet):
    told = {each.paper: each for each in scope(small_experiment(), fleet)}
    assert len(told) == 8
    assert all(each.section and each.measured and each.why for each in told.values())
    verdicts = [each.verdict for each in told.values()]
    assert (verdicts.count("yes"), verdicts.count("no")) == (3, 5)
    # half of it faces each way: no plane that is found faces either
    pair = dict(next(each for each in told.values() if each.subjects).subjects)["two planes"]
    assert "(270°, 18°)" not in pair.numbers["maximiser"]
