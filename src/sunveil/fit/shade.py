"""What hides the sun from a plane: hills, trees, houses, told by where the sun stands.

Clouds come and go; a hill is always there. Where even the brightest readings of a patch of sky
stay far below the model, something hides the sun, and readings of that patch say nothing of the
plane.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.fit.daylight import Daylight
from sunveil.fit.refine import Fit, bright_power
from sunveil.fit.shared import AZIMUTH_STEP, DIMMEST, ELEVATION_STEP, HIDDEN_BELOW
from sunveil.fit.shared import SHADE_FEWEST as FEWEST
from sunveil.fit.shared import SHADE_QUANTILE as BRIGHT_QUANTILE


def hidden_readings(data: Daylight, fit: Fit) -> NDArray[np.bool_]:
    """Return which readings were taken with the sun in a hidden patch of sky."""
    sun = data.middle.sun
    azimuth = np.degrees(np.arctan2(sun[:, 0], sun[:, 1])) % 360.0
    elevation = np.degrees(np.arcsin(np.clip(sun[:, 2], 0.0, 1.0)))
    columns = int(np.ceil(360.0 / AZIMUTH_STEP))
    patch = (elevation / ELEVATION_STEP).astype(np.intp) * columns
    patch += (azimuth / AZIMUTH_STEP).astype(np.intp)
    lit = fit.modelled > DIMMEST * bright_power(data.power)
    ratio = data.power / np.maximum(fit.modelled, 1e-9)
    order = np.lexsort((ratio[lit], patch[lit]))
    patches, first, count = np.unique(patch[lit][order], return_index=True, return_counts=True)
    place = first + np.round(BRIGHT_QUANTILE * (count - 1)).astype(np.intp)
    dark = (ratio[lit][order][place] < HIDDEN_BELOW) & (count >= FEWEST)
    hidden = np.isin(patch, patches[dark])
    hidden[~lit] = False
    return hidden
