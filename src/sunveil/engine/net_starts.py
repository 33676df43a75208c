"""Where the fits of net meters start: planes that look like the upper envelope, load put back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.envelope import bright_envelope, find_starts
from sunveil.engine.model import CAPACITY, EAST, LIMIT, NORTH, UNLIMITED
from sunveil.engine.net_load import Load
from sunveil.engine.prepared import PreparedSky
from sunveil.site import Array

# A plane that many are near of: it is always tried as well. [degrees]
USUAL_TILT = 20.0
# Starts whose plane is steeper are brought to it: envelopes of low exports look steep. [degrees]
STEEPEST_START = 45.0
# Loads that are put back onto readings: so many widths above the night's means.
LOADS_ABOVE = (-0.7, 0.5, 1.5)
# How many planes of each.
EACH = 2


def net_starts(row: NDArray[np.float32], load: Load, prepared: PreparedSky) -> Array:
    """Return points that a fit of one system starts from, shape (starts, PARAMETERS).

    Parameters
    ----------
    row
        Generation less load on the long grid, NaN where there is none. [kW]
    load
        The load that nights show.
    prepared
        The sky.
    """
    top = max(float(np.nanmax(row[prepared.slot], initial=0.0)), 1e-6)
    return np.concatenate(
        [
            _raised_starts(
                row,
                max(float(np.exp(np.median(load.centre + above * load.width))), 0.05 * top),
                prepared,
            )
            for above in LOADS_ABOVE
        ]
    )


def _raised_starts(row: NDArray[np.float32], base: float, prepared: PreparedSky) -> Array:
    """Return planes that look most like readings with a load put back, and the usual one."""
    raised = np.maximum(row + np.float32(base), np.float32(0.0))[None, :]
    starts = find_starts(bright_envelope(raised, prepared.groups), prepared.groups)[0][0]
    usual = starts[0].copy()
    usual[EAST], usual[NORTH] = 0.0, -np.copysign(USUAL_TILT, prepared.sky.site.latitude)
    out = np.concatenate([starts[:EACH], usual[None, :]])
    tilt = np.hypot(out[:, EAST], out[:, NORTH])
    flatter = np.minimum(1.0, STEEPEST_START / np.maximum(tilt, 1e-9))
    out[:, EAST] *= flatter
    out[:, NORTH] *= flatter
    out[:, LIMIT] = UNLIMITED
    top = max(float(np.nanmax(raised[:, prepared.slot], initial=0.0)), 1e-6)
    out[:, CAPACITY] = np.clip(out[:, CAPACITY], np.log(0.8 * top), np.log(2.5 * top))
    return np.asarray(out)
