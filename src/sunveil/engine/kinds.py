"""What kind of system each of a block is: one plane, two planes, a tracker, or none that is known.

Who may not be one plane, by the mixture (:mod:`sunveil.engine.mixture`) or by a likeness to
trackers, is fitted as two planes (:mod:`sunveil.engine.pair_block`). Who looks like a tracker and
is not told as two planes is fitted as one, and is one where it explains more than planes do
(:mod:`sunveil.engine.tracker_block`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.cell import Places, as_placed
from sunveil.engine.assumed import SystematicErrors
from sunveil.engine.final import FinalFit
from sunveil.engine.model import CAPACITY, EAST, NORTH
from sunveil.engine.pair_block import fit_pairs
from sunveil.engine.pair_fit import FIRST, SECOND, planes_of
from sunveil.engine.pair_intervals import (
    covariance_of_both,
    pair_covariance,
    plane_estimates,
    plane_intervals,
    plane_of_both,
)
from sunveil.engine.tracker_block import find_trackers
from sunveil.engine.tracker_outcomes import FoundTracker
from sunveil.engine.tracker_search import tracker_likeness
from sunveil.site import Array


class Kinds(NamedTuple):
    """What kind of system each of a block is, one entry each but for trackers: private.

    Parameters
    ----------
    two
        Whether it stands on two planes that are known.
    unexplained
        Whether it is more than one plane, and nothing tells which.
    unresolved
        Whether it may be one plane or two, and nothing tells which of these.
    planes
        A tuple of two :class:`~sunveil.planes.PlaneEstimate` for each pair, none of the others.
    covariance
        Of the points of pairs, shape (systems, PARAMETERS, PARAMETERS); zero of the others.
    radius
        The larger of the radii that hold the planes of a pair; zero of the others. [degrees]
    trackers
        Those that follow the sun, by system.
    """

    two: NDArray[np.bool_]
    unexplained: NDArray[np.bool_]
    unresolved: NDArray[np.bool_]
    planes: NDArray[Any]
    covariance: Array
    radius: Array
    trackers: dict[int, FoundTracker]


def tell_kinds(fit: FinalFit, errors: SystematicErrors, places: Places | None) -> Kinds:
    """Tell what the systems of a block are, and move the points and models of pairs.

    The point of a pair is then the one plane that stands for both, with the capacity of both, and
    its model is that of both, so that what is asked of a fit next is asked of the pair. A pair is
    fitted to the whole of its record at once, whatever its years say.

    Parameters
    ----------
    fit
        The fits of one plane; moved in place where a system stands on two.
    errors
        What no fit can see.
    places
        Where the systems stand, when that is not the sky's own place.
    """
    suspects, beyond_doubt = fit.suspects()
    likeness = tracker_likeness(fit.searched, fit.points, fit.prepared)
    pairs = fit_pairs(fit, np.union1d(suspects, likeness.suspects()))
    trackers = find_trackers(fit, pairs, likeness, errors)
    out = _one_plane(fit)._replace(trackers=trackers)
    out.unexplained[suspects[beyond_doubt]] = True
    out.unexplained[pairs.systems[pairs.sure]] = True
    out.two[pairs.systems[pairs.told]] = True
    out.unexplained[out.two] = False
    out.unresolved[np.intersect1d(pairs.systems[pairs.unresolved], suspects[~beyond_doubt])] = True
    for each in (out.unexplained, out.unresolved):
        each[[*trackers]] = False
    for place in np.flatnonzero(pairs.told).tolist():
        s, pair = pairs.systems[place], pairs.pairs[place]
        covariance = pair_covariance(fit, pairs, place, errors)
        placed = pair if places is None else _placed(pair, fit, places.take(s[None]))
        out.planes[s] = plane_estimates(placed, covariance)
        out.covariance[s] = covariance_of_both(pair, covariance)
        out.radius[s] = plane_intervals(pair, covariance).plane_error_degrees.max()
        fit.points[s], fit.model[s] = plane_of_both(pair), pairs.model[place]
        fit.skyline[s] = pairs.skyline[place]
    return out


def _one_plane(fit: FinalFit) -> Kinds:
    """Return every system as one plane."""
    size, parameters = fit.points.shape
    planes = np.empty(size, dtype=object)
    planes[:] = [()] * size
    two, unexplained, unresolved = np.zeros((3, size), dtype=bool)
    covariance = np.zeros((size, parameters, parameters))
    return Kinds(two, unexplained, unresolved, planes, covariance, np.zeros(size), {})


def _placed(pair: Array, fit: FinalFit, place: Places) -> Array:
    """Return a pair as it is where its system stands."""
    both = place.take(np.zeros(2, dtype=np.intp))
    planes = as_placed(planes_of(pair), fit.prepared.sky.site, both)
    out = pair.copy()
    out[FIRST], out[SECOND] = planes[:, [EAST, NORTH, CAPACITY]]
    return out
