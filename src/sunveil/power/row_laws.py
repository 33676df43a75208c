"""The law of the errors of rows of single systems, as the errors that stand beside them have it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sunveil.power.priors import CellGrid, CellPrior, cell_prior
from sunveil.site import Array

# Mean errors of rows that tell nothing but the public prior of releases, at the least ε of
# releases/typical.json. [degrees, degrees, %]
CHANCE_AZIMUTH, CHANCE_TILT, CHANCE_CAPACITY = 47.5, 17.9, 6600.0
# Up to this share of such rows, every row is taken at its word.
FEW_LOST = 0.02
# More than this is never taken to be lost: something is always told.
MOST_LOST = 0.97
# Of the logarithm of capacity, where too many rows tell nothing for it to be told.
USUAL_CAPACITY_ERROR = 0.05
# Errors are stated as measured on a few dozen systems: those of a fleet lie about them. The spread
# of the logarithm of how many rows are lost for one that is not, and of the three errors' sizes.
# All rows share them, so that a large fleet does not average them out.
LOST_SPREAD, ERROR_SPREAD = 0.3, 0.2
_SECTORS, _BANDS, _CLASSES = 16, 9, 12
# Values that stand for a cell where its systems are blurred.
_INSIDE = 12


@dataclass(frozen=True, slots=True)
class RowErrors:
    """The law of the errors of rows, as the errors that are stated for them have it.

    Parameters
    ----------
    lost
        Share of rows that tell nothing of their systems.
    azimuth, tilt
        Mean absolute errors of the others. [degrees]
    capacity
        Mean absolute error of the logarithm of their capacity.
    """

    lost: float
    azimuth: float
    tilt: float
    capacity: float

    @classmethod
    def stated(cls, errors: Mapping[str, tuple[float, float]]) -> RowErrors:
        """Return the law that has the stated means.

        A row by chance has a capacity by chance, off by thousands of percent: the mean error of
        capacity tells how many there are.

        Parameters
        ----------
        errors
            Mean, and what nine in ten stay within, by column.
        """
        lost = min(errors["dc_capacity_kw"][0] / CHANCE_CAPACITY, MOST_LOST)
        kept = 1.0 - lost
        reach = 0.9 / kept
        capacity = USUAL_CAPACITY_ERROR
        if reach < 0.99:
            capacity = float(np.log1p(errors["dc_capacity_kw"][1] / 100.0) / -np.log1p(-reach))
        return cls(
            lost=lost,
            azimuth=max((errors["surface_azimuth"][0] - CHANCE_AZIMUTH * lost) / kept, 0.5),
            tilt=max((errors["surface_tilt"][0] - CHANCE_TILT * lost) / kept, 0.5),
            capacity=float(np.clip(capacity, 0.005, 0.3)),
        )

    def moved(self, deviations: Sequence[float]) -> RowErrors:
        """Return the law that lies so many deviations from the stated one.

        Parameters
        ----------
        deviations
            Of the share that is lost, and of the errors of azimuth, tilt and capacity.
        """
        lost, *others = deviations
        odds = self.lost / (1.0 - self.lost) * np.exp(LOST_SPREAD * lost)
        azimuth, tilt, capacity = (float(np.exp(ERROR_SPREAD * each)) for each in others)
        return RowErrors(
            float(odds / (1.0 + odds)),
            self.azimuth * azimuth,
            self.tilt * tilt,
            self.capacity * capacity,
        )


@functools.lru_cache(maxsize=2)
def row_laws(capacities_kw: tuple[float, float], errors: RowErrors) -> tuple[Array, ...]:
    """Return the law, and how it changes where each of its four numbers is a deviation higher.

    Parameters
    ----------
    capacities_kw
        The public range of capacities that rows were drawn from. [kW]
    errors
        The law as it is stated.
    """
    prior = cell_prior(row_grid(capacities_kw), largest_kw=capacities_kw[1])
    found = [row_law(prior, errors)]
    for place in range(4):
        step = np.eye(4)[place]
        high, low = (row_law(prior, errors.moved(sign * step)) for sign in (1.0, -1.0))
        found.append((high - low) / 2.0)
    return tuple(found)


def row_grid(capacities_kw: tuple[float, float]) -> CellGrid:
    """Return the cells in which rows of which many tell nothing are looked at."""
    classes = np.geomspace(*capacities_kw, _CLASSES + 1)
    bands = np.linspace(0.0, 90.0, _BANDS + 1)
    return CellGrid(_SECTORS, 0.0, tuple(map(float, bands)), tuple(map(float, classes)))


def row_law(prior: CellPrior, errors: RowErrors) -> Array:
    """Return how likely a row in each cell is for a system in each.

    Parameters
    ----------
    prior
        The cells.
    errors
        The law of errors within and between them.
    """
    grid = prior.grid
    sectors, _, classes = grid.shape
    middle = 180.0 / sectors
    turn = _blurred(np.linspace(-middle, 360.0 - middle, sectors + 1), errors.azimuth, turns=True)
    lean = _blurred(np.array(grid.tilt_edges), errors.tilt, mirrored=True)
    size = _blurred(np.log(np.array(grid.capacity_edges_kw)), errors.capacity)
    near = np.kron(np.kron(turn, lean), size)
    planes = prior.shares.sum(axis=2).ravel()
    chance = np.repeat(planes, classes) / classes
    return np.asarray((1.0 - errors.lost) * near + errors.lost * chance[:, None])


def _blurred(edges: Array, scale: float, *, turns: bool = False, mirrored: bool = False) -> Array:
    """Return how likely a value of one cell is found in another after an exponential error.

    Parameters
    ----------
    edges
        Where cells begin and end; values lie evenly within them.
    scale
        Mean absolute error.
    turns
        Whether what goes beyond the end comes in at the beginning; otherwise it stays in the last.
    mirrored
        Whether what falls below the beginning is taken without its sign.
    """
    cells = len(edges) - 1
    values = edges[:-1, None] + np.diff(edges)[:, None] * (np.arange(_INSIDE) + 0.5) / _INSIDE
    ends = edges.copy() if turns else np.append(edges[:-1], np.inf)
    if not (turns or mirrored):
        ends[0] = -np.inf
    found = np.zeros((cells, cells, _INSIDE))
    for way in (-360.0, 0.0, 360.0) if turns else (0.0,):
        found += np.diff(_below((ends + way)[:, None, None] - values, scale), axis=0)
    if mirrored:
        found += np.diff(_below(-ends[::-1, None, None] - values, scale), axis=0)[::-1]
    law = found.mean(axis=2)
    return np.asarray(law / law.sum(axis=0))


def _below(away: Array, scale: float) -> Array:
    """Return how often an exponential error of either sign is below a number."""
    tail = np.exp(-np.abs(away) / scale) / 2.0
    return np.where(away < 0.0, tail, 1.0 - tail)
