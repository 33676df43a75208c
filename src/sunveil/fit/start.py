"""Where a refinement starts: the agreement count over a coarse grid of planes."""

from __future__ import annotations

import numpy as np

from sunveil.atlas import Grid, make_atlas
from sunveil.fit.daylight import Daylight
from sunveil.fit.refine import Point, bright_power
from sunveil.fit.shared import TYPICAL_HAZE, TYPICAL_HEAT
from sunveil.scores import Agreement, Tolerance, agreement_counts, capacity_grid
from sunveil.site import Array, Losses

MOST_READINGS = 2000
TOLERANCE = Tolerance(relative=0.15, floor=0.08)


def coarse_grid() -> Grid:
    """Return planes about 10° apart, with one flat plane."""
    tilts = np.array([5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 60.0, 75.0, 90.0])
    azimuth, tilt = [np.array([0.0])], [np.array([0.0])]
    for one in tilts:
        # a plane of little tilt turns little with its azimuth
        count = 36 if one >= 20.0 else 18
        azimuth.append(np.arange(count) * 360.0 / count)
        tilt.append(np.full(count, one))
    return Grid(np.concatenate(azimuth), np.concatenate(tilt))


def thinned(data: Daylight, *, limit: float, most: int) -> Daylight:
    """Return some of the readings, evenly spread, without those at the limit."""
    places = np.arange(0, len(data), max(1, len(data) // most))
    return data.take(places[data.power[places] < 0.95 * limit])


def coarse_agreement(
    data: Daylight,
    grid: Grid,
    *,
    losses: Losses,
    albedo: float,
    limit: float = float("inf"),
    most: int = MOST_READINGS,
) -> Agreement:
    """Return the agreement counts of a grid of planes and all plausible capacities."""
    few = thinned(data, limit=limit, most=most)
    bright = bright_power(data.power)
    atlas = make_atlas(grid, few.middle, losses=losses, albedo=albedo, heat=TYPICAL_HEAT)
    capacities = capacity_grid(0.6 * bright, 6.0 * bright)
    return agreement_counts(few.power, atlas.power, capacities=capacities, tolerance=TOLERANCE)


def starts(
    agreement: Agreement, grid: Grid, *, most: int = 3, apart: float = 25.0
) -> list[tuple[Point, float]]:
    """Return the best points of a coarse search that are well apart, with their counts."""
    counts = agreement.counts.max(axis=1)
    normals: Array = grid.normals
    chosen: list[int] = []
    for index in np.argsort(-counts, kind="stable"):
        if all(normals[index] @ normals[other] < np.cos(np.radians(apart)) for other in chosen):
            chosen.append(int(index))
        if len(chosen) == most:
            break
    return [
        (
            Point.of(
                grid[index],
                float(agreement.capacities[int(agreement.counts[index].argmax())]),
                haze=TYPICAL_HAZE,
                heat=TYPICAL_HEAT,
            ),
            float(counts[index]),
        )
        for index in chosen
    ]
