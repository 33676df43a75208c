from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from sunveil.fit.best import best_fit
from sunveil.fit.daylight import daylight
from sunveil.fit.planes import compare_planes, envelope
from sunveil.fit.refine import ErrorModel, Fit
from sunveil.fit.shade import hidden_readings
from sunveil.fit.start import coarse_agreement, coarse_grid, starts
from sunveil.meters import from_pandas
from sunveil.simulate import Tracker, clipped, east_west, tracking, western_horizon
from sunveil.site import Losses, Plane

ERRORS = ErrorModel()


def data_of(power, clear):
    return daylight(from_pandas(power), clear, clear)


def fit_of(data) -> Fit:
    return best_fit(data, losses=Losses(), albedo=0.2, errors=ERRORS)


def test_of_the_coarse_planes_a_near_one_agrees_best(south_data):
    grid = coarse_grid()
    found = coarse_agreement(south_data, grid, losses=Losses(), albedo=0.2)
    plane, capacity = found.best()
    assert grid[plane].angle_to(Plane(180.0, 30.0)) < 12.0
    assert found.capacities[capacity] == pytest.approx(5.0, rel=0.2)


def test_no_plane_is_far_from_the_coarse_grid():
    grid = coarse_grid()
    rng = np.random.default_rng(0)
    for azimuth, tilt in zip(rng.uniform(0, 360, 200), rng.uniform(0, 90, 200), strict=True):
        cosine = (grid.normals @ Plane(azimuth, tilt).normal).max()
        assert np.degrees(np.arccos(min(cosine, 1.0))) < 12.0


def test_starts_stand_apart_and_the_best_comes_first(south_data):
    grid = coarse_grid()
    found = coarse_agreement(south_data, grid, losses=Losses(), albedo=0.2)
    chosen = starts(found, grid, most=3, apart=25.0)
    assert chosen[0][1] == found.counts.max()
    planes = [point.plane for point, _ in chosen]
    for place, plane in enumerate(planes):
        assert all(plane.angle_to(other) >= 24.99 for other in planes[:place])
    counts = [count for _, count in chosen]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize(("azimuth", "tilt"), [(180.0, 30.0), (95.0, 40.0), (268.0, 12.0)])
def test_the_best_fit_is_near_the_truth(power_of, clear, azimuth, tilt):
    fit = fit_of(data_of(power_of(azimuth, tilt), clear))
    assert fit.point.plane.angle_to(Plane(azimuth, tilt)) < 3.0
    assert fit.point.capacity == pytest.approx(5.0, rel=0.1)


def test_clipping_does_not_bend_the_plane(power_of, clear):
    fit = fit_of(data_of(power_of(200.0, 30.0, change=partial(clipped, dc_ac_ratio=1.7)), clear))
    assert fit.point.plane.angle_to(Plane(200.0, 30.0)) < 4.0
    assert fit.point.capacity == pytest.approx(5.0, rel=0.1)
    assert fit.point.limit == pytest.approx(5.0 / 1.7, rel=0.03)


def test_a_western_horizon_is_hidden_and_does_not_bend_the_plane(power_of, clear):
    data = data_of(power_of(190.0, 30.0, horizon=western_horizon(35.0)), clear)
    fit = fit_of(data)
    hidden = hidden_readings(data, fit)
    azimuth = np.degrees(np.arctan2(data.middle.sun[:, 0], data.middle.sun[:, 1])) % 360.0
    elevation = np.degrees(np.arcsin(data.middle.sun[:, 2]))
    behind = (azimuth > 192.0) & (elevation < 30.0) & (fit.modelled > 0.3)
    east = azimuth < 168.0
    assert hidden[behind].mean() > 0.7
    assert hidden[east].mean() < 0.03
    assert fit.point.plane.angle_to(Plane(190.0, 30.0)) < 4.0


@pytest.mark.parametrize("azimuth", [100.0, 180.0, 260.0])
def test_nothing_is_hidden_from_a_plane_in_the_open(power_of, clear, azimuth):
    data = data_of(power_of(azimuth, 30.0), clear)
    assert hidden_readings(data, fit_of(data)).mean() < 0.02


def one_plane(power, clear) -> bool:
    data = data_of(power, clear)
    point = fit_of(data).point
    test = compare_planes(data, point, losses=Losses(), albedo=0.2, errors=ERRORS)
    assert 0.0 <= test.plane <= test.mixture <= 1.0
    return test.one_plane


@pytest.mark.parametrize(
    ("azimuth", "tilt"), [(180.0, 30.0), (90.0, 25.0), (270.0, 40.0), (200.0, 8.0)]
)
def test_a_single_plane_is_taken_for_one(power_of, clear, azimuth, tilt):
    assert one_plane(power_of(azimuth, tilt), clear)


@pytest.mark.parametrize(("azimuth", "tilt"), [(90.0, 25.0), (100.0, 40.0)])
def test_an_east_west_pair_is_not_one_plane(power_of, clear, azimuth, tilt):
    assert not one_plane(power_of(azimuth, tilt, change=east_west), clear)


@pytest.mark.parametrize("tracker", [Tracker(), Tracker(dual_axis=True)], ids=["one", "two"])
def test_a_tracker_is_not_one_plane(power_of, clear, tracker):
    assert not one_plane(power_of(change=partial(tracking, tracker=tracker)), clear)


def test_the_envelope_is_bright_and_spread_over_the_year(south_data):
    found = envelope(south_data)
    assert 0 < len(found) < len(south_data) / 4
    assert np.diff(found.starts).min() >= np.timedelta64(0, "s")
    light = found.power / np.maximum(found.middle.ghi, 20.0)
    usual = south_data.power / np.maximum(south_data.middle.ghi, 20.0)
    assert np.median(light) > np.median(usual)
    assert len(np.unique(found.day // 30)) >= 12
