"""What a net meter says of the household behind it."""

from __future__ import annotations

import numpy as np

from sunveil.engine.net_apart import NetHours
from sunveil.engine.net_load import CELLS
from sunveil.household import HOURS, SEASONS, HouseholdEstimate


def household_of(hours: NetHours, exporting: float) -> HouseholdEstimate:
    """Return the household behind a net meter: its load by hour and season, and what it used.

    Parameters
    ----------
    hours
        Its generation and load, told apart.
    exporting
        Share of the daylight readings in which more was generated than used.
    """
    cell, load = hours.cell[hours.said], np.maximum(hours.load[hours.said], 0.0)
    read = np.bincount(cell, minlength=CELLS).astype(np.float64)
    total = np.bincount(cell, load, minlength=CELLS)
    mean = np.where(read > 0.0, total / np.maximum(read, 1.0), np.nan)
    generation = hours.generation[hours.lit]
    # what was given to the grid, and where the load is hidden, nothing was
    given = np.maximum(generation - hours.load[hours.lit], 0.0)
    nights = (hours.said & ~hours.lit).any()
    used = 1.0 - given.sum() / max(generation.sum(), 1e-12)
    return HouseholdEstimate(
        load_kw=tuple(tuple(season) for season in mean.reshape(len(SEASONS), HOURS).tolist()),
        mean_load_kw=float(total.sum() / max(read.sum(), 1.0)) if nights else float("nan"),
        self_consumption=float(used),
        exporting=exporting,
    )
