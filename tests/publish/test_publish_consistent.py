from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from sunveil.publish.consistent_tables import (
    consistent,
    nearest,
    nearest_table,
    rounded,
    rounded_table,
)

ROWS = st.lists(st.lists(st.integers(-60, 300), min_size=5, max_size=5), min_size=1, max_size=4)
TOTALS = st.lists(st.integers(0, 900), min_size=4, max_size=4)


@given(ROWS, TOTALS)
def test_tables_are_whole_non_negative_and_have_their_totals(rows, totals):
    noisy, sums = np.array(rows), np.array(totals[: len(rows)])
    found = consistent(noisy, sums)
    assert found.dtype == np.int64
    assert (found >= 0).all()
    np.testing.assert_array_equal(found.sum(axis=1), sums)


@given(ROWS, TOTALS)
def test_a_consistent_table_stays_as_it_is(rows, totals):
    sums = np.array(totals[: len(rows)])
    once = consistent(np.array(rows), sums)
    np.testing.assert_array_equal(consistent(once, sums), once)


@given(ROWS, st.lists(st.integers(0, 200), min_size=5, max_size=5))
def test_no_table_comes_farther_from_a_truth_with_these_totals(rows, truth):
    noisy, true = np.array(rows, dtype=float), np.array(truth, dtype=float)
    sums = np.full(len(rows), sum(truth))
    before = np.linalg.norm(noisy - true, axis=1)
    after = np.linalg.norm(nearest(noisy, sums) - true, axis=1)
    assert (after <= before + 1e-6).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_table_is_the_least_squares_one(seed):
    noisy, total = np.random.default_rng(seed).normal(2.0, 6.0, 5), 11
    best = minimize(
        lambda x: ((x - noisy) ** 2).sum(),
        np.full(5, total / 5),
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda x: x.sum() - total},
        options={"ftol": 1e-12},
    )
    np.testing.assert_allclose(nearest(noisy[None], np.array([total]))[0], best.x, atol=1e-4)


@given(st.lists(st.floats(0.0, 50.0), min_size=2, max_size=9))
def test_rounding_moves_no_cell_by_one_or_more(values):
    total = int(np.floor(sum(values)))
    exact = nearest(np.array([values]), np.array([total]))
    assert (np.abs(rounded(exact, np.array([total])) - exact) < 1.0 + 1e-9).all()


def test_parts_of_a_system_go_to_the_largest_of_them():
    assert rounded(np.array([[1.0, 0.9, 0.1]]), np.array([2])).tolist() == [[1, 1, 0]]
    assert rounded(np.array([[0.25, 2.5, 1.25]]), np.array([4])).tolist() == [[0, 3, 1]]


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_table_with_both_sums_is_the_least_squares_one(seed):
    rng = np.random.default_rng(seed)
    rows, columns = np.array([9, 0, 12]), np.array([5, 16])
    noisy = rng.normal(3.0, 6.0, (3, 2))
    best = minimize(
        lambda x: ((x - noisy.ravel()) ** 2).sum(),
        np.outer(rows, columns).ravel() / 21.0,
        bounds=[(0, None)] * 6,
        constraints=[
            {"type": "eq", "fun": lambda x: x.reshape(3, 2).sum(axis=1) - rows},
            {"type": "eq", "fun": lambda x: x.reshape(3, 2).sum(axis=0)[:1] - columns[:1]},
        ],
        options={"ftol": 1e-12},
    )
    found = nearest_table(noisy[None], rows[None], columns[None])[0]
    np.testing.assert_allclose(found.ravel(), best.x, atol=0.1)


@given(
    st.lists(st.integers(-50, 120), min_size=12, max_size=12),
    st.lists(st.integers(0, 200), min_size=4, max_size=4),
    st.lists(st.integers(0, 200), min_size=2, max_size=2),
)
def test_rounded_tables_have_both_sums_to_the_last_system(noisy, rows, columns):
    whole = sum(rows)
    first, second = (min(each, whole) for each in columns)
    sums = np.array([min(first, whole), min(second, whole - min(first, whole))])
    sums = np.append(sums, whole - sums.sum())
    lines = np.array(rows)
    values = np.array(noisy, dtype=float).reshape(1, 4, 3)
    near = nearest_table(values, lines[None], sums[None])
    found = rounded_table(near, lines[None], sums[None])[0]
    assert (found >= 0).all()
    np.testing.assert_array_equal(found.sum(axis=1), lines)
    np.testing.assert_array_equal(found.sum(axis=0), sums)
