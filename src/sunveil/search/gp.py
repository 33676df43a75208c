"""The paper's Gaussian process on a finite grid: kernel, posterior and confidence width.

Nothing here knows what a score is made of: points are rows of numbers, scores are floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import check_fields, together, whole
from sunveil.checked import checked
from sunveil.errors import ParameterError

Array = NDArray[np.float64]

# What is kept is one row of floats per observation: more than this many numbers is refused.
MOST_NUMBERS = 250_000_000


@dataclass(frozen=True, slots=True)
class Kernel:
    """The paper's radial basis function, Σ(λ, λ') = exp(-||λ - λ'||²), in chosen units.

    The paper writes it without a length scale, so that its reach is one unit of whatever λ is
    measured in. Here λ is measured in ``length_scale`` degrees: at that distance the correlation is
    exp(-1). In scikit-learn's convention, exp(-d² / 2ℓ²), the length scale is √2 times smaller.

    Parameters
    ----------
    length_scale
        Of azimuth and of tilt; one radian for both when left out, which is the scaling under which
        the paper's figures come out. [degrees]
    wrap
        Measure azimuths along the chord of the compass, so that 359° is next to 0°. On a circle
        the length of the arc would not give a valid covariance; the chord does.
    """

    length_scale: tuple[float, float] = (180.0 / math.pi, 180.0 / math.pi)
    wrap: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        for name, value in zip(("azimuth", "tilt"), self.length_scale, strict=True):
            if not (math.isfinite(value) and 0.0 < value <= 10_000.0):
                raise ParameterError(
                    f"the length scale of {name} must be above 0 and at most 10,000 degrees, and"
                    f" {value:g} is not"
                )

    @checked
    def coordinates(self, azimuth: Array, tilt: Array) -> Array:
        """Return the points λ in units of the length scale, one row each."""
        together(azimuth=azimuth, tilt=tilt)
        along, up = self.length_scale
        if not self.wrap:
            return np.column_stack([azimuth / along, tilt / up])
        radius = 180.0 / math.pi / along
        turn = np.radians(azimuth)
        return np.column_stack([radius * np.cos(turn), radius * np.sin(turn), tilt / up])


@checked
def rbf(point: Array, points: Array) -> Array:
    """Return Σ(λ, λ') = exp(-||λ - λ'||²) between one point and many."""
    if points.ndim != 2 or point.shape != points.shape[1:]:
        raise ParameterError("points must have a row for each point, as long as point")
    return np.asarray(np.exp(-((points - point) ** 2).sum(axis=1)))


@checked
def phi(t: int, candidates: int, delta: float) -> float:
    """Return ``φ_t = 2 log(|Λ| t² π² / 6δ)``, the squared width of the t-th confidence bound.

    Parameters
    ----------
    t
        Number of the observation, from 1.
    candidates
        ``|Λ|``.
    delta
        The bound fails with at most this probability, under the prior.
    """
    whole("t", t, low=1, high=10**15)
    whole("candidates", candidates, low=1, high=10**15)
    check_delta(delta)
    return 2.0 * math.log(candidates * t**2 * math.pi**2 / (6.0 * delta))


def check_delta(delta: float) -> None:
    """Refuse a δ that is no probability strictly between 0 and 1."""
    if not (math.isfinite(delta) and 0.0 < delta < 1.0):
        raise ParameterError(f"delta must be above 0 and below 1, and {delta:g} is not")


def check_jitter(jitter: float) -> None:
    """Refuse a jitter that drowns the scores, or that rounding would drown."""
    if not (math.isfinite(jitter) and 1e-12 <= jitter <= 1.0):
        raise ParameterError(f"jitter must be from 1e-12 to 1, and {jitter:g} is not")


class Posterior:
    """Posterior mean and variance on every point of a grid, kept exact after each observation.

    With the Cholesky factor L of Σ(Λ_t, Λ_t) + ηI, the matrix V = L⁻¹ Σ(Λ_t, Λ) gains one row per
    observation; the paper's ``eq:posterior`` is then μ_t = Vᵀ L⁻¹ ℓ_t, and σ_t² is 1 less the
    column sums of V². One observation costs t products per point instead of the t² of solving anew.

    Parameters
    ----------
    points
        The grid Λ, in units of the kernel's length scale.
    capacity
        How many observations there will be at most.
    jitter
        η: the variance added to each observation. The paper has none, and then a point seen twice
        makes the matrix singular; with η every pivot is at least η, whatever repeats.
    """

    @checked
    def __init__(self, points: Array, *, capacity: int, jitter: float = 1e-6) -> None:
        check_jitter(jitter)
        if points.ndim != 2:
            raise ParameterError("points must have a row for each point")
        if capacity < 1:
            raise ParameterError("capacity must be at least one observation")
        if capacity * len(points) > MOST_NUMBERS:
            raise ParameterError(
                f"{capacity:,} observations of {len(points):,} candidates take more than"
                f" {8 * MOST_NUMBERS // 10**9} GB; take fewer steps or a coarser grid"
            )
        self._points = points
        self._jitter = jitter
        self._rows = np.empty((capacity, len(points)))
        self._count = 0
        self.mean: Array = np.zeros(len(points))
        self.variance: Array = np.ones(len(points))

    def __len__(self) -> int:
        return self._count

    @checked
    def observe(self, index: int, score: float) -> None:
        """Take in the score of one point, in the prior's units."""
        if self._count == len(self._rows):
            raise ParameterError(f"a posterior for {self._count:,} observations takes no more")
        whole("index", index, low=0, high=len(self._points) - 1)
        before = self._rows[: self._count]
        seen = before[:, index]
        # In exact arithmetic the pivot is at least the jitter; rounding must not say otherwise.
        pivot = math.sqrt(max(1.0 + self._jitter - float(seen @ seen), self._jitter))
        row = rbf(self._points[index], self._points)
        row -= seen @ before
        row /= pivot
        # The mean moves by what the score says beyond what was expected at its point.
        self.mean += row * ((score - float(self.mean[index])) / pivot)
        self.variance -= row * row
        np.maximum(self.variance, 0.0, out=self.variance)
        self._rows[self._count] = row
        self._count += 1
