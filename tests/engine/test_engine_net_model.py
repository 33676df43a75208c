from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import lognorm

from sunveil.engine.net_fit import EDGES, spike_bins, usual_clouds
from sunveil.engine.net_model import (
    AT_MOST_ZERO,
    BY_LOAD,
    BY_MODEL,
    CLEAR,
    EXACT,
    FOUND,
    NONE,
    gather,
    weigh,
)

CENTRE, WIDTH, FLOOR = np.log(0.6), 0.5, 1e-6
IDLE = (0.0, 0.1)


def weighed(reading, kind, model, *, centre=CENTRE):
    """Return what the kernel says of one day's readings."""
    many = len(reading)
    found = np.zeros((FOUND, many))
    sums = np.zeros((3, 1)), np.zeros(len(EDGES) - 1), np.zeros(6)
    load = np.zeros(many, np.int64), np.zeros(many), np.array([centre]), np.array([WIDTH]), IDLE
    clouds = EDGES, spike_bins(), np.zeros(many, np.int64), usual_clouds()
    total = weigh(
        np.array(reading), np.array(kind, np.int8), np.array(model), load, np.array([0, many]),
        clouds, np.array([0.4, 0.9, 0.8]), FLOOR, found, sums,
    )  # fmt: skip
    return float(total), found, sums


def density(reading, model):
    """Return the same densities, while clear and under clouds, by numerical integration."""
    law = lognorm(WIDTH, scale=np.exp(CENTRE))
    out = []
    for shares in (spike_bins()[0], usual_clouds()):
        heights = shares / np.diff(EDGES)
        parts = [
            height * quad(lambda c: law.pdf(c * model - reading), low, high)[0]
            for height, low, high in zip(heights, EDGES[:-1], EDGES[1:], strict=True)
        ]
        out.append(sum(parts) + FLOOR)
    return out[0], out[1]


def test_a_reading_is_as_likely_as_integration_over_clearness_says():
    clear, cloudy = density(1.7, 2.5)
    total, found, _ = weighed([1.7], [EXACT], [2.5])
    assert total == pytest.approx(np.log(0.4 * clear + 0.6 * cloudy), abs=1e-3)
    assert found[CLEAR, 0] == pytest.approx(0.4 * clear / (0.4 * clear + 0.6 * cloudy), abs=1e-3)


@pytest.mark.parametrize("kind", [EXACT, AT_MOST_ZERO])
def test_slopes_are_those_of_the_likelihood(kind):
    reading = [0.0, 0.0, 0.0] if kind == AT_MOST_ZERO else [1.0, 1.8, -0.3]
    # a step over several places of the table of the normal law
    model, step = [1.9, 2.6, 0.8], 0.01
    _, found, _ = weighed(reading, [kind] * 3, model)
    higher, lower = (
        weighed(reading, [kind] * 3, [each + sign * step for each in model])[0]
        for sign in (1.0, -1.0)
    )
    assert found[BY_MODEL].sum() == pytest.approx((higher - lower) / (2 * step), rel=0.03)
    higher, lower = (
        weighed(reading, [kind] * 3, model, centre=CENTRE + sign * step)[0] for sign in (1.0, -1.0)
    )
    assert found[BY_LOAD].sum() == pytest.approx((higher - lower) / (2 * step), rel=0.03)


def test_clear_hours_make_their_neighbours_clear():
    # a load of 0.4 kW below a clear 3 kW, but in the middle one that a cloud would explain as well
    readings, models = [2.6, 2.6, 1.6, 2.6, 2.6], [3.0] * 5
    among = weighed(readings, [EXACT] * 5, models)[1][CLEAR, 2]
    alone = weighed([1.6], [EXACT], [3.0])[1][CLEAR, 0]
    assert among > alone


def test_what_was_not_read_says_nothing():
    total, found, sums = weighed([0.0, 0.0], [NONE, NONE], [2.0, 2.0])
    assert total == pytest.approx(0.0)
    assert not found[1:].any()
    assert not sums[0].any()


def test_information_is_the_sum_of_products_of_scores():
    rng = np.random.default_rng(1)
    scores, by_load, cell = rng.normal(size=(3, 50)), rng.normal(size=50), rng.integers(0, 4, 50)
    information, crossed, own = np.ones((3, 3)), np.ones((3, 4)), np.ones(4)
    gradient, pull = np.ones(3), np.ones(4)
    gather(scores, by_load, cell, information, crossed, own, gradient, pull)
    design = np.eye(4)[cell].T * by_load
    np.testing.assert_allclose(information, scores @ scores.T)
    np.testing.assert_allclose(crossed, scores @ design.T)
    np.testing.assert_allclose(own, (design**2).sum(axis=1))
    np.testing.assert_allclose(gradient, scores.sum(axis=1))
    np.testing.assert_allclose(pull, design.sum(axis=1))
