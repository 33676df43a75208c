"""How constants are found on labelled systems: each judged by the others."""

from __future__ import annotations

import datetime as dt
from dataclasses import make_dataclass, replace

import numpy as np
import pytest

from benchmarks.calibrate import Miss, across, calibration_lines, left_out, needed, year_spread
from sunveil.estimates import YearEstimate


def drawn(count, deviation, own=0.0):
    errors = np.random.default_rng(7).normal(0.0, np.hypot(deviation, own), count)
    stated = float(np.hypot(1.0, own))
    return [Miss(f"s{i}", float(error), stated, 1.0) for i, error in enumerate(errors)]


def test_the_common_deviation_is_found_beside_what_is_each_systems_own():
    assert needed(drawn(4000, 2.0, own=1.5)) == pytest.approx(2.0, rel=0.05)
    assert drawn(1, 2.0, own=1.5)[0].own == pytest.approx(1.5**2)


def test_few_systems_widen_it():
    few = drawn(6, 1.0)
    many = [replace(one, system=f"{one.system}-{k}") for one in few for k in range(200)]
    assert needed(few) > 1.2 * needed(many)


def test_a_system_is_judged_by_the_others():
    calm = [Miss(f"s{i}", 0.1 * (-1) ** i, 1.0, 1.0) for i in range(9)]
    held, _ = left_out([*calm, Miss("far", 5.0, 1.0, 1.0)])
    assert held == 9


def test_years_are_compared_in_degrees_of_the_plane():
    named = ("surface_azimuth", "surface_tilt", "years")
    estimate = make_dataclass("Found", named, frozen=True)(180.0, 30.0, ())
    days = [dt.date(2015 + k, 1, 1) for k in range(3)]
    years = tuple(
        YearEstimate(day, estimate.surface_azimuth + 2.0 * k, 30.0 + k, 5.0 * np.exp(0.01 * k))
        for k, day in enumerate(days)
    )
    tilt, turn, capacity = year_spread([replace(estimate, years=years), estimate])
    assert (tilt, capacity) == pytest.approx((1.0, 0.01))
    assert turn == pytest.approx(across(2.0, estimate.surface_tilt))


def test_the_calibration_that_is_asked_for_leaves_no_mean_error():
    found = [Miss(f"s{i}", 0.02, 0.05, 0.05) for i in range(4)]
    assert "+2.0% in the mean, so that a calibration of 1.061" in calibration_lines(found)[0]
