"""Where the sun stands over a place.

Most of a solar position depends on the instant alone: where the Earth is on its orbit, how its axis
nods, how far it has turned. That part is pvlib's, computed every six hours and drawn between; a
place adds its own view of it, and pvlib's refraction. Within 0.003° of pvlib's own positions.
"""

from __future__ import annotations

import functools

import numpy as np
import pvlib
from numpy.typing import NDArray
from pvlib import spa

from sunveil.site import Array, Site

# The sun's declination bends by less than 1e-4° from a straight line in this time. [s]
KNOT = 6 * 3600
# What pvlib.solarposition.get_solarposition takes when nothing is said.
DELTA_T = 67.0
REFRACTION = 0.5667
TEMPERATURE = 12.0


@functools.lru_cache(maxsize=8)
def _above_globe(first: int, last: int) -> tuple[Array, Array, Array]:
    """Return knots of time [s], and the sun's hour angle at Greenwich and declination [rad]."""
    knots = np.arange(first, last + 1, dtype=np.float64) * KNOT
    sidereal, ascension, declination = spa.solar_position_numpy(
        knots, 0.0, 0.0, 0.0, 0.0, TEMPERATURE, DELTA_T, REFRACTION, 1, sst=True
    )
    # four knots a day lie a quarter of a turn apart, so that turns can be counted
    hour = np.unwrap(np.radians(sidereal - ascension))
    return knots, hour, np.radians(declination)


def sun_vectors_over(site: Site, seconds: NDArray[np.int64]) -> Array:
    """Return unit vectors (east, north, up) to the sun as it appears through the air.

    Parameters
    ----------
    site
        Where.
    seconds
        The instants. [s since 1970, UTC]
    """
    first, last = int(seconds.min()) // KNOT, int(seconds.max()) // KNOT + 1
    knots, hours, declinations = _above_globe(first, last)
    hour = np.interp(seconds, knots, hours) + np.radians(site.longitude)
    declination = np.interp(seconds, knots, declinations)
    latitude = np.radians(site.latitude)
    out, along = np.cos(declination), np.sin(declination)
    toward = out * np.cos(hour)
    up = along * np.sin(latitude) + toward * np.cos(latitude)
    true = np.degrees(np.arcsin(np.clip(up, -1.0, 1.0)))
    pressure = pvlib.atmosphere.alt2pres(site.height) / 100.0
    lift = spa.atmospheric_refraction_correction(pressure, TEMPERATURE, true, REFRACTION)
    seen = np.radians(true + lift)
    # air lifts the sun and leaves its azimuth
    flat = np.cos(seen) / np.maximum(np.cos(np.radians(true)), 1e-9)
    east = -out * np.sin(hour)
    north = along * np.cos(latitude) - toward * np.sin(latitude)
    return np.stack([east * flat, north * flat, np.sin(seen)], axis=-1)
