"""How accurate the default method is, and whether its intervals tell the truth.

All of it on one simulated fleet with a fixed seed, under the clear sky alone; the bounds are
looser than those that the benchmarks hold it to.
"""

from __future__ import annotations

import numpy as np

from sunveil.estimate import Estimate, Flag
from sunveil.simulate import SystemTruth


def azimuth_error(truth: SystemTruth, found: Estimate) -> float:
    turned = found.surface_azimuth - truth.plane.surface_azimuth
    return abs((turned + 180.0) % 360.0 - 180.0)


def azimuth_covered(truth: SystemTruth, found: Estimate) -> bool:
    interval = found.azimuth_interval
    if interval.high - interval.low >= 360.0:
        return True
    width = (interval.high - interval.low) % 360.0
    return (truth.plane.surface_azimuth - interval.low) % 360.0 <= width


def test_the_fleet_is_as_large_as_it_says(fleet):
    assert len(fleet) == 40
    assert len({case.truth.site for case in fleet}) == 6


def test_half_of_the_azimuths_are_within_two_and_a_half_degrees(fleet):
    errors = [azimuth_error(case.truth, case.found) for case in fleet]
    assert np.median(errors) <= 2.5
    # a nearly flat plane has no azimuth to speak of
    steep = [
        error
        for error, case in zip(errors, fleet, strict=True)
        if case.truth.plane.surface_tilt > 10
    ]
    assert np.quantile(steep, 0.9) <= 8.0


def test_half_of_the_tilts_are_within_two_degrees(fleet):
    errors = [abs(case.found.surface_tilt - case.truth.plane.surface_tilt) for case in fleet]
    assert np.median(errors) <= 2.0
    assert np.quantile(errors, 0.9) <= 6.0


def test_half_of_the_planes_are_within_two_and_a_half_degrees(fleet):
    errors = [case.found.plane.angle_to(case.truth.plane) for case in fleet]
    assert np.median(errors) <= 2.5
    assert np.quantile(errors, 0.9) <= 7.0


def test_half_of_the_capacities_are_within_five_percent(fleet):
    errors = [abs(case.found.dc_capacity_kw / case.truth.dc_capacity_kw - 1.0) for case in fleet]
    assert np.median(errors) <= 0.05
    assert np.quantile(errors, 0.9) <= 0.12


def test_azimuth_intervals_cover_the_truth(fleet):
    assert np.mean([azimuth_covered(case.truth, case.found) for case in fleet]) >= 0.8


def test_tilt_intervals_cover_the_truth(fleet):
    covered = [
        case.found.tilt_interval.low
        <= case.truth.plane.surface_tilt
        <= case.found.tilt_interval.high
        for case in fleet
    ]
    assert np.mean(covered) >= 0.8


def test_capacity_intervals_cover_the_truth(fleet):
    covered = [
        case.found.capacity_interval.low
        <= case.truth.dc_capacity_kw
        <= case.found.capacity_interval.high
        for case in fleet
    ]
    assert np.mean(covered) >= 0.8


def test_the_radius_around_the_plane_covers_the_truth(fleet):
    covered = [
        case.found.plane.angle_to(case.truth.plane) <= case.found.plane_error_degrees
        for case in fleet
    ]
    assert np.mean(covered) >= 0.8


def test_intervals_are_narrow_enough_to_be_of_use(fleet):
    assert np.median([case.found.tilt_interval.width for case in fleet]) <= 10.0
    assert np.median([case.found.plane_error_degrees for case in fleet]) <= 8.0
    widths = [case.found.capacity_interval.width / case.found.dc_capacity_kw for case in fleet]
    assert np.median(widths) <= 0.25


def test_intervals_hold_their_own_estimate(fleet):
    for case in fleet:
        found = case.found
        assert azimuth_covered_by_itself(found)
        assert found.tilt_interval.low <= found.surface_tilt <= found.tilt_interval.high
        assert found.capacity_interval.low < found.dc_capacity_kw < found.capacity_interval.high


def azimuth_covered_by_itself(found: Estimate) -> bool:
    interval = found.azimuth_interval
    width = interval.high - interval.low
    width = width if width >= 360.0 else width % 360.0
    return (found.surface_azimuth - interval.low) % 360.0 <= width


def test_clocks_that_are_right_are_left_alone(fleet):
    assert {case.found.clock.offset_minutes for case in fleet} == {0.0}
    assert not any(Flag.CLOCK_REPAIRED in case.found.flags for case in fleet)


def test_at_most_one_fixed_plane_in_twenty_is_doubted(fleet):
    assert sum(Flag.NOT_ONE_PLANE in case.found.flags for case in fleet) <= 2


def test_a_limit_is_reported_only_where_an_inverter_has_one(fleet):
    for case in fleet:
        if case.found.ac_limit_kw is not None:
            assert abs(case.found.ac_limit_kw / case.truth.ac_limit_kw - 1.0) < 0.1
