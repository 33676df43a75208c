"""Tables of counts that agree and add up, against least squares."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from sunveil.publish.consistent_tables import (
    DrawnTable,
    agreed,
    least_squares,
    nearest,
    nearest_table,
    rounded,
    rounded_table,
)


def closest(noisy, start, *equalities):
    """Return the non-negative table nearest to a noisy one, by a general solver."""
    found = minimize(
        lambda x: ((x - noisy.ravel()) ** 2).sum(),
        start.ravel(),
        bounds=[(0, None)] * noisy.size,
        constraints=[{"type": "eq", "fun": each} for each in equalities],
        options={"ftol": 1e-12},
    )
    return found.x


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_tables_are_the_least_squares_ones(seed):
    rng = np.random.default_rng(seed)
    noisy, total = rng.normal(2.0, 6.0, 5), 11
    best = closest(noisy, np.full(5, total / 5), lambda x: x.sum() - total)
    np.testing.assert_allclose(nearest(noisy[None], np.array([total]))[0], best, atol=1e-4)
    rows, columns = np.array([9, 0, 12]), np.array([5, 16])
    noisy = rng.normal(3.0, 6.0, (3, 2))
    best = closest(
        noisy,
        np.outer(rows, columns) / 21.0,
        lambda x: x.reshape(3, 2).sum(axis=1) - rows,
        lambda x: x.reshape(3, 2).sum(axis=0)[:1] - columns[:1],
    )
    found = nearest_table(noisy[None], rows[None], columns[None])[0]
    np.testing.assert_allclose(found.ravel(), best, atol=0.1)


def test_parts_of_a_system_go_to_the_largest_of_them():
    assert rounded(np.array([[1.0, 0.9, 0.1]]), np.array([2])).tolist() == [[1, 1, 0]]
    assert rounded(np.array([[0.25, 2.5, 1.25]]), np.array([4])).tolist() == [[0, 3, 1]]


@given(
    st.lists(st.integers(-50, 120), min_size=12, max_size=12),
    st.lists(st.integers(0, 200), min_size=6, max_size=6),
)
def test_rounded_tables_have_both_sums_to_the_last_system(noisy, sizes):
    lines, whole = np.array(sizes[:4]), sum(sizes[:4])
    first = min(sizes[4], whole)
    second = min(sizes[5], whole - first)
    sums = np.array([first, second, whole - first - second])
    near = nearest_table(np.array(noisy, dtype=float).reshape(1, 4, 3), lines[None], sums[None])
    found = rounded_table(near, lines[None], sums[None])[0]
    assert (found >= 0).all()
    np.testing.assert_array_equal(found.sum(axis=1), lines)
    np.testing.assert_array_equal(found.sum(axis=0), sums)


SHAPE = (3, 2, 2)
CELLS = math.prod(SHAPE)


def measured(rng, true, unknown, axes, deviation):
    added = tuple(axis for axis in range(3) if axis not in axes)
    exact = true.sum(axis=added)
    noisy = exact + np.rint(deviation * rng.standard_normal(exact.shape)).astype(np.int64)
    return DrawnTable(noisy[None], np.array([unknown]), deviation)


@pytest.mark.parametrize("seed", range(3))
def test_effects_are_the_weighted_least_squares_estimate(seed):
    """Against numpy's solution of the whole system, the public size held exactly."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 60, SHAPE)
    drawn = {
        axes: measured(rng, true, 3 + int(rng.integers(5)), axes, deviation)
        for axes, deviation in (((0, 1, 2), 4.0), ((0, 1), 6.0), ((0,), 2.0), ((2,), 3.0))
    }
    size = int(true.sum()) + 5
    lines, values = [], []
    for axes, table in drawn.items():
        for place in np.ndindex(table.noisy.shape[1:]):
            cells = np.zeros(SHAPE)
            at = [slice(None)] * 3
            for axis, where in zip(axes, place, strict=True):
                at[axis] = where
            cells[tuple(at)] = 1.0
            lines.append(np.append(cells.ravel(), 0.0) / table.deviation)
            values.append(table.noisy[(0, *place)] / table.deviation)
        lines.append(np.append(np.zeros(CELLS), 1.0) / table.deviation)
        values.append(table.unknown[0] / table.deviation)
    lines.append(np.full(CELLS + 1, 1e6))
    values.append(1e6 * size)
    best = np.linalg.lstsq(np.array(lines), np.array(values), rcond=None)[0]
    effects, unknown = least_squares(drawn, SHAPE, np.array([size]))
    joint = sum(np.broadcast_to(effect, (1, *SHAPE)) for effect in effects.values())
    np.testing.assert_allclose(joint.ravel(), best[:-1], atol=1e-5)
    assert unknown[0] == pytest.approx(best[-1], abs=1e-5)


def test_what_is_exact_stays_as_it_is():
    rng = np.random.default_rng(1)
    true = rng.integers(0, 9, SHAPE)
    drawn = {axes: measured(rng, true, 4, axes, 1e-9) for axes in ((0, 1, 2), (0,), (1,))}
    found = agreed(drawn, SHAPE, np.array([true.sum() + 4]))
    np.testing.assert_array_equal(found.systems[0, 1, 2][0], true)
    assert found.unknown.tolist() == [4]


def test_a_precise_margin_mends_the_tables_that_hold_it():
    """Over 60 draws the mean error of the sectors falls to that of their own table."""
    rng = np.random.default_rng(2)
    true = rng.integers(20, 90, SHAPE)
    missed = {"alone": [], "both": []}
    for _ in range(60):
        joint = measured(rng, true, 0, (0, 1, 2), 12.0)
        sectors = measured(rng, true, 0, (0,), 2.0)
        for name, drawn in (("alone", {}), ("both", {(0,): sectors})):
            tables = agreed({(0, 1, 2): joint, **drawn}, SHAPE, np.array([true.sum()]))
            missed[name].append(np.abs(tables.systems[0,][0] - true.sum(axis=(1, 2))).mean())
    assert np.mean(missed["both"]) < 2.5
    assert np.mean(missed["alone"]) > 8.0
