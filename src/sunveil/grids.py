"""Grids of planes: the candidates of searches and of releases.

A grid is public: it depends on nothing that a meter said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sunveil.arguments import check_fields, number
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.site import Array, Plane, normals


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A finite set of planes.

    Parameters
    ----------
    surface_azimuth, surface_tilt
        One entry per candidate. [degrees]
    """

    surface_azimuth: Array
    surface_tilt: Array

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.surface_azimuth) != len(self.surface_tilt) or len(self.surface_tilt) == 0:
            raise ParameterError("a grid needs as many azimuths as tilts, and at least one")
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
    """Return the product grid of azimuths in [0, 360) and tilts from 0.

    Parameters
    ----------
    azimuth_step, tilt_step
        Spacing; 1 and 1 with ``highest_tilt=89`` give the paper's 360 x 90. [degrees]
    highest_tilt
        The last tilt. [degrees]
    """
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
