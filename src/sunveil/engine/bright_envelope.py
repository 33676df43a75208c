"""Bright envelope of a record and starting planes."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.engine.constants import TYPICAL_HAZE, TYPICAL_HEAT, Numbers
from sunveil.engine.power_model import (
    CAPACITY,
    EAST,
    HAZE,
    HEAT,
    LIMIT,
    NORTH,
    PARAMETERS,
    UNLIMITED,
    Sheet,
    fill_profiles,
)
from sunveil.engine.sky_tables import SkyTable, in_blocks
from sunveil.grids import Grid
from sunveil.site import DAY, Array

Matrix = NDArray[np.float32]

Index = NDArray[np.int32]

Real = TypeVar("Real", np.float32, np.float64)

WINDOW_DAYS = 10

# Of at least FEWEST readings, the one that this share of them stays below is the bright one.
FEWEST, BRIGHT_SHARE = 4, 0.8

# Light below which an interval's brightness says nothing. [W/m²]
DIM = 20.0

# At this distance of its bright power from the best plane's, a group has lost half its weight.
FAR = 0.2

# How many starts are looked for, and how far apart they stand. [degrees]
STARTS, APART = 3, 25.0

kernel = njit(cache=True, nogil=True, error_model="numpy")


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Intervals of the same ten days and time of day: public."""

    middle: Index
    window: NDArray[np.int64]  # number of each group's ten days since 1970
    places: Index  # places on the long grid of the groups' intervals, shape (largest size, groups)
    scale: Matrix
    sheet: Sheet  # the sky at the middles
    profiles: Matrix  # [kW/kW]


@functools.lru_cache(maxsize=1)
def starting_grid() -> Grid:
    """Return planes about 20° apart, with one flat plane."""
    azimuth, tilt = [np.array([0.0])], [np.array([0.0])]
    for one, count in ((8.0, 8), (18.0, 16), (30.0, 18), (45.0, 18), (62.0, 18), (85.0, 18)):
        azimuth.append(np.arange(count) * 360.0 / count)
        tilt.append(np.full(count, one))
    return Grid(np.concatenate(azimuth), np.concatenate(tilt))


def points_of(grid: Grid, *, haze: float = TYPICAL_HAZE, heat: float = TYPICAL_HEAT) -> Array:
    """Return the planes of a grid as points of 1 kW without a limit."""
    out = np.zeros((len(grid), PARAMETERS))
    azimuth = np.radians(grid.surface_azimuth)
    out[:, EAST] = grid.surface_tilt * np.sin(azimuth)
    out[:, NORTH] = grid.surface_tilt * np.cos(azimuth)
    out[:, HAZE], out[:, HEAT], out[:, LIMIT] = haze, heat, UNLIMITED
    return out


