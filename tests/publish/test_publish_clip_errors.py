from __future__ import annotations

import numpy as np
import pytest
from fleet_makers import fleet

from sunveil.privacy.discrete_noise import Spending
from sunveil.publish.capacity_cap import (
    ClipRule,
    expected_error,
    ladder,
    make_mix,
    mix_error,
    mixes,
    stated_errors,
)
from sunveil.publish.noisy_counts import groups_of
from sunveil.publish.totals_and_quantiles import draw_clipped_totals

RUNGS = ladder(2000.0)


@pytest.mark.parametrize("concentrated", [False, True])
def test_the_exact_error_of_a_mix_is_that_of_draws(concentrated):
    """200 draws of a fleet; five standard errors of their mean."""
    name = "homes, 8% of 50 to 500 kW"
    capacities = make_mix(name, 300, np.random.default_rng(5))
    rows = fleet([(180.0, 30.0, each) for each in capacities])
    groups = groups_of(rows, key=None, keys=None)
    rule = ClipRule(RUNGS, Spending.asked(1.0, concentrated=concentrated), 300)
    true = capacities.sum()
    drawn = [draw_clipped_totals(rows, groups, rule).totals[0] / 1e3 for _ in range(200)]
    missed = np.abs(np.array(drawn) - true) / true
    exact = mix_error(rule, capacities)
    assert missed.mean() == pytest.approx(exact, abs=5.0 * missed.std() / 200**0.5)


@pytest.mark.parametrize(("concentrated", "most"), [(False, 0.135), (True, 0.11)])
def test_three_hundred_mixed_homes_are_within_what_is_claimed(concentrated, most):
    """On fleets that nothing was tuned on; a fixed clip of 25 kW cuts 63% of them off."""
    rule = ClipRule(RUNGS, Spending.asked(1.0, concentrated=concentrated), 300)
    found = [
        make_mix("homes, 8% of 50 to 500 kW", 300, np.random.default_rng(s)) for s in range(30)
    ]
    cut = [1.0 - np.minimum(each, 25.0).sum() / each.sum() for each in found]
    assert np.mean(cut) == pytest.approx(0.63, abs=0.03)
    assert np.mean([mix_error(rule, each) for each in found]) < most


@pytest.mark.parametrize("concentrated", [False, True])
def test_nine_in_ten_errors_over_the_mixes_are_within_what_is_stated(concentrated):
    """Fleets other than those that the statement is made from: 85 to 95% of 1,100 draws."""
    rule = ClipRule(RUNGS, Spending.asked(1.0, concentrated=concentrated), 300)
    stated = {rung: stated_errors(rule, rung)["nine"] for rung in RUNGS}
    noise = rule.drawn_with.noise
    rng = np.random.default_rng(7)
    inside = []
    for seed in range(100):
        for name in mixes():
            x = make_mix(name, 300, np.random.default_rng((seed, 1)))
            law = rule.probabilities(rule.above(x))
            place = rng.choice(len(RUNGS), p=law / law.sum())
            sd = rule.deviations()[place]
            draw = rng.normal(0.0, sd) if concentrated else rng.laplace(0.0, sd / 2**0.5)
            missed = abs(draw - np.maximum(x - RUNGS[place], 0.0).sum())
            inside.append(missed <= stated[RUNGS[place]])
    assert noise is not None
    assert 0.85 < np.mean(inside) < 0.95


def test_errors_fall_with_epsilon_and_with_the_number_of_systems():
    def error(epsilon, systems):
        return expected_error(ClipRule(RUNGS, Spending(epsilon), systems))

    assert error(0.3, 300) > error(1.0, 300) > error(4.0, 300)
    assert error(1.0, 100) > error(1.0, 1000) > error(1.0, 20_000)


def test_groups_share_the_cut_and_each_has_the_whole_noise():
    rule = ClipRule(RUNGS, Spending(1.0), 900)
    one, ten = expected_error(rule), expected_error(rule, groups=10)
    assert one < ten < 10.0 * one


def test_nothing_is_cut_off_where_no_system_may_be_larger_than_the_clip():
    rule = ClipRule((25.0,), Spending(1.0), 900)
    noise = rule.deviations()[0] / 2**0.5
    assert stated_errors(rule, 25.0)["mean"] == pytest.approx(noise)
    assert expected_error(rule, groups=10) == pytest.approx(10.0 * expected_error(rule))


def test_a_group_s_error_has_its_share_of_the_cut():
    rule = ClipRule(RUNGS, Spending(1.0), 900)
    whole, part = stated_errors(rule, 25.0), stated_errors(rule, 25.0, share=0.1)
    noise = rule.deviations()[0] / 2**0.5
    assert noise < part["mean"] < whole["mean"]
    assert stated_errors(rule, 25.0, share=0.0)["mean"] == pytest.approx(noise)
