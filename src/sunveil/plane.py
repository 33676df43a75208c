"""How a system faces: planes, and their normals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import number
from sunveil.checked import checked

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Plane:
    """The orientation of an array: azimuth and tilt.

    Parameters
    ----------
    surface_azimuth
        Clockwise from north; brought into [0, 360). [degrees]
    surface_tilt
        From horizontal, in [0, 90]. [degrees]
    """

    surface_azimuth: float
    surface_tilt: float

    def __post_init__(self) -> None:
        number("surface_azimuth", self.surface_azimuth, unit="of degrees")
        number("surface_tilt", self.surface_tilt, low=0.0, high=90.0, unit="degrees")
        object.__setattr__(self, "surface_azimuth", self.surface_azimuth % 360.0 % 360.0)

    @property
    def normal(self) -> Array:
        """The unit vector out of the plane: east, north, up."""
        both = normals(np.array([self.surface_azimuth]), np.array([self.surface_tilt]))
        return np.asarray(both[0])

    @checked
    def angle_to(self, other: Plane) -> float:
        """Return the angle between two planes. [degrees]"""
        cosine = float(np.clip(self.normal @ other.normal, -1.0, 1.0))
        return math.degrees(math.acos(cosine))


def normals(surface_azimuth: Array, surface_tilt: Array) -> Array:
    """Return the unit normals (east, north, up) of planes, one per row."""
    azimuth, tilt = np.radians(surface_azimuth), np.radians(surface_tilt)
    return np.stack(
        [np.sin(tilt) * np.sin(azimuth), np.sin(tilt) * np.cos(azimuth), np.cos(tilt)], axis=-1
    )
