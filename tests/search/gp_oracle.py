"""Gaussian process regression by scikit-learn, which ours is held against."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from sunveil.paper.grid_and_bayesian_search import phi


def posterior(
    points: np.ndarray, seen: Sequence[int], scores: Sequence[float], *, jitter: float = 1e-6
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of every point after some observations."""
    if not len(seen):
        return np.zeros(len(points)), np.ones(len(points))
    # exp(-d²) is a length scale of 1/√2 in scikit-learn's exp(-d² / 2ℓ²)
    model = GaussianProcessRegressor(
        RBF(1.0 / math.sqrt(2.0), "fixed"), alpha=jitter, optimizer=None
    )
    with warnings.catch_warnings():
        # it says so when rounding makes a variance of zero negative, and sets it to zero
        warnings.filterwarnings("ignore", message="Predicted variances smaller than 0")
        mean, deviation = model.fit(points[list(seen)], scores).predict(points, return_std=True)
    return mean, deviation**2


def picks(points: np.ndarray, scores: np.ndarray, *, steps: int, delta: float) -> list[int]:
    """Return what GP-UCB looks at with no warm start."""
    seen: list[int] = []
    for t in range(1, steps + 1):
        mean, variance = posterior(points, seen, scores[seen])
        width = math.sqrt(phi(t, len(points), delta))
        seen.append(int((mean + width * np.sqrt(variance)).argmax()))
    return seen