def make_groups(sky: SkyTable, numbers: Numbers) -> Groups:
    """Return the groups of a sky and the starting planes' power in them."""
    long, slot = sky.grid.long, sky.slot[: sky.usable].astype(np.int64)
    local = long.first + sky.turn + long.step * slot
    window, hour = local // (WINDOW_DAYS * DAY), local % DAY // long.step
    label = window * (DAY // long.step + 1) + hour
    order = np.argsort(label, kind="stable")
    first = np.flatnonzero(np.diff(label[order], prepend=-1))
    sizes = np.diff(np.append(first, len(order)))
    middle = order[first + sizes // 2].astype(np.int32)
    shape = int(sizes.max(initial=1)), len(first)
    places, scale = np.zeros(shape, dtype=np.int32), np.full(shape, np.nan, dtype=np.float32)
    member = np.arange(len(order)) - np.repeat(first, sizes)
    group = np.repeat(np.arange(len(first)), sizes)
    light = np.maximum(sky.ghi[: sky.usable], np.float32(DIM))
    places[member, group] = slot[order]
    scale[member, group] = light[middle][group] / light[order]
    sheet = in_blocks(sky.rows[:, middle])
    profiles = profiles_of(sheet, points_of(starting_grid()), numbers)[:, : len(middle)]
    return Groups(middle, window[middle], places, scale, sheet, np.ascontiguousarray(profiles))


def profiles_of(sheet: Sheet, points: Array, numbers: Numbers) -> Matrix:
    """Return the power of points per kW under a sheet, shape (points, padded). [kW/kW]"""
    out = np.empty((len(points), sheet.shape[0] * sheet.shape[2]), dtype=np.float32)
    fill_profiles(sheet, points, numbers, out)
    return out


def bright_envelope(rows: Matrix, groups: Groups) -> Matrix:
    """Return each system's bright power in each group, NaN where too few readings are. [kW]"""
    out = np.empty((len(rows), groups.places.shape[1]), dtype=np.float32)
    count = np.arange(len(groups.places) + 1)
    ranks = count - 1 - (BRIGHT_SHARE * (count - 1) + 0.5).astype(np.int64)
    ranks = np.where(count >= FEWEST, ranks, -1)
    kept = max(int(ranks.max()) + 1, 1)
    _fill_bright(rows, groups.places, groups.scale, ranks, kept, out)
    return out


@kernel
def _fill_bright(rows, places, scale, ranks, kept, out):  # type: ignore[no-untyped-def]
    """Fill the bright power of each system and group."""
    # `places` and `scale` have shape (members, groups), so that all groups are gone through at
    # once; `ranks[n]` says which of the `kept` largest counts among n readings, -1 for none of
    # them; `out` has shape (systems, groups).
    members, groups = places.shape
    largest = np.empty((kept, groups), dtype=np.float32)
    value, count = np.empty(groups, dtype=np.float32), np.empty(groups, dtype=np.int32)
    low = np.float32(-np.inf)
    for s in range(rows.shape[0]):
        row = rows[s]
        count[:] = 0
        largest[:] = low
        for d in range(members):
            for g in range(groups):
                here = row[places[d, g]] * scale[d, g]
                there = here == here
                value[g] = here if there else low
                count[g] += there
            for m in range(largest.shape[0]):
                for g in range(groups):
                    here, before = value[g], largest[m, g]
                    largest[m, g] = max(here, before)
                    value[g] = min(here, before)
        for g in range(groups):
            rank = ranks[count[g]]
            out[s, g] = largest[rank, g] if rank >= 0 else np.float32(np.nan)


def find_starts(envelope: Matrix, groups: Groups) -> tuple[Array, Array]:
    """Return the planes that look most like each system's bright power."""
    there = np.isfinite(envelope)
    value = np.where(there, envelope, np.float32(0.0))
    left, capacity = _compare(value, there.astype(np.float32), groups.profiles)
    best = left.argmin(axis=1)
    expected = np.take_along_axis(capacity, best[:, None], axis=1) * groups.profiles[best]
    far = (value - expected) / (np.float32(FAR) * np.maximum(expected, np.float32(1e-6)))
    weight = there / (np.float32(1.0) + np.minimum(far * far, np.float32(1e4))) ** 2
    left, capacity = _compare(value, weight.astype(np.float32), groups.profiles)
    points, remains = points_of(starting_grid()), np.empty((len(value), STARTS))
    starts = np.empty((len(value), STARTS, PARAMETERS))
    normals, systems = starting_grid().normals, np.arange(len(value))
    near = normals @ normals.T > np.cos(np.radians(APART))
    for place in range(STARTS):
        best = left.argmin(axis=1)
        remains[:, place] = left[systems, best]
        starts[:, place] = points[best]
        starts[:, place, CAPACITY] = np.log(np.maximum(capacity[systems, best], 1e-6))
        left = np.where(near[best], np.float32(np.inf), left)
    return starts, remains


def starts_within(envelope: Matrix, groups: Groups, most: Array) -> NDArray[np.intp]:
    """Return the starting planes that look most like bright powers with no larger a capacity."""
    there = np.isfinite(envelope)
    value = np.where(there, envelope, np.float32(0.0))
    left, capacity = _compare(value, there.astype(np.float32), groups.profiles)
    beyond = capacity > most[:, None]
    # where every plane asks for more, the one that asks for least
    beyond &= capacity > capacity.min(axis=1, keepdims=True)
    return np.asarray(np.where(beyond, np.float32(np.inf), left).argmin(axis=1))


def _compare(value: Matrix, weight: Matrix, profiles: Matrix) -> tuple[Matrix, Matrix]:
    """Return what each plane leaves of the energy's square, and the capacity it does so with."""
    tiny = np.float32(1e-12)
    energy = np.einsum("sg,sg,sg->s", weight, value, value)[:, None] + tiny
    both = times_each_row(weight * value, profiles.T)
    own = times_each_row(weight, (profiles * profiles).T) + tiny
    left = np.float32(1.0) - both * both / (own * energy)
    return left.astype(np.float32), (both / own).astype(np.float32)


def times_each_row(rows: NDArray[Real], table: NDArray[Real]) -> NDArray[Real]:
    """Return a product of matrices in which no row depends on the others, nor on its place."""
    # BLAS adds in another order for other numbers of rows, and on some processors for other places
    # among them, so that a system would come out with other last digits in another block. Each row
    # is multiplied alone.
    return np.asarray(np.matmul(rows[:, None, :], table)[:, 0])
