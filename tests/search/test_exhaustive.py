from __future__ import annotations

import numpy as np
import pytest

from sunveil.grids import Grid, plane_grid
from sunveil.paper.grid_and_bayesian_search import blocks, search_exhaustive
from sunveil.site import Plane


def closeness(to: Plane):
    def score(grid: Grid) -> np.ndarray:
        return grid.normals @ to.normal

    return score


@pytest.mark.parametrize("aim", [Plane(180.0, 30.0), Plane(13.0, 77.0), Plane(271.5, 4.0)])
def test_the_best_is_that_of_a_loop_over_every_candidate(aim):
    grid = plane_grid(15.0, 10.0)
    found = search_exhaustive(grid, closeness(aim))
    angles = [grid[i].angle_to(aim) for i in range(len(grid))]
    assert found.best.angle_to(aim) == pytest.approx(min(angles), abs=1e-6)
    assert found.best == grid[found.best_index]
    np.testing.assert_allclose(found.scores, np.cos(np.radians(angles)), atol=1e-9)


def test_a_grid_larger_than_a_block_is_scored_whole():
    grid = plane_grid(2.0, 3.0)
    assert len(grid) > 2 * 2048
    sizes: list[int] = []

    def score(part: Grid) -> np.ndarray:
        sizes.append(len(part))
        return part.surface_azimuth + 1000.0 * part.surface_tilt

    found = search_exhaustive(grid, score)
    np.testing.assert_array_equal(found.scores, grid.surface_azimuth + 1000.0 * grid.surface_tilt)
    assert found.best == Plane(358.0, 90.0)
    assert max(sizes) <= 2048
    assert sum(sizes) == len(grid)


def test_blocks_hold_every_candidate_once_and_in_order():
    grid = plane_grid(30.0, 30.0)
    pieces = list(blocks(grid, 7))
    np.testing.assert_array_equal(
        np.concatenate([part.surface_azimuth for _, part in pieces]), grid.surface_azimuth
    )
    covered = np.concatenate([np.arange(len(grid))[piece] for piece, _ in pieces])
    np.testing.assert_array_equal(covered, np.arange(len(grid)))
