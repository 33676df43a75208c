"""Grids of planes; weather cells that share one sky."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pvlib
from numpy.typing import NDArray

from sunveil._options import check_fields, checked, number
from sunveil.errors import ParameterError
from sunveil.site import LAPSE, Array, Losses, Plane, Site, normals


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A finite set of planes."""

    surface_azimuth: Array  # one entry per candidate [degrees]
    surface_tilt: Array  # one entry per candidate [degrees]

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.surface_azimuth) != len(self.surface_tilt) or len(self.surface_tilt) == 0:
            raise ParameterError(
                "surface_azimuth and surface_tilt need one value for each candidate, at least one"
                " and as many of both"
            )
        if not (np.isfinite(self.surface_azimuth).all() and np.isfinite(self.surface_tilt).all()):
            raise ParameterError("a grid's azimuths and tilts must be finite numbers of degrees")
        if self.surface_tilt.min() < 0.0 or self.surface_tilt.max() > 90.0:
            raise ParameterError("a grid's tilts must lie between 0 and 90 degrees")

    def __len__(self) -> int:
        return len(self.surface_tilt)

    def __getitem__(self, index: int) -> Plane:
        return Plane(float(self.surface_azimuth[index]), float(self.surface_tilt[index]))

    @property
    def normals(self) -> Array:
        """Unit normals (east, north, up), one candidate per row."""
        return normals(self.surface_azimuth, self.surface_tilt)


@checked
def plane_grid(
    azimuth_step: float = 5.0, tilt_step: float = 5.0, *, highest_tilt: float = 90.0
) -> Grid:
    """Return the product grid of azimuths in [0, 360) and tilts from 0."""
    for name, step, most in (("azimuth_step", azimuth_step, 360), ("tilt_step", tilt_step, 90)):
        if not 0.0 < step <= most:
            raise ParameterError(f"{name} must be above 0 and at most {most}, and {step:g} is not")
    number("highest_tilt", highest_tilt, low=0.0, high=90.0)
    azimuths = np.arange(0.0, 360.0 - 1e-9, azimuth_step)
    tilts = np.arange(0.0, highest_tilt + 1e-9, tilt_step)
    return product_grid(azimuths, tilts)


@checked
def product_grid(azimuths: Array, tilts: Array) -> Grid:
    """Return every pair of the given azimuths and tilts, tilt by tilt. [degrees]"""
    tilt, azimuth = np.meshgrid(tilts, azimuths, indexing="ij")
    return Grid(azimuth.ravel(), tilt.ravel())


# Half of it is 0.2 minutes of the sun's time, far below what any clock is known to. [degrees]
SIZE = 0.1

# Clear skies change by a percent over some such height. [m]
BAND = 250.0

# Solar zenith and Linke turbidity at which clear light at two heights is compared.
_ZENITH, _TURBIDITY = 50.0, 3.0


@dataclass(frozen=True, slots=True)
class Cell:
    """A square on the globe, and a band of altitude where altitudes are known: public."""

    row: int  # latitude and longitude of the centre, in units of ``size``
    column: int  # latitude and longitude of the centre, in units of ``size``
    band: int | None = None  # altitude of the centre in units of 250 m; looked up when None
    size: float = SIZE  # side of the square [degrees]

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def site(self) -> Site:
        """The centre, used for all systems of the cell."""
        latitude = min(max(self.row * self.size, -90.0), 90.0)
        longitude = (self.column * self.size + 180.0) % 360.0 - 180.0
        altitude = None if self.band is None else self.band * BAND
        return Site(round(latitude, 6), round(longitude, 6), altitude)


@checked
def cell_of(
    latitude: float, longitude: float, altitude: float | None = None, *, size: float = SIZE
) -> Cell:
    """Return the cell of a place."""
    if not 0.01 <= size <= 2.0:
        raise ParameterError(f"a weather cell must be 0.01 to 2 degrees wide, and {size:g} is not")
    place = Site(latitude, longitude, 0.0 if altitude is None else altitude)
    return Cell(
        row=math.floor(place.latitude / size + 0.5),
        column=math.floor(place.longitude / size + 0.5) % round(360.0 / size),
        band=None if altitude is None else math.floor(altitude / BAND + 0.5),
        size=size,
    )


class Places(NamedTuple):
    """Locations of systems, one entry each: public."""

    latitude: Array  # [degrees] north and east positive
    longitude: Array  # [degrees] north and east positive
    altitude: Array  # [m] above the sea; NaN if unknown

    @classmethod
    def of(cls, site: Site, count: int) -> Places:
        """Repeat one site for `count` systems."""
        return cls(*(np.full(count, x) for x in (site.latitude, site.longitude, site.height)))

    def take(self, chosen: NDArray[np.intp]) -> Places:
        """Return the places of some systems."""
        return Places(*(each[chosen] for each in self))


def as_placed(points: Array, site: Site, places: Places) -> Array:
    """Return what was fitted under the sky of a site, as it is at places nearby."""
    # What faces a direction of space at both has another azimuth and tilt at each, since up and
    # north differ by what the places are apart; and where the air is thinner and cooler, the same
    # power comes from a smaller capacity.
    tilt = np.radians(np.hypot(points[:, 0], points[:, 1]))
    azimuth = np.arctan2(points[:, 0], points[:, 1])
    sine = np.sin(tilt)
    normal = np.stack([sine * np.sin(azimuth), sine * np.cos(azimuth), np.cos(tilt)], axis=1)
    space = normal @ _east_north_up(np.array([site.latitude]), np.array([site.longitude]))[0]
    own = _east_north_up(places.latitude, places.longitude)
    east, north, up = np.einsum("sij,sj->is", own, space)
    out = points.copy()
    flat = np.hypot(east, north)
    new_tilt = np.minimum(np.degrees(np.arctan2(flat, up)), 90.0)
    out[:, 0], out[:, 1] = (new_tilt * part / np.maximum(flat, 1e-12) for part in (east, north))
    height = np.where(np.isnan(places.altitude), site.height, places.altitude)
    out[:, 2] -= np.log(_clear_light(height) / _clear_light(np.array([site.height])))
    out[:, 2] += Losses().gamma_pdc * LAPSE * (height - site.height) / 1000.0
    return out


def _clear_light(altitude: Array) -> Array:
    """Return clear global light at heights above the sea, the sun halfway up. [W/m²]"""
    pressure = pvlib.atmosphere.alt2pres(altitude)
    airmass = pvlib.atmosphere.get_absolute_airmass(
        pvlib.atmosphere.get_relative_airmass(_ZENITH), pressure
    )
    light = pvlib.clearsky.ineichen(_ZENITH, airmass, _TURBIDITY, altitude=altitude)
    return np.asarray(light["ghi"], dtype=np.float64)


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
