from __future__ import annotations

from dataclasses import fields
from functools import partial

import numpy as np
import pytest
from engine_makers import flags, plane_of, point_of, row_of, rows_of

from sunveil.engine import InferOptions, infer, infer_generation
from sunveil.engine.clipping import (
    AT_MOST,
    IN_DOUBT,
    LIMITED,
    OVERSHOOT,
    SHORTLY_SHOWN,
    SHOWN_HIGH,
    SHOWN_LOW,
    exclude,
    largest_capacity,
    shown_capacity,
    widened,
)
from sunveil.engine.coarse_search import modelled_power, search
from sunveil.engine.constants import FEWEST_DAYS
from sunveil.engine.final_fit import FinalFit, fit_finally
from sunveil.engine.intervals import Intervals, intervals_of
from sunveil.engine.power_model import CAPACITY, PARAMETERS
from sunveil.estimates import Flag
from sunveil.simulate import Tracker, clipped, tracking
from sunveil.site import Plane

KW = 6.0


def test_the_capacity_of_two_axes_is_what_its_highest_powers_show(denver, power_of):
    change = partial(tracking, tracker=Tracker(dual_axis=True))
    row = row_of(power_of(180.0, 20.0, change=change), denver.grid)
    found = infer_generation(row[None], denver)
    assert {Flag.NOT_ONE_PLANE, Flag.CAPACITY_BOUNDED} <= set(flags(found, 0))
    assert found.dc_capacity_kw[0] == pytest.approx(KW, rel=0.15)
    assert found.dc_capacity_kw_low[0] < KW < found.dc_capacity_kw_high[0]
    # and its plane may be any
    assert (found.surface_tilt_low[0], found.surface_tilt_high[0]) == (0.0, 90.0)
    assert (found.surface_azimuth_low[0], found.surface_azimuth_high[0]) == (0.0, 360.0)
    assert found.plane_error_degrees[0] == 90.0


def test_a_plane_that_faces_away_from_the_sun_is_believed_where_readings_agree(denver, power_of):
    planes = ((0.0, 45.0), (0.0, 60.0), (20.0, 50.0))
    found = infer_generation(rows_of([power_of(*plane) for plane in planes], denver.grid), denver)
    for place, plane in enumerate(planes):
        assert found.agreement[place] > 0.4
        assert Flag.CAPACITY_BOUNDED not in flags(found, place)
        assert plane_of(found, place).angle_to(Plane(*plane)) < 3.0
        assert found.dc_capacity_kw[place] == pytest.approx(KW, rel=0.1)


@pytest.mark.parametrize("ratio", [1.4, 1.7])
def test_a_small_inverter_bounds_no_capacity(denver, power_of, ratio):
    power = power_of(180.0, 25.0, change=partial(clipped, dc_ac_ratio=ratio))
    found = infer_generation(row_of(power, denver.grid)[None], denver)
    assert Flag.CAPACITY_BOUNDED not in flags(found, 0)
    assert found.dc_capacity_kw[0] == pytest.approx(KW, rel=0.08)


@pytest.fixture
def fit(prepared, rows) -> FinalFit:
    return fit_finally(search(rows, prepared), prepared)


def moved(fit: FinalFit, system: int, point: np.ndarray) -> None:
    fit.points[system] = point
    fit.model[system] = modelled_power(point[None], fit.prepared)[0]


NOBODY, EVERYBODY = np.zeros(4, dtype=bool), np.ones(4, dtype=bool)


def test_the_shown_capacity_is_that_of_a_plane_turned_to_the_sun(fit):
    """The first faces south at 25°, much as the plane that gives the most at any time does."""
    shown = shown_capacity(fit)
    assert shown[0] == pytest.approx(KW, rel=0.15)
    assert (shown < np.exp(fit.points[:, CAPACITY]) * 1.15).all()
    # by how much its readings are, not by what was fitted to them
    fit.points[:, CAPACITY] += 3.0
    np.testing.assert_array_equal(shown_capacity(fit), shown)


@pytest.mark.parametrize("doubtful", [NOBODY, EVERYBODY])
def test_a_good_fit_is_excluded_by_nothing(fit, doubtful):
    points, model = fit.points.copy(), fit.model.copy()
    assert not exclude(fit, doubtful).any()
    np.testing.assert_array_equal(fit.points, points)
    np.testing.assert_array_equal(fit.model, model)


