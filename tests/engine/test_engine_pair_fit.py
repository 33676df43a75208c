from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from engine_makers import pair_of

from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.power_model import BLOCK, CAPACITY, FittedReadings
from sunveil.engine.shading import PreparedSky
from sunveil.engine.two_planes import (
    PAIR_LIMIT,
    PAIR_PARAMETERS,
    known,
    linearised,
    planes_of,
    refine_pair,
    roof_prior,
)
from sunveil.site import Array

EAST_WEST = ((95.0, 28.0, 4.0), (272.0, 24.0, 2.0))


def readings_of(pair: Array, prepared: PreparedSky, blocks: int = 20) -> FittedReadings:
    """Return readings that a pair explains exactly, of so many blocks of the year."""
    sheet = np.ascontiguousarray(prepared.sky.sheet[:: max(len(prepared.sky.sheet) // blocks, 1)])
    nothing = np.zeros(len(sheet) * BLOCK, dtype=np.float32)
    blank = FittedReadings(sheet, nothing, nothing + 1.0, 5.0, 60.0, prepared.numbers)
    return replace(blank, power=linearised(pair, blank).model)


def test_the_model_is_the_sum_of_two_planes_below_the_limit(prepared):
    pair = pair_of(*EAST_WEST, limit=3.0)
    model = readings_of(pair, prepared).power
    sheet = readings_of(pair, prepared).sky
    planes = planes_of(pair)
    each = profiles_of(sheet, planes, prepared.numbers) * np.exp(planes[:, CAPACITY])[:, None]
    np.testing.assert_allclose(model, np.minimum(each.sum(axis=0), 3.0), rtol=1e-4, atol=1e-4)
    assert (model == np.float32(3.0)).any()


@pytest.mark.parametrize("limit", [None, 3.0])
def test_derivatives_are_those_of_the_model(prepared, limit):
    pair = pair_of(*EAST_WEST, haze=0.2, season=-0.1, limit=limit)
    readings = readings_of(pair, prepared)
    lines = linearised(pair, readings)
    steps = np.array([0.2, 0.2, 0.01, 0.2, 0.2, 0.01, 0.05, 0.05, 0.05, 0.01])
    for place in range(PAIR_PARAMETERS if limit else PAIR_LIMIT):
        ends = []
        for sign in (-1.0, 1.0):
            moved = pair.copy()
            moved[place] += sign * steps[place]
            ends.append(linearised(moved, readings).model.astype(np.float64))
        expected = (ends[1] - ends[0]) / (2.0 * steps[place]) / lines.deviation
        apart = np.abs(lines.slopes[place] - expected)
        # kinks at the limit and at the edge of a plane's light are between two values
        assert np.quantile(apart, 0.95) < 0.01 * np.abs(expected).max()


def test_the_prior_of_roofs_has_the_gradient_of_its_logarithm():
    for first, second in (((95.0, 28.0, 4.0), (200.0, 24.0, 2.0)), EAST_WEST):
        pair = pair_of(first, second)
        _, gradient, information = roof_prior(pair)
        for place in range(PAIR_PARAMETERS):
            ends = []
            for sign in (-1.0, 1.0):
                moved = pair.copy()
                moved[place] += sign * 1e-4
                ends.append(roof_prior(moved)[0])
            assert gradient[place] == pytest.approx((ends[1] - ends[0]) / 2e-4, abs=1e-6)
        assert (np.linalg.eigvalsh(information) > -1e-9).all()


def test_roofs_like_quarter_turns_and_like_tilts():
    worths = [
        roof_prior(pair_of((180.0, 30.0, 1.0), (180.0 + turn, tilt, 1.0)))[0]
        for turn, tilt in ((90.0, 30.0), (100.0, 30.0), (135.0, 30.0), (135.0, 50.0))
    ]
    assert all(better > worse for better, worse in pairwise(worths))
    ridge = roof_prior(pair_of((180.0, 30.0, 1.0), (0.0, 30.0, 1.0)))[0]
    assert ridge == pytest.approx(worths[0], abs=1e-3)


@pytest.mark.parametrize("limit", [None, 3.2])
def test_a_fit_comes_back_to_the_pair_that_made_the_readings(prepared, limit):
    truth = pair_of(*EAST_WEST, haze=-0.3, heat=1.25, limit=limit)
    # each counts for itself, so that the prior says little
    readings = replace(readings_of(truth, prepared), correlated=1.0)
    start = pair_of((105.0, 20.0, 3.0), (255.0, 32.0, 3.0), haze=0.0, heat=1.25, limit=limit)
    found = refine_pair(start, readings)
    np.testing.assert_allclose(found[[0, 1, 3, 4]], truth[[0, 1, 3, 4]], atol=1.0)
    np.testing.assert_allclose(found[[2, 5]], truth[[2, 5]], atol=0.04)
    worths = [
        linearised(each, readings).worth + known(each, prepared.numbers)[0]
        for each in (start, found)
    ]
    assert worths[1] > worths[0] + 1.0


def test_readings_that_say_nothing_leave_finite_numbers(prepared):
    pair = pair_of((95.0, 0.0, 4.0), (272.0, 89.5, 2.0))
    readings = readings_of(pair, prepared)
    silent = replace(readings, say=np.zeros_like(readings.say))
    assert np.isfinite(refine_pair(pair, silent)).all()
