from __future__ import annotations

import itertools

import numpy as np
import pytest
from net_makers import cells_of, load_of
from scipy.stats import lognorm

from sunveil.engine.net_hours import HOUR_AT_MOST_ZERO as AT_MOST_ZERO
from sunveil.engine.net_hours import HOUR_CLEARNESS as CLEARNESS
from sunveil.engine.net_hours import HOUR_EXACT as EXACT
from sunveil.engine.net_hours import HOUR_NIGHT as NIGHT
from sunveil.engine.net_hours import LOAD, LOADS, LOW, SKIES, STATES, SUMMARY, emit, lay_loads, tell
from sunveil.engine.net_load import CELLS, load_cells, load_from, night_loads
from sunveil.engine.net_model import chain
from sunveil.estimates.planes_and_intervals import HOURS


def test_cells_follow_the_clock_people_live_by(prepared):
    long = prepared.sky.grid.long
    own, utc = cells_of(prepared), load_cells(prepared, "UTC")
    # a clock of UTC is no household's: by the sun and the daylight saving of the place
    np.testing.assert_array_equal(own.usable % HOURS, utc.usable % HOURS)
    hour = (long.starts[prepared.slot] // 3600 - 7) % 24
    saved = (own.usable % HOURS - hour) % 24
    assert set(saved.tolist()) == {0, 1}
    # the hours of the first day are those of winter
    assert own.usable[0] // HOURS == 0


def test_nights_show_the_load(prepared):
    load = load_of(prepared, mean=0.8, width=0.4)
    found = load_from(night_loads(-load.astype(np.float32), cells_of(prepared)).sums, np.log(0.3))
    seen = found.centre.reshape(-1, HOURS)[:, [1, 2, 3]]
    assert np.exp(seen + 0.5 * 0.4**2) == pytest.approx(0.8, rel=0.2)
    assert found.width.mean() == pytest.approx(0.4, abs=0.08)


def test_nights_show_weeks_of_higher_load(prepared):
    load, cells = load_of(prepared), cells_of(prepared)
    load[2000:3000] *= 3.0
    level = night_loads(-load.astype(np.float32), cells).level
    inside = (prepared.slot > 2200) & (prepared.slot < 2800)
    outside = (prepared.slot < 1800) | (prepared.slot > 3200)
    assert np.median(level[inside]) - np.median(level[outside]) == pytest.approx(1.0, abs=0.15)


def test_a_meter_of_exports_alone_shows_no_load_at_night(prepared):
    nights = night_loads(np.zeros(prepared.sky.grid.count, np.float32), cells_of(prepared))
    assert not nights.sums.any()
    assert not nights.level.any()
    found = load_from(nights.sums, np.log(0.3))
    np.testing.assert_allclose(np.exp(found.centre), np.full(CELLS, 0.3))


def test_the_chain_is_that_of_all_paths_summed():
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


EDGES = np.linspace(0.0, 1.2, 25)

CENTRE, WIDTH, MODEL = np.log(0.6), 0.5, 2.0


# one interval with a reading, one that is at most zero, and a night
READING = np.array([0.9, 0.0, -0.7])

KIND = np.array([EXACT, AT_MOST_ZERO, NIGHT], dtype=np.int8)


@pytest.fixture(scope="module")
def weighed():
    many, size = len(KIND), len(EDGES) - 1
    model, zero, which = np.full(many, MODEL), np.zeros(many), np.zeros(many, dtype=np.int64)
    logs, bins = np.zeros((many, len(EDGES))), np.zeros((many, LOADS, size))
    skies = np.full((1, SKIES, size), 1.0 / size)
    loads = np.array([[CENTRE], [CENTRE + 1.0]]), np.full((2, 1), WIDTH)
    load = np.zeros(many, dtype=np.int64), *loads, 0.0, -9.0
    plain, sums, told = np.empty((many, STATES)), np.zeros((LOADS, 3, 1)), np.zeros((SUMMARY, many))
    lay_loads(READING, KIND, model, EDGES, zero, logs)
    sky = KIND, model, logs, skies, which, EDGES, load
    emit(READING, *sky, 0.1, 0.0, bins, plain)
    usual = np.zeros((many, STATES))
    usual[:, 0] = 1.0
    tell(READING, zero, *sky, bins, plain, usual, sums, told)
    return plain, sums, told


def test_readings_are_as_likely_as_their_load(weighed):
    plain, load = weighed[0], lognorm(WIDTH, scale=0.6)
    clearness = np.linspace(0.0, 1.2, 20001)
    assert plain[0, 0] == pytest.approx(load.pdf(clearness * MODEL - 0.9).mean(), rel=0.02)
    assert plain[1, 0] == pytest.approx(load.sf(clearness * MODEL).mean(), rel=0.02)
    assert plain[2, 0] == pytest.approx(0.7 * load.pdf(0.7), rel=0.01)
    # whatever is generated, a battery may take it
    assert plain[1, 2] == pytest.approx(1.0)
    assert plain[0, 2] < 1e-3 < plain[0, 0]


def test_what_is_told_is_what_is_expected(weighed):
    (_, sums, told), load = weighed, lognorm(WIDTH, scale=0.6)
    clearness = np.linspace(0.0, 1.2, 20001)
    weight = load.pdf(clearness * MODEL - 0.9)
    assert told[CLEARNESS, 0] == pytest.approx(clearness @ weight / weight.sum(), rel=0.02)
    lowest = clearness[np.searchsorted(np.cumsum(weight) / weight.sum(), 0.05)]
    assert told[LOW, 0] == pytest.approx(lowest, abs=0.02)
    assert sums[0, 0, 0] == pytest.approx(3.0, rel=1e-3)
    assert not sums[1:].any()


def test_a_hidden_load_is_its_mean_above_the_generation(weighed):
    draws = np.random.default_rng(6).uniform(0.0, 1.2, 200_000) * MODEL
    load = lognorm(WIDTH, scale=0.6).rvs(len(draws), random_state=7)
    assert weighed[2][LOAD, 1] == pytest.approx(load[load > draws].mean(), rel=0.02)
