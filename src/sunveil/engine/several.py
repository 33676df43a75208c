"""What is not one plane: two planes or a tracker, whichever explains the clear readings best.

Each kind of system is fitted to the suspects by itself and comes back as an :class:`Explanation`.
All are judged by the same measure over the same readings, the robust likelihood of the single
plane's own fit; of those that their kind can tell, the likeliest wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.assumed import ERRORS
from sunveil.engine.final import FinalFit
from sunveil.engine.model import CLOUD
from sunveil.site import Array

Matrix = NDArray[np.float32]

# No explanation: the number of what nothing tells.
NOTHING = -1


class Explanation(NamedTuple):
    """What one kind of system makes of the suspects of a block, one entry each: private.

    Parameters
    ----------
    systems
        Which systems of the block were tried.
    told
        Which of them this kind can tell: it is sure by its own test, better than one plane.
    points
        The one plane that stands for each, its whole capacity, haze, heat and limit, shape
        (tried, PARAMETERS).
    model
        Power at all usable intervals, limits applied, shape (tried, padded). [kW]
    covariance
        Of the points, with all that is uncertain in it, shape (tried, PARAMETERS, PARAMETERS).
    """

    systems: NDArray[np.intp]
    told: NDArray[np.bool_]
    points: Array
    model: Matrix
    covariance: Array


def log_likelihoods(fit: FinalFit, systems: NDArray[np.intp], model: Matrix, say: Matrix) -> Array:
    """Return the robust log likelihood of the clear readings of some systems under a model.

    Parameters
    ----------
    fit
        The fits of a block.
    systems
        Which of its systems.
    model
        Power of each at all usable intervals, shape (systems, padded). [kW]
    say
        How much each reading counts, the same shape.
    """
    numbers, readings = fit.prepared.numbers, fit.searched.readings
    hidden = fit.prepared.sky.sheet[:, CLOUD].reshape(-1)
    spread = np.float32(numbers.relative**2) + np.float32(numbers.cloud**2) * hidden * hidden
    dim = (numbers.absolute * readings.bright[systems]).astype(np.float32)[:, None]
    far = (readings.power[systems] - model) ** 2 / (spread * model * model + dim * dim)
    kept = np.exp(np.float32(-0.5 / numbers.reach**2) * far) - np.float32(1.0)
    lost = (kept * say).sum(axis=1, dtype=np.float64)
    return np.asarray(numbers.reach**2 * lost / ERRORS.correlated)


def settle(fit: FinalFit, explanations: Sequence[Explanation]) -> NDArray[np.int8]:
    """Return the place of the explanation that each system gets, ``NOTHING`` where none is told.

    The points and models of what is explained are moved to the explanation's own.

    Parameters
    ----------
    fit
        The fits of a block; moved in place.
    explanations
        What each kind of system makes of the suspects.
    """
    chosen = np.full(len(fit.points), NOTHING, dtype=np.int8)
    best = np.full(len(fit.points), -np.inf)
    for place, each in enumerate(explanations):
        worth = log_likelihoods(fit, each.systems, each.model, fit.days.weights[each.systems])
        better = each.told & (worth > best[each.systems])
        chosen[each.systems[better]], best[each.systems[better]] = place, worth[better]
    for place, each in enumerate(explanations):
        won = chosen[each.systems] == place
        fit.points[each.systems[won]] = each.points[won]
        fit.model[each.systems[won]] = each.model[won]
    return chosen
