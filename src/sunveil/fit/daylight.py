"""The daylight readings of a record, and the sky that each of them saw."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sunveil.meters.record import Record
from sunveil.site import Array
from sunveil.sky import Sky, covered, sky_at
from sunveil.weather.base import Weather

LOWEST = float(np.sin(np.radians(3.0)))
TARGET_MINUTES = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Daylight:
    """Readings while the sun is up, under one hypothesis about the clock: private data.

    Parameters
    ----------
    starts
        UTC start of each interval, by the sun's clock.
    interval_minutes
        Length of one interval. [minutes]
    power
        Mean power of each interval. [kW]
    day
        Number of the solar day of each reading.
    slot
        Number of the interval within its solar day.
    middle
        The sky at the middle of each interval.
    nodes
        The sky at the Gauss-Legendre nodes of each interval, for averages over it.
    weights
        The weight of each node.
    """

    starts: NDArray[np.datetime64]
    interval_minutes: float
    power: Array
    day: NDArray[np.int64]
    slot: NDArray[np.int64]
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
            self.starts[chosen],
            self.interval_minutes,
            self.power[chosen],
            self.day[chosen],
            self.slot[chosen],
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
    ends = [int(end.astype("datetime64[s]").astype(np.int64)) for end in record.extent]

    def held(second: int) -> np.datetime64:
        return np.datetime64(int((second - origin) // step * step + origin), "s")

    return Record(
        system_id=record.system_id,
        times=(block[starts][whole] * step + origin).astype("datetime64[s]"),
        power_kw=sums[whole] / count,
        interval_minutes=minutes,
        timezone=record.timezone,
        label=record.label,
        notes=record.notes,
        cleaning=record.cleaning,
        rows_span=None if record.rows_span is None else (held(ends[0]), held(ends[1])),
    )


def daylight(
    record: Record,
    weather: Weather,
    clear: Weather,
    *,
    ahead_seconds: NDArray[np.int64] | int = 0,
    only_middles: bool = False,
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
    only_middles
        Take the middle of an interval for all of it: quicker, for coarse searches.
    """
    starts = record.times - np.asarray(ahead_seconds).astype("timedelta64[s]")
    length = record.interval_minutes * 60.0
    middle = sky_at(weather, starts + np.timedelta64(round(length / 2), "s"), clear)
    up = (middle.sun[:, 2] > LOWEST) & covered(
        weather, starts + np.timedelta64(round(length / 2), "s")
    )
    starts, middle = starts[up], middle.take(up)
    solar = starts.astype("datetime64[s]").astype(np.int64) + int(clear.site.longitude * 240.0)
    nodes: tuple[Sky, ...] = (middle,)
    weights: tuple[float, ...] = (1.0,)
    if not only_middles:
        nodes, weights = _nodes(starts, length, weather=weather, clear=clear)
    return Daylight(
        starts=starts,
        interval_minutes=record.interval_minutes,
        power=record.power_kw[up],
        day=solar // 86400,
        slot=(solar % 86400) // int(length),
        middle=middle,
        nodes=nodes,
        weights=weights,
    )


def earlier(data: Daylight, seconds: int, *, weather: Weather, clear: Weather) -> Daylight:
    """Return the same readings with the skies of some seconds earlier: another clock."""
    starts = data.starts - np.timedelta64(seconds, "s")
    nodes, _ = _nodes(starts, data.interval_minutes * 60.0, weather=weather, clear=clear)
    return replace(data, starts=starts, nodes=nodes)


def _nodes(
    starts: NDArray[np.datetime64], length: float, *, weather: Weather, clear: Weather
) -> tuple[tuple[Sky, ...], tuple[float, ...]]:
    """Return the sky at the Gauss-Legendre nodes of intervals, and the nodes' weights."""
    places, weights = np.polynomial.legendre.leggauss(2 if length > 900.0 else 1)
    offsets = np.round((places + 1.0) / 2.0 * length).astype("timedelta64[s]")
    nodes = tuple(sky_at(weather, starts + offset, clear) for offset in offsets)
    return nodes, tuple(float(w) / 2.0 for w in weights)
