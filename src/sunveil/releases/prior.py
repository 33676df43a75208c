"""What is known of planes before any reading: a public prior, added to scores in whole levels.

Where ε is small, most of a draw's error comes from the thousands of candidates that nothing speaks
for. Roofs and racks are not built at random: the prior makes planes that few are built at a few
nats less likely, and none impossible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.grids import Grid
from sunveil.releases.mounts import MountChoices, Mounts
from sunveil.site import Array

STEEPEST = 90.0
# Nearer the equator than this the sun stands on both sides of the zenith. [degrees]
TROPIC = 23.4


@dataclass(frozen=True, slots=True)
class PlanePrior:
    """How likely planes are, from public lists of systems.

    A share of planes lies anywhere. The others have azimuths about the equator's side by a von
    Mises law, and tilts by a normal law. Fitted to the 1,298 fixed systems with azimuth and tilt of
    OEDI's PVDAQ list (US) and to Open Climate Fix's list of 1,274 systems (UK), each counted as
    much as the other, and rounded to the wider side: the fit is 2.3 for the concentration, 27° and
    15° for the tilt. At any latitude no plane is more than 4.1 nats less likely than another.

    Parameters
    ----------
    concentration
        Of azimuths about the equator's side; it fades within the tropics, and 0 is none.
    tilt, spread
        The middle of tilts, and their standard deviation. [degrees]
    anywhere
        The share of planes that lie anywhere.

    Privacy
    -------
    Public. Never take it from the readings, nor from what was inferred of them.
    """

    concentration: float = 2.0
    tilt: float = 30.0
    spread: float = 20.0
    anywhere: float = 0.1

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0.0 <= self.concentration <= 20.0:
            raise ParameterError("the concentration of azimuths is from 0 to 20")
        if not (0.0 <= self.tilt <= STEEPEST and 1.0 <= self.spread <= 1e6):
            raise ParameterError(
                "tilts have a middle from 0 to 90 degrees and a spread of 1 or more"
            )
        if not 0.001 <= self.anywhere <= 1.0:
            raise ParameterError("the share of planes that lie anywhere is from 0.001 to 1")

    @checked
    def density(self, grid: Grid, latitude: float) -> Array:
        """Return how likely planes are beside one that lies anywhere, by azimuth and tilt.

        A flat plane has no azimuth.
        """
        strength = self.concentration * min(abs(latitude) / TROPIC, 1.0)
        side = 180.0 if latitude >= 0.0 else 0.0
        turned = np.cos(np.radians(grid.surface_azimuth - side))
        facing = np.exp(strength * turned) / np.i0(strength)
        facing[grid.surface_tilt == 0.0] = 1.0
        tilts = np.linspace(0.0, STEEPEST, 901)
        usual = self._bell(grid.surface_tilt) / self._bell(tilts).mean()
        return np.asarray((1.0 - self.anywhere) * facing * usual + self.anywhere)

    def to_dict(self) -> dict[str, float]:
        """Return the prior as plain JSON types."""
        return {
            "concentration": self.concentration,
            "tilt_degrees": self.tilt,
            "spread_degrees": self.spread,
            "anywhere": self.anywhere,
        }

    def _bell(self, tilts: Array) -> Array:
        return np.asarray(np.exp(-0.5 * ((tilts - self.tilt) / self.spread) ** 2))


def mount_offsets(
    prior: PlanePrior,
    mounts: Mounts,
    choices: MountChoices | None,
    latitude: float,
    *,
    levels_per_nat: float,
) -> NDArray[np.int64]:
    """Return what is added to the levels of every mount's candidates.

    Single planes, pairs and trackers share what is likely by the choices' shares. A pair is as
    likely as its planes are in the mean; trackers are all alike.

    Parameters
    ----------
    prior
        Of single planes.
    mounts, choices
        The mounts, and the choices that they come from; None where they are single planes alone.
    latitude
        Of the place. [degrees north]
    levels_per_nat
        How many levels a mechanism takes for one nat: twice the sensitivity over ε.

    Privacy
    -------
    Public: no reading is looked at, so that it is the same for neighbours. Proof:
    ``docs/proofs/mounts.md``.
    """
    weights = prior.density(mounts.singles, latitude) * _cells(mounts.singles)
    if choices is not None and mounts.pairs is not None and mounts.trackers is not None:
        pairs, count = mounts.pairs, len(mounts.trackers)
        one, other = (
            prior.density(Grid(azimuth, pairs.tilt), latitude)
            for azimuth in (pairs.first, pairs.second)
        )
        both = (pairs.share * one + (1.0 - pairs.share) * other) * _cells(
            Grid(pairs.first, pairs.tilt)
        )
        left = 1.0 - choices.pairs - choices.trackers
        weights = np.concatenate(
            [
                left * weights / weights.sum(),
                choices.pairs * both / both.sum(),
                np.full(count, choices.trackers / count),
            ]
        )
    logs = np.log(weights)
    return np.asarray(np.rint(levels_per_nat * (logs - logs.max())), dtype=np.int64)


def _cells(grid: Grid) -> Array:
    """Return how much of all azimuths and tilts each plane stands for, beside the others.

    Rings of nearly flat planes have fewer azimuths, and the flat plane stands for all of them.
    """
    tilts, ring, count = np.unique(grid.surface_tilt, return_inverse=True, return_counts=True)
    widths = np.gradient(tilts) if len(tilts) > 1 else np.ones(1)
    widths[tilts == 0.0] /= 2.0
    return np.asarray((widths / count)[ring])
