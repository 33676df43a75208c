"""What a cell's sky says beforehand of every system in it: groups, patches, days, profiles.

All of it is public, and computed once for all systems of a cell.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.atlas import Grid
from sunveil.cells import CellSky
from sunveil.cells.sky import DAY
from sunveil.cells.tables import LANES, Sheet, take
from sunveil.fit.shared import AZIMUTH_STEP, ELEVATION_STEP, TYPICAL_HAZE, TYPICAL_HEAT
from sunveil.jit import compiled
from sunveil.quick.constants import Constants
from sunveil.quick.model import NO_LIMIT, unit_profile
from sunveil.site import Array

Index = NDArray[np.int32]
Matrix = NDArray[np.float32]

WINDOW_DAYS = 10
DIM = np.float32(20.0)
# The edges of patches: cosines and sines of azimuths east of the meridian, sines of elevations.
_HALF_TURN = round(180.0 / AZIMUTH_STEP)
_AZIMUTHS = np.radians(AZIMUTH_STEP * np.arange(1, _HALF_TURN))
_EDGES = np.stack([np.cos(_AZIMUTHS), np.sin(_AZIMUTHS)], axis=1)
_HEIGHTS = np.sin(np.radians(np.arange(ELEVATION_STEP, 90.0, ELEVATION_STEP)))
# How many patches there are.
PATCHES = 2 * _HALF_TURN * (len(_HEIGHTS) + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Intervals of the same ten days and time of day, and planes' bright power in each.

    Parameters
    ----------
    middle
        Place among the usable intervals of each group's middle one.
    places
        Places on the long axis of the groups' intervals, shape (largest size, groups).
    scale
        Clear global light at the middle of its group over that of each interval; NaN where a
        group has no more intervals.
    probe
        The sky at the middle interval of each group, which stands for all of it.
    grid
        Planes to start from.
    profiles
        Power of each plane in each group per kW, shape (planes, groups). [kW/kW]
    """

    middle: Index
    places: Index
    scale: Matrix
    probe: Sheet
    grid: Grid
    profiles: Matrix


@functools.lru_cache(maxsize=1)
def starting_grid() -> Grid:
    """Return planes about 20° apart, with one flat plane."""
    azimuth, tilt = [np.array([0.0])], [np.array([0.0])]
    for one, count in ((8.0, 8), (18.0, 16), (30.0, 18), (45.0, 18), (62.0, 18), (85.0, 18)):
        azimuth.append(np.arange(count) * 360.0 / count)
        tilt.append(np.full(count, one))
    return Grid(np.concatenate(azimuth), np.concatenate(tilt))


def points_of(grid: Grid) -> Array:
    """Return the planes of a grid as points of 1 kW under a usual sky."""
    out = np.zeros((len(grid), 6))
    azimuth = np.radians(grid.surface_azimuth)
    out[:, 0] = grid.surface_tilt * np.sin(azimuth)
    out[:, 1] = grid.surface_tilt * np.cos(azimuth)
    out[:, 3], out[:, 4], out[:, 5] = TYPICAL_HAZE, TYPICAL_HEAT, 2.0 * NO_LIMIT
    return out


@functools.lru_cache(maxsize=1)
def starting_points() -> Array:
    """Return the planes to start from as points."""
    return points_of(starting_grid())


def plane_profiles(
    sheet: Sheet, points: Array, constants: Constants, *, count: int | None = None
) -> Matrix:
    """Return the power of points per kW under a sheet, shape (points, n). [kW/kW]

    Of ``count`` intervals, or of all, with what whole blocks are padded by.
    """
    shape = len(points), sheet.shape[0] * LANES if count is None else count
    out = np.empty(shape, dtype=np.float32)
    fill_profiles(sheet, points, constants, out)
    return out


@compiled
def fill_profiles(sheet, points, constants, out):  # type: ignore[no-untyped-def]
    """Fill a row of power for each point. [kW/kW]"""
    room = np.empty(sheet.shape[0] * LANES, dtype=np.float32)
    for i in range(len(points)):
        unit_profile(sheet, points[i], constants, room)
        out[i, :] = room[: out.shape[1]]


def sorted_by(label: Index) -> tuple[Index, Index]:
    """Return the places of labels from 0 in their order, and where each that occurs begins.

    Equal ones stay in the order of their places. The last number is how many there are.
    """
    order, first = np.empty(len(label), dtype=np.int32), np.empty(len(label) + 1, dtype=np.int32)
    found = fill_sorted(label, order, first)
    return order, first[: found + 1].copy()


