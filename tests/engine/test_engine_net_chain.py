from __future__ import annotations

import itertools

import numpy as np
import pytest

from sunveil.engine.net_model import chain

SKIES, LOADS = 4, 3
STATES = SKIES * LOADS


def test_the_chain_is_that_of_all_paths_summed() -> None:
    rng = np.random.default_rng(3)
    plain, many = rng.uniform(0.1, 2.0, (3, STATES)), 3
    skies, loads = rng.uniform(0.1, 1.0, (SKIES, SKIES)), rng.uniform(0.1, 1.0, (LOADS, LOADS))
    skies /= skies.sum(axis=1, keepdims=True)
    loads /= loads.sum(axis=1, keepdims=True)
    start, first = np.array([0.4, 0.3, 0.2, 0.1]), np.array([True, False, True])
    found, counts = np.empty((many, STATES)), (np.zeros((SKIES, SKIES)), np.zeros((LOADS, LOADS)))
    total = chain(plain, first, start, skies, loads, found, counts)
    each, every = np.zeros((many, STATES)), 0.0
    pairs = np.zeros((SKIES, SKIES)), np.zeros((LOADS, LOADS))
    for path in itertools.product(range(STATES), repeat=many):
        sky, load = [i // LOADS for i in path], [i % LOADS for i in path]
        weight = start[sky[0]] / LOADS * plain[0, path[0]]
        for t in range(1, many):
            step = start[sky[t]] if first[t] else skies[sky[t - 1], sky[t]]
            weight *= step * loads[load[t - 1], load[t]] * plain[t, path[t]]
        every += weight
        each[np.arange(many), path] += weight
        pairs[0][sky[0], sky[1]] += weight
        for t in range(1, many):
            pairs[1][load[t - 1], load[t]] += weight
    assert total == pytest.approx(np.log(every))
    np.testing.assert_allclose(found, each / every, rtol=1e-9)
    for mine, other in zip(counts, pairs, strict=True):
        np.testing.assert_allclose(mine, other / every, rtol=1e-9)
