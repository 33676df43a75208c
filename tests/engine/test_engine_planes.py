from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from engine_makers import PLANES, flags, pair_of, rows_of
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from sunveil.engine import infer_generation, make_sky_table
from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.one_or_two_planes import (
    non_negative,
)
from sunveil.engine.power_model import BLOCK, CAPACITY, FittedReadings
from sunveil.engine.two_planes import (
    KINDS,
    PAIR_LIMIT,
    PAIR_PARAMETERS,
    _all_pairs,
    covariance_of_both,
    find_pairs,
    known,
    linearised,
    pair_grid,
    pair_table,
    plane_estimates,
    plane_of_both,
    planes_of,
    refine_pair,
    roof_prior,
)
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


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.booleans())
def test_the_non_negative_solution_is_scipys(seed, planes, warm):
    """By what it leaves: of planes nearly alike, several mixtures may leave as little."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(0.0, 1.0, (planes, 80)).astype(np.float32)
    truth = rng.uniform(-1.0, 2.0, planes)
    value = (truth @ rows + 0.05 * rng.normal(size=80)).astype(np.float32)
    weight = rng.uniform(0.0, 1.0, 80).astype(np.float32)
    x = np.where(rng.random(planes) < 0.5, rng.uniform(0.0, 1.0, planes), 0.0) * warm
    model = np.empty(80, dtype=np.float32)
    non_negative(rows, weight, value, x, model)
    root = np.sqrt(weight.astype(np.float64))
    expected, left = nnls(rows.T * root[:, None], value * root)
    assert (x >= 0.0).all()
    np.testing.assert_allclose(model, x @ rows, atol=1e-4)
    mine = np.linalg.norm((model - value) * root)
    assert mine <= left * (1.0 + 1e-3) + 1e-4
    np.testing.assert_allclose(x, expected, atol=0.02)


EAST_WEST = ((95.0, 28.0, 4.0), (272.0, 24.0, 2.0))


def readings_of(pair, prepared, blocks=20):
    """Return readings that a pair explains exactly, of so many blocks of the year."""
    sheet = np.ascontiguousarray(prepared.sky.sheet[:: max(len(prepared.sky.sheet) // blocks, 1)])
    nothing = np.zeros(len(sheet) * BLOCK, dtype=np.float32)
    blank = FittedReadings(sheet, nothing, nothing + 1.0, 5.0, 60.0, prepared.numbers)
    return replace(blank, power=linearised(pair, blank).model)


def test_the_model_is_the_sum_of_two_planes_below_the_limit(prepared):
    pair = pair_of(*EAST_WEST, limit=3.0)
    model = readings_of(pair, prepared).power
    sheet = readings_of(pair, prepared).sky
    planes = planes_of(pair)
    each = profiles_of(sheet, planes, prepared.numbers) * np.exp(planes[:, CAPACITY])[:, None]
    np.testing.assert_allclose(model, np.minimum(each.sum(axis=0), 3.0), rtol=1e-4, atol=1e-4)
    assert (model == np.float32(3.0)).any()


@pytest.mark.parametrize("limit", [None, 3.0])
def test_derivatives_are_those_of_the_model(prepared, limit):
    pair = pair_of(*EAST_WEST, haze=0.2, season=-0.1, limit=limit)
    readings = readings_of(pair, prepared)
    lines = linearised(pair, readings)
    steps = np.array([0.2, 0.2, 0.01, 0.2, 0.2, 0.01, 0.05, 0.05, 0.05, 0.01])
    for place in range(PAIR_PARAMETERS if limit else PAIR_LIMIT):
        ends = []
        for sign in (-1.0, 1.0):
            moved = pair.copy()
            moved[place] += sign * steps[place]
            ends.append(linearised(moved, readings).model.astype(np.float64))
        expected = (ends[1] - ends[0]) / (2.0 * steps[place]) / lines.deviation
        apart = np.abs(lines.slopes[place] - expected)
        # kinks at the limit and at the edge of a plane's light are between two values
        assert np.quantile(apart, 0.95) < 0.01 * np.abs(expected).max()


def test_the_prior_of_roofs_has_the_gradient_of_its_logarithm():
    for first, second in (((95.0, 28.0, 4.0), (200.0, 24.0, 2.0)), EAST_WEST):
        pair = pair_of(first, second)
        _, gradient, information = roof_prior(pair)
        for place in range(PAIR_PARAMETERS):
            ends = []
            for sign in (-1.0, 1.0):
                moved = pair.copy()
                moved[place] += sign * 1e-4
                ends.append(roof_prior(moved)[0])
            assert gradient[place] == pytest.approx((ends[1] - ends[0]) / 2e-4, abs=1e-6)
        assert (np.linalg.eigvalsh(information) > -1e-9).all()


@pytest.mark.parametrize("limit", [None, 3.2])
def test_a_fit_comes_back_to_the_pair_that_made_the_readings(prepared, limit):
    truth = pair_of(*EAST_WEST, haze=-0.3, heat=1.25, limit=limit)
    # each counts for itself, so that the prior says little
    readings = replace(readings_of(truth, prepared), correlated=1.0)
    start = pair_of((105.0, 20.0, 3.0), (255.0, 32.0, 3.0), haze=0.0, heat=1.25, limit=limit)
    found = refine_pair(start, readings)
    np.testing.assert_allclose(found[[0, 1, 3, 4]], truth[[0, 1, 3, 4]], atol=1.0)
    np.testing.assert_allclose(found[[2, 5]], truth[[2, 5]], atol=0.04)
    worths = [
        linearised(each, readings).worth + known(each, prepared.numbers)[0]
        for each in (start, found)
    ]
    assert worths[1] > worths[0] + 1.0


def test_readings_that_say_nothing_leave_finite_numbers(prepared):
    pair = pair_of((95.0, 0.0, 4.0), (272.0, 89.5, 2.0))
    readings = readings_of(pair, prepared)
    silent = replace(readings, say=np.zeros_like(readings.say))
    assert np.isfinite(refine_pair(pair, silent)).all()


PAIR = pair_of((92.0, 30.0, 2.0), (275.0, 30.0, 6.0), haze=0.3, limit=5.0)


def test_the_plane_of_both_has_the_summed_normal_and_all_capacity():
    both = plane_of_both(pair_of((90.0, 30.0, 3.0), (270.0, 30.0, 3.0)))
    assert np.hypot(*both[:2]) == pytest.approx(0.0, abs=1e-9)
    assert np.exp(both[2]) == pytest.approx(6.0)
    corner = plane_of_both(pair_of((90.0, 30.0, 3.0), (180.0, 30.0, 3.0), haze=0.3, limit=5.0))
    assert np.degrees(np.arctan2(*corner[:2])) == pytest.approx(135.0)
    assert np.hypot(*corner[:2]) == pytest.approx(
        np.degrees(np.arctan(np.tan(np.radians(30.0)) / np.sqrt(2.0)))
    )
    np.testing.assert_allclose(corner[3:], [0.3, 1.0, 0.0, np.log(5.0)])


def test_the_covariance_of_both_is_what_draws_of_the_pair_show():
    rng = np.random.default_rng(1)
    root = 0.3 * rng.normal(size=(PAIR_PARAMETERS, PAIR_PARAMETERS))
    root[[2, 5]] *= 0.05
    drawn = [plane_of_both(PAIR + root @ rng.normal(size=PAIR_PARAMETERS)) for _ in range(20_000)]
    stated = covariance_of_both(PAIR, root @ root.T)
    np.testing.assert_allclose(stated[:3, :3], np.cov(np.array(drawn).T)[:3, :3], atol=0.05)


def test_planes_come_with_the_larger_first_and_intervals_about_them():
    covariance = np.diag([4.0, 4.0, 0.01, 4.0, 4.0, 0.01, 0.0, 0.0, 0.0, 0.0])
    large, small = plane_estimates(PAIR, covariance)
    assert (large.surface_azimuth, large.surface_tilt) == pytest.approx((275.0, 30.0))
    assert (small.surface_azimuth, small.surface_tilt) == pytest.approx((92.0, 30.0))
    assert (large.share, small.share) == pytest.approx((0.75, 0.25))
    assert (large.dc_capacity_kw, small.dc_capacity_kw) == pytest.approx((6.0, 2.0))
    for each in (large, small):
        assert each.tilt_interval.width == pytest.approx(2 * 1.645 * 2.0, rel=0.1)
        assert each.azimuth_interval.low < each.surface_azimuth < each.azimuth_interval.high
        assert each.share_interval.low < each.share < each.share_interval.high
    assert large.capacity_interval.high == pytest.approx(6.0 * np.exp(1.645 * 0.1), rel=1e-3)
    # log odds err by both capacities, which err apart here
    odds = np.log(large.share_interval.high / (1.0 - large.share_interval.high))
    assert odds == pytest.approx(np.log(3.0) + 1.645 * np.sqrt(0.02), rel=1e-3)


def test_capacities_that_err_alike_leave_the_share_sure():
    covariance = np.zeros((PAIR_PARAMETERS, PAIR_PARAMETERS))
    covariance[np.ix_([2, 5], [2, 5])] = 0.04
    large, _ = plane_estimates(PAIR, covariance)
    assert large.share_interval.width == pytest.approx(0.0, abs=1e-9)
    assert large.capacity_interval.width > 1.0


def test_every_pair_has_the_capacities_of_non_negative_least_squares():
    rng = np.random.default_rng(3)
    rows, value = rng.uniform(0.0, 1.0, (len(pair_grid()), 40)), rng.uniform(0.0, 3.0, 40)
    worth, one, two = _all_pairs(rows @ rows.T, rows @ value)
    table = pair_table()
    for place in rng.integers(0, len(worth), 60):
        chosen = rows[[table.first[place], table.second[place]]]
        expected, left = nnls(chosen.T, value)
        if expected.min() <= 0.0:
            assert worth[place] == -np.inf
            continue
        np.testing.assert_allclose([one[place], two[place]], expected, rtol=1e-4)
        gained = 0.5 * (value @ value - left**2) + table.prior[place]
        assert abs(worth[place] - gained) < 1e-3


def test_the_search_finds_the_neighbourhood_of_both_planes(prepared):
    truth = pair_of((100.0, 27.0, 4.0), (190.0, 27.0, 2.5))
    readings = readings_of(truth, prepared)
    point = np.concatenate([[0.0, -10.0, 2.0], truth[6:]])
    found = find_pairs(point, readings)
    assert len(found) == len(KINDS)
    azimuth = np.degrees(np.arctan2(found[0, [0, 3]], found[0, [1, 4]])) % 360.0
    np.testing.assert_allclose(np.sort(azimuth), [100.0, 190.0], atol=15.0)
    np.testing.assert_array_equal(found[:, 6:], np.tile(truth[6:], (len(KINDS), 1)))
    apart = [np.abs(found[0, :5] - other[:5]).max() for other in found[1:]]
    assert min(apart) > 3.0