@compiled
def fill_sorted(label, order, first):  # type: ignore[no-untyped-def]
    """Fill what :func:`sorted_by` returns; return how many labels occur."""
    top = 0
    for i in range(len(label)):
        top = max(top, label[i])
    at = np.zeros(top + 2, dtype=np.int32)
    for i in range(len(label)):
        at[label[i] + 1] += 1
    found = 0
    for k in range(top + 1):
        if at[k + 1] > 0:
            first[found] = at[k]
            found += 1
        at[k + 1] += at[k]
    first[found] = len(label)
    for i in range(len(label)):
        order[at[label[i]]] = i
        at[label[i]] += 1
    return found


def make_groups(sky: CellSky, constants: Constants) -> Groups:
    """Return the groups of a cell's sky and the starting planes' power in them."""
    long, slot = sky.axis.long, sky.slot[: sky.usable]
    label = np.empty(len(slot), dtype=np.int32)
    fill_labels(slot, long.first + sky.turn, long.step, label)
    order, first = sorted_by(label)
    middle = order[(first[:-1] + first[1:]) // 2]
    shape = int(np.diff(first).max(initial=1)), len(middle)
    places, scale = np.zeros(shape, dtype=np.int32), np.full(shape, np.nan, dtype=np.float32)
    fill_members(slot, order, first, sky.ghi, places, scale)
    probe = take(sky.sheet, middle)
    profiles = plane_profiles(probe, starting_points(), constants, count=len(middle))
    return Groups(
        middle=middle,
        places=places,
        scale=scale,
        probe=probe,
        grid=starting_grid(),
        profiles=profiles,
    )


@compiled
def fill_labels(slot, start, step, label):  # type: ignore[no-untyped-def]
    """Fill the group of each interval: ten days and time of day.

    ``start`` is the solar time of the axis' start. [s]
    """
    per_day = DAY // step + 1
    before = (start + step * slot[0]) // (WINDOW_DAYS * DAY) if len(slot) else 0
    for i in range(len(slot)):
        local = start + step * slot[i]
        # numbers so small are divided without a remainder's error
        hour = int(float(local % DAY) / step)
        label[i] = (local // (WINDOW_DAYS * DAY) - before) * per_day + hour


@compiled
def fill_members(slot, order, first, ghi, places, scale):  # type: ignore[no-untyped-def]
    """Fill where the members of each group stand, and the middle one's light over theirs."""
    for g in range(len(first) - 1):
        light = max(ghi[order[(first[g] + first[g + 1]) // 2]], DIM)
        for i in range(first[g], first[g + 1]):
            member = i - first[g]
            places[member, g] = slot[order[i]]
            scale[member, g] = light / max(ghi[order[i]], DIM)


def patch_labels(sun: Array) -> Index:
    """Return the patch of sky that each vector lies in; hills and trees are looked for by patch."""
    label = np.empty(len(sun), dtype=np.int32)
    fill_patches(sun, label)
    return label


@compiled
def fill_patches(sun, label):  # type: ignore[no-untyped-def]
    """Fill the patch of each vector.

    Angles are not needed for it, only on which side of the patches' edges a vector is.
    """
    east, north, up = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    column, row = np.empty(LANES), np.empty(LANES)
    for first in range(0, len(sun), LANES):
        count = min(LANES, len(sun) - first)
        for k in range(count):
            x, y = sun[first + k, 0], sun[first + k, 1]
            west = x < 0.0 or (x == 0.0 and y < 0.0)
            # the western edges are the eastern ones beyond the zenith
            east[k], north[k] = (-x, -y) if west else (x, y)
            up[k], row[k], column[k] = sun[first + k, 2], 0.0, _HALF_TURN if west else 0.0
        for edge in range(len(_EDGES)):
            cosine, sine = _EDGES[edge, 0], _EDGES[edge, 1]
            for k in range(LANES):
                column[k] += 1.0 if east[k] * cosine >= north[k] * sine else 0.0
        for edge in range(len(_HEIGHTS)):
            for k in range(LANES):
                row[k] += 1.0 if up[k] >= _HEIGHTS[edge] else 0.0
        for k in range(count):
            label[first + k] = int(row[k]) * (2 * _HALF_TURN) + int(column[k])
