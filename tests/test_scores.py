from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.scores import Tolerance, agreement_counts, capacity_grid, fit_score

CAPACITIES = capacity_grid(1.0, 8.0, step=0.05)
readings = st.one_of(
    st.just(0.0),
    st.floats(-2.0, 12.0),
    st.sampled_from([1e-300, 1e300, math.inf, -math.inf, math.nan]),
)


def by_hand(power, profiles, *, capacities, tolerance):
    """Count with two loops, the window in whole steps of the capacity grid."""
    step = math.log(capacities[1] / capacities[0])
    below = round(-math.log(1.0 - tolerance.relative) / step)
    above = round(math.log(1.0 + tolerance.relative) / step)
    counts = np.zeros((len(profiles), len(capacities)), dtype=int)
    for plane, profile in enumerate(profiles):
        for place, capacity in enumerate(capacities):
            for p, m in zip(power, profile, strict=True):
                if m < tolerance.floor or not 0.0 < p < math.inf:
                    continue
                steps = math.log(p / (capacity * m)) / step
                counts[plane, place] += -below - 0.5 <= steps < above + 0.5
    return counts


@pytest.mark.parametrize("tolerance", [Tolerance(), Tolerance(0.3, 0.05), Tolerance(0.05, 0.4)])
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_two_loops(tolerance, seed):
    rng = np.random.default_rng(seed)
    profiles = rng.uniform(0.0, 1.0, (4, 60))
    power = 3.0 * profiles[1] * rng.normal(1.0, 0.2, 60)
    power[:5] = [0.0, -1.0, 1e-9, 500.0, 0.3]
    found = agreement_counts(power, profiles, capacities=CAPACITIES, tolerance=tolerance)
    expected = by_hand(power, profiles, capacities=CAPACITIES, tolerance=tolerance)
    np.testing.assert_array_equal(found.counts, expected)
    assert expected.max() > 3


def test_the_window_is_the_documented_one_to_half_a_step():
    tolerance = Tolerance(relative=0.15, floor=0.1)
    capacities = capacity_grid(0.5, 20.0, step=0.01)
    place = 200
    capacity, profile = capacities[place], np.full((1, 1), 0.5)
    for ratio in np.linspace(0.8, 1.2, 401):
        power = np.array([ratio * capacity * 0.5])
        found = agreement_counts(power, profile, capacities=capacities, tolerance=tolerance)
        if abs(ratio - 1.0) < 0.15 - 0.01:
            assert found.counts[0, place] == 1
        if abs(ratio - 1.0) > 0.15 + 0.01:
            assert found.counts[0, place] == 0


def test_the_best_plane_and_capacity_are_those_that_made_the_readings():
    rng = np.random.default_rng(5)
    profiles = rng.uniform(0.2, 1.0, (6, 300))
    power = 4.0 * profiles[3]
    found = agreement_counts(power, profiles, capacities=CAPACITIES)
    plane, capacity = found.best()
    assert plane == 3
    assert found.counts[plane, capacity] == found.possible[plane] == 300
    assert found.capacities[capacity] == pytest.approx(4.0, rel=0.16)


def test_of_equal_counts_the_first_wins():
    found = agreement_counts(np.zeros(3), np.ones((2, 3)), capacities=CAPACITIES)
    assert found.best() == (0, 0)


def test_counts_are_whole_numbers():
    found = agreement_counts(np.ones(3), np.ones((2, 3)), capacities=CAPACITIES)
    assert found.counts.dtype == np.int64
    assert found.possible.dtype == np.int64
    assert found.counts.shape == (2, len(CAPACITIES))


@pytest.mark.parametrize("reading", [0.0, -0.0, -3.0, math.nan, math.inf, -math.inf])
def test_a_reading_without_power_agrees_with_nothing(reading):
    found = agreement_counts(np.array([reading]), np.full((3, 1), 0.8), capacities=CAPACITIES)
    assert (found.counts == 0).all()
    assert (found.possible == 1).all()


def test_readings_count_only_where_the_model_reaches_the_floor():
    profiles = np.array([[0.05, 0.2, 0.2], [0.2, 0.2, 0.2]])
    power = 2.0 * profiles[0]
    found = agreement_counts(power, profiles, capacities=CAPACITIES, tolerance=Tolerance(floor=0.1))
    assert found.possible.tolist() == [2, 3]
    assert found.counts.max(axis=1).tolist() == [2, 2]


