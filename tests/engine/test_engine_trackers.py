from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pvlib
import pytest
from engine_makers import flags, rows_of

from sunveil.engine import infer_generation, power_model
from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.power_model import PARAMETERS, SUN_EAST, SUN_NORTH, SUN_UP, UNLIMITED
from sunveil.engine.sky_tables import in_blocks
from sunveil.engine.tracker_model import TWO_AXES, tracked_sky, tracker_profiles
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
    ratio = found.tracker[2].gcr_interval
    assert ratio.low == pytest.approx(0.38 - 1.645 * 0.09)
    assert ratio.high == pytest.approx(0.38 + 1.645 * 0.09)


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


PAIRS = ("SUN_EAST", "SUN_NORTH", "SUN_UP", "CIRCUMSOLAR", "DOME", "HORIZON", "LEAST_DIFFUSE")

PAIRS += ("DNI", "GHI", "DNI_FADE", "GHI_FADE")


def tracker(axis=180.0, coverage=0.4, most=55.0, *, capacity=1.0, limit=None):
    last = UNLIMITED if limit is None else np.log(limit)
    return np.array([axis, coverage, most, np.log(capacity), -0.2, 1.1, 0.1, last])


def angles(zenith, azimuth, point):
    """Return tilt and azimuth of a tracker's modules, by pvlib."""
    if point[2] == TWO_AXES:
        return zenith, azimuth
    turned = pvlib.tracking.singleaxis(
        zenith,
        azimuth,
        axis_azimuth=point[0],
        max_angle=point[2],
        backtrack=point[1] > 0.0,
        gcr=max(point[1], 0.01),
    )
    return turned["surface_tilt"], turned["surface_azimuth"]


def expected(rows, point, numbers):
    """Return the power of planes that stand as pvlib turns a tracker, instant by instant."""
    total = np.zeros(rows.shape[1])
    for node in range(2):
        east, north, up = (rows[row + node] for row in (SUN_EAST, SUN_NORTH, SUN_UP))
        zenith = np.degrees(np.arctan2(np.hypot(east, north), up)).astype(np.float64)
        azimuth = np.degrees(np.arctan2(east, north)).astype(np.float64) % 360.0
        tilt, turn = angles(zenith, azimuth, point)
        planes = np.zeros((len(tilt), PARAMETERS))
        planes[:, 0] = tilt * np.sin(np.radians(turn))
        planes[:, 1] = tilt * np.cos(np.radians(turn))
        planes[:, 3:6], planes[:, 6] = point[4:7], UNLIMITED
        once = rows.copy()
        for name in PAIRS:
            once[getattr(power_model, name) + 1 - node] = rows[getattr(power_model, name) + node]
        each = profiles_of(in_blocks(once), planes, numbers)
        total += 0.5 * each[np.arange(len(tilt)), np.arange(len(tilt))]
    return total


@pytest.mark.parametrize(
    "point",
    [
        tracker(),
        tracker(167.0, 0.28, 60.0),
        tracker(180.0, 0.0, 47.0),
        tracker(95.0, 0.5, 52.0),
        tracker(180.0, 0.0, TWO_AXES),
    ],
    ids=["usual", "turned", "without backtracking", "east to west", "two axes"],
)
def test_it_is_pvlibs_tracking(prepared, point):
    rows = prepared.sky.rows[:, : prepared.sky.usable : 41]
    # the modules of two axes stand steeper at low sun than the views of one axis hold for
    allowed = 2e-3 if point[2] == TWO_AXES else 2e-4
    found = tracker_profiles(tracked_sky(rows), point[None], prepared.numbers)[0]
    np.testing.assert_allclose(found, expected(rows, point, prepared.numbers), atol=allowed)


@pytest.fixture(scope="module")
def turned_axes(denver, power_of):
    changes = [partial(tracking, tracker=Tracker(axis_azimuth=axis)) for axis in (150.0, 195.0)]
    return rows_of([power_of(change=change, seed=9) for change in changes], denver.grid)


@pytest.mark.parametrize("late", [0, 1])
def test_a_tracker_keeps_a_right_clock_and_gets_a_wrong_one_repaired(turned_axes, denver, late):
    found = infer_generation(np.roll(turned_axes, late, axis=1), denver)
    for place in range(2):
        assert Flag.TRACKER in flags(found, place)
        assert found.clock_offset_minutes[place] == 60.0 * late
