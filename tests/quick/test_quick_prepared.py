from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sunveil.cells import CellSky, cell_of, make_cell_sky
from sunveil.timegrid import TimeGrid
from sunveil.cells.tables import LANES
from sunveil.fit.saving import saving_days, saving_rule
from sunveil.fit.shared import AZIMUTH_STEP, ELEVATION_STEP
from sunveil.quick.constants import Constants, QuickOptions
from sunveil.quick.groups import (
    DIM,
    WINDOW_DAYS,
    make_groups,
    patch_labels,
    plane_profiles,
    sorted_by,
    starting_points,
)
from sunveil.quick.levels import fill_by_level
from sunveil.quick.mixture import mixture_grid
from sunveil.quick.prepared import Prepared
from sunveil.quick.starts import APART

FIRST = int(pd.Timestamp("2019-01-01", tz="UTC").timestamp())
DAY = 86400


@pytest.fixture(scope="module", params=["hours", "half hours", "odd"])
def sky(request: pytest.FixtureRequest, denver: CellSky) -> CellSky:
    """A year of hours, three months of half hours, and intervals that do not divide a day."""
    if request.param == "hours":
        return denver
    step, count = (1800, 4500) if request.param == "half hours" else (3360, 2000)
    return make_cell_sky(cell_of(-33.9, 151.2, 20.0), TimeGrid(FIRST + 200 * DAY + 120, step, count))


@given(st.lists(st.integers(0, 40), max_size=60))
def test_labels_are_sorted_and_equal_ones_stay_in_order(labels: list[int]) -> None:
    label = np.array(labels, dtype=np.int32)
    order, first = sorted_by(label)
    np.testing.assert_array_equal(order, np.argsort(label, kind="stable"))
    begins = np.flatnonzero(np.diff(label[order], prepend=-1))
    np.testing.assert_array_equal(first, [*begins, len(label)])


def test_groups_are_intervals_of_the_same_ten_days_and_time_of_day(
    sky: CellSky, constants: Constants
) -> None:
    groups = make_groups(sky, constants)
    long, usable = sky.axis.long, sky.usable
    local = long.starts[sky.slot[:usable]] + sky.turn
    window, hour = local // DAY // WINDOW_DAYS, local % DAY // long.step
    light = np.maximum(sky.ghi[:usable], DIM)
    keys = sorted(set(zip(window.tolist(), hour.tolist(), strict=True)))
    assert len(groups.middle) == groups.places.shape[1] == len(keys)
    for g, (one, other) in enumerate(keys):
        members = np.flatnonzero((window == one) & (hour == other))
        middle = members[len(members) // 2]
        assert groups.middle[g] == middle
        there = ~np.isnan(groups.scale[:, g])
        np.testing.assert_array_equal(groups.places[there, g], sky.slot[members])
        np.testing.assert_allclose(groups.scale[there, g], light[middle] / light[members], 1e-6)
    whole = plane_profiles(groups.probe, starting_points(), constants)
    np.testing.assert_array_equal(groups.profiles, whole[:, : len(keys)])


def test_patches_are_told_without_angles_as_with_them(rng: np.random.Generator) -> None:
    sun = rng.normal(size=(5000, 3))
    sun[:, 2] = np.abs(sun[:, 2])
    sun /= np.linalg.norm(sun, axis=1)[:, None]
    azimuth = np.degrees(np.arctan2(sun[:, 0], sun[:, 1])) % 360.0
    row = (np.degrees(np.arcsin(sun[:, 2])) / ELEVATION_STEP).astype(int)
    expected = row * round(360.0 / AZIMUTH_STEP) + (azimuth / AZIMUTH_STEP).astype(int)
    np.testing.assert_array_equal(patch_labels(sun), expected)
    south, north = patch_labels(np.array([[0.0, -1.0, 0.01], [0.0, 1.0, 0.01]]))
    assert (north, south) == (0, round(180.0 / AZIMUTH_STEP))


def test_power_at_many_levels_is_that_of_each_one(denver: CellSky, constants: Constants) -> None:
    sheet, points = denver.sheet[::9], starting_points()[::7].copy()
    hazes, heats = np.array([-2.0, -0.3, 1.1, 2.0]), np.array([0.0, 0.8, 2.0])
    out = np.empty((4, 3, len(points), len(sheet) * LANES), dtype=np.float32)
    fill_by_level(np.ascontiguousarray(sheet), points, (hazes, heats), constants, out)
    for h, haze in enumerate(hazes):
        for w, heat in enumerate(heats):
            points[:, 3], points[:, 4] = haze, heat
            alone = plane_profiles(np.ascontiguousarray(sheet), points, constants)
            np.testing.assert_allclose(out[h, w], alone, rtol=1e-5, atol=1e-6)
    assert out.max() > 0.5


def test_days_begin_where_the_number_of_the_day_changes(sky: CellSky) -> None:
    known = Prepared(sky, QuickOptions()).known
    day = sky.day[: sky.usable]
    np.testing.assert_array_equal(known.day, day - day[0])
    begins = np.flatnonzero(np.diff(day, prepend=-1))
    np.testing.assert_array_equal(known.begins, [*begins, sky.usable])


def test_planes_to_start_from_are_near_within_an_angle(denver: CellSky) -> None:
    prepared = Prepared(denver, QuickOptions())
    normals = prepared.groups.grid.normals
    np.testing.assert_array_equal(prepared.known.near, normals @ normals.T > APART)
    mixture = prepared.known.mixture
    np.testing.assert_allclose(mixture.directions, mixture_grid().normals)
    assert mixture.profiles.shape[2] == len(mixture.directions)


def test_intervals_in_daylight_saving_are_those_of_its_days(denver: CellSky) -> None:
    found = Prepared(denver, QuickOptions()).watch("Europe/Berlin").calendar
    rule = saving_rule(denver.site, "Europe/Berlin")
    np.testing.assert_array_equal(found.intervals, saving_days(denver.axis.starts // DAY, rule))
    other = Prepared(denver, QuickOptions()).watch("Australia/Sydney").calendar
    assert (found.intervals != other.intervals).any()


def test_nothing_is_known_of_a_polar_night() -> None:
    dark = make_cell_sky(cell_of(85.0, 20.0, 0.0), TimeGrid(FIRST, 3600, 240))
    known = Prepared(dark, QuickOptions()).known
    assert len(known.slot) == len(known.day) == known.places.shape[1] == 0
    np.testing.assert_array_equal(known.begins, [0])
    assert known.mixture.profiles.shape[-1] == 0
