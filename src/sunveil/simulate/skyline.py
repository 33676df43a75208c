"""What stands around a system: hills, trees and houses, as a height for each direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.site import Array

SECTORS = 72
SECTOR_DEGREES = 360.0 / SECTORS
OBSTACLES = 6
Skyline = NDArray[np.float32]


def sectors_of(azimuth: Array) -> NDArray[np.int32]:
    """Return the sector of a skyline that each azimuth [degrees] lies in."""
    return np.asarray(np.mod(azimuth, 360.0) // SECTOR_DEGREES, dtype=np.int32) % SECTORS


def box_skyline(middle: Array, width: Array, height: Array) -> Skyline:
    """Return the skylines of one obstacle each, nothing where its height is NaN.

    Parameters
    ----------
    middle, width, height
        Direction, width and height of the obstacles. [degrees]

    Returns
    -------
    numpy.ndarray
        Elevation of the skyline, shape (obstacles, ``SECTORS``). [degrees]
    """
    away = _away(np.nan_to_num(middle))
    inside = away <= np.nan_to_num(width)[..., None] / 2.0
    return np.where(inside, np.nan_to_num(height)[..., None], 0.0).astype(np.float32)


def draw_skylines(rng: np.random.Generator, share: float, n: int) -> Skyline:
    """Return the skylines of systems, flat for those that have none.

    Hills are low and wide, up to 10 degrees. In front of them stand up to six trees or houses, most
    of them below 30 degrees, in any direction. They hide the sun, not the rest of the sky.

    Parameters
    ----------
    rng
        Source of randomness.
    share
        Share of systems that have one.
    n
        How many systems.

    Returns
    -------
    numpy.ndarray
        Elevation of the skyline, shape (n, ``SECTORS``). [degrees]
    """
    has = rng.random(n) < share
    around = np.radians(SECTOR_DEGREES) * (np.arange(SECTORS) + 0.5)
    phases = rng.uniform(0.0, 2.0 * np.pi, (3, n))
    waves = sum(
        np.sin(order * around[None, :] + phase[:, None])
        for order, phase in enumerate(phases, start=1)
    )
    hills = rng.uniform(0.0, 10.0, n)[:, None] * np.maximum(waves, 0.0) / 3.0
    shape = (n, OBSTACLES)
    there = np.arange(OBSTACLES) < rng.integers(0, OBSTACLES + 1, n)[:, None]
    height = np.where(there, np.minimum(20.0 * np.exp(0.5 * rng.standard_normal(shape)), 60.0), 0.0)
    half = rng.uniform(5.0, 35.0, shape)[..., None]
    away = _away(rng.uniform(0.0, 360.0, shape)) / half
    # trees are round, houses are not
    tree = (rng.random(shape) < 0.5)[..., None]
    outline = np.where(tree, np.sqrt(np.maximum(1.0 - away**2, 0.0)), away <= 1.0)
    tops = np.max(height[..., None] * outline, axis=1)
    return np.where(has[:, None], np.maximum(hills, tops), 0.0).astype(np.float32)


def _away(middle: Array) -> Array:
    """Return how far each sector's middle is from directions, as one more axis [degrees]."""
    middles = SECTOR_DEGREES * (np.arange(SECTORS) + 0.5)
    turn = np.mod(middles - np.asarray(middle)[..., None] + 180.0, 360.0) - 180.0
    return np.asarray(np.abs(turn))
