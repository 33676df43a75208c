from __future__ import annotations

import numpy as np
import pytest

from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.coarse_search import search
from sunveil.engine.constants import SystematicErrors
from sunveil.engine.final_fit import FinalFit, fit_finally
from sunveil.engine.intervals import intervals_of
from sunveil.engine.power_model import LIMIT, UNLIMITED


@pytest.fixture(scope="module")
def fit(prepared, rows) -> FinalFit:
    limited = np.stack([rows[0], np.minimum(rows[0], 3.0)])
    return fit_finally(search(limited, prepared), prepared)


def test_the_model_is_that_of_the_point_with_its_limit(fit, prepared):
    for point, model in zip(fit.points, fit.model, strict=True):
        free = np.exp(point[2]) * profiles_of(prepared.sky.sheet, point[None], prepared.numbers)[0]
        np.testing.assert_allclose(model, np.minimum(free, np.exp(point[LIMIT])), rtol=1e-5)
    assert fit.points[0, LIMIT] == UNLIMITED
    assert np.exp(fit.points[1, LIMIT]) == pytest.approx(3.0, rel=0.01)


def test_agreement_is_the_share_of_bright_readings_close_to_the_model(fit, prepared):
    size = len(prepared.slot)
    for system, found in enumerate(fit.agreement()):
        power = fit.searched.readings.power[system, :size]
        model = fit.model[system, :size]
        bright = model > 0.2 * fit.searched.readings.bright[system]
        close = np.abs(power - model) <= 0.15 * model
        assert found == pytest.approx(np.mean(close[bright]), abs=1e-6)


def test_clipped_is_the_share_of_readings_at_the_limit(fit, prepared):
    free, limited = fit.clipped()
    assert free == 0.0
    at = fit.model[1, : len(prepared.slot)] >= 0.99 * np.exp(fit.points[1, LIMIT])
    assert limited == pytest.approx(at.mean())
    assert limited > 0.1


def test_a_limit_that_no_model_reaches_is_none(prepared, rows):
    """A pile that was taken for a limit, far above what the plane gives."""
    searched = search(rows[:1], prepared)
    right = fit_finally(searched, prepared).points
    searched.points[0, LIMIT] = np.log(1.5 * rows[0].max())
    found = fit_finally(searched, prepared)
    assert found.points[0, LIMIT] == UNLIMITED
    np.testing.assert_allclose(found.points[0, :3], right[0, :3], atol=0.02)


def test_a_final_fit_leaves_the_search_alone(prepared, rows):
    searched = search(rows[:1], prepared)
    before = searched.points.copy()
    fit_finally(searched, prepared)
    np.testing.assert_array_equal(searched.points, before)


def test_more_readings_make_a_surer_plane(prepared, rows):
    few = rows[0].copy()
    few[24 * 60 :] = np.nan
    fit = fit_finally(search(np.stack([rows[0], few]), prepared), prepared)
    bare = SystematicErrors(clock_minutes=0.0, tilt=0.0, across=0.0, capacity=0.0)
    year, weeks = intervals_of(fit.points, fit.covariances(bare)).plane_error_degrees
    assert year < 0.7 * weeks


def test_the_clock_moves_east_west_more_than_tilt(prepared, rows):
    fit = fit_finally(search(rows[:1], prepared), prepared)
    still, moved = (
        fit.covariances(SystematicErrors(clock_minutes=minutes))[0] for minutes in (0.0, 5.0)
    )
    wider = np.sqrt(np.diag(moved - still)[:2])
    # a minute of clock is a quarter of a degree of sun, and moves a southern plane sideways
    assert wider[0] > 3.0 * wider[1]
