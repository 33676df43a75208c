from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from engine_makers import flags, plane_of, point_of, rows_of
from oracle import angle_between

from sunveil.engine import InferOptions, infer_generation, make_sky_table
from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.coarse_search import search
from sunveil.engine.constants import SystematicErrors
from sunveil.engine.final_fit import fit_finally
from sunveil.engine.power_model import CAPACITY, PARAMETERS
from sunveil.engine.shading import prepare
from sunveil.engine.yearly_fits import YEAR, fit_years, parts_of, year_covariances
from sunveil.site import Plane, TimeGrid

TRUTH = point_of(200.0, 30.0, 5.0, haze=-0.2, heat=1.25)
# What a year with snow, a dead string or a wrong clock looks like.
SPOILED = point_of(165.0, 42.0, 3.5, haze=-0.2, heat=1.25)
ERRORS = SystematicErrors()
YEARS = 3


@pytest.fixture(scope="module")
def long(denver):
    """Three clear years over Denver."""
    sky = make_sky_table(denver.site, TimeGrid(denver.grid.first, 3600, YEARS * 8766))
    return prepare(sky, InferOptions())


def years_of(long, points, *, seed=0):
    """Return a row whose years have points of their own, and clouds on some of their days."""
    profiles = profiles_of(long.sky.sheet, np.array(points), long.numbers)
    powers = profiles * np.exp([point[CAPACITY] for point in points])[:, None]
    year = ((long.seconds - long.seconds[0]) / YEAR).astype(int)
    rng = np.random.default_rng(seed)
    light = np.where(rng.random(long.day.max() + 1) < 0.5, 1.0, rng.uniform(0.2, 0.9))[long.day]
    blur = 1.0 + 0.02 * rng.normal(size=len(year))
    row = np.zeros(long.sky.grid.count, dtype=np.float32)
    row[long.slot] = powers[np.minimum(year, YEARS - 1), np.arange(len(year))] * light * blur
    return row


