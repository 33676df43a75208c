from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sunveil.fit.daylight import Daylight
from sunveil.fit.refine import (
    STEEPEST,
    ErrorModel,
    Point,
    bright_power,
    linearise,
    modelled_power,
    refine,
)
from sunveil.site import Losses, Plane

ERRORS = ErrorModel()
TYPICAL = {"haze": ERRORS.haze_prior[0], "heat": ERRORS.heat_prior[0]}


def readings_of(data: Daylight, point: Point) -> Daylight:
    """Return the readings that a point would give, without noise."""
    return replace(data, power=modelled_power(data, point, losses=Losses(), albedo=0.2))


def turned(found: Plane, azimuth: float) -> float:
    return (found.surface_azimuth - azimuth + 180.0) % 360.0 - 180.0


@pytest.mark.parametrize(
    ("azimuth", "tilt", "capacity"),
    [(180.0, 30.0, 5.0), (95.0, 20.0, 0.8), (262.0, 45.0, 300.0), (355.0, 15.0, 7.0)],
)
def test_a_fit_recovers_what_made_the_readings(south_data, azimuth, tilt, capacity):
    data = readings_of(south_data, Point.of(Plane(azimuth, tilt), capacity, **TYPICAL))
    start = Point.of(Plane(azimuth + 12.0, tilt + 6.0), 1.15 * capacity)
    fit = refine(data, start, losses=Losses())
    assert turned(fit.point.plane, azimuth) == pytest.approx(0.0, abs=0.1)
    assert fit.point.plane.surface_tilt == pytest.approx(tilt, abs=0.1)
    assert fit.point.capacity == pytest.approx(capacity, rel=1e-3)
    assert fit.objective > 0.97


def test_clouds_outages_and_spikes_hardly_move_a_fit(south_data):
    data = readings_of(south_data, Point.of(Plane(200.0, 25.0), 5.0, **TYPICAL))
    rng = np.random.default_rng(3)
    power = data.power.copy()
    cloudy = rng.random(len(power)) < 0.35
    power[cloudy] *= rng.uniform(0.0, 0.6, cloudy.sum())
    power[rng.random(len(power)) < 0.05] = 0.0
    power[rng.random(len(power)) < 0.01] *= 3.0
    start = Point.of(Plane(190.0, 30.0), 5.3)
    fit = refine(replace(data, power=power), start, losses=Losses())
    assert fit.point.plane.angle_to(Plane(200.0, 25.0)) < 1.0
    assert fit.point.capacity == pytest.approx(5.0, rel=0.02)


def test_a_limit_is_fitted_with_the_rest(south_data):
    truth = Point.of(Plane(180.0, 30.0), 5.0, limit=2.6, **TYPICAL)
    data = readings_of(south_data, truth)
    fit = refine(data, Point.of(Plane(190.0, 27.0), 4.8, limit=2.65), losses=Losses())
    assert fit.point.limit == pytest.approx(2.6, rel=0.005)
    assert fit.point.capacity == pytest.approx(5.0, rel=0.005)
    assert fit.point.plane.angle_to(Plane(180.0, 30.0)) < 0.3


def test_hidden_readings_have_no_say(south_data):
    data = readings_of(south_data, Point.of(Plane(180.0, 30.0), 5.0, **TYPICAL))
    west = data.middle.sun[:, 0] < -0.3
    power = np.where(west, 0.85 * data.power, data.power)
    start = Point.of(Plane(178.0, 29.0), 5.0)
    seen, blind = (
        refine(replace(data, power=power), start, losses=Losses(), hidden=hidden)
        for hidden in (None, west)
    )
    assert (blind.weight[west] == 0.0).all()
    assert blind.point.plane.angle_to(Plane(180.0, 30.0)) < 0.1
    assert seen.point.plane.angle_to(Plane(180.0, 30.0)) > 0.3


def test_the_model_is_in_proportion_to_capacity_below_the_limit(south_data):
    one, ten = (
        modelled_power(south_data, Point.of(Plane(180.0, 30.0), c), losses=Losses(), albedo=0.2)
        for c in (1.0, 10.0)
    )
    np.testing.assert_allclose(ten, 10.0 * one)
    held = Point.of(Plane(180.0, 30.0), 10.0, limit=4.0)
    found = modelled_power(south_data, held, losses=Losses(), albedo=0.2)
    np.testing.assert_allclose(found, np.minimum(ten, 4.0))


def test_derivatives_are_those_of_the_model(south_data):
    point = Point.of(Plane(200.0, 30.0), 5.0, **TYPICAL)
    free = (0, 1, 2, 3, 4)
    few = south_data.take(np.arange(0, len(south_data), 40))
    fit = linearise(few, point, losses=Losses(), albedo=0.2, errors=ERRORS, bright=4.0, free=free)
    steps = (0.05, 0.05, 1e-4, 0.01, 0.01)
    for column, (index, step) in enumerate(zip(free, steps, strict=True)):
        values = [point.to_array() + sign * step * np.eye(6)[index] for sign in (1.0, -1.0)]
        above, below = (
            modelled_power(few, Point(*map(float, v)), losses=Losses(), albedo=0.2)
            for v in np.nan_to_num(values, nan=np.inf, posinf=np.inf)
        )
        expected = (above - below) / (2.0 * step) / fit.scale
        scale = np.abs(expected).max()
        np.testing.assert_allclose(fit.jacobian[:, column] / scale, expected / scale, atol=0.03)


@settings(deadline=None)
@given(st.floats(0.0, 359.99), st.floats(0.01, 89.0), st.floats(1e-3, 1e4))
def test_a_point_gives_its_plane_and_capacity_back(azimuth, tilt, capacity):
    point = Point.of(Plane(azimuth, tilt), capacity)
    assert point.plane.angle_to(Plane(azimuth, tilt)) < 1e-4
    assert point.capacity == pytest.approx(capacity)
    assert point.limit == np.inf
    assert Point.from_array(point.to_array()) == point


def test_no_step_leads_beyond_the_vertical():
    point = Point.from_array(np.array([90.0, 90.0, 0.0, 0.0, 1.0, np.inf]))
    assert point.plane.surface_tilt == pytest.approx(STEEPEST)
    assert point.plane.surface_azimuth == pytest.approx(45.0)


def test_bright_power_is_reached_by_few_readings(south_data):
    bright = bright_power(south_data.power)
    assert np.mean(south_data.power > bright) == pytest.approx(0.02, abs=0.001)
