from __future__ import annotations

import numpy as np
import pytest
from engine_makers import PLANES, pair_of

from sunveil.engine.coarse_search import search
from sunveil.engine.final_fit import FinalFit, fit_finally
from sunveil.engine.two_planes import _apart, fit_pairs, log_likelihoods, pair_power


@pytest.fixture
def fit(rows, prepared) -> FinalFit:
    return fit_finally(search(rows, prepared), prepared)


def test_readings_are_likeliest_under_their_own_model(fit):
    every = np.arange(len(PLANES))
    own = log_likelihoods(fit, every, fit.model, fit.kept)
    other = log_likelihoods(fit, every, np.float32(0.7) * fit.model, fit.kept)
    assert (own > other + 5.0).all()
    assert (own < 0.0).all()
    silent = log_likelihoods(fit, every, fit.model, np.zeros_like(fit.kept))
    assert (silent == 0.0).all()


def test_one_plane_that_is_suspected_is_neither_told_as_two_nor_sure_to_be(fit):
    found = fit_pairs(fit, np.arange(len(PLANES)))
    assert not found.told.any()
    assert not found.sure.any()


def test_nobody_is_suspected(fit):
    found = fit_pairs(fit, np.zeros(0, dtype=np.intp))
    assert len(found.systems) == len(found.pairs) == len(found.model) == 0


def test_the_power_of_a_pair_is_below_its_limit(fit):
    pairs = np.array(
        [pair_of((90.0, 30.0, 3.0), (270.0, 30.0, 3.0), limit=limit) for limit in (None, 2.0)]
    )
    free, limited = pair_power(pairs, fit)
    assert free.max() > 2.5
    np.testing.assert_array_equal(limited, np.minimum(free, np.float32(2.0)))


def test_pairs_are_apart_by_the_better_order_of_their_planes():
    first, second = (350.0, 30.0, 3.0), (170.0, 30.0, 3.0)
    turned = pair_of((180.0, 20.0, 1.0), (5.0, 40.0, 2.0))
    assert _apart(pair_of(first, second), pair_of(second, first)) == pytest.approx(0.0, abs=1e-9)
    assert _apart(pair_of(first, second), turned) == pytest.approx(15.0)
