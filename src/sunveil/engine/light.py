"""First and last light: what the bounds of the day say of the clock, whatever the plane.

A plane moves the hour of most power, but hardly the first and the last minute of power, which
diffuse light gives. The middle between them is solar noon, so it shows a clock that is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.engine.envelope import profiles_of
from sunveil.engine.model import HAZE, HEAT, PARAMETERS, Numbers
from sunveil.engine.skytable import SkyTable
from sunveil.site import Array
from sunveil.timegrid import DAY

Matrix = NDArray[np.float32]

# Light begins and ends at this share of the bright power.
THRESHOLD = 0.01
# Of a day's intervals, so large a share must have a reading for its light to be told.
WHOLE = 0.9
# Days that are enough for a median.
FEWEST_DAYS = 10

kernel = njit(cache=True, nogil=True, error_model="numpy")


class Season(IntEnum):
    """Which days are looked at."""

    ALL = 0
    WINTER = 1
    SUMMER = 2


@dataclass(frozen=True, slots=True, eq=False)
class Daylight:
    """The middle of each solar day's light, and its sum, for some systems: private with readings.

    Parameters
    ----------
    middle
        Halfway between first and last light, in intervals from solar midnight; NaN where it
        cannot be told, shape (systems, days).
    energy
        Sum over the day, up to a factor, shape (systems, days).
    """

    middle: Matrix
    energy: Matrix


@dataclass(frozen=True, slots=True)
class SolarDays:
    """The days of a grid from solar midnight to solar midnight.

    Parameters
    ----------
    first
        Number of the first day since 1970.
    lead
        Intervals of the first day that lie before the grid.
    per_day
        Intervals of a day.
    count
        How many days; none where intervals do not divide a day.
    """

    first: int
    lead: int
    per_day: int
    count: int

    @classmethod
    def of(cls, sky: SkyTable) -> SolarDays:
        """Return the solar days of a sky's grid."""
        long = sky.grid.long
        local = long.first + sky.turn
        lead, per_day = local % DAY // long.step, DAY // long.step
        whole = DAY % long.step == 0
        return cls(local // DAY, lead, per_day, -(-(lead + long.count) // per_day) if whole else 0)


def measured_daylight(rows: Matrix, bright: Array, days: SolarDays) -> Daylight:
    """Return the daylight of readings.

    Parameters
    ----------
    rows
        Readings on the long grid, NaN where there is none, shape (systems, intervals). [kW]
    bright
        Each system's bright power. [kW]
    days
        The solar days.
    """
    out = Daylight(*(np.empty((len(rows), days.count), dtype=np.float32) for _ in range(2)))
    thresholds = (THRESHOLD * bright).astype(np.float32)
    _fill_middles(
        rows, thresholds, days.lead, days.per_day, WHOLE * days.per_day, out.middle, out.energy
    )
    return out


def modelled_daylight(points: Array, sky: SkyTable, numbers: Numbers, days: SolarDays) -> Daylight:
    """Return the daylight of planes, under the maps' own haze on an open rack.

    Parameters
    ----------
    points
        The planes, shape (planes, PARAMETERS).
    sky
        The sky.
    numbers
        What is assumed.
    days
        The solar days.
    """
    sharp = points.copy()
    sharp[:, HAZE], sharp[:, HEAT] = 0.0, 1.0
    rows = np.zeros((len(points), sky.grid.long.count), dtype=np.float32)
    high = profiles_of(sky.sheet, sharp, numbers)[:, : sky.usable]
    rows[:, sky.slot[: sky.usable]] = high
    low = profiles_of(sky.low, sharp, numbers)
    rows[:, sky.slot[sky.usable :]] = low[:, : len(sky.slot) - sky.usable]
    # of all intervals, night included, about one in a hundred is brighter
    place = max(high.shape[1] - high.shape[1] // 45 - 1, 0)
    return measured_daylight(
        rows, np.partition(high, place, axis=1)[:, place].astype(np.float64), days
    )


def flat_daylight(sky: SkyTable, numbers: Numbers, days: SolarDays) -> Daylight:
    """Return the daylight of a flat plane, which every system's is compared with first.

    Parameters
    ----------
    sky
        The sky.
    numbers
        What is assumed.
    days
        The solar days.
    """
    return modelled_daylight(np.zeros((1, PARAMETERS)), sky, numbers, days)


def typical_lead(
    measured: Daylight,
    modelled: Daylight,
    saving: NDArray[np.bool_],
    season: Season,
    *,
    minutes: float,
) -> Array:
    """Return how far light runs ahead of a plane's on the brighter half of days. [minutes]

    Parameters
    ----------
    measured
        Daylight of systems.
    modelled
        That of one plane for all, or of one for each.
    saving
        Which days lie in daylight saving.
    season
        Which days count: all, those outside daylight saving, those within.
    minutes
        Length of an interval. [minutes]

    Returns
    -------
    numpy.ndarray
        One for each system; NaN where there are too few days.
    """
    ahead = measured.middle - modelled.middle
    chosen = np.isfinite(ahead)
    if season is not Season.ALL:
        chosen &= saving == (season is Season.SUMMER)
    bright = measured.energy / np.maximum(modelled.energy, np.float32(1e-9))
    kept = chosen & (bright >= _lower_median(bright, chosen)[:, None])
    enough = chosen.sum(axis=1) >= FEWEST_DAYS
    return np.where(enough, _lower_median(ahead, kept) * minutes, np.nan)


def _lower_median(values: NDArray[np.floating], chosen: NDArray[np.bool_]) -> Array:
    """Return the lower median of each row's chosen values, infinite where there are none."""
    ordered = np.sort(np.where(chosen, values, np.float32(np.inf)), axis=1)
    place = np.maximum((chosen.sum(axis=1) - 1) // 2, 0)
    return np.asarray(ordered[np.arange(len(values)), place])


@kernel
def _fill_middles(rows, thresholds, lead, per_day, least, middle, energy):  # type: ignore[no-untyped-def]
    """Fill the middle of each day's light, in intervals, NaN where none is told, and its sum.

    ``rows`` has shape (systems, intervals), NaN where there is no reading; ``middle`` and
    ``energy`` (systems, days); a day needs ``least`` readings.
    """
    for s in range(rows.shape[0]):
        row, threshold = rows[s], thresholds[s]
        for d in range(middle.shape[1]):
            start = d * per_day - lead
            low, high = max(start, 0), min(start + per_day, len(row))
            there, total = 0, np.float32(0.0)
            for k in range(low, high):
                known = row[k] == row[k]
                there += known
                total += row[k] if known else np.float32(0.0)
            energy[s, d] = total
            middle[s, d] = np.nan
            first, last = low, high - 1
            while first < high and not row[first] > threshold:
                first += 1
            while last > first and not row[last] > threshold:
                last -= 1
            if there < least or last <= first or first <= low or last >= high - 1:
                continue
            before, after = row[first - 1], row[last + 1]
            before = before if before == before else np.float32(0.0)
            after = after if after == after else np.float32(0.0)
            rise = (threshold - before) / (row[first] - before)
            fall = (row[last] - threshold) / (row[last] - after)
            middle[s, d] = 0.5 * ((first - 1 - start) + rise + (last - start) + fall)