@pytest.mark.parametrize(
    ("times", "limit", "doubtful", "excluded"),
    [
        (0.95 * IN_DOUBT, None, EVERYBODY, False),
        (1.05 * IN_DOUBT, None, EVERYBODY, True),
        (1.05 * IN_DOUBT, None, NOBODY, False),
        (0.95 * LIMITED, 2.0, NOBODY, False),
        (1.05 * LIMITED, 2.0, NOBODY, True),
        (1.05 * LIMITED, None, NOBODY, False),
        (0.95 * AT_MOST, None, NOBODY, False),
        (1.05 * AT_MOST, None, NOBODY, True),
    ],
)
def test_what_is_in_doubt_or_limited_may_exceed_the_shown_capacity_by_less(
    fit, times, limit, doubtful, excluded
):
    """A wall to the north, whose power stays below the top whatever its capacity here."""
    shown = shown_capacity(fit)[0]
    point = point_of(0.0, 85.0, times * shown, haze=-0.2, heat=1.25, limit=limit)
    moved(fit, 0, point)
    assert fit.model[0].max() < OVERSHOOT * fit.searched.readings.top[0]
    found = exclude(fit, doubtful)
    assert found.tolist() == [excluded, False, False, False]
    if excluded:
        assert np.exp(fit.points[0, CAPACITY]) == pytest.approx(shown)
        # what stands in looks like the readings as far as so much capacity allows
        turn = np.degrees(np.arctan2(*fit.points[0, :2])) % 360.0
        assert Plane(turn, np.hypot(*fit.points[0, :2])).angle_to(Plane(180.0, 25.0)) < 15.0
        np.testing.assert_array_equal(fit.model, modelled_power(fit.points, fit.prepared))
    else:
        np.testing.assert_array_equal(fit.points[0], point)


def test_no_model_overshoots_the_record(fit):
    fit.points[2, CAPACITY] += np.log(1.3)
    fit.model[2] *= np.float32(1.3)
    before = fit.points.copy()
    assert exclude(fit, NOBODY).tolist() == [False, False, True, False]
    np.testing.assert_array_equal(fit.points[[0, 1, 3]], before[[0, 1, 3]])


def test_short_records_and_what_no_plane_explains_are_in_doubt(denver, rows, power_of, monkeypatch):
    asked = []

    def heard(fit, doubtful):
        asked.append(doubtful.tolist())
        return exclude(fit, doubtful)

    monkeypatch.setattr(infer, "exclude", heard)
    short, longer = rows[0].copy(), rows[0].copy()
    short[(FEWEST_DAYS - 2) * 24 :] = np.nan
    longer[(FEWEST_DAYS + 2) * 24 :] = np.nan
    facing = partial(tracking, tracker=Tracker(dual_axis=True))
    noise = np.random.default_rng(0).uniform(0.0, 1.0, 8760).astype(np.float32) ** 8
    given = np.stack([rows[0], short, longer, row_of(power_of(change=facing), denver.grid), noise])
    infer_generation(given, denver, options=InferOptions(clock="given"))
    assert asked == [[False, True, False, True, True]]


def test_intervals_of_what_was_excluded_hold_any_plane(fit):
    spread = intervals_of(fit.points, np.tile(0.01 * np.eye(PARAMETERS), (4, 1, 1)))
    shown = np.array([1.0, 2.0, 3.0, 4.0])
    excluded = np.array([False, True, False, True])
    found = widened(spread, shown, excluded, np.array([0.1, 0.1, 0.1, SHORTLY_SHOWN * 4.0]))
    for field in fields(Intervals):
        ours, theirs = getattr(found, field.name), getattr(spread, field.name)
        np.testing.assert_array_equal(ours[[0, 2]], theirs[[0, 2]])
        assert (ours[[1, 3]] != theirs[[1, 3]]).all()
    np.testing.assert_allclose(found.dc_capacity_kw_low[[1, 3]], SHOWN_LOW * shown[[1, 3]])
    # the highest powers of a few weeks show little
    assert found.dc_capacity_kw_high[1] == pytest.approx(SHOWN_HIGH * 2.0)
    assert found.dc_capacity_kw_high[3] == pytest.approx(SHORTLY_SHOWN * 4.0)


def test_what_nothing_speaks_against_may_be_as_large_as_it_was_fitted(fit):
    shown, fitted = shown_capacity(fit), np.exp(fit.points[:, CAPACITY])
    nobody, everybody = np.zeros(4, dtype=bool), np.ones(4, dtype=bool)
    np.testing.assert_allclose(largest_capacity(fit, nobody, nobody), fitted)
    np.testing.assert_allclose(largest_capacity(fit, everybody, nobody), SHOWN_HIGH * shown)
    np.testing.assert_allclose(largest_capacity(fit, everybody, everybody), SHORTLY_SHOWN * shown)
