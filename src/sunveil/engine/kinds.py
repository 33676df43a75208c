"""What kind of system each of a block is: one plane, two planes, or more than can be told."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.cell import Places, as_placed
from sunveil.engine.assumed import SystematicErrors
from sunveil.engine.final import FinalFit
from sunveil.engine.model import CAPACITY, EAST, NORTH
from sunveil.engine.pair_block import PairFits, fit_pairs
from sunveil.engine.pair_fit import FIRST, PAIR_PARAMETERS, SECOND, planes_of
from sunveil.engine.pair_intervals import (
    covariance_of_both,
    pair_covariance,
    plane_estimates,
    plane_of_both,
)
from sunveil.engine.several import NOTHING, Explanation, settle
from sunveil.site import Array

# The explanations, in the order in which they are handed to :func:`settle`.
PAIR = 0


class Kinds(NamedTuple):
    """What kind of system each of a block is, one entry each: private.

    Parameters
    ----------
    chosen
        The place of its explanation, ``several.NOTHING`` where one plane stays.
    unexplained
        Whether it is more than one plane, and nothing tells which.
    planes
        A tuple of two :class:`~sunveil.planes.PlaneEstimate` for each pair, none of the others.
    covariance
        Of the points of those that are explained, shape (systems, PARAMETERS, PARAMETERS).
    """

    chosen: NDArray[np.int8]
    unexplained: NDArray[np.bool_]
    planes: NDArray[Any]
    covariance: Array


def tell_kinds(fit: FinalFit, errors: SystematicErrors, places: Places | None) -> Kinds:
    """Settle what the systems of a block are, and move the points and models of what is told.

    A pair is fitted to the whole of its record at once, whatever its years say.

    Parameters
    ----------
    fit
        The fits of one plane; moved in place where a system is something else.
    errors
        What no fit can see.
    places
        Where the systems stand, when that is not the sky's own place.
    """
    suspects, beyond_doubt = fit.suspects()
    pairs = fit_pairs(fit, suspects)
    uncertain = np.empty((len(pairs.systems), PAIR_PARAMETERS, PAIR_PARAMETERS))
    for place in np.flatnonzero(pairs.told).tolist():
        uncertain[place] = pair_covariance(fit, pairs, place, errors)
    explanations = (_as_explanation(pairs, uncertain, fit),)
    chosen = settle(fit, explanations)
    unexplained = np.zeros(len(chosen), dtype=bool)
    unexplained[suspects[beyond_doubt]] = unexplained[pairs.systems[pairs.sure]] = True
    unexplained &= chosen == NOTHING
    out = Kinds(chosen, unexplained, *_nothing(fit))
    for place in np.flatnonzero(chosen[pairs.systems] == PAIR).tolist():
        s = pairs.systems[place]
        fit.skyline[s] = pairs.skyline[place]
        placed = _placed(pairs.pairs[place], fit, None if places is None else places.take(s[None]))
        out.planes[s] = plane_estimates(placed, uncertain[place])
    for each, explanation in enumerate(explanations):
        won = chosen[explanation.systems] == each
        out.covariance[explanation.systems[won]] = explanation.covariance[won]
    return out


def _nothing(fit: FinalFit) -> tuple[NDArray[Any], Array]:
    planes = np.empty(len(fit.points), dtype=object)
    planes[:] = [()] * len(planes)
    return planes, np.zeros((*fit.points.shape, fit.points.shape[1]))


def _as_explanation(pairs: PairFits, uncertain: Array, fit: FinalFit) -> Explanation:
    """Return the pairs as an explanation of the suspects."""
    points = fit.points[pairs.systems]
    covariance = np.zeros((*points.shape, points.shape[1]))
    for place in np.flatnonzero(pairs.told).tolist():
        points[place] = plane_of_both(pairs.pairs[place])
        covariance[place] = covariance_of_both(pairs.pairs[place], uncertain[place])
    return Explanation(pairs.systems, pairs.told, points, pairs.model, covariance)


def _placed(pair: Array, fit: FinalFit, place: Places | None) -> Array:
    """Return a pair as it is where its system stands."""
    if place is None:
        return pair
    both = place.take(np.zeros(2, dtype=np.intp))
    planes = as_placed(planes_of(pair), fit.prepared.sky.site, both)
    out = pair.copy()
    out[FIRST], out[SECOND] = planes[0][[EAST, NORTH, CAPACITY]], planes[1][[EAST, NORTH, CAPACITY]]
    return out
