"""The daylight readings of a record, and the sky that each of them saw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.meters.record import Record
from sunveil.site import Array
from sunveil.sky import Sky, sky_at
from sunveil.weather.base import Weather

LOWEST = float(np.sin(np.radians(3.0)))
TARGET_MINUTES = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Daylight:
    """Readings while the sun is up, under one hypothesis about the clock: private data.

    Parameters
    ----------
    power
        Mean power of each interval. [kW]
    day
        Number of the solar day of each reading.
    middle
        The sky at the middle of each interval.
    nodes
        The sky at the Gauss-Legendre nodes of each interval, for averages over it.
    weights
        The weight of each node.
    """

    power: Array
    day: NDArray[np.int64]
    middle: Sky
    nodes: tuple[Sky, ...]
    weights: tuple[float, ...]

    def __repr__(self) -> str:
        return f"Daylight({len(self.power)} readings, private)"

    def __len__(self) -> int:
        return len(self.power)

    def take(self, chosen: NDArray[np.intp] | NDArray[np.bool_]) -> Daylight:
        """Return the chosen readings only."""
        return Daylight(
            self.power[chosen],
            self.day[chosen],
            self.middle.take(chosen),
            tuple(node.take(chosen) for node in self.nodes),
            self.weights,
        )


def coarsen(record: Record, minutes: float = TARGET_MINUTES) -> Record:
    """Average short intervals to longer ones; incomplete ones are left out.

    A record whose interval does not divide ``minutes``, or exceeds half of it, stays as it is.
    """
    ratio = minutes / record.interval_minutes
    count = round(ratio)
    if count < 2 or abs(ratio - count) > 1e-9:
        return record
    seconds = record.times.astype("datetime64[s]").astype(np.int64)
    step = int(minutes * 60)
    # align the long intervals with the short ones, not with the hour: stamps may stand anywhere
    origin = seconds[0] % int(record.interval_minutes * 60)
    block = (seconds - origin) // step
    starts = np.flatnonzero(np.diff(block, prepend=block[0] - 1))
    sizes = np.diff(np.append(starts, len(block)))
    sums = np.add.reduceat(record.power_kw, starts)
    whole = sizes == count
    return Record(
        system_id=record.system_id,
        times=(block[starts][whole] * step + origin).astype("datetime64[s]"),
        power_kw=sums[whole] / count,
        interval_minutes=minutes,
        timezone=record.timezone,
        label=record.label,
        notes=record.notes,
    )


def daylight(
    record: Record,
    weather: Weather,
    clear: Weather,
    *,
    ahead_seconds: NDArray[np.int64] | int = 0,
) -> Daylight:
    """Pair the readings with the sky they saw.

    Parameters
    ----------
    record
        The readings.
    weather
        The weather to compare with.
    clear
        Clear-sky weather of the same site, every 15 minutes or so.
    ahead_seconds
        How far the record's clock runs ahead of the sun: one number, or one per reading. [s]
    """
    starts = record.times - np.asarray(ahead_seconds).astype("timedelta64[s]")
    length = record.interval_minutes * 60.0
    middle = sky_at(weather, starts + np.timedelta64(round(length / 2), "s"), clear)
    up = middle.sun[:, 2] > LOWEST
    starts, middle = starts[up], middle.take(up)
    places, weights = np.polynomial.legendre.leggauss(2 if length > 900 else 1)
    if len(places) == 1:
        nodes: tuple[Sky, ...] = (middle,)
    else:
        offsets = np.round((places + 1.0) / 2.0 * length).astype("timedelta64[s]")
        nodes = tuple(sky_at(weather, starts + offset, clear) for offset in offsets)
    solar = starts.astype("datetime64[s]").astype(np.int64) + int(clear.site.longitude * 240.0)
    return Daylight(
        power=record.power_kw[up],
        day=solar // 86400,
        middle=middle,
        nodes=nodes,
        weights=tuple(float(w) / 2.0 for w in weights),
    )
