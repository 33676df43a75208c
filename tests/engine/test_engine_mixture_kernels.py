from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from sunveil.engine.one_or_two_planes import non_negative


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.booleans())
def test_the_non_negative_solution_is_scipys(seed, planes, warm):
    """By what it leaves: of planes nearly alike, several mixtures may leave as little."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(0.0, 1.0, (planes, 80)).astype(np.float32)
    truth = rng.uniform(-1.0, 2.0, planes)
    value = (truth @ rows + 0.05 * rng.normal(size=80)).astype(np.float32)
    weight = rng.uniform(0.0, 1.0, 80).astype(np.float32)
    x = np.where(rng.random(planes) < 0.5, rng.uniform(0.0, 1.0, planes), 0.0) * warm
    model = np.empty(80, dtype=np.float32)
    non_negative(rows, weight, value, x, model)
    root = np.sqrt(weight.astype(np.float64))
    expected, left = nnls(rows.T * root[:, None], value * root)
    assert (x >= 0.0).all()
    np.testing.assert_allclose(model, x @ rows, atol=1e-4)
    mine = np.linalg.norm((model - value) * root)
    assert mine <= left * (1.0 + 1e-3) + 1e-4
    np.testing.assert_allclose(x, expected, atol=0.02)


def test_nothing_to_explain_gives_nothing():
    rows = np.ones((3, 64), dtype=np.float32)
    x, model = np.zeros(3), np.ones(64, dtype=np.float32)
    non_negative(rows, np.zeros(64, dtype=np.float32), rows[0], x, model)
    assert (x == 0.0).all()
    assert (model == 0.0).all()
