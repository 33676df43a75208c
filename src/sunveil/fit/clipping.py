"""The inverter's limit, where the readings show one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.site import Array

# Limits below this share of the record's top are not looked for.
LOWEST_SHARE = 0.6
BIN = 0.01
FEWEST_DAYS = 8
# A day at the limit stays there this long; a clear day is within 2% of its top for half as long.
LEAST_HOURS = 3.0


def find_limit(power: Array, day: NDArray[np.int64], *, interval_minutes: float) -> float:
    """Return the power at which bright readings pile up, or infinity. [kW]

    Without a limit, ever fewer readings reach ever higher powers. A limit shows as a pile at the
    top: a narrow range of power, close to the highest, that holds far more readings than the
    ranges below it.

    Parameters
    ----------
    power
        Daylight readings. [kW]
    day
        The solar day of each reading.
    interval_minutes
        Length of one interval: a limit holds for hours, the round top of a clear day does not.
        [minutes]
    """
    top = float(np.quantile(power, 0.999))
    if top <= 0.0:
        return float("inf")
    edges = np.arange(LOWEST_SHARE, 1.1, BIN)
    counts, _ = np.histogram(power / top, bins=edges)
    smooth = np.convolve(counts, np.ones(3), mode="same")
    pile = int(smooth.argmax())
    level = float(edges[pile] + BIN / 2.0) * top
    usual = float(np.median(smooth[: max(pile - 5, 5)]))
    above = float(counts[pile + 5 :].sum())
    near = np.abs(power / level - 1.0) < 0.02
    _, held = np.unique(day[near], return_counts=True)
    steep = smooth[pile] > 2.5 * max(usual, 3.0) and above < 0.25 * smooth[pile]
    hours = np.sort(held)[::-1] * interval_minutes / 60.0
    lasting = len(held) >= FEWEST_DAYS and hours[FEWEST_DAYS - 1] >= LEAST_HOURS
    return level if steep and lasting else float("inf")
