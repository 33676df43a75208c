"""Exhaustive search: score every candidate and take the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.grids import Grid
from sunveil.site import Array, Plane

BLOCK = 2048


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """The scores of a grid.

    Parameters
    ----------
    grid
        The candidates.
    scores
        One score per candidate; higher is better.
    """

    grid: Grid
    scores: Array

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        return f"SearchResult({len(self.grid)} candidates, private)"

    @property
    def best_index(self) -> int:
        """The candidate with the highest score, the first of equals."""
        return int(self.scores.argmax())

    @property
    def best(self) -> Plane:
        """The plane with the highest score."""
        return self.grid[self.best_index]


def blocks(grid: Grid, size: int = BLOCK) -> Iterator[tuple[slice, Grid]]:
    """Yield a grid piece by piece, so that memory stays bounded whatever its size."""
    for start in range(0, len(grid), size):
        piece = slice(start, start + size)
        yield piece, Grid(grid.surface_azimuth[piece], grid.surface_tilt[piece])


def scores_of(score: Callable[[Grid], Array], part: Grid) -> Array:
    """Return the scores of some candidates, which must be one number each.

    Parameters
    ----------
    score
        Returns one score per candidate.
    part
        The candidates.
    """
    found = np.asarray(score(part))
    if found.shape != (len(part),) or found.dtype.kind not in "fiu":
        raise ParameterError("a score must be one number for every candidate, in an array")
    return found


@checked
def search_exhaustive(grid: Grid, score: Callable[[Grid], Array]) -> SearchResult:
    """Score every candidate of a grid.

    Parameters
    ----------
    grid
        The candidates.
    score
        Returns one score per candidate of the grid it is given; higher is better.
    """
    scores = np.empty(len(grid))
    for piece, part in blocks(grid):
        scores[piece] = scores_of(score, part)
    return SearchResult(grid, scores)