def stamps(years):
    """Return hours of daylight over so many years. [s]"""
    every = np.arange(0, int(years * YEAR), 3600)
    return every[(every // 3600 % 24 > 6) & (every // 3600 % 24 < 18)]


@pytest.mark.parametrize(
    ("length", "count"), [(0.7, 1), (1.0, 1), (1.74, 1), (1.77, 2), (2.0, 2), (2.74, 2), (3.2, 3)]
)
def test_what_is_left_of_a_record_is_a_year_from_three_quarters_on(length, count):
    seconds = stamps(length)
    parts = parts_of(seconds, np.ones(len(seconds), dtype=np.float32))
    assert len(parts) == count
    # one after the other, nothing left over
    assert parts[0][0] == 0
    assert parts[-1][1] == len(seconds)
    assert [start for start, _ in parts[1:]] == [end for _, end in parts[:-1]]
    for start, end in parts[:-1]:
        assert seconds[end] - seconds[start] == pytest.approx(YEAR, abs=86400)


def test_years_are_counted_from_where_a_record_has_readings():
    seconds = stamps(4.0)
    have = np.zeros(len(seconds), dtype=np.float32)
    inside = (seconds > 0.5 * YEAR) & (seconds < 2.6 * YEAR)
    have[inside] = 1.0
    first, second = parts_of(seconds, have)
    assert first[0] == np.flatnonzero(inside)[0]
    assert second[1] == np.flatnonzero(inside)[-1] + 1
    assert first[1] == second[0]
    assert seconds[second[0]] == pytest.approx(1.5 * YEAR, abs=86400)
    have[seconds > 1.5 * YEAR] = 0.0
    assert len(parts_of(seconds, have)) == 1
    assert parts_of(seconds, 0.0 * have) == []


@pytest.fixture(scope="module")
def rows(long):
    """Three alike years; one of three spoiled; one that gives 2% less each year; a year without."""
    fading = [
        TRUTH + np.log(0.98) * year * (np.arange(PARAMETERS) == CAPACITY) for year in range(3)
    ]
    even = years_of(long, [TRUTH] * 3)
    gap = even.copy()
    gap[8766 : 2 * 8766] = np.nan
    spoiled = years_of(long, [TRUTH, SPOILED, TRUTH], seed=1)
    return np.stack([even, spoiled, years_of(long, fading, seed=2), gap])


@pytest.fixture(scope="module")
def fitted(long, rows):
    """Where whole records ended, and where they ended by their years."""
    fit = fit_finally(search(rows, long), long)
    pooled = fit.points.copy()
    return fit, pooled, fit_years(fit)


def test_one_bad_year_of_three_does_not_move_the_estimate(fitted):
    fit, pooled, years = fitted
    assert angle_between(fit.points[0], TRUTH) < 0.3
    assert angle_between(fit.points[1], TRUTH) < 1.0
    assert angle_between(fit.points[1], TRUTH) < angle_between(pooled[1], TRUTH)
    assert np.exp(fit.points[1, CAPACITY]) == pytest.approx(5.0, rel=0.02)
    # the bad one itself is told
    bad = years.points[years.of(1)[1]]
    assert angle_between(bad, SPOILED) < 2.0


def test_each_system_has_the_years_that_it_has_alone(fitted, long, rows):
    fit, _, years = fitted
    for place in range(len(rows)):
        alone = fit_finally(search(rows[place : place + 1], long), long)
        own = fit_years(alone)
        np.testing.assert_array_equal(alone.points[0], fit.points[place])
        np.testing.assert_array_equal(own.points, years.points[years.system == place])
        np.testing.assert_array_equal(own.first, years.first[years.system == place])


def test_a_single_year_is_left_as_it_is(prepared, powers, denver):
    fit = fit_finally(search(rows_of(powers, denver.grid), prepared), prepared)
    points, model = fit.points.copy(), fit.model.copy()
    years = fit_years(fit)
    np.testing.assert_array_equal(fit.points, points)
    np.testing.assert_array_equal(fit.model, model)
    assert len(years.system) == 0
    assert np.isnan(years.trends(4)).all()
    found = year_covariances(fit.points, years, ERRORS)
    for point, covariance in zip(fit.points, found, strict=True):
        up = point[:2] / np.hypot(*point[:2])
        side = np.array([up[1], -up[0]])
        assert up @ covariance[:2, :2] @ up == pytest.approx(ERRORS.year_tilt**2)
        assert side @ covariance[:2, :2] @ side == pytest.approx(ERRORS.year_across**2)
        assert covariance[CAPACITY, CAPACITY] == pytest.approx(ERRORS.year_capacity**2)


def test_an_inference_tells_what_the_years_say(long, rows):
    found = infer_generation(rows, long.sky)
    even, spoiled, fading, gap = found.years
    assert [year.first for year in even] == [
        dt.date(2019, 1, 1),
        dt.date(2020, 1, 1),
        dt.date(2021, 1, 1),
    ]
    for year in even:
        assert Plane(year.surface_azimuth, year.surface_tilt).angle_to(Plane(200.0, 30.0)) < 0.5
        assert year.dc_capacity_kw == pytest.approx(5.0, rel=0.02)
    assert spoiled[1].surface_tilt == pytest.approx(42.0, abs=2.0)
    assert len(gap) == 2
    # the year before a bad one and the year after it differ by as much, and mean nothing
    assert found.trend_percent_per_year[:2] == pytest.approx([0.0, 0.0], abs=0.2)
    assert found.trend_percent_per_year[2] == pytest.approx(-2.0, abs=0.3)
    assert fading[2].dc_capacity_kw < 0.98 * fading[0].dc_capacity_kw
    assert np.isnan(found.trend_percent_per_year[3])
    # years that lie apart make the intervals wide
    radius = found.plane_error_degrees
    assert radius[1] > 1.5 * radius[0]
    assert plane_of(found, 1).angle_to(Plane(200.0, 30.0)) < radius[1]
    assert flags(found, 0) == ()
