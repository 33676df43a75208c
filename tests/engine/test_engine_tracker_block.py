from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from engine_makers import flags, rows_of

from sunveil.engine import infer_generation
from sunveil.engine.coarse_search import search
from sunveil.engine.constants import SystematicErrors
from sunveil.engine.final_fit import fit_finally
from sunveil.engine.infer import tell_kinds
from sunveil.engine.trackers import ComparedReadings, _as_told
from sunveil.estimates import Flag
from sunveil.simulate import Tracker, east_west, tracking, western_horizon

KINDS = {
    "south": Tracker(axis_azimuth=180.0, gcr=0.35, max_angle=60.0),
    "turned": Tracker(axis_azimuth=347.0, gcr=0.45, max_angle=50.0),
    "free": Tracker(axis_azimuth=186.0, backtrack=False, max_angle=52.0),
}


def clipped(truth, tracker, ratio=1.35):
    return replace(tracking(truth, tracker), dc_ac_ratio=ratio)


@pytest.fixture(scope="module")
def tracked_rows(denver, power_of):
    changes = [partial(tracking, tracker=kind) for kind in KINDS.values()]
    changes.append(partial(clipped, tracker=KINDS["south"]))
    return rows_of([power_of(change=change, seed=9) for change in changes], denver.grid)


@pytest.fixture(scope="module")
def found(tracked_rows, denver):
    return infer_generation(tracked_rows, denver)


def test_trackers_are_told_with_their_axis_and_capacity(found):
    for place, axis in enumerate((180.0, 167.0, 186.0, 180.0)):
        tracker = found.tracker[place]
        assert Flag.TRACKER in flags(found, place)
        assert Flag.NOT_ONE_PLANE not in flags(found, place)
        assert Flag.CLOCK_REPAIRED not in flags(found, place)
        assert found.planes[place] == ()
        assert tracker.axis_azimuth == pytest.approx(axis, abs=1.0)
        assert tracker.axis_interval.low < axis < tracker.axis_interval.high
        assert found.surface_azimuth[place] == tracker.axis_azimuth
        assert found.surface_tilt[place] == 0.0
        assert found.dc_capacity_kw[place] == pytest.approx(6.0, rel=0.08)
        assert found.dc_capacity_kw_low[place] < 6.0 < found.dc_capacity_kw_high[place]
        assert found.agreement[place] > 0.4


def test_backtracking_is_told_and_the_coverage_with_it(found):
    assert [tracker.backtrack for tracker in found.tracker] == [True, True, False, True]
    assert [tracker.backtrack_probability > 0.5 for tracker in found.tracker] == [True] * 2 + [
        False,
        True,
    ]
    for place, coverage in ((0, 0.35), (1, 0.45)):
        assert found.tracker[place].gcr == pytest.approx(coverage, abs=0.05)
    untold = found.tracker[2].gcr_interval
    assert untold.low == pytest.approx(0.38 - 1.645 * 0.09)
    assert untold.high == pytest.approx(0.38 + 1.645 * 0.09)


def test_the_greatest_angle_has_a_wide_interval(found):
    for tracker, most in zip(found.tracker, (60.0, 50.0, 52.0, 60.0), strict=True):
        assert tracker.max_angle_interval.low < most < tracker.max_angle_interval.high
        assert tracker.max_angle_interval.width > 10.0


def test_a_flat_top_is_not_a_limit_and_a_limit_is_found(found):
    assert np.isnan(found.ac_limit_kw[:3]).all()
    assert found.ac_limit_kw[3] == pytest.approx(6.0 / 1.35, rel=0.02)
    assert [Flag.CLIPPING in flags(found, place) for place in range(4)] == [False] * 3 + [True]


def test_each_tracker_of_a_block_is_as_it_is_alone(tracked_rows, denver, found):
    for place in (1, 3):
        alone = infer_generation(tracked_rows[place : place + 1], denver)
        assert alone.tracker[0] == found.tracker[place]
        assert alone.dc_capacity_kw[0] == found.dc_capacity_kw[place]


def test_fixed_systems_are_no_trackers(denver, power_of):
    """Nor are steep roofs with two sides, which come closest, and what turns about two axes."""
    powers = [
        power_of(92.0, 28.0, change=east_west),
        power_of(90.0, 55.0, change=east_west),
        power_of(165.0, 60.0, change=east_west),
        power_of(180.0, 2.0),
        power_of(180.0, 75.0),
        power_of(100.0, 80.0),
        power_of(200.0, 25.0, horizon=western_horizon()),
        power_of(change=partial(tracking, tracker=Tracker(dual_axis=True))),
        power_of(change=partial(clipped, tracker=Tracker(dual_axis=True), ratio=1.8)),
    ]
    found = infer_generation(rows_of(powers, denver.grid), denver)
    for place in range(len(powers)):
        assert Flag.TRACKER not in flags(found, place)
        assert found.tracker[place] is None
    for two_axes in (7, 8):
        assert Flag.NOT_ONE_PLANE in flags(found, two_axes)


def test_what_is_found_explains_more_than_planes_do(tracked_rows, prepared):
    fit = fit_finally(search(tracked_rows[:1], prepared), prepared)
    (tracker,) = tell_kinds(fit, SystematicErrors(), None).trackers.values()
    assert tracker.explained > 1.4 * tracker.by_plane
    assert tracker.explained > tracker.by_planes > tracker.by_plane
    assert repr(tracker) == "FoundTracker(private)"


def test_explanations_are_compared_on_clear_readings_below_the_limit(tracked_rows, prepared):
    fit = fit_finally(search(tracked_rows[:1], prepared), prepared)
    limit = 4.0
    compared = ComparedReadings.of(fit, 0, fit.kept[0], np.log(limit))
    there = compared.power[: len(compared.places)] > 0.0
    assert compared.power.max() < limit < fit.searched.readings.power[0].max()
    assert (fit.kept[0, compared.places[there]] > 0.0).all()
    readings = fit.searched.readings.power[0]
    assert compared.explained(readings) == pytest.approx(1.0, abs=1e-5)
    assert compared.explained(fit.model[0]) < compared.by_mixture() < 1.0
    assert repr(compared) == f"ComparedReadings({there.sum()} readings, private)"


@pytest.mark.parametrize(("axis", "told"), [(85.0, 265.0), (90.0, 90.0), (275.0, 95.0)])
def test_the_end_of_an_axis_that_is_nearer_south_is_told(axis, told):
    assert _as_told(np.array([axis, 0.4]))[0] == told