@settings(max_examples=200, deadline=None)
@given(
    power=st.lists(readings, min_size=1, max_size=12),
    changed=readings,
    where=st.integers(0, 11),
    seed=st.integers(0, 2**32 - 1),
    relative=st.floats(0.02, 0.6),
)
def test_one_reading_moves_any_count_by_at_most_one(power, changed, where, seed, relative):
    ours = np.array(power)
    theirs = ours.copy()
    theirs[where % len(ours)] = changed
    profiles = np.random.default_rng(seed).uniform(0.0, 1.0, (5, len(ours)))
    one, other = (
        agreement_counts(p, profiles, capacities=CAPACITIES, tolerance=Tolerance(relative))
        for p in (ours, theirs)
    )
    assert np.abs(one.counts - other.counts).max() <= 1
    np.testing.assert_array_equal(one.possible, other.possible)


@settings(max_examples=100, deadline=None)
@given(
    power=st.lists(readings, min_size=2, max_size=12),
    where=st.integers(0, 11),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_reading_more_adds_at_most_one_and_takes_nothing(power, where, seed):
    more = np.array(power)
    fewer = np.delete(more, where % len(more))
    profiles = np.random.default_rng(seed).uniform(0.0, 1.0, (5, len(more)))
    less = np.delete(profiles, where % len(more), axis=1)
    gained = (
        agreement_counts(more, profiles, capacities=CAPACITIES).counts
        - agreement_counts(fewer, less, capacities=CAPACITIES).counts
    )
    assert set(np.unique(gained)) <= {0, 1}


@settings(max_examples=100, deadline=None)
@given(steps=st.integers(1, 20), seed=st.integers(0, 2**32 - 1))
def test_more_power_in_whole_steps_moves_the_counts_along_the_capacities(steps, seed):
    rng = np.random.default_rng(seed)
    profiles = rng.uniform(0.2, 1.0, (3, 30))
    power = rng.uniform(1.0, 2.0, 30) * profiles[0]
    one = agreement_counts(power, profiles, capacities=CAPACITIES)
    scaled = agreement_counts(power * math.exp(0.05 * steps), profiles, capacities=CAPACITIES)
    np.testing.assert_array_equal(scaled.counts[:, steps:], one.counts[:, :-steps])


@pytest.mark.parametrize("fault", [{"relative": 0.0}, {"relative": 1.0}, {"relative": math.nan}])
def test_a_tolerance_out_of_range_is_refused(fault):
    with pytest.raises(ParameterError, match="relative tolerance"):
        Tolerance(**fault)


@pytest.mark.parametrize("floor", [0.0, 1.0, -0.1])
def test_a_floor_out_of_range_is_refused(floor):
    with pytest.raises(ParameterError, match="floor of modelled power"):
        Tolerance(floor=floor)


def test_a_capacity_grid_is_geometric_and_reaches_its_end():
    found = capacity_grid(2.0, 11.0, step=0.03)
    np.testing.assert_allclose(np.diff(np.log(found)), 0.03)
    assert found[0] == 2.0
    assert 11.0 <= found[-1] < 11.0 * math.exp(0.03)


@pytest.mark.parametrize(
    ("low", "high", "step"), [(0.0, 1.0, 0.1), (2.0, 1.0, 0.1), (1.0, 2.0, 0.0), (1.0, 1.0, 0.1)]
)
def test_a_capacity_grid_that_cannot_be_is_refused(low, high, step):
    with pytest.raises(ParameterError, match="capacity grid"):
        capacity_grid(low, high, step=step)


def test_the_fit_score_is_less_the_mean_square():
    measured = np.array([0.0, 0.5, 1.0, 0.25])
    profiles = np.array([[0.0, 0.5, 1.0, 0.25], [0.0, 0.0, 1.0, 0.25], [1.0, 0.5, 0.0, 0.25]])
    np.testing.assert_allclose(fit_score(measured, profiles), [0.0, -0.0625, -0.5])


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_the_fit_score_of_normalised_days_lies_between_minus_one_and_zero(seed, size):
    rng = np.random.default_rng(seed)
    score = fit_score(rng.random(size), rng.random((4, size)))
    assert (score <= 0.0).all()
    assert (score >= -1.0).all()
