from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil import infer_record
from sunveil.fit.best import best_fit
from sunveil.fit.intervals import Doubts, covariance, spread
from sunveil.fit.refine import ErrorModel, Fit, Point
from sunveil.meters import from_pandas
from sunveil.site import Losses, Plane

ERRORS = ErrorModel()


@pytest.fixture(scope="module")
def fit(south_data) -> Fit:
    return best_fit(south_data, losses=Losses(), albedo=0.2, errors=ERRORS)


def at(fit: Fit, azimuth: float, tilt: float) -> Fit:
    return replace(fit, point=Point.of(Plane(azimuth, tilt), 5.0))


def turn(low: float, high: float) -> float:
    return high - low if high - low >= 360.0 else (high - low) % 360.0


def diagonal(*deviations: float) -> np.ndarray:
    return np.diag(np.square(deviations))


def test_one_degree_of_doubt_is_three_degrees_of_interval(fit):
    found = spread(at(fit, 180.0, 30.0), diagonal(1.0, 1.0, 0.02))
    # 90% of a normal distribution lies within 1.645 deviations
    assert found.tilt.width == pytest.approx(2 * 1.645, rel=0.06)
    assert found.tilt.low < 30.0 < found.tilt.high
    assert turn(found.azimuth.low, found.azimuth.high) == pytest.approx(
        2 * 1.645 * np.degrees(1.0 / 30.0), rel=0.08
    )
    assert found.capacity.high / 5.0 == pytest.approx(np.exp(1.645 * 0.02))
    assert found.capacity.low / 5.0 == pytest.approx(np.exp(-1.645 * 0.02))


def test_a_flat_plane_may_face_anywhere(fit):
    found = spread(at(fit, 180.0, 0.3), diagonal(1.0, 1.0, 0.02))
    assert turn(found.azimuth.low, found.azimuth.high) > 180.0
    assert 0.0 <= found.tilt.low <= 0.3 <= found.tilt.high


def test_the_azimuth_interval_widens_as_a_plane_flattens(fit):
    widths = []
    for tilt in (60.0, 30.0, 10.0, 3.0):
        azimuth = spread(at(fit, 200.0, tilt), diagonal(1.0, 1.0, 0.02)).azimuth
        widths.append(turn(azimuth.low, azimuth.high))
    assert widths == sorted(widths)
    assert widths[-1] > 5.0 * widths[0]


def test_an_interval_may_pass_north(fit):
    azimuth = spread(at(fit, 1.0, 30.0), diagonal(2.0, 2.0, 0.02)).azimuth
    assert azimuth.low > 350.0
    assert azimuth.high < 10.0


def test_a_steep_plane_stays_within_the_vertical(fit):
    found = spread(at(fit, 180.0, 89.0), diagonal(3.0, 3.0, 0.02))
    assert found.tilt.high <= 90.0


def test_the_radius_holds_nine_draws_in_ten(fit):
    found = spread(at(fit, 180.0, 20.0), diagonal(1.0, 1.0, 0.02))
    # of two independent deviations of one degree, the second a little shorter on the sphere
    assert found.plane_error_degrees == pytest.approx(np.sqrt(-2.0 * np.log(0.1)), rel=0.06)


def test_the_same_fit_gives_the_same_intervals(fit):
    both = [spread(fit, diagonal(1.0, 1.0, 0.02)) for _ in range(2)]
    assert both[0] == both[1]


def test_every_doubt_widens(fit, south_data):
    response = np.full(len(south_data), 0.02)
    none = Doubts(clock_minutes=0.0, capacity=0.0, angle=0.0, stretch=1.0)

    def found(**changes: float) -> np.ndarray:
        return covariance(
            fit,
            south_data.day // 7,
            errors=ERRORS,
            doubts=replace(none, **changes),
            clock_response=response,
        )

    bare = found()
    assert np.linalg.eigvalsh(bare).min() > 0.0
    for changes in ({"clock_minutes": 5.0}, {"capacity": 0.05}, {"angle": 1.0}, {"stretch": 2.0}):
        more = found(**changes) - bare
        assert np.linalg.eigvalsh(more).min() > -1e-9
        assert np.trace(more) > 0.0
    np.testing.assert_allclose(found(stretch=2.0), 4.0 * bare)


def test_more_weeks_make_narrower_intervals(fit, south_data):
    def width(part: slice) -> float:
        data = south_data.take(np.arange(len(south_data))[part])
        some = best_fit(data, losses=Losses(), albedo=0.2, errors=ERRORS)
        doubts = Doubts(clock_minutes=0.0, capacity=0.0, angle=0.0)
        total = covariance(some, data.day // 7, errors=ERRORS, doubts=doubts)
        return spread(some, total).plane_error_degrees

    assert width(slice(None)) < width(slice(0, len(south_data) // 8))


def test_a_nearly_flat_system_is_told_that_its_azimuth_is_open(power_of, clear):
    flat, steep = (
        infer_record(from_pandas(power_of(180.0, tilt)), clear).azimuth_interval
        for tilt in (0.5, 35.0)
    )
    assert turn(flat.low, flat.high) > 40.0
    assert turn(steep.low, steep.high) < 20.0
