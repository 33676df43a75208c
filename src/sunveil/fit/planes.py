"""One fixed plane, or something else: two planes, a tracker.

A free mixture of fixed planes is fitted to the readings by non-negative least squares, with the
same robust weights as the single plane. Where the truth is one plane, the mixture explains
hardly more energy; where it is an east-west roof or a tracker, it explains visibly more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sunveil.atlas import Grid
from sunveil.fit.daylight import Daylight
from sunveil.fit.refine import Point, bright_power
from sunveil.fit.shared import CLEAR_GAIN, NEAR_DEGREES, ErrorModel
from sunveil.fit.shared import MIXTURE_FEWEST as FEWEST
from sunveil.fit.shared import MIXTURE_QUANTILE as BRIGHT_QUANTILE
from sunveil.fit.shared import MIXTURE_SCALE as SCALE
from sunveil.site import Array, Losses
from sunveil.sky import unit_power

WINDOW_DAYS = 10
MOST_READINGS = 1600
ITERATIONS = 4
# It is not one plane when a mixture explains this much more energy ...
LEAST_GAIN = 0.012
# ... while leaving the plane itself less than this share of the capacity.
LARGEST_OWN_SHARE = 0.72


@dataclass(frozen=True, slots=True)
class PlaneTest:
    """How one plane compares with a mixture of planes.

    Parameters
    ----------
    plane, mixture
        Share of the measured energy that each explains within narrow errors.
    own_share
        Share of the mixture's capacity that stands within 8° of the plane.
    """

    plane: float
    mixture: float
    own_share: float

    @property
    def gain(self) -> float:
        """How much more energy the mixture explains, as a fraction."""
        return self.mixture / max(self.plane, 1e-9) - 1.0

    @property
    def one_plane(self) -> bool:
        """True unless a mixture that is really another is visibly better."""
        another = self.gain >= LEAST_GAIN and self.own_share < LARGEST_OWN_SHARE
        return not (another or self.gain >= CLEAR_GAIN)


def envelope(data: Daylight) -> Daylight:
    """Return, of every ten days and time of day, a reading that is among the brightest."""
    light = data.power / np.maximum(data.middle.ghi, 20.0)
    group = (data.day - data.day.min()) // WINDOW_DAYS * 10_000 + data.slot
    order = np.lexsort((light, group))
    _, first, count = np.unique(group[order], return_index=True, return_counts=True)
    enough = count >= FEWEST
    pick = first[enough] + np.round(BRIGHT_QUANTILE * (count[enough] - 1)).astype(np.intp)
    return data.take(np.sort(order[pick]))


def mixture_grid() -> Grid:
    """Return the fixed planes that a mixture may hold, 30° apart."""
    azimuth, tilt = [np.array([0.0])], [np.array([0.0])]
    for one in (12.0, 25.0, 40.0, 60.0, 85.0):
        azimuth.append(np.arange(12) * 30.0)
        tilt.append(np.full(12, one))
    return Grid(np.concatenate(azimuth), np.concatenate(tilt))


def compare_planes(
    data: Daylight, point: Point, *, losses: Losses, albedo: float, errors: ErrorModel
) -> PlaneTest:
    """Compare one plane with a free mixture of planes.

    Parameters
    ----------
    data
        The readings and the sky they saw.
    point
        The fitted plane.
    losses, albedo, errors
        As the fit had them.
    """
    bright = bright_power(data.power)
    below = data.take(data.power < 0.97 * point.limit)
    first = envelope(below)
    few = below.take(np.arange(0, len(below), max(1, len(below) // MOST_READINGS)))
    candidates = np.concatenate([point.plane.normal.reshape(1, 3), mixture_grid().normals])

    def profiles(part: Daylight) -> Array:
        total = np.zeros((len(candidates), len(part)))
        for node, weight in zip(part.nodes, part.weights, strict=True):
            sky = node.hazier(point.haze)
            total += weight * unit_power(
                sky, candidates, losses=losses, albedo=albedo, heat=point.heat
            )
        return total.T

    cloud = errors.cloud * np.maximum(1.0 - few.middle.clearness, 0.0)
    relative = np.hypot(errors.relative, cloud)

    def deviations(modelled: Array) -> tuple[Array, Array]:
        scale = SCALE * np.hypot(relative * modelled, errors.absolute * bright)
        residual = (few.power - modelled) / scale
        return np.exp(-0.5 * (residual / errors.reach) ** 2), scale

    def explained(modelled: Array) -> float:
        return float(deviations(modelled)[0] @ few.power / few.power.sum())

    seen = profiles(few)
    alone = seen[:, 0] * point.capacity
    for _ in range(ITERATIONS):
        weight, scale = deviations(alone)
        weight *= seen[:, 0] / scale**2
        alone = seen[:, 0] * float(weight @ few.power / (weight @ seen[:, 0]))
    from scipy.optimize import nnls

    # from the envelope, which knows nothing of the plane, and from the plane itself
    best, shares = -1.0, np.zeros(len(candidates))
    for mixed in (seen @ nnls(profiles(first), first.power)[0], alone):
        for _ in range(ITERATIONS):
            weight, scale = deviations(mixed)
            root = np.sqrt(weight) / scale
            found, _ = nnls(seen * root[:, None], few.power * root)
            mixed = seen @ found
        if explained(mixed) > best:
            best, shares = explained(mixed), found
    plane = explained(alone)
    near = candidates @ candidates[0] > np.cos(np.radians(NEAR_DEGREES))
    return PlaneTest(
        plane=plane,
        mixture=max(plane, best),
        own_share=float(shares[near].sum() / max(shares.sum(), 1e-9)),
    )
