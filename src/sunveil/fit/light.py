"""First and last light: what the ends of the day say of the clock, whatever the plane.

A plane moves the hour of most power, but hardly the first and the last minute of power, which
diffuse light gives. The middle between them is solar noon, so it shows a clock that is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.fit.shared import LIGHT_FEWEST_DAYS as FEWEST_DAYS
from sunveil.fit.shared import LIGHT_THRESHOLD as THRESHOLD
from sunveil.meters.record import Record
from sunveil.site import Array
from sunveil.sky import sky_at, unit_power
from sunveil.weather.base import Weather

DAY = 86400


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """How far the middle of each day's light runs ahead of the sun.

    Parameters
    ----------
    day
        Number of each solar day that could be read.
    ahead_minutes
        Middle of the measured light less the middle of the modelled light. [minutes]
    brightness
        The day's energy over that of a clear day, up to a factor.
    """

    day: NDArray[np.int64]
    ahead_minutes: Array
    brightness: Array

    def __repr__(self) -> str:
        return f"Ends({len(self.day)} days, private)"

    def typical(self, chosen: NDArray[np.bool_] | None = None) -> float:
        """Return the median over the brighter half of the (chosen) days, or NaN. [minutes]"""
        keep = np.ones(len(self.day), dtype=bool) if chosen is None else chosen
        if np.count_nonzero(keep) < FEWEST_DAYS:
            return float("nan")
        bright = self.brightness[keep] >= np.median(self.brightness[keep])
        return float(np.median(self.ahead_minutes[keep][bright]))


def day_ends(record: Record, clear: Weather, *, normal: Array | None = None) -> Ends:
    """Compare the first and last light of each day with those of a clear sky.

    Parameters
    ----------
    record
        The readings, on the clock as declared.
    clear
        Clear-sky weather of the site.
    normal
        The plane's unit normal where it is known; a flat plane otherwise.
    """
    step = int(record.interval_minutes * 60)
    per_day = DAY // step
    if per_day * step != DAY:
        return Ends(np.array([], dtype=np.int64), np.array([]), np.array([]))
    # days from solar midnight to solar midnight, in whole steps
    turn = round(clear.site.longitude * 240.0 / step) * step
    local = record.times.astype("datetime64[s]").astype(np.int64) + turn
    first, last = local[0] // DAY, local[-1] // DAY
    origin = int(local[0] % step)
    place = (local - first * DAY - origin) // step
    measured = np.full((last - first + 1) * per_day + 1, np.nan)
    measured[np.clip(place, 0, len(measured) - 1)] = record.power_kw
    measured = measured[:-1].reshape(-1, per_day)
    starts = (first * DAY + origin - turn) + step * np.arange(measured.size)
    modelled = _modelled(starts, step, clear=clear, normal=normal).reshape(-1, per_day)
    whole = np.isfinite(measured).sum(axis=1) >= 0.9 * per_day
    measured = np.nan_to_num(measured)
    ours, found = _middles(measured, THRESHOLD * float(np.quantile(record.power_kw, 0.99)))
    theirs, there = _middles(modelled, THRESHOLD * float(np.quantile(modelled, 0.99)))
    good = whole & found & there
    energy = measured.sum(axis=1) / np.maximum(modelled.sum(axis=1), 1e-9)
    ahead = (ours - theirs) * record.interval_minutes
    return Ends(np.flatnonzero(good) + first, ahead[good], energy[good])


def _modelled(
    starts: NDArray[np.int64], step: int, *, clear: Weather, normal: Array | None
) -> Array:
    """Return clear-sky power at every interval, night included, averaged over its nodes."""
    plane = np.array([[0.0, 0.0, 1.0]]) if normal is None else normal.reshape(1, 3)
    nodes, weights = np.polynomial.legendre.leggauss(1 if step <= 900 else 3)
    total = np.zeros(len(starts))
    for node, weight in zip(nodes, weights, strict=True):
        moment = (starts + round((node + 1.0) / 2.0 * step)).astype("datetime64[s]")
        sky = sky_at(clear, moment)
        power = unit_power(sky, plane)[0]
        total += weight / 2.0 * np.where(sky.sun[:, 2] > 0.0, power, 0.0)
    return total


def _middles(power: Array, threshold: float) -> tuple[Array, NDArray[np.bool_]]:
    """Return the middle between first and last crossing of a threshold, in steps, per day."""
    lit = power > threshold
    steps = power.shape[1]
    first = lit.argmax(axis=1)
    last = steps - 1 - lit[:, ::-1].argmax(axis=1)
    found = lit.any(axis=1) & (first > 0) & (last < steps - 1) & (last > first)
    row = np.arange(len(power))
    before, after = np.maximum(first - 1, 0), np.minimum(last + 1, steps - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = (threshold - power[row, before]) / (power[row, first] - power[row, before])
        fall = (power[row, last] - threshold) / (power[row, last] - power[row, after])
    # days that begin or end lit are not found, and must not overflow either
    rise, fall = (np.nan_to_num(part, posinf=0.0, neginf=0.0) for part in (rise, fall))
    middle = 0.5 * (before + rise + last + fall)
    return middle, found
