from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from sunveil.cells import Axis, CellSky
from sunveil.cells.tables import LANES
from sunveil.fit.clipping import find_limit
from sunveil.fit.daylight import coarsen
from sunveil.fit.light import _middles
from sunveil.fit.refine import Point
from sunveil.meters import Record
from sunveil.quick.constants import Constants, QuickOptions, entering_light
from sunveil.quick.ends import Days
from sunveil.quick.groups import plane_profiles
from sunveil.quick.layout import fill_long, find_limits, lay_out, on_long_axis
from sunveil.quick.mixture import non_negative
from sunveil.quick.model import NO_LIMIT, OUT, SLOPES, linearise
from sunveil.quick.newton import refine, solve
from sunveil.quick.prepared import prepare
from sunveil.quick.spread import quantile
from sunveil.site import Plane, normals
from sunveil.sky import Sky, sky_at, unit_power
from sunveil.weather import clearsky

NODES = (0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0))


def point_of(
    azimuth: float, tilt: float, capacity: float, *, haze: float, heat: float
) -> np.ndarray:
    out = Point.of(Plane(azimuth, tilt), capacity, haze=haze, heat=heat).to_array()
    out[5] = 2.0 * NO_LIMIT
    return out


def skies(sky: CellSky) -> list[Sky]:
    weather = clearsky(sky.site, "2018-12-31", "2020-01-02")
    starts = sky.axis.starts[sky.slot[: sky.usable]]
    return [sky_at(weather, (starts + round(node * 3600)).view("M8[s]")) for node in NODES]


@pytest.mark.parametrize(
    ("azimuth", "tilt", "haze"),
    [(180.0, 30.0, 0.0), (95.0, 12.0, -0.4), (300.0, 85.0, 0.6), (0.0, 0.0, 0.13)],
)
def test_the_compiled_model_is_the_atlas_model(
    denver: CellSky, constants: Constants, azimuth: float, tilt: float, haze: float
) -> None:
    point = point_of(azimuth, tilt, 1.0, haze=haze, heat=1.2)
    mine = plane_profiles(denver.sheet, point[None], constants)[0, : denver.usable]
    normal = normals(np.array([azimuth]), np.array([tilt]))
    theirs = np.mean(
        [unit_power(one.hazier(haze), normal, heat=1.2)[0] for one in skies(denver)], axis=0
    )
    # the oracle's weather is interpolated between quarters of an hour
    assert np.abs(mine - theirs).max() < 0.012
    assert np.abs(mine - theirs).mean() < 0.0008


def test_the_light_through_the_glass_is_a_polynomial_to_one_in_a_hundred_thousand() -> None:
    import pvlib

    cosine = np.linspace(0.0, 1.0, 3001)
    light = cosine * pvlib.iam.physical(np.degrees(np.arccos(cosine)))
    found = np.polynomial.Polynomial(entering_light().astype(float))(2.0 * cosine - 1.0)
    assert np.abs(found - light).max() < 5e-5


def test_derivatives_are_those_of_the_model(denver: CellSky, constants: Constants) -> None:
    point = point_of(220.0, 25.0, 7.0, haze=0.37, heat=1.25)
    padded = denver.sheet.shape[0] * LANES
    out = np.empty((denver.sheet.shape[0], OUT, LANES), dtype=np.float32)
    linearise(
        denver.sheet,
        np.zeros(padded, dtype=np.float32),
        np.ones(padded, dtype=np.float32),
        point,
        5.0,
        1.0,
        constants,
        out,
    )
    rows = out.transpose(1, 0, 2).reshape(OUT, -1)[:, : denver.usable]
    for place, step in ((0, 0.02), (1, 0.02), (3, 0.02), (4, 0.02)):
        sides = []
        for sign in (-1.0, 1.0):
            moved = point.copy()
            moved[place] += sign * step
            sides.append(7.0 * plane_profiles(denver.sheet, moved[None], constants)[0])
        slope = (sides[1] - sides[0])[: denver.usable] / (2.0 * step) * rows[1]
        # where a light is cut off at its least the two sides differ
        close = np.abs(slope - rows[SLOPES + place]) < 0.02 + 0.02 * np.abs(slope)
        assert close.mean() > 0.97


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_small_systems_are_solved(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 6))
    matrix, right = root @ root.T + np.eye(6), rng.normal(size=6)
    found = solve(matrix, right, size)[:size]
    np.testing.assert_allclose(found, np.linalg.solve(matrix[:size, :size], right[:size]))


@given(st.integers(0, 2**32 - 1))
def test_mixtures_are_the_non_negative_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.uniform(size=(40, 9))
    values = columns @ np.maximum(rng.normal(size=9), 0.0) + 0.05 * rng.normal(size=40)
    found = np.zeros(9)
    non_negative(columns.T @ columns, columns.T @ values, found)
    np.testing.assert_allclose(found, nnls(columns, values)[0], atol=2e-3)


