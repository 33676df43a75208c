"""Second planes and trackers, drawn with the variety that real ones have.

No public list counts them, so the numbers below are chosen, not fitted. Roofs of one house have
like tilts and stand at 180 degrees about a ridge or at 90 about a corner, as good as carpenters
are; the larger part has at most four fifths of the modules. Where both sides of a ridge are used
they mostly face east and west: few put modules on a side away from the sun. Axes mostly run north
to south, some along their ground; most rows turn back at low sun; coverage and greatest angle are
those of makers' data sheets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sunveil.checked import checked
from sunveil.simulate.systems import TILT_EDGES, SystemTruth, Tracker, tracking
from sunveil.site import Array, Plane

# From one side of a ridge to the other. [degrees]
HALF_TURN = 180.0
# Share of the capacity on the larger of two planes.
LARGER_SHARE = (0.5, 0.8)
# By how much two roofs of a house miss equal tilts, and a half or a quarter turn. [degrees]
TILT_SPREAD, TURN_SPREAD = 3.0, 2.0
# Of ridges that run east to west, how many have modules on both sides all the same.
POLEWARD = 0.1
# Share of axes that do not run north to south, and how far they are turned. [1, degrees]
TURNED_AXES, AXIS_SPREAD, AXIS_AT_MOST = 0.25, 15.0, 45.0
BACKTRACKING = 0.75
GCR = (0.25, 0.5)
MAX_ANGLE = (45.0, 60.0)
# Of what follows the sun, how much does so about two axes.
DUAL_AXIS = 0.1


def ridge_azimuths(rng: np.random.Generator, azimuth: Array) -> Array:
    """Return azimuths of first planes turned so that both sides of their ridges see the sun.

    Parameters
    ----------
    rng
        Source of randomness.
    azimuth
        The azimuths as drawn for single planes. [degrees]
    """
    n = len(azimuth)
    side = np.where(rng.random(n) < 0.5, 90.0, -90.0)
    polar = np.abs(np.cos(np.radians(azimuth))) > np.sqrt(0.5)
    turned = polar & (rng.random(n) >= POLEWARD)
    return np.asarray(np.mod(np.where(turned, azimuth + side, azimuth), 360.0))


def second_planes(
    rng: np.random.Generator, azimuth: Array, tilt: Array, *, turn: Array
) -> tuple[Array, Array]:
    """Return azimuth and tilt of second planes, about as steep as the first. [degrees]

    Parameters
    ----------
    rng
        Source of randomness.
    azimuth, tilt
        The first planes. [degrees]
    turn
        From the first to the second: half a turn about a ridge, a quarter about a corner; NaN where
        there is none. [degrees]
    """
    n = len(azimuth)
    turned = azimuth + turn + TURN_SPREAD * rng.standard_normal(n)
    like = np.clip(tilt + TILT_SPREAD * rng.standard_normal(n), 0.0, TILT_EDGES[-1])
    return np.mod(turned, 360.0), np.where(np.isnan(turn), np.nan, like)


def draw_trackers(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Return the columns of ``n`` single-axis trackers, by the names of :class:`Tracker`."""
    away = np.clip(AXIS_SPREAD * rng.standard_normal(n), -AXIS_AT_MOST, AXIS_AT_MOST)
    return {
        "axis_azimuth": np.where(rng.random(n) < TURNED_AXES, 180.0 + away, 180.0),
        "backtrack": rng.random(n) < BACKTRACKING,
        "gcr": rng.uniform(*GCR, n),
        "max_angle": rng.uniform(*MAX_ANGLE, n),
    }


@checked
def with_second_plane(truth: SystemTruth, *, rng: np.random.Generator) -> SystemTruth:
    """Return a system that stands on two planes, about a ridge or about a corner."""
    first, tilt = np.array([truth.plane.surface_azimuth]), np.array([truth.plane.surface_tilt])
    share = float(rng.uniform(*LARGER_SHARE))
    turn = np.array([rng.choice([HALF_TURN, HALF_TURN, 90.0, -90.0])])
    if turn[0] == HALF_TURN:
        first = ridge_azimuths(rng, first)
    second = second_planes(rng, first, tilt, turn=turn)
    planes = [Plane(float(azimuth[0]), float(own[0])) for azimuth, own in ((first, tilt), second)]
    return replace(truth, planes=((planes[0], share), (planes[1], 1.0 - share)))


@checked
def on_tracker(truth: SystemTruth, *, rng: np.random.Generator) -> SystemTruth:
    """Return a system that turns about one axis."""
    drawn = {name: values[0].item() for name, values in draw_trackers(rng, 1).items()}
    return tracking(truth, Tracker(**drawn))
