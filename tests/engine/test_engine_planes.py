from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from engine_makers import PLANES, flags, rows_of

from sunveil.engine import infer_generation, make_sky_table
from sunveil.estimates import Flag, Quality
from sunveil.estimates.flags_and_quality import GOOD_WITHIN, INFERRED, judge
from sunveil.grids import Places
from sunveil.simulate import east_west
from sunveil.site import Plane

# Azimuths of both planes, their tilt, and the share of the first.
PAIRS = ((95.0, 275.0, 28.0, 0.6), (135.0, 225.0, 27.0, 0.5), (100.0, 190.0, 32.0, 0.35))


def pair(truth, *, second, share):
    """Return a system a part of which faces elsewhere."""
    ((plane, _),) = truth.planes
    other = Plane(second, plane.surface_tilt)
    return replace(truth, planes=((plane, share), (other, 1.0 - share)))


@pytest.fixture(scope="module")
def powers_of_pairs(power_of):
    return [
        power_of(first, tilt, change=partial(pair, second=second, share=share), seed=3)
        for first, second, tilt, share in PAIRS
    ]


@pytest.fixture(scope="module")
def found(denver, powers_of_pairs, powers):
    """Three pairs, and then the four single planes of other tests."""
    return infer_generation(rows_of([*powers_of_pairs, *powers], denver.grid), denver)


@pytest.mark.parametrize("place", range(len(PAIRS)))
def test_both_planes_are_found_the_larger_first(found, place):
    first, second, tilt, share = PAIRS[place]
    expected = sorted([(share, first), (1.0 - share, second)], reverse=True)
    planes = found.planes[place]
    if share == 0.5:  # which is the larger then does not count
        planes = sorted(planes, key=lambda each: each.surface_azimuth)
        expected = sorted(expected, key=lambda each: each[1])
    else:
        assert planes[0].share > planes[1].share
    assert Flag.TWO_PLANES in flags(found, place)
    assert Flag.NOT_ONE_PLANE not in flags(found, place)
    for (part, azimuth), each in zip(expected, planes, strict=True):
        assert each.surface_azimuth == pytest.approx(azimuth, abs=5.0)
        assert each.surface_tilt == pytest.approx(tilt, abs=3.5)
        assert each.share == pytest.approx(part, abs=0.05)
        assert each.azimuth_interval.low < azimuth < each.azimuth_interval.high
        assert each.tilt_interval.low < tilt < each.tilt_interval.high
        assert each.share_interval.low < part < each.share_interval.high
    # the whole is the sum of its planes, and as uncertain as the plane that is known worst
    total = found.dc_capacity_kw[place]
    assert total == pytest.approx(6.0, rel=0.12)
    assert sum(each.dc_capacity_kw for each in planes) == pytest.approx(total)
    assert found.dc_capacity_kw_low[place] < total < found.dc_capacity_kw_high[place]
    assert 3.0 < found.plane_error_degrees[place] < 15.0
    assert found.plane_error_degrees[place] > 0.4 * max(each.tilt_interval.width for each in planes)
    # the model of both explains as much as one plane does where there is one
    assert found.agreement[place] > 0.9 * found.agreement[len(PAIRS) :].min()
    assert found.clock_offset_minutes[place] == 0.0


def test_single_planes_are_not_split(found):
    for place in range(len(PAIRS), len(PAIRS) + len(PLANES)):
        assert found.planes[place] == ()
        assert Flag.TWO_PLANES not in flags(found, place)
        assert Flag.NOT_ONE_PLANE not in flags(found, place)


def test_a_block_gives_each_what_it_gets_alone(denver, powers_of_pairs, found):
    alone = infer_generation(rows_of([powers_of_pairs[1]], denver.grid), denver)
    assert alone.planes[0] == found.planes[1]
    assert alone.surface_azimuth[0] == found.surface_azimuth[1]
    assert alone.plane_error_degrees[0] == found.plane_error_degrees[1]


def test_planes_so_flat_that_they_look_like_one_are_not_told_apart(denver, power_of):
    power = power_of(92.0, 4.0, change=east_west)
    found = infer_generation(rows_of([power], denver.grid), denver)
    assert found.outcome[0] == INFERRED
    assert found.planes[0] == ()
    assert found.surface_tilt[0] < 4.0


def test_of_low_tilts_it_is_said_that_nothing_tells_which_they_are(denver, power_of):
    power = power_of(90.0, 12.0, change=east_west, seed=3)
    found = infer_generation(rows_of([power], denver.grid), denver)
    assert found.planes[0] == ()
    assert Flag.NOT_ONE_PLANE in flags(found, 0)
    assert Flag.TWO_PLANES not in flags(found, 0)


def two_of(power_of, second, share=0.7, tilt=22.0, first=140.0):
    return power_of(first, tilt, change=partial(pair, second=second, share=share), seed=3)


@pytest.mark.parametrize(("second", "within"), [(255.0, 8.0), (270.0, 5.0)])
def test_planes_are_found_at_angles_that_roofs_seldom_have(denver, power_of, second, within):
    found = infer_generation(rows_of([two_of(power_of, second)], denver.grid), denver)
    larger, smaller = found.planes[0]
    assert larger.surface_azimuth == pytest.approx(140.0, abs=within)
    assert smaller.surface_azimuth == pytest.approx(second, abs=within)


def test_a_plane_that_may_be_two_is_not_good(denver, powers, power_of):
    powers = [two_of(power_of, 0.0, 0.75, first=180.0), *powers]
    found = infer_generation(rows_of(powers, denver.grid), denver)
    assert flags(found, 0) == (Flag.PLANES_UNRESOLVED,)
    assert found.planes[0] == ()
    error = float(found.plane_error_degrees[0])
    assert error < GOOD_WITHIN
    assert judge(flags(found, 0), error)[0] is Quality.FAIR
    assert all(Flag.PLANES_UNRESOLVED not in flags(found, each) for each in range(1, len(powers)))


def test_planes_are_turned_to_where_the_system_stands(denver, powers_of_pairs, found):
    """Two degrees west the same directions in space have other azimuths and tilts."""
    places = Places(np.array([39.7]), np.array([-107.0]), np.array([1600.0]))
    there = infer_generation(rows_of(powers_of_pairs[:1], denver.grid), denver, places=places)
    (east, west), (own_east, own_west) = there.planes[0], found.planes[0]
    assert east.surface_tilt - own_east.surface_tilt == pytest.approx(
        2.0 * np.cos(np.radians(39.7)), abs=0.1
    )
    assert west.surface_tilt - own_west.surface_tilt == pytest.approx(
        -2.0 * np.cos(np.radians(39.7)), abs=0.1
    )
    assert east.share == pytest.approx(own_east.share)


def test_pairs_are_found_under_measured_weather(denver, weathered, powers_of_pairs):
    sky = make_sky_table(denver.site, denver.grid, weathered.satellite)
    found = infer_generation(rows_of(powers_of_pairs[:1], denver.grid), sky)
    east, west = found.planes[0]
    assert east.surface_azimuth == pytest.approx(95.0, abs=8.0)
    assert west.surface_azimuth == pytest.approx(275.0, abs=8.0)
