"""The best fit to a system's readings: coarse search, refinement, shade."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sunveil.fit.clipping import find_limit
from sunveil.fit.daylight import Daylight
from sunveil.fit.refine import Fit, Point, refine
from sunveil.fit.shade import hidden_readings
from sunveil.fit.shared import ErrorModel
from sunveil.fit.start import coarse_agreement, coarse_grid, starts
from sunveil.site import Losses

# Starts whose count falls below this share of the best are not worth refining.
WORTH_REFINING = 0.8


def best_fit(data: Daylight, *, losses: Losses, albedo: float, errors: ErrorModel) -> Fit:
    """Search coarsely, refine from the best places, and return the best fit.

    Parameters
    ----------
    data
        The readings and the sky they saw.
    losses, albedo
        What is assumed.
    errors
        The model of errors.
    """
    limit = find_limit(data.power, data.day, interval_minutes=data.interval_minutes)
    grid = coarse_grid()
    found = coarse_agreement(data, grid, losses=losses, albedo=albedo, limit=limit)
    fits = []
    for point, count in starts(found, grid):
        if count >= WORTH_REFINING * found.counts.max():
            start = replace(point, log_limit=float(np.log(limit)))
            fits.append(_refined(data, start, losses=losses, albedo=albedo, errors=errors))
    best = max(fits, key=lambda fit: fit.objective)
    if np.isfinite(limit) and best.modelled.max() < 0.98 * best.point.limit:
        # a pile of readings that no model reaches is not a limit, and its row would say nothing
        start = replace(best.point, log_limit=float("inf"))
        best = _refined(data, start, losses=losses, albedo=albedo, errors=errors)
    return best


def _refined(
    data: Daylight, start: Point, *, losses: Losses, albedo: float, errors: ErrorModel
) -> Fit:
    """Refine, find what hides the sun, and refine again without it."""
    fit = refine(data, start, losses=losses, albedo=albedo, errors=errors)
    for _ in range(2):
        hidden = hidden_readings(data, fit)
        if np.count_nonzero(hidden) < 0.01 * len(data):
            break
        fit = refine(
            data,
            fit.point,
            losses=losses,
            albedo=albedo,
            errors=errors,
            scales=(1.3, 1.0),
            hidden=hidden,
        )
    return fit
