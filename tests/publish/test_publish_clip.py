from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from fleet_makers import ANY
from hypothesis import given, settings
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.privacy.discrete_noise import Spending
from sunveil.privacy.mechanism_audit import audit_exact, audit_sampler
from sunveil.publish.capacity_cap import ClipRule, ladder

RUNGS = ladder(2000.0)
CAPACITIES = st.lists(st.one_of(ANY, st.floats(1.0, 3000.0)), min_size=1, max_size=15)
SPENDINGS = st.sampled_from(
    [Spending(0.1), Spending(1.0), Spending(20.0), Spending(0.5, concentrated=True)]
)


def replaced(data, values):
    place = data.draw(st.integers(0, len(values) - 1))
    other = data.draw(st.one_of(ANY, st.floats(1.0, 3000.0)))
    return np.array(values), np.array([*values[:place], other, *values[place + 1 :]])


@given(CAPACITIES, st.data(), SPENDINGS)
def test_one_row_moves_all_levels_the_same_way_by_one_system_at_most(values, data, spending):
    rule = ClipRule(RUNGS, spending, len(values))
    ours, theirs = (rule.score(rule.above(each)) for each in replaced(data, values))
    moved = ours.levels - theirs.levels
    assert ours.one_sided
    assert (moved >= 0).all() or (moved <= 0).all()
    assert np.abs(moved).max() <= ours.sensitivity


@settings(max_examples=40)
@given(CAPACITIES, st.data(), st.sampled_from([0.1, 1.0, 6.0]))
def test_the_loss_of_the_choice_is_within_what_it_costs(values, data, epsilon):
    rule = ClipRule(RUNGS, Spending(epsilon), len(values))
    laws = [
        rule.chosen_with.selection.log_probabilities(rule.score(rule.above(each)))
        for each in replaced(data, values)
    ]
    assert np.abs(laws[0] - laws[1]).max() <= rule.chosen_with.amount


@given(CAPACITIES, st.data(), st.sampled_from([0.02, 0.5, 8.0]), st.sampled_from([1.5, 4.0, 30.0]))
def test_the_rho_of_the_choice_is_within_what_it_costs(values, data, rho, order):
    rule = ClipRule(RUNGS, Spending(rho, concentrated=True), len(values))
    ours, theirs = (
        rule.chosen_with.selection.log_probabilities(rule.score(rule.above(each)))
        for each in replaced(data, values)
    )
    logs = order * ours + (1.0 - order) * theirs
    top = logs.max()
    divergence = (top + math.log(np.exp(logs - top).sum())) / (order - 1.0)
    assert divergence <= order * rule.chosen_with.amount * (1.0 + 1e-9) + 1e-12


def test_nearly_all_of_what_it_costs_is_reached():
    """A sharper draw than the proof allows would break the test above; this one is not idle."""
    rule = ClipRule((25.0, 50.0), Spending(3.0), 60)
    fleets = np.array([30.0] * 60), np.array([10.0] + [30.0] * 59)
    laws = [
        rule.chosen_with.selection.log_probabilities(rule.score(rule.above(each)))
        for each in fleets
    ]
    assert np.abs(laws[0] - laws[1]).max() > 0.99


@dataclass(frozen=True)
class Chooser:
    """The choice of a clip as audits take it; with a fault, the rung above the largest system."""

    rule: ClipRule
    fault: bool = False

    def guarantee(self, capacities):
        return self.rule.chosen_with.guarantee("docs/proofs/clip.md")

    def probabilities(self, capacities):
        if self.fault:
            return (np.array(RUNGS) == min(r for r in RUNGS if r >= capacities.max())).astype(float)
        return self.rule.probabilities(self.rule.above(capacities))

    def draw(self, capacities):
        return RUNGS.index(self.rule.draw(capacities))


FLEETS = np.array([5.0] * 40), np.array([5.0] * 39 + [700.0])


@pytest.mark.parametrize("fault", [False, True])
def test_an_audit_passes_the_rule_and_catches_a_clip_taken_from_the_data(fault):
    rule = ClipRule(RUNGS, Spending(1.0), 40)
    found = audit_exact(Chooser(rule, fault), [FLEETS, FLEETS[::-1]])
    assert found.holds == (not fault)


@pytest.mark.parametrize("spending", [Spending(3.0), Spending(0.5, concentrated=True)])
def test_clips_are_drawn_as_likely_as_they_are_said_to_be(spending):
    rule = ClipRule(RUNGS, spending, 40)
    found = audit_sampler(Chooser(rule), FLEETS[1], draws=1200)
    assert found.verdict == "holds"


def test_the_clip_is_above_what_is_there_and_not_far_above():
    rule = ClipRule(RUNGS, Spending(2.0), 3000)
    homes = np.random.default_rng(1).lognormal(1.6, 0.5, 3000).clip(1.0, 20.0)
    assert rule.probabilities(rule.above(homes))[0] > 0.9
    homes[:240] = np.geomspace(50.0, 500.0, 240)
    assert rule.probabilities(rule.above(homes))[RUNGS.index(800.0)] > 0.9


@pytest.mark.parametrize(
    ("largest", "rungs"),
    [(2000.0, (25, 50, 100, 200, 400, 800, 1600, 2000)), (25.0, (25,)), (7.0, (7,)),
     (30.0, (25, 30)), (400.0, (25, 50, 100, 200, 400))],
)  # fmt: skip
def test_the_ladder_ends_at_the_largest(largest, rungs):
    assert ladder(largest) == rungs


def test_where_nothing_is_to_be_chosen_nothing_is_spent_on_it():
    rule = ClipRule(ladder(20.0), Spending(1.0), 10)
    assert rule.chosen_with is None
    assert rule.drawn_with == Spending(1.0)
    assert rule.draw(np.array([9.0])) == 20.0


@pytest.mark.parametrize("largest", [0.0, -5.0, float("nan"), math.inf, 1e9])
def test_a_largest_that_is_none_is_refused(largest):
    with pytest.raises(ParameterError, match="largest_kw"):
        ladder(largest)
