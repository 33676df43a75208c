from __future__ import annotations

import numpy as np
import pvlib
import pytest

from sunveil.engine import power_model
from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.power_model import PARAMETERS, SUN_EAST, SUN_NORTH, SUN_UP, UNLIMITED
from sunveil.engine.sky_tables import in_blocks
from sunveil.engine.tracker_model import (
    T_CAPACITY,
    T_LIMIT,
    TWO_AXES,
    tracked_sky,
    tracker_grid,
    tracker_power,
    tracker_profiles,
)

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


def test_an_axis_has_two_ends(prepared):
    both = np.stack([tracker(170.0), tracker(350.0)])
    found = tracker_profiles(prepared.tracked, both, prepared.numbers)
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_power_has_a_capacity_and_ends_at_the_limit(prepared):
    point = tracker(capacity=50.0, limit=30.0)
    found = tracker_power(prepared.tracked, point[None], prepared.numbers)[0]
    free = 50.0 * tracker_profiles(prepared.tracked, point[None], prepared.numbers)[0]
    assert free.max() > 35.0
    np.testing.assert_allclose(found, np.minimum(free, 30.0), rtol=1e-5)


def test_fits_start_from_axes_all_around_with_and_without_backtracking():
    grid = tracker_grid()
    assert len(np.unique(grid[:, :2], axis=0)) == len(grid) == 24
    assert (grid[:, 0] >= 90.0).all()
    assert (grid[:, 0] < 270.0).all()
    assert (grid[:, T_CAPACITY] == 0.0).all()
    assert (grid[:, T_LIMIT] == UNLIMITED).all()
