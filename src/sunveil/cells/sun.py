"""The sun for every cell from one computation.

Where the sun stands in the sky of a place is where it stands above the turning globe, seen from
there: the first part is the same for all cells and is computed once, the second is a rotation.
"""

from __future__ import annotations

import functools

import numpy as np
import pvlib
from numpy.typing import NDArray

from sunveil.site import Array, Site
from sunveil.sky import sun_vectors
from sunveil.weather.base import utc_index

# Of the air, as pvlib's solar position assumes. [°C]
_TEMPERATURE = 12.0


@functools.lru_cache(maxsize=8)
def _above_globe(first: int, step: int, count: int) -> Array:
    """Return unit vectors to the sun in the globe's own axes: to (0, 0), to (0, 90 E), north."""
    seconds = (first + step * np.arange(count, dtype=np.int64)).view("M8[s]")
    position = pvlib.solarposition.get_solarposition(utc_index(seconds), 0.0, 0.0, altitude=0.0)
    east, north, up = sun_vectors(
        position["zenith"].to_numpy(np.float64), position["azimuth"].to_numpy(np.float64)
    ).T
    return np.stack([up, east, north])


def sun_of(site: Site, first: int, *, step: int, count: int) -> Array:
    """Return unit vectors (east, north, up) to the sun as it appears through the air.

    Parameters
    ----------
    site
        Where.
    first, step, count
        The instants, evenly spaced. [s since 1970 UTC, s, 1]
    """
    latitude, longitude = np.radians(site.latitude), np.radians(site.longitude)
    turn = np.array(
        [
            [-np.sin(longitude), np.cos(longitude), 0.0],
            [
                -np.sin(latitude) * np.cos(longitude),
                -np.sin(latitude) * np.sin(longitude),
                np.cos(latitude),
            ],
            [
                np.cos(latitude) * np.cos(longitude),
                np.cos(latitude) * np.sin(longitude),
                np.sin(latitude),
            ],
        ]
    )
    return _refracted(turn @ _above_globe(first, step, count), site.height)


def _refracted(vectors: NDArray[np.float64], height: float) -> Array:
    """Lift the sun by the bending of its light, as pvlib's solar position does."""
    true = np.degrees(np.arcsin(np.clip(vectors[2], -1.0, 1.0)))
    pressure = float(pvlib.atmosphere.alt2pres(height)) / 101000.0
    # below the horizon the formula means nothing, and nothing is lit
    held = np.maximum(true, -0.8)
    lift = pressure * 283.0 / (273.0 + _TEMPERATURE) * 1.02
    lift = lift / (60.0 * np.tan(np.radians(held + 10.3 / (held + 5.11))))
    apparent = np.radians(np.where(true > -0.8333, true + lift, true))
    flat = np.cos(apparent) / np.maximum(np.cos(np.radians(true)), 1e-9)
    return np.stack([vectors[0] * flat, vectors[1] * flat, np.sin(apparent)])
