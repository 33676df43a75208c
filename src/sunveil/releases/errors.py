"""Exact distributions of a release's errors against a known plane and capacity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sunveil.atlas import Grid
from sunveil.releases.answer import Spread
from sunveil.releases.frame import Frame
from sunveil.site import Array, Plane


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """How far every candidate is from the truth, and how likely it is to be released.

    Parameters
    ----------
    azimuth, tilt
        Of each plane. [degrees]
    capacity
        Of each capacity. [%]
    planes, capacities
        Probability of each plane and of each capacity.
    """

    azimuth: Array
    tilt: Array
    capacity: Array
    planes: Array
    capacities: Array

    def means(self) -> tuple[float, float, float]:
        """Return the expected errors of azimuth, tilt [degrees] and capacity [%]."""
        return (
            float(self.planes @ self.azimuth),
            float(self.planes @ self.tilt),
            float(self.capacities @ self.capacity),
        )


def distances(frame: Frame, probabilities: Array, truth: Plane, capacity_kw: float) -> Distances:
    """Return the distances and probabilities of a frame's candidates."""
    table = probabilities.reshape(frame.shape).sum(axis=0)
    return Distances(
        *plane_errors(frame.grid, truth),
        capacity_errors(frame.choices.capacities.values, capacity_kw),
        table.sum(axis=1),
        table.sum(axis=0),
    )


def plane_errors(grid: Grid, truth: Plane) -> tuple[Array, Array]:
    """Return the errors of azimuth, the short way round, and of tilt. [degrees]"""
    around = np.abs((grid.surface_azimuth - truth.surface_azimuth + 180.0) % 360.0 - 180.0)
    return around, np.abs(grid.surface_tilt - truth.surface_tilt)


def capacity_errors(capacities: Array, truth_kw: float) -> Array:
    """Return the relative errors of capacities. [%]"""
    return np.asarray(100.0 * np.abs(capacities / truth_kw - 1.0))


def spread(errors: Array, probabilities: Array) -> Spread:
    """Return the mean and the ninth decile of errors with given probabilities."""
    order = np.argsort(errors)
    total = np.cumsum(probabilities[order])
    within = errors[order][min(int(np.searchsorted(total, 0.9 * total[-1])), len(errors) - 1)]
    return Spread(float(probabilities @ errors / total[-1]), float(within))
