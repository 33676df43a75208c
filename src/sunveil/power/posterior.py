"""Draws of a fleet's cells that agree with what was published of it and with its stated noise.

The shares of a group's systems over the cells of sector, band and class are p = softmax(log p₀ +
B z). p₀ are the shares of public lists (:mod:`sunveil.power.priors`), and z, standard normal before
anything is published, lets sectors, bands, classes and single cells lie higher or lower. What is
published is a noisy linear function of p: y = A (N p) + noise. The most likely z is found by
Newton's steps, and draws are taken from the normal law around it (Laplace's approximation). Every
draw is non-negative and adds up to the group's public size. Noise is taken to be normal with its
stated deviation: discrete Laplace noise has its 90% at 1.63 deviations, a normal law at 1.64.

Only published numbers are looked at, so that no privacy is spent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.power.priors import (
    BAND_SPREAD,
    CELL_SPREAD,
    CLASS_SPREAD,
    LARGE_SPREAD,
    SECTOR_SPREAD,
    SIZE_SLOPE,
    SIZE_SPREAD,
    UNKNOWN_SHARE,
    UNKNOWN_SPREAD,
    WIDEST,
    WIDTH_SPREAD,
    CellPrior,
)
from sunveil.site import Array

# A drawn total is never less than this share of what its systems would usually have.
LEAST_SIZE = 0.05
_STEPS = 40
_DONE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """Published numbers of one group that are linear in how many systems its cells have.

    Parameters
    ----------
    matrix
        What one system of each cell adds to every number, shape (numbers, cells + 1); the last
        column is for systems that could not be inferred.
    values
        The published numbers.
    deviation
        Standard deviation of the noise of each; None where the numbers are counts of independent
        draws, which vary as Poisson's law has it.
    drifts
        Where the matrix is itself not quite known: for each thing that it hangs on, how it changes
        when that lies one deviation higher. All systems share it, so that it does not average out.
    """

    matrix: Array
    values: Array
    deviation: Array | None
    drifts: tuple[Array, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedTotal:
    """A published total of capacity.

    Parameters
    ----------
    total_kw, deviation_kw
        As drawn, and the standard deviation of its error. [kW]
    """

    total_kw: float
    deviation_kw: float


@dataclass(frozen=True, slots=True, eq=False)
class CellDraws:
    """Draws of one group.

    Parameters
    ----------
    systems
        By draw, cell of sector and band, and class. [systems]
    capacity_kw
        By draw and cell of sector and band. [kW]
    """

    systems: Array
    capacity_kw: Array


def effects(prior: CellPrior) -> Array:
    """Return B: what sectors, bands, classes, size and cells do to log shares, with spreads."""
    sectors, bands, _ = prior.grid.shape
    where = np.indices(prior.grid.shape).reshape(3, -1)
    one = [np.eye(size)[place] for size, place in zip(prior.grid.shape, where, strict=True)]
    both = np.eye(sectors * bands)[where[0] * bands + where[1]]
    spreads = (SECTOR_SPREAD, BAND_SPREAD, CLASS_SPREAD)
    columns = [spread * each for spread, each in zip(spreads, one, strict=True)]
    logs = np.log(prior.mean_kw)
    weight = prior.shares.sum(axis=(0, 1))
    middle = weight @ logs
    away = (logs - middle) / max(float(np.sqrt(weight @ (logs - middle) ** 2)), 1e-6)
    larger = SIZE_SPREAD * away[where[2]][:, None]
    alike = WIDTH_SPREAD * -0.5 * np.minimum(away**2, WIDEST**2)[where[2]][:, None]
    large = LARGE_SPREAD * prior.large[where[2]].astype(np.float64)[:, None]
    known = np.hstack([*columns, larger, alike, large, CELL_SPREAD * both])
    whole = np.zeros((len(known) + 1, known.shape[1] + 1))
    whole[:-1, :-1], whole[-1, -1] = known, UNKNOWN_SPREAD
    return whole


def draw_cells(
    prior: CellPrior,
    systems: float,
    observed: Sequence[Observation],
    *,
    total: ObservedTotal | None,
    draws: int,
    rng: np.random.Generator,
    unknown: bool = True,
) -> CellDraws:
    """Return draws of one group's systems and capacities by cell.

    Parameters
    ----------
    prior
        What is known beforehand.
    systems
        How many systems the group has: public.
    observed
        What was published of its counts.
    total
        What was published of its capacity, if anything.
    draws
        How many draws.
    rng
        Source of randomness: public, since only published numbers are looked at.
    unknown
        Whether some systems may not have been inferred.
    """
    share = UNKNOWN_SHARE if unknown else 1e-9
    # a share that spreads so far has its mean above its middle
    usual = prior.shares * np.where(prior.large, np.exp(-(LARGE_SPREAD**2) / 2.0), 1.0)
    usual /= usual.sum()
    base = np.log(np.append((1.0 - share) * usual.ravel(), share))
    basis = effects(prior)
    middle, spread = _laplace(base, basis, _stacked(prior, systems, observed))
    z = middle + rng.standard_normal((draws, spread.shape[1])) @ spread.T
    shares = _softmax(base + z @ basis.T)[:, :-1]
    counts = systems * shares
    return _sized(prior, counts, total, rng)


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """All published counts of a group together: what shares make of them, and what was drawn."""

    matrix: Array
    values: Array
    deviation: Array
    counted: NDArray[np.bool_]
    drifts: tuple[Array, ...]

    def loss(self, shares: Array) -> float:
        """Return minus the logarithm of how likely the numbers are, but for a constant."""
        made = self.matrix @ shares
        normal = ~self.counted
        off = (self.values[normal] - made[normal]) / self.deviation[normal]
        mean = np.maximum(made[self.counted], 1e-12)
        return float(off @ off / 2.0 + (mean - self.values[self.counted] * np.log(mean)).sum())

    def spreads(self, made: Array) -> Array:
        """Return the standard deviation of every number, where shares make these of them."""
        return np.where(self.counted, np.sqrt(np.maximum(made, 1e-9)), self.deviation)


def _stacked(prior: CellPrior, systems: float, observed: Sequence[Observation]) -> _Numbers:
    """Return all published counts of a group together."""
    empty = np.zeros((0, prior.shares.size + 1))
    matrix = systems * np.concatenate([empty, *(each.matrix for each in observed)])
    values = np.concatenate([np.zeros(0), *(each.values for each in observed)])
    deviations = [
        np.ones(len(each.values)) if each.deviation is None else each.deviation for each in observed
    ]
    counted = [np.full(len(each.values), each.deviation is None) for each in observed]
    return _Numbers(
        matrix,
        values,
        np.concatenate([np.zeros(0), *deviations]),
        np.concatenate([np.zeros(0, dtype=bool), *counted]),
        tuple(_in_place(matrix, systems, observed)),
    )


def _in_place(matrix: Array, systems: float, observed: Sequence[Observation]) -> Iterator[Array]:
    """Yield every drift at the rows of its own numbers, zero elsewhere."""
    first = 0
    for each in observed:
        for drift in each.drifts:
            whole = np.zeros_like(matrix)
            whole[first : first + len(each.values)] = systems * drift
            yield whole
        first += len(each.values)


def _laplace(base: Array, basis: Array, numbers: _Numbers) -> tuple[Array, Array]:
    """Return the most likely z, and a root of its covariance.

    What the matrix hangs on moves the most likely z. It is not learnt from the numbers, since it
    would take the blame for whatever else does not fit: its own spread is handed on as it is.
    """
    z = np.zeros(basis.shape[1])

    def loss(at: Array) -> float:
        return numbers.loss(_softmax((base + basis @ at)[None, :])[0]) + float(at @ at) / 2.0

    now = loss(z)
    hessian = np.eye(len(z))
    moves = np.zeros((len(z), 0))
    for _ in range(_STEPS):
        shares = _softmax((base + basis @ z)[None, :])[0]
        slope = shares[:, None] * (basis - shares @ basis)
        made = numbers.matrix @ shares
        spread = numbers.spreads(made)
        turn = (numbers.matrix @ slope) / spread[:, None]
        hessian = np.eye(len(z)) + turn.T @ turn
        drifts = [turn.T @ ((drift @ shares) / spread) for drift in numbers.drifts]
        moves = np.array(drifts).T if drifts else moves
        step = np.linalg.solve(hessian, turn.T @ ((numbers.values - made) / spread) - z)
        size = 1.0
        while (then := loss(z + size * step)) > now and size > 1e-4:
            size /= 2.0
        if now - then < _DONE:
            break
        z, now = z + size * step, then
    # of the hessian itself, which is well away from singular where its inverse is not
    own = np.linalg.inv(np.linalg.cholesky(hessian)).T
    return z, np.hstack([own, np.linalg.solve(hessian, moves)])


def _softmax(logits: Array) -> Array:
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _sized(
    prior: CellPrior, counts: Array, total: ObservedTotal | None, rng: np.random.Generator
) -> CellDraws:
    """Give drawn systems capacities: the class's mean, and the published total."""
    shaped = counts.reshape(len(counts), prior.planes, -1)
    by_class = shaped.sum(axis=1)
    usual = by_class @ prior.mean_kw
    # where systems are larger, they are so within every class alike, the more the wider it is; and
    # few do not have many's mean
    wide = np.minimum(SIZE_SLOPE * prior.spread_kw**2 / prior.mean_kw, prior.spread_kw)
    common = by_class @ wide
    spread = np.sqrt(common**2 + by_class @ prior.spread_kw**2)
    drawn = usual + spread * rng.standard_normal(len(counts))
    if total is not None:
        # every draw moves towards the published total, by how sure that is beside the draws
        variance = float(drawn.var())
        gain = variance / (variance + total.deviation_kw**2)
        seen = total.total_kw + total.deviation_kw * rng.standard_normal(len(counts))
        drawn += gain * (seen - drawn)
    capacity = shaped @ prior.mean_kw
    # a fleet has some capacity, however noisy its total is
    scale = np.maximum(drawn / np.maximum(usual, 1e-12), LEAST_SIZE)
    return CellDraws(shaped, capacity * scale[:, None])
