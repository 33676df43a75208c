"""Weather cells: squares of latitude and longitude whose systems share one sky."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sunveil.errors import ParameterError
from sunveil.site import Site

# Half of it is 0.2 minutes of the sun's time, far below what any clock is known to. [degrees]
SIZE = 0.1
# Clear skies change by a percent over some such height. [m]
BAND = 250.0


@dataclass(frozen=True, slots=True)
class Cell:
    """A square on the globe, and a band of altitude where altitudes are known: public.

    Parameters
    ----------
    row, column
        Latitude and longitude of the centre, in units of ``size``.
    band
        Altitude of the centre in units of 250 m; looked up when None.
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
        altitude = None if self.band is None else self.band * BAND
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
        band=None if altitude is None else math.floor(altitude / BAND + 0.5),
        size=size,
    )
