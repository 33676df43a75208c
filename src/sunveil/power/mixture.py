"""A fleet as a mixture: capacities on planes, by group, in draws that agree with a publication."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.power.posterior import CellDraws
from sunveil.power.priors import WITHIN_SYSTEMS, CellPrior
from sunveil.site import Array

Weights = NDArray[np.float32]

# Relative spread of the capacities of homes: so much fewer systems than there are count.
SIZE_SPREAD = 0.5
# A table of more planes than this is laid onto a grid of planes.
MOST_PLANES = 2000
# Its steps. [degrees]
GRID_STEP = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class FleetMixture:
    """Capacities on planes, by draw and group.

    Parameters
    ----------
    key
        Public column that divides the fleet; None where it is one group.
    groups
        Names of the groups.
    systems
        How many systems each has.
    surface_azimuth, surface_tilt
        The planes. [degrees]
    weights
        Capacity by draw, group and plane. [kW]
    about
        How it was made, in sentences.
    """

    key: str | None
    groups: tuple[str, ...]
    systems: Array
    surface_azimuth: Array
    surface_tilt: Array
    weights: Weights
    about: tuple[str, ...] = ()

    @property
    def draws(self) -> int:
        """How many draws there are."""
        return len(self.weights)

    def together(self) -> FleetMixture:
        """Return the whole fleet as one group, ``all``."""
        return FleetMixture(
            key=None,
            groups=("all",),
            systems=np.array([self.systems.sum()]),
            surface_azimuth=self.surface_azimuth,
            surface_tilt=self.surface_tilt,
            weights=self.weights.sum(axis=1, keepdims=True),
            about=self.about,
        )


def cell_weights(prior: CellPrior, found: CellDraws, rng: np.random.Generator) -> Weights:
    """Return the capacities of one group on the planes that stand for its cells, by draw.

    Where the planes of a cell's systems stand within it is drawn as well: lists are not sure of it,
    and few systems do not stand as many do.

    Parameters
    ----------
    prior
        The cells, and the planes that stand for each.
    found
        Draws of systems and capacities by cell.
    rng
        Source of randomness.
    """
    systems = found.systems.sum(axis=2) / (1.0 + SIZE_SPREAD**2)
    sure = 1.0 / (1.0 / WITHIN_SYSTEMS + 1.0 / np.maximum(systems, 0.05))
    drawn = rng.standard_gamma(prior.within * sure[:, :, None] + 1e-6)
    total = drawn.sum(axis=2, keepdims=True)
    shares = np.divide(drawn, total, where=total > 0.0, out=np.broadcast_to(
        prior.within, drawn.shape).copy())  # fmt: skip
    weights = found.capacity_kw[:, :, None] * shares
    return np.asarray(weights.reshape(len(weights), -1), dtype=np.float32)


def lay_planes(
    azimuth: Array, tilt: Array, capacity: Array, place: NDArray[np.int64], groups: int
) -> tuple[Array, Array, Array]:
    """Return planes, and the capacity of every group on each.

    Up to a few thousand planes are taken as they are. More are shared out among the four nearest
    planes of a grid, which moves the power of none by more than 0.2% of its capacity.

    Parameters
    ----------
    azimuth, tilt
        Of every system's plane. [degrees]
    capacity
        On it. [kW]
    place
        The group that it is in.
    groups
        How many groups there are.
    """
    if len(azimuth) <= MOST_PLANES:
        weights = np.zeros((groups, len(azimuth)))
        weights[place, np.arange(len(azimuth))] = capacity
        return azimuth, tilt, weights
    across, up = round(360.0 / GRID_STEP), round(90.0 / GRID_STEP) + 1
    left, right = np.divmod(np.mod(azimuth, 360.0) / GRID_STEP, 1.0)
    lower, upper = np.divmod(np.clip(tilt, 0.0, 90.0) / GRID_STEP, 1.0)
    weights = np.zeros((groups, across, up))
    for step, share in ((0, 1.0 - right), (1, right)):
        for rise, part in ((0, 1.0 - upper), (1, upper)):
            at = (
                place,
                (left.astype(np.int64) + step) % across,
                np.minimum(lower.astype(np.int64) + rise, up - 1),
            )
            np.add.at(weights, at, capacity * share * part)
    azimuths, tilts = np.meshgrid(
        GRID_STEP * np.arange(across), GRID_STEP * np.arange(up), indexing="ij"
    )
    return azimuths.ravel(), tilts.ravel(), weights.reshape(groups, -1)


def named_groups(names: list[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the distinct names in order, and the place of each given one."""
    if not names:
        raise ParameterError("the table has no rows, and no power can be made of it")
    distinct = tuple(sorted(set(names)))
    index = {name: place for place, name in enumerate(distinct)}
    return distinct, np.array([index[name] for name in names], dtype=np.int64)
