from __future__ import annotations

import numpy as np
import pytest

from sunveil.engine.constants import SystematicErrors
from sunveil.engine.power_model import (
    FittedReadings,
    deviations,
    linear_model,
    log_likelihood,
    robust_weights,
)


@pytest.fixture
def readings(prepared) -> FittedReadings:
    """Two hundred readings of a model of one parameter, its scale."""
    rng = np.random.default_rng(5)
    power = (3.0 + 0.1 * rng.standard_normal(200)).astype(np.float32)
    say = np.ones(200, dtype=np.float32)
    return FittedReadings(say, power, say, 4.0, 2.0, prepared.numbers)


def lines(readings: FittedReadings, scale: float):
    model = np.full(200, scale, dtype=np.float32)
    return linear_model(model, np.ones((1, 200), dtype=np.float32), 0.0 * model, readings)


def test_errors_grow_with_power_and_under_clouds(prepared):
    numbers = prepared.numbers._replace(relative=0.1, absolute=0.01, cloud=0.2)
    power, clouds = np.array([0, 3, 3], np.float32), np.array([0, 0, 1], np.float32)
    found = deviations(power, clouds, np.float32(5.0), numbers)
    np.testing.assert_allclose(found, [0.05, np.hypot(0.3, 0.05), np.hypot(0.3 * 5**0.5, 0.05)])


def test_what_is_far_off_counts_no_more_and_costs_no_more(prepared):
    numbers, far = prepared.numbers, np.array([0.0, 1.0, 100.0], dtype=np.float32)
    weights = robust_weights(far, numbers)
    assert weights[0] == 1.0 > weights[1] > weights[2] == 0.0
    worth = log_likelihood(far[:, None], np.ones((3, 1)), numbers, correlated=2.0)
    assert worth[0] == 0.0 > worth[1] > worth[2] == -(numbers.reach**2) / 2.0


def test_the_pull_is_the_slope_of_the_likelihood(readings):
    """Where errors do not change with the model, as those of dim readings."""
    readings = FittedReadings(
        readings.sky,
        readings.power,
        readings.say,
        readings.bright,
        readings.correlated,
        readings.numbers._replace(relative=0.0, absolute=0.05),
    )
    ends = [lines(readings, 3.1 + step).worth for step in (-0.01, 0.01)]
    assert lines(readings, 3.1).pull()[0] == pytest.approx((ends[1] - ends[0]) / 0.02, rel=1e-3)


def test_an_unsure_clock_and_a_factor_widen_the_covariance(readings):
    found = lines(readings, 3.0)
    settings = {"shifts": np.full(200, 0.01, np.float32), "spans": np.arange(0, 200, 20)}
    sure, unsure = (
        found.covariance(
            found.information(), errors=SystematicErrors(clock_minutes=minutes), **settings
        )
        for minutes in (0.0, 10.0)
    )
    # every reading moves by a tenth, and so does the scale
    assert unsure - sure == pytest.approx(0.1**2, rel=1e-3)
    errors = SystematicErrors(clock_minutes=0.0)
    wide = found.covariance(found.information(), errors=errors, stretch=2.0, **settings)
    assert wide == pytest.approx(4.0 * sure)


def test_readings_are_not_shown(readings):
    assert repr(readings) == "FittedReadings(200 readings, private)"
    assert repr(lines(readings, 3.0)) == "LinearModel(200 readings, private)"
