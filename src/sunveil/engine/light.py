"""First and last light: what the bounds of the day say of the clock, whatever the plane.

A plane moves the hour of most power, but hardly the first and the last minute of power, which
diffuse light gives. Whatever stands before the sun makes first light later and last light earlier;
a clock that is wrong moves both the same way, and that tells it apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.engine.envelope import profiles_of
from sunveil.engine.model import CAPACITY, HAZE, HEAT, PARAMETERS, Numbers
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
    """The bounds of each solar day's light, and its sum, for some systems: private with readings.

    Parameters
    ----------
    bounds
        First and last light, in intervals from solar midnight; NaN where they cannot be told,
        shape (2, systems, days); see :meth:`middle` for one bound.
    energy
        Sum over the day, up to a factor, shape (systems, days).
    """

    bounds: Matrix
    energy: Matrix

    def middle(self) -> Daylight:
        """Return the daylight with one bound only, halfway between its first and last light."""
        return Daylight(self.bounds.mean(axis=0, keepdims=True), self.energy)

    def take(self, systems: NDArray[np.intp]) -> Daylight:
        """Return the daylight of some of the systems."""
        return Daylight(self.bounds[:, systems], self.energy[systems])


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
    shape = len(rows), days.count
    out = Daylight(np.empty((2, *shape), dtype=np.float32), np.empty(shape, dtype=np.float32))
    thresholds = (THRESHOLD * bright).astype(np.float32)
    _fill_bounds(
        rows, thresholds, days.lead, days.per_day, WHOLE * days.per_day, out.bounds, out.energy
    )
    return out


def modelled_daylight(
    points: Array, bright: Array, sky: SkyTable, numbers: Numbers, days: SolarDays
) -> Daylight:
    """Return the daylight of planes, under the maps' own haze on an open rack.

    Parameters
    ----------
    points
        The planes, shape (planes, PARAMETERS).
    bright
        The bright power of the readings that each was fitted to: the light of both begins at the
        same power. [kW]
    sky
        The sky.
    numbers
        What is assumed.
    days
        The solar days.
    """
    return measured_daylight(
        _daylight_rows(points, sky, numbers), bright / np.exp(points[:, CAPACITY]), days
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
    rows = _daylight_rows(np.zeros((1, PARAMETERS)), sky, numbers)
    return measured_daylight(rows, np.quantile(rows[:, sky.slot[: sky.usable]], [0.98]), days)


def _daylight_rows(points: Array, sky: SkyTable, numbers: Numbers) -> Matrix:
    """Return the power of planes on the long grid, a kilowatt each, zero by night."""
    sharp = points.copy()
    sharp[:, HAZE], sharp[:, HEAT] = 0.0, 1.0
    rows = np.zeros((len(points), sky.grid.long.count), dtype=np.float32)
    usable, rest = sky.slot[: sky.usable], sky.slot[sky.usable :]
    rows[:, usable] = profiles_of(sky.sheet, sharp, numbers)[:, : len(usable)]
    rows[:, rest] = profiles_of(sky.low, sharp, numbers)[:, : len(rest)]
    return rows


def typical_leads(
    measured: Daylight,
    modelled: Daylight,
    saving: NDArray[np.bool_],
    season: Season,
    *,
    minutes: float,
) -> Array:
    """Return how far first and last light run ahead of a plane's on brighter days. [minutes]

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
        Medians over the brighter half of days, shape (bounds, systems); NaN where there are too
        few.
    """
    ahead = measured.bounds - modelled.bounds
    chosen = np.isfinite(ahead[0])
    if season is not Season.ALL:
        chosen &= saving == (season is Season.SUMMER)
    bright = measured.energy / np.maximum(modelled.energy, np.float32(1e-9))
    kept = chosen & (bright >= lower_median(bright, chosen)[:, None])
    enough = chosen.sum(axis=1) >= FEWEST_DAYS
    medians = np.array([lower_median(each, kept) for each in ahead])
    return np.where(enough, medians * minutes, np.nan)


def moved_together(leads: NDArray[np.floating]) -> Array:
    """Return by how much first and last light are off the same way, zero where they are not.

    ``leads`` has first and last light along its first axis. Only a clock does this: what stands
    before the sun, and what a plane lacks of it, makes days shorter or longer at one end.
    """
    first, last = leads
    least = np.minimum(np.abs(first), np.abs(last))
    return np.where(first * last > 0.0, np.copysign(least, first), 0.0)


def lower_median(values: NDArray[np.floating], chosen: NDArray[np.bool_]) -> Array:
    """Return the lower median of each row's chosen values, infinite where there are none."""
    ordered = np.sort(np.where(chosen, values, np.float32(np.inf)), axis=1)
    place = np.maximum((chosen.sum(axis=1) - 1) // 2, 0)
    return np.asarray(ordered[np.arange(len(values)), place])


@kernel
def _fill_bounds(rows, thresholds, lead, per_day, least, bounds, energy):  # type: ignore[no-untyped-def]
    """Fill the bounds of each day's light, in intervals, NaN where none is told, and its sum.

    ``rows`` has shape (systems, intervals), NaN where there is no reading; ``bounds`` (2, systems,
    days), ``energy`` (systems, days); a day needs ``least`` readings.
    """
    for s in range(rows.shape[0]):
        row, threshold = rows[s], thresholds[s]
        for d in range(energy.shape[1]):
            start = d * per_day - lead
            low, high = max(start, 0), min(start + per_day, len(row))
            there, total = 0, np.float32(0.0)
            for k in range(low, high):
                known = row[k] == row[k]
                there += known
                total += row[k] if known else np.float32(0.0)
            energy[s, d] = total
            bounds[:, s, d] = np.nan
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
            bounds[0, s, d] = first - 1 - start + rise
            bounds[1, s, d] = last - start + fall
