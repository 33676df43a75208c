from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from benchmarks.planes_scores import nearest_order, pair_errors, tracker_errors
from benchmarks.planes_systems import KnownMounts
from plot_makers import estimate_of
from sunveil.estimates import Estimate, Interval, PlaneEstimate, TrackerEstimate
from sunveil.simulate import Tracker
from sunveil.site import Plane, Site

EAST, WEST = Plane(92.0, 30.0), Plane(270.0, 28.0)


@pytest.fixture
def estimate() -> Estimate:
    return estimate_of()


def known(**changes) -> KnownMounts:
    system = KnownMounts(
        name="one",
        power=pd.Series(dtype=float),
        site=Site(40.0, 0.0, 0.0),
        planes=((EAST, 0.6), (WEST, 0.4)),
        dc_capacity_kw=10.0,
    )
    return replace(system, **changes)


def plane_of(plane: Plane, share: float) -> PlaneEstimate:
    azimuth = plane.surface_azimuth
    return PlaneEstimate(
        surface_azimuth=azimuth,
        surface_tilt=plane.surface_tilt,
        share=share,
        dc_capacity_kw=11.0 * share,
        azimuth_interval=Interval(azimuth - 5.0, azimuth + 5.0),
        tilt_interval=Interval(0.0, 90.0),
        share_interval=Interval(share - 0.01, share + 0.01),
        capacity_interval=Interval(0.0, 20.0),
    )


def test_planes_are_matched_to_the_true_ones_whatever_their_order(estimate):
    told = (plane_of(Plane(273.0, 30.0), 0.55), plane_of(Plane(102.0, 30.0), 0.45))
    found = estimate.replaced(planes=told, dc_capacity_kw=11.0)
    assert nearest_order([each.plane for each in told], [EAST, WEST]) == (1, 0)
    errors = pair_errors(known(), found)
    assert errors.azimuth == pytest.approx((10.0, 3.0))
    assert errors.tilt == pytest.approx((0.0, 2.0))
    assert errors.share == pytest.approx(0.15)
    assert errors.capacity == pytest.approx(10.0)
    assert errors.held == pytest.approx((0.5, 1.0, 0.0, 1.0))


def test_what_is_told_as_one_plane_has_no_errors_of_two(estimate):
    assert pair_errors(known(), estimate) is None
    assert pair_errors(known(), None) is None


@pytest.mark.parametrize(("backtrack", "gcr"), [(True, 0.05), (False, math.nan)])
def test_an_axis_has_two_ends_and_coverage_shows_by_backtracking_alone(estimate, backtrack, gcr):
    told = TrackerEstimate(
        axis_azimuth=91.0,
        backtrack=True,
        backtrack_probability=0.9,
        gcr=0.4,
        max_angle=55.0,
        axis_interval=Interval(85.0, 97.0),
        gcr_interval=Interval(0.38, 0.42),
        max_angle_interval=Interval(45.0, 65.0),
    )
    true = Tracker(axis_azimuth=269.0, backtrack=backtrack, gcr=0.35, max_angle=60.0)
    found = estimate.replaced(tracker=told, planes=(), dc_capacity_kw=9.0)
    errors = tracker_errors(known(tracker=true, planes=()), found)
    assert errors.axis == pytest.approx(2.0)
    assert errors.backtrack is backtrack
    assert errors.gcr == pytest.approx(gcr, nan_ok=True)
    assert errors.held[:3] == (True, False if backtrack else None, True)
    assert errors.capacity == pytest.approx(10.0)
