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


@dataclass(frozen=True, slots=True, eq=False)
class Patches:
    """Usable intervals by where the sun stands: order, and where each patch begins and ends."""

    order: Index
    first: Index


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


def plane_profiles(sheet: Sheet, points: Array, constants: Constants) -> Matrix:
    """Return the power of points per kW under a sheet, padded, shape (points, n). [kW/kW]"""
    out = np.empty((len(points), sheet.shape[0] * LANES), dtype=np.float32)
    fill_profiles(sheet, points, constants, out)
    return out


@compiled
def fill_profiles(sheet, points, constants, out):  # type: ignore[no-untyped-def]
    """Fill a row of power for each point. [kW/kW]"""
    for i in range(len(points)):
        unit_profile(sheet, points[i], constants, out[i])


def _sorted_by(label: NDArray[np.int64]) -> tuple[Index, Index]:
    # short numbers are sorted by their digits, which takes a tenth of the time
    short = label.astype(np.uint16) if label.max(initial=0) < 2**16 else label
    order = np.argsort(short, kind="stable").astype(np.int32)
    begins = np.flatnonzero(np.diff(label[order], prepend=-1))
    return order, np.append(begins, len(label)).astype(np.int32)


def make_groups(sky: CellSky, constants: Constants) -> Groups:
    """Return the groups of a cell's sky and the starting planes' power in them."""
    long, usable = sky.axis.long, sky.usable
    day = sky.day[:usable].astype(np.int64)
    slot = (long.starts[sky.slot[:usable]] + sky.turn) % 86400 // long.step
    per_day = 86400 // long.step + 1
    window = day // WINDOW_DAYS
    order, first = _sorted_by((window - window[:1]) * per_day + slot)
    light = np.maximum(sky.ghi[:usable], DIM)
    middle = order[(first[:-1] + first[1:]) // 2].astype(np.intp)
    probe = take(sky.sheet, middle)
    grid = starting_grid()
    profiles = plane_profiles(probe, points_of(grid), constants)[:, : len(middle)]
    size = np.diff(first)
    member = np.arange(len(order)) - np.repeat(first[:-1], size)
    group = np.repeat(np.arange(len(size)), size)
    shape = (int(size.max(initial=1)), len(size))
    places, scale = np.zeros(shape, dtype=np.int32), np.full(shape, np.nan, dtype=np.float32)
    places[member, group] = sky.slot[order]
    scale[member, group] = light[middle][group] / light[order]
    return Groups(
        middle=middle.astype(np.int32),
        places=places,
        scale=scale,
        probe=probe,
        grid=grid,
        profiles=np.ascontiguousarray(profiles),
    )


def make_patches(sky: CellSky) -> Patches:
    """Return the patches of sky that hills and trees are looked for in."""
    azimuth = np.degrees(np.arctan2(sky.sun[:, 0], sky.sun[:, 1])) % 360.0
    elevation = np.degrees(np.arcsin(np.clip(sky.sun[:, 2], 0.0, 1.0)))
    columns = int(np.ceil(360.0 / AZIMUTH_STEP))
    patch = (elevation / ELEVATION_STEP).astype(np.int64) * columns
    return Patches(*_sorted_by(patch + (azimuth / AZIMUTH_STEP).astype(np.int64)))
