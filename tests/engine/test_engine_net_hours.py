from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import lognorm

from sunveil.engine.net_hours import HOUR_AT_MOST_ZERO as AT_MOST_ZERO
from sunveil.engine.net_hours import HOUR_CLEARNESS as CLEARNESS
from sunveil.engine.net_hours import HOUR_EXACT as EXACT
from sunveil.engine.net_hours import HOUR_NIGHT as NIGHT
from sunveil.engine.net_hours import LOAD, LOADS, LOW, SKIES, STATES, TOLD, emit, lay_loads, tell

EDGES = np.linspace(0.0, 1.2, 25)
CENTRE, WIDTH, MODEL = np.log(0.6), 0.5, 2.0
# one interval with a reading, one that is at most zero, and a night
READING = np.array([0.9, 0.0, -0.7])
KIND = np.array([EXACT, AT_MOST_ZERO, NIGHT], dtype=np.int8)


@pytest.fixture(scope="module")
def weighed() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    many, size = len(KIND), len(EDGES) - 1
    model, zero, which = np.full(many, MODEL), np.zeros(many), np.zeros(many, dtype=np.int64)
    logs, bins = np.zeros((many, len(EDGES))), np.zeros((many, LOADS, size))
    skies = np.full((1, SKIES, size), 1.0 / size)
    loads = np.array([[CENTRE], [CENTRE + 1.0]]), np.full((2, 1), WIDTH)
    load = np.zeros(many, dtype=np.int64), *loads, 0.0, -9.0
    plain, sums, told = np.empty((many, STATES)), np.zeros((LOADS, 3, 1)), np.zeros((TOLD, many))
    lay_loads(READING, KIND, model, EDGES, zero, logs)
    sky = KIND, model, logs, skies, which, EDGES, load
    emit(READING, *sky, 0.1, 0.0, bins, plain)
    usual = np.zeros((many, STATES))
    usual[:, 0] = 1.0
    tell(READING, zero, *sky, bins, plain, usual, sums, told)
    return plain, sums, told


def test_readings_are_as_likely_as_their_load(weighed: tuple[np.ndarray, ...]) -> None:
    plain, load = weighed[0], lognorm(WIDTH, scale=0.6)
    clearness = np.linspace(0.0, 1.2, 20001)
    assert plain[0, 0] == pytest.approx(load.pdf(clearness * MODEL - 0.9).mean(), rel=0.02)
    assert plain[1, 0] == pytest.approx(load.sf(clearness * MODEL).mean(), rel=0.02)
    assert plain[2, 0] == pytest.approx(0.7 * load.pdf(0.7), rel=0.01)
    # whatever is generated, a battery may take it
    assert plain[1, 2] == pytest.approx(1.0)
    assert plain[0, 2] < 1e-3 < plain[0, 0]


def test_what_is_told_is_what_is_expected(weighed: tuple[np.ndarray, ...]) -> None:
    (_, sums, told), load = weighed, lognorm(WIDTH, scale=0.6)
    clearness = np.linspace(0.0, 1.2, 20001)
    weight = load.pdf(clearness * MODEL - 0.9)
    assert told[CLEARNESS, 0] == pytest.approx(clearness @ weight / weight.sum(), rel=0.02)
    lowest = clearness[np.searchsorted(np.cumsum(weight) / weight.sum(), 0.05)]
    assert told[LOW, 0] == pytest.approx(lowest, abs=0.02)
    assert sums[0, 0, 0] == pytest.approx(3.0, rel=1e-3)
    assert not sums[1:].any()


def test_a_hidden_load_is_its_mean_above_the_generation(weighed: tuple[np.ndarray, ...]) -> None:
    draws = np.random.default_rng(6).uniform(0.0, 1.2, 200_000) * MODEL
    load = lognorm(WIDTH, scale=0.6).rvs(len(draws), random_state=7)
    assert weighed[2][LOAD, 1] == pytest.approx(load[load > draws].mean(), rel=0.02)
