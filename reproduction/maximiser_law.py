"""How likely each region is to hold the maximiser, under the posterior of GP-UCB.

Figure 5a's caption speaks of the "log likelihood of a particular λ being the maximizer". Read so,
it is a probability under the posterior: functions are drawn from it, and it is counted where each
is highest. The kernel is so smooth that some hundred directions span it to rounding on the whole
grid, so that a function is a few hundred numbers and a draw of it one matrix product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from reproduction.hexagons import hexagons
from sunveil.paper.grid_and_bayesian_search import BayesResult, rbf
from sunveil.site import Array

# Draws from the posterior, and what is left of the kernel's variance when directions are enough.
FUNCTIONS, LEFT, MOST_DIRECTIONS = 1000, 1e-9, 600
BLOCK = 250
SEED = 2016


@dataclass(frozen=True, slots=True, eq=False)
class MaximiserLaw:
    """The probability that each hexagonal region holds the maximiser.

    Parameters
    ----------
    probability
        One entry per region; they add up to 1.
    steps
        After how many steps of GP-UCB.
    """

    probability: Array
    steps: int

    @property
    def highest_log(self) -> float:
        """The natural logarithm of the likeliest region's probability."""
        return math.log(float(self.probability.max()))

    def to_dict(self) -> dict[str, Any]:
        """Return the law as plain JSON types."""
        return {
            "steps": self.steps,
            "functions": FUNCTIONS,
            "highest_log_probability": self.highest_log,
            "probability_by_region": self.probability.tolist(),
        }


def maximiser_law(run: BayesResult, *, functions: int = FUNCTIONS) -> MaximiserLaw:
    """Return how likely each region is to hold the maximiser, after a run of GP-UCB.

    Parameters
    ----------
    run
        The run; its posterior is drawn from.
    functions
        How many functions are drawn, with a fixed seed.
    """
    grid, settings = run.grid, run.settings
    points = settings.kernel.coordinates(grid.surface_azimuth, grid.surface_tilt)
    factor = kernel_factor(points)
    seen = factor[run.points]
    scores = np.array([run.scaling.forward(score) for score in run.scores])
    precision = np.eye(factor.shape[1]) + seen.T @ seen / settings.jitter
    lower = np.linalg.cholesky(precision)
    middle = solve_triangular(lower, seen.T @ scores / settings.jitter, lower=True)
    middle = solve_triangular(lower.T, middle, lower=False)
    rng = np.random.default_rng(SEED)
    counts = np.zeros(len(hexagons()))
    for first in range(0, functions, BLOCK):
        noise = rng.standard_normal((len(middle), min(BLOCK, functions - first)))
        weights = middle[:, np.newaxis] + solve_triangular(lower.T, noise, lower=False)
        best = (factor @ weights).argmax(axis=0)
        counts += hexagons().count(grid.surface_azimuth[best], grid.surface_tilt[best])
    return MaximiserLaw(counts / functions, len(run.points))


def kernel_factor(points: Array) -> Array:
    """Return F with F Fᵀ the kernel between all points, by a Cholesky factor with pivots.

    Parameters
    ----------
    points
        In units of the kernel's length scale, one per row.
    """
    left: Array = np.ones(len(points))
    columns: list[Array] = []
    while len(columns) < MOST_DIRECTIONS and left.max() > LEFT:
        pivot = int(left.argmax())
        column = rbf(points[pivot], points)
        for each in columns:
            column -= each * each[pivot]
        column /= math.sqrt(left[pivot])
        left -= column**2
        columns.append(column)
    return np.column_stack(columns)
