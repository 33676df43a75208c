"""First and last light of many systems: see :mod:`sunveil.fit.light`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.cells import CellSky
from sunveil.cells.sky import DAY
from sunveil.fit.light import FEWEST_DAYS, THRESHOLD, Ends
from sunveil.jit import compiled
from sunveil.quick.constants import Constants
from sunveil.quick.groups import Matrix, plane_profiles
from sunveil.site import Array

# Of a day's intervals, so many must have a reading for its light to be told.
WHOLE = 0.9


@compiled
def fill_middles(rows, thresholds, lead, per_day, whole, middle, energy):  # type: ignore[no-untyped-def]
    """Fill the middle of each day's light, in intervals, NaN where none is told, and its sum."""
    days = middle.shape[1]
    for s in range(rows.shape[0]):
        threshold = thresholds[s]
        for d in range(days):
            start = d * per_day - lead
            low, high = max(start, 0), min(start + per_day, rows.shape[1])
            there, total = 0, np.float32(0.0)
            first, last = -1, -1
            for k in range(low, high):
                value = rows[s, k]
                if value == value:
                    there += 1
                    total += value
                    if value > threshold:
                        last = k
                        if first < 0:
                            first = k
            energy[s, d] = total
            middle[s, d] = np.nan
            if there < whole * per_day or first <= start or last >= start + per_day - 1:
                continue
            if last <= first or first - 1 < low or last + 1 >= high:
                continue
            before, after = rows[s, first - 1], rows[s, last + 1]
            before = before if before == before else np.float32(0.0)
            after = after if after == after else np.float32(0.0)
            rise = (threshold - before) / (rows[s, first] - before)
            fall = (rows[s, last] - threshold) / (rows[s, last] - after)
            middle[s, d] = 0.5 * ((first - 1 - start) + rise + (last - start) + fall)


@compiled
def _brighter_median(values, weights, count):  # type: ignore[no-untyped-def]
    """Return the median of the values whose weight is at least the median weight."""
    middle = np.median(weights[:count])
    kept = 0
    for i in range(count):
        if weights[i] >= middle:
            values[kept] = values[i]
            kept += 1
    return np.median(values[:kept])


@compiled
def fill_typical(middle, energy, theirs, modelled, saving, minutes, fewest, out):  # type: ignore[no-untyped-def]
    """Fill how far light runs ahead over all days, outside and within daylight saving. [minutes]

    ``theirs`` and ``modelled`` have a row for each system, or one for all.
    """
    days = middle.shape[1]
    values, weights = np.empty(days), np.empty(days)
    for s in range(middle.shape[0]):
        t = min(s, theirs.shape[0] - 1)
        for part in range(3):
            count = 0
            for d in range(days):
                if part > 0 and (part == 2) != saving[d]:
                    continue
                ahead = (middle[s, d] - theirs[t, d]) * minutes
                if ahead == ahead:
                    values[count] = ahead
                    weights[count] = energy[s, d] / max(modelled[t, d], 1e-9)
                    count += 1
            enough = count >= fewest
            out[s, part] = _brighter_median(values, weights, count) if enough else np.nan


@dataclass(frozen=True, slots=True, eq=False)
class Days:
    """The solar days of a cell's axis, and how a plane's light lies in them.

    Parameters
    ----------
    first
        Number of the first day since 1970.
    lead
        Intervals of the first day that lie before the axis.
    per_day, count
        Intervals of a day, and how many days.
    """

    first: int
    lead: int
    per_day: int
    count: int

    @classmethod
    def of(cls, sky: CellSky) -> Days | None:
        """Return the days of a cell's sky; None when intervals do not divide a day."""
        long = sky.axis.long
        if DAY % long.step:
            return None
        local = long.first + sky.turn
        lead = local % DAY // long.step
        per_day = DAY // long.step
        return cls(local // DAY, lead, per_day, -(-(lead + long.count) // per_day))

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of each day since 1970."""
        return self.first + np.arange(self.count, dtype=np.int64)

    def middles(self, rows: Matrix, thresholds: Matrix) -> tuple[Matrix, Matrix]:
        """Return the middle of each day's light and its sum, shape (systems, days)."""
        shape = (len(rows), self.count)
        middle, energy = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
        fill_middles(rows, thresholds, self.lead, self.per_day, WHOLE, middle, energy)
        return middle, energy

    def modelled(self, sky: CellSky, points: Array, constants: Constants) -> tuple[Matrix, Matrix]:
        """Return the middles and sums of points' light under the sky, shape (points, days)."""
        rows = np.zeros((len(points), sky.axis.long.count), dtype=np.float32)
        high = plane_profiles(sky.sheet, points, constants)[:, : sky.usable]
        low = plane_profiles(sky.low, points, constants)[:, : len(sky.slot) - sky.usable]
        rows[:, sky.slot[: sky.usable]], rows[:, sky.slot[sky.usable :]] = high, low
        # of all intervals, night included, one in a hundred is brighter
        rank = min(max(rows.shape[1] // 100, 1), high.shape[1] - 1) if high.shape[1] else 0
        top = np.partition(-high, rank, axis=1)[:, rank] if rank else np.zeros(len(points))
        return self.middles(rows, np.asarray(-THRESHOLD * top, dtype=np.float32))

    def typical(
        self,
        ours: tuple[Matrix, Matrix],
        theirs: tuple[Matrix, Matrix],
        *,
        saving: NDArray[np.bool_],
        minutes: float,
    ) -> Array:
        """Return how far light runs ahead: over all days, outside saving, within. [minutes]"""
        out = np.empty((len(ours[0]), 3))
        fill_typical(*ours, *theirs, saving, minutes, FEWEST_DAYS, out)
        return out

    def ends(
        self, ours: tuple[Matrix, Matrix], theirs: tuple[Matrix, Matrix], *, minutes: float
    ) -> Ends:
        """Return the ends of one system's days, for the rules that weigh them."""
        ahead = (ours[0] - theirs[0]).astype(np.float64).ravel() * minutes
        good = np.isfinite(ahead)
        bright = (ours[1] / np.maximum(theirs[1], 1e-9)).ravel()
        return Ends(self.numbers[good], ahead[good], bright[good].astype(np.float64))
