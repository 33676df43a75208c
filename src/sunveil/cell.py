"""Weather cells: small squares of latitude and longitude whose systems share one sky.

The sky of one system is that of its cell too, so that its answer is the same alone and in a fleet,
and depends on no other system.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sunveil.errors import ParameterError
from sunveil.site import Array, Site

# A kilometre to the cell's edge: a quarter of what the maps of haze tell apart. [degrees]
SIZE = 0.02
# Where weather has to be asked for, or a release's frame takes a second to make. [degrees]
WIDE = 0.1
# Height of a band of altitude for each degree of a cell's side: 50 m where it is the smallest, half
# of which is 0.15% of a clear sky's light. [m/degree]
BAND_PER_DEGREE = 2500.0


@dataclass(frozen=True, slots=True)
class Cell:
    """A square on the globe, and a band of altitude where altitudes are known: public.

    Parameters
    ----------
    row, column
        Latitude and longitude of the centre, in units of ``size``.
    band
        Altitude of the centre in units of ``2500 size`` metres; looked up when None.
    size
        Side of the square. [degrees]
    """

    row: int
    column: int
    band: int | None = None
    size: float = SIZE

    @property
    def site(self) -> Site:
        """The centre, which stands for all systems of the cell."""
        latitude = min(max(self.row * self.size, -90.0), 90.0)
        longitude = (self.column * self.size + 180.0) % 360.0 - 180.0
        height = BAND_PER_DEGREE * self.size
        altitude = None if self.band is None else round(self.band * height, 3)
        return Site(round(latitude, 6), round(longitude, 6), altitude)


def cell_of(
    latitude: float, longitude: float, altitude: float | None = None, *, size: float = SIZE
) -> Cell:
    """Return the cell of a place.

    Parameters
    ----------
    latitude, longitude
        The place. [degrees]
    altitude
        Its height above the sea, where it is known. [m]
    size
        Side of the cells. [degrees]
    """
    if not 0.01 <= size <= 2.0:
        raise ParameterError(f"a weather cell must be 0.01 to 2 degrees wide, and {size:g} is not")
    place = Site(latitude, longitude, 0.0 if altitude is None else altitude)
    return Cell(
        row=math.floor(place.latitude / size + 0.5),
        column=math.floor(place.longitude / size + 0.5) % round(360.0 / size),
        band=None if altitude is None else math.floor(altitude / (BAND_PER_DEGREE * size) + 0.5),
        size=size,
    )


def turned(points: Array, site: Site, latitude: Array, longitude: Array) -> Array:
    """Return planes that were fitted under the sky of a site, as they stand at places nearby.

    What faces a direction of space at both has another azimuth and tilt at each, since up and north
    differ by what the places are apart.

    Parameters
    ----------
    points
        What was fitted, shape (systems, 6); the first two are the plane as
        ``tilt · (sin azimuth, cos azimuth)``.
    site
        Whose sky they were fitted under.
    latitude, longitude
        Where each system stands. [degrees]
    """
    tilt = np.radians(np.hypot(points[:, 0], points[:, 1]))
    azimuth = np.arctan2(points[:, 0], points[:, 1])
    sine = np.sin(tilt)
    normal = np.stack([sine * np.sin(azimuth), sine * np.cos(azimuth), np.cos(tilt)], axis=1)
    space = normal @ _east_north_up(np.array([site.latitude]), np.array([site.longitude]))[0]
    east, north, up = np.einsum("sij,sj->is", _east_north_up(latitude, longitude), space)
    out = points.copy()
    flat = np.hypot(east, north)
    new_tilt = np.minimum(np.degrees(np.arctan2(flat, up)), 90.0)
    out[:, 0], out[:, 1] = (new_tilt * part / np.maximum(flat, 1e-12) for part in (east, north))
    return out


def _east_north_up(latitude: Array, longitude: Array) -> Array:
    """Return the axes of places in the globe's own axes, shape (places, 3, 3)."""
    sine, cosine = np.sin(np.radians(latitude)), np.cos(np.radians(latitude))
    across, along = np.sin(np.radians(longitude)), np.cos(np.radians(longitude))
    zero = np.zeros(len(latitude))
    return np.stack(
        [
            np.stack([-across, along, zero], axis=1),
            np.stack([-sine * along, -sine * across, cosine], axis=1),
            np.stack([cosine * along, cosine * across, sine], axis=1),
        ],
        axis=1,
    )