def test_a_fit_finds_the_plane_that_made_the_readings(
    denver: CellSky, constants: Constants, rng: np.random.Generator
) -> None:
    truth = point_of(220.0, 25.0, 7.0, haze=-0.2, heat=1.25)
    power = 7.0 * plane_profiles(denver.sheet, truth[None], constants)[0]
    cloudy = rng.random(len(power)) < 0.4
    power[cloudy] *= rng.uniform(0.1, 0.8, cloudy.sum()).astype(np.float32)
    have = (np.arange(len(power)) < denver.usable).astype(np.float32)
    point = point_of(195.0, 35.0, 5.0, haze=-0.2, heat=1.25)
    out = np.empty((denver.sheet.shape[0], OUT, LANES), dtype=np.float32)
    bright, widths = float(np.quantile(power[: denver.usable], 0.98)), np.array([1.5, 1.0])
    share = refine(
        denver.sheet, power, have, point, bright, widths, 20, constants, out, np.zeros((6, 6))
    )
    assert np.hypot(point[0] - truth[0], point[1] - truth[1]) < 0.5
    assert np.exp(point[2]) == pytest.approx(7.0, rel=0.02)
    assert 0.5 < share < 0.95


@given(st.integers(0, 6), st.integers(20, 60))
def test_long_intervals_are_those_of_the_other_method(shift: int, count: int) -> None:
    first = 1_546_300_800 + shift * 600
    axis = Axis(first, 600, count)
    rng = np.random.default_rng(count)
    power = rng.uniform(size=count)
    there = rng.random(count) < 0.9
    there[0] = there[-1] = True
    times = axis.starts[there].view("M8[s]")
    record = coarsen(Record("one", times, power[there], 10.0))
    row = np.where(there, power, np.nan).astype(np.float32)[None]
    mine = on_long_axis(row, axis)[0]
    starts = axis.long.starts[np.isfinite(mine)]
    np.testing.assert_array_equal(starts, record.times.astype("M8[s]").astype(np.int64))
    np.testing.assert_allclose(mine[np.isfinite(mine)], record.power_kw, rtol=1e-5)


def test_limits_are_found_where_the_other_method_finds_them(
    denver: CellSky, constants: Constants, rng: np.random.Generator
) -> None:
    prepared = prepare(denver, QuickOptions())
    rows = np.zeros((3, 8760), dtype=np.float32)
    point = point_of(180.0, 30.0, 1.0, haze=0.0, heat=1.0)
    clear = plane_profiles(denver.sheet, point[None], constants)[0, : denver.usable]
    noisy = clear * rng.choice([1.0, 0.5, 0.8], denver.usable, p=[0.6, 0.2, 0.2])
    for row, limit in zip(rows, (0.55, 0.65, np.inf), strict=True):
        row[denver.slot[: denver.usable]] = np.minimum(noisy, limit)
    laid = lay_out(rows, denver)
    mine = np.exp(find_limits(laid, prepared.day, hours=1.0))
    for row, found in zip(laid.power, mine, strict=True):
        other = find_limit(
            row[: denver.usable].astype(float), prepared.day.astype(np.int64), interval_minutes=60.0
        )
        assert found == pytest.approx(other, rel=1e-5)
    assert np.isfinite(mine[:2]).all()
    assert np.isinf(mine[2])


def test_first_and_last_light_are_those_of_the_other_method(rng: np.random.Generator) -> None:
    days = Days(first=0, lead=0, per_day=24, count=30)
    hours = np.arange(24 * 30) % 24
    power = np.maximum(np.sin((hours - rng.uniform(5, 7)) / 12.0 * np.pi), 0.0).astype(np.float32)
    power *= rng.uniform(0.2, 1.0, len(power)).astype(np.float32)
    middle, energy = days.middles(power[None], np.array([0.05], dtype=np.float32))
    theirs, found = _middles(power.reshape(30, 24).astype(float), 0.05)
    assert found.all()
    np.testing.assert_allclose(middle[0], theirs, atol=1e-4)
    np.testing.assert_allclose(energy[0], power.reshape(30, 24).sum(axis=1), rtol=1e-5)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=50), st.floats(0, 1))
def test_quantiles_are_numpys(values: list[float], share: float) -> None:
    ordered = np.sort(np.array(values))
    assert quantile(ordered, share) == pytest.approx(np.quantile(ordered, share), abs=1e-9)


def test_a_missing_reading_blanks_its_long_interval_alone() -> None:
    power = np.array([[1.0, 3.0, np.nan, 5.0, 2.0, 4.0]], dtype=np.float32)
    out = np.empty((1, 3), dtype=np.float32)
    fill_long(power, 0, 2, out)
    np.testing.assert_array_equal(out, [[2.0, np.nan, 3.0]])
