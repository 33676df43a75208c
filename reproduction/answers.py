"""How far the answers of DP-BO lie from the maximiser, exactly, from their probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from reproduction.experiment import DELTA, Experiment
from sunveil.grids import Grid
from sunveil.paper.dpbo import DPBO, Bound
from sunveil.paper.fit import PosteriorScore
from sunveil.site import Array, Plane

# Coordinates are divided by these in the normalised error. [degrees]
SPANS = (360.0, 90.0)
# What an answer may be off and still count as near. [degrees]
NEAR_AZIMUTH, NEAR_TILT = 10.0, 6.0
# The mechanism carries information where it has won between these shares of what can be won.
FIRST_SHARE, LAST_SHARE = 0.05, 0.95
# Decades of ε looked through for that range, and steps in each.
DECADES, FINENESS = (-3, 9), 24


def azimuth_error(azimuth: Array, target: float) -> Array:
    """Return how far azimuths are from one, the short way round. [degrees]"""
    return np.asarray(np.abs((azimuth - target + 180.0) % 360.0 - 180.0))


def is_near(grid: Grid, plane: Plane) -> Array:
    """Return which candidates lie within 10° of azimuth and 6° of tilt of a plane."""
    close = azimuth_error(grid.surface_azimuth, plane.surface_azimuth) <= NEAR_AZIMUTH
    return np.asarray(close & (np.abs(grid.surface_tilt - plane.surface_tilt) <= NEAR_TILT))


def normalised_rmse(azimuth: float, tilt: float, *, target: Plane) -> float:
    """Return the paper's error of an expected answer: each coordinate over its range.

    The paper does not say how it normalises; here the differences of azimuth, over 360°, and of
    tilt, over 90°, are squared and averaged over the two. Azimuth is taken as a plain number.

    Parameters
    ----------
    azimuth, tilt
        The expected answer. [degrees]
    target
        The plane it is held against.
    """
    along = (azimuth - target.surface_azimuth) / SPANS[0]
    up = (tilt - target.surface_tilt) / SPANS[1]
    return math.sqrt((along**2 + up**2) / 2.0)


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """What is to be expected of an answer drawn with given probabilities.

    Parameters
    ----------
    azimuth, tilt
        The expected answer E[λ̃], azimuth as a plain number. [degrees]
    rmse
        Normalised RMSE of the expected answer.
    azimuth_error, tilt_error
        Expected error of an answer, azimuth the short way round. [degrees]
    """

    azimuth: float
    tilt: float
    rmse: float
    azimuth_error: float
    tilt_error: float

    def to_dict(self) -> dict[str, Any]:
        """Return the expectations as plain JSON types."""
        return {
            "expected_azimuth": self.azimuth,
            "expected_tilt": self.tilt,
            "normalised_rmse": self.rmse,
            "azimuth_error": self.azimuth_error,
            "tilt_error": self.tilt_error,
        }


def expected_answer(grid: Grid, probabilities: Array, target: Plane) -> ExpectedAnswer:
    """Return what is to be expected of an answer, exactly.

    Parameters
    ----------
    grid
        The candidates.
    probabilities
        With which each of them is drawn.
    target
        The plane that answers are held against.
    """
    azimuth = _mean(probabilities, grid.surface_azimuth)
    tilt = _mean(probabilities, grid.surface_tilt)
    off = azimuth_error(grid.surface_azimuth, target.surface_azimuth)
    return ExpectedAnswer(
        azimuth=azimuth,
        tilt=tilt,
        rmse=normalised_rmse(azimuth, tilt, target=target),
        azimuth_error=_mean(probabilities, off),
        tilt_error=_mean(probabilities, np.abs(grid.surface_tilt - target.surface_tilt)),
    )


def _mean(probabilities: Array, values: Array) -> float:
    """Return an expectation; a dot product would wake every core for so little."""
    return float((probabilities * values).sum())


def at_chance(grid: Grid, target: Plane) -> ExpectedAnswer:
    """Return what is to be expected of an answer that knows nothing of the readings."""
    return expected_answer(grid, np.full(len(grid), 1.0 / len(grid)), target)


def at_best(grid: Grid, posterior: PosteriorScore, target: Plane) -> ExpectedAnswer:
    """Return the answer without any privacy: the highest posterior mean.

    Parameters
    ----------
    grid
        The candidates.
    posterior
        Their posterior mean.
    target
        The plane that answers are held against.
    """
    sure = (posterior.mean == posterior.mean.max()).astype(np.float64)
    return expected_answer(grid, sure / sure.sum(), target)


@dataclass(frozen=True, slots=True)
class InformativeRange:
    """The range of ε where DP-BO carries information.

    What can be won is the expected azimuth error of chance less that of ε = ∞. An end is None
    where there is nothing to win, or none within 10⁻³ to 10⁹.

    Parameters
    ----------
    first, half, last
        The ε that wins 5%, 50% and 95% of it: below the first, or above the last, always less, or
        more, than that.
    """

    first: float | None
    half: float | None
    last: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the range as plain JSON types."""
        return {
            "first_epsilon": self.first,
            "half_epsilon": self.half,
            "last_epsilon": self.last,
            "meaning": (
                f"where the expected azimuth error has come {FIRST_SHARE:.0%}, 50% and"
                f" {LAST_SHARE:.0%} of the way from chance to what epsilon = infinity leaves"
            ),
        }


def informative_range(
    experiment: Experiment, *, delta: float = DELTA, bound: Bound = Bound.APPENDIX
) -> InformativeRange:
    """Return the range of ε where an answer after the short run tells of the azimuth.

    Parameters
    ----------
    experiment
        The system and its searches.
    delta, bound
        Of the mechanism.
    """
    grid, posterior = experiment.exhaustive.grid, experiment.posterior
    target = experiment.exhaustive.best
    off = azimuth_error(grid.surface_azimuth, target.surface_azimuth)
    chance = float(off.mean())
    most = chance - at_best(grid, posterior, target).azimuth_error
    if most <= 0.0:
        return InformativeRange(None, None, None)

    def won(power: float) -> float:
        chances = DPBO(10.0**power, delta, bound).probabilities(posterior)
        return (chance - _mean(chances, off)) / most

    powers = np.linspace(*DECADES, (DECADES[1] - DECADES[0]) * FINENESS + 1)
    shares = np.array([won(power) for power in powers])
    first = _crossing(won, powers, np.flatnonzero(shares >= FIRST_SHARE)[:1], FIRST_SHARE)
    half = _crossing(won, powers, np.flatnonzero(shares >= 0.5)[:1], 0.5)
    last = _crossing(won, powers, np.flatnonzero(shares < LAST_SHARE)[-1:] + 1, LAST_SHARE)
    return InformativeRange(first, half, last)


def _crossing(
    won: Callable[[float], float], powers: Array, found: NDArray[np.intp], level: float
) -> float | None:
    """Return the ε at which a level is crossed just before the power that was found."""
    if len(found) == 0 or not 0 < found[0] < len(powers):
        return None
    low, high = powers[found[0] - 1], powers[found[0]]
    return float(10.0 ** brentq(lambda power: won(power) - level, low, high))


def short_number(value: float) -> str:
    """Return a number to two digits, without a power of ten where it is large."""
    return f"{value:.2g}" if value < 100.0 else f"{float(f'{value:.2g}'):,.0f}"
