from __future__ import annotations

import numpy as np
import pytest

from sunveil.engine.constants import ERRORS, SystematicErrors
from sunveil.engine.power_model import UNLIMITED, FittedReadings
from sunveil.engine.tracker_model import AXIS, COVERAGE, MOST, T_CAPACITY, T_LIMIT, tracker_power
from sunveil.engine.trackers import fit_tracker, tracker_covariance

TRUTH = np.array([171.0, 0.33, 57.0, np.log(80.0), -0.4, 1.05, 0.1, UNLIMITED])
START = np.array([180.0, 0.38, 52.0, np.log(60.0), -0.2, 1.0, 0.0, UNLIMITED])


@pytest.fixture(scope="module")
def made(prepared):
    """Readings of a tracker with 1% of noise, a third of them under clouds."""

    def make(point):
        rng = np.random.default_rng(4)
        power = tracker_power(prepared.tracked, point[None], prepared.numbers)[0]
        power = power * (1.0 + 0.01 * rng.standard_normal(len(power)))
        power = power * np.where(rng.random(len(power)) < 0.3, rng.random(len(power)), 1.0)
        return FittedReadings(
            sky=prepared.tracked,
            power=power.astype(np.float32),
            say=np.ones(len(power), dtype=np.float32),
            bright=float(np.quantile(power, 0.98)),
            numbers=prepared.numbers,
            correlated=ERRORS.correlated,
        )

    return make


def covariance_of(readings, point):
    return tracker_covariance(
        readings,
        point,
        shifts=np.zeros_like(readings.power),
        spans=np.arange(0, len(readings.power), 64),
        errors=SystematicErrors(),
    )


def test_the_tracker_that_made_readings_is_found(made):
    found = fit_tracker(made(TRUTH), START)
    assert found.backtracks
    assert found.point[AXIS] == pytest.approx(171.0, abs=0.3)
    assert found.point[COVERAGE] == pytest.approx(0.33, abs=0.01)
    assert np.exp(found.point[T_CAPACITY]) == pytest.approx(80.0, rel=0.02)


def test_a_limit_is_found_with_it(made):
    limited, start = TRUTH.copy(), START.copy()
    limited[T_LIMIT], start[T_LIMIT] = np.log(50.0), np.log(52.0)
    found = fit_tracker(made(limited), start).point
    assert np.exp(found[T_LIMIT]) == pytest.approx(50.0, rel=0.01)
    assert np.exp(found[T_CAPACITY]) == pytest.approx(80.0, rel=0.03)
    assert found[AXIS] == pytest.approx(171.0, abs=0.5)


@pytest.mark.parametrize("backtracks", [True, False])
def test_the_right_kind_leaves_less(made, backtracks):
    truth, other = TRUTH * 1.0, START * 1.0
    truth[COVERAGE] *= backtracks
    other[COVERAGE] = 0.0
    readings = made(truth)
    with_it, without = fit_tracker(readings, START), fit_tracker(readings, other)
    assert (with_it.cost < without.cost) == backtracks
    assert without.point[COVERAGE] == 0.0
    assert not without.backtracks


def test_the_greatest_angle_is_hardly_told(made):
    readings = made(TRUTH)
    deviations = np.sqrt(covariance_of(readings, fit_tracker(readings, START).point).diagonal())
    assert deviations[MOST] > 3.0
    assert deviations[AXIS] < 3.0
    assert 0.05 < deviations[COVERAGE] < 0.09
    assert 0.05 < deviations[T_CAPACITY] < 0.15


def test_nothing_tells_the_coverage_without_backtracking(made):
    start = START.copy()
    start[COVERAGE] = 0.0
    readings = made(start)
    covariance = covariance_of(readings, fit_tracker(readings, start).point)
    assert covariance[COVERAGE, COVERAGE] == pytest.approx(0.09**2)
    assert not covariance[COVERAGE, :COVERAGE].any()
