"""Readings of a block, laid onto the intervals that the sky is known at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.cells import Axis, CellSky
from sunveil.cells.tables import LANES
from sunveil.fit.clipping import BIN, FEWEST_DAYS, LEAST_HOURS, LOWEST_SHARE
from sunveil.jit import compiled
from sunveil.quick.groups import Matrix

BRIGHT, TOP = 0.98, 0.999


@compiled
def fill_long(power, lead, per_long, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with means over long intervals, NaN where a reading is missing."""
    for s in range(out.shape[0]):
        for k in range(out.shape[1]):
            first = k * per_long - lead
            total = np.float32(0.0)
            if first < 0 or first + per_long > power.shape[1]:
                total = np.float32(np.nan)
            else:
                for i in range(first, first + per_long):
                    total += power[s, i]
            out[s, k] = total / per_long


def on_long_axis(power: Matrix, axis: Axis) -> Matrix:
    """Return readings averaged to 30 minutes where they are shorter, as they are otherwise."""
    if axis.per_long == 1:
        return power
    out = np.empty((len(power), axis.long.count), dtype=np.float32)
    fill_long(power, axis.lead, axis.per_long, out)
    return out


@compiled
def fill_usable(rows, slot, usable, power, have):  # type: ignore[no-untyped-def]
    """Fill readings at usable intervals, zero where there is none, and which there are."""
    power[:] = 0.0
    have[:] = 0.0
    for s in range(rows.shape[0]):
        for k in range(usable):
            value = rows[s, slot[k]]
            if value == value:
                power[s, k] = value
                have[s, k] = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """The readings of a block at the usable intervals of its sky, padded: private.

    Parameters
    ----------
    power, have
        Readings, zero where there is none, and which there are; shape (systems, padded). [kW]
    bright, top
        Powers that 2% and 0.1% of the readings exceed. [kW]
    lit
        How many readings have power.
    """

    power: Matrix
    have: Matrix
    bright: NDArray[np.float64]
    top: NDArray[np.float64]
    lit: NDArray[np.int32]

    def __repr__(self) -> str:
        return f"Laid({len(self.power)} systems, private)"


def lay_out(rows: Matrix, sky: CellSky) -> Laid:
    """Return the readings of a block, given on the long axis, at the usable intervals."""
    padded = sky.sheet.shape[0] * LANES
    power = np.empty((len(rows), padded), dtype=np.float32)
    have = np.empty_like(power)
    fill_usable(rows, sky.slot, sky.usable, power, have)
    # missing ones stand at the end of each sorted row
    ordered = np.sort(np.where(have > 0.0, power, np.float32(np.inf)), axis=1)
    count = have.sum(axis=1).astype(np.int64)
    return Laid(
        power=power,
        have=have,
        bright=_quantiles(ordered, count, BRIGHT),
        top=_quantiles(ordered, count, TOP),
        lit=(power > 0.0).sum(axis=1).astype(np.int32),
    )


def _quantiles(ordered: Matrix, count: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    place = share * np.maximum(count - 1, 0)
    low = place.astype(np.int64)
    high = np.minimum(low + 1, np.maximum(count - 1, 0))
    rows = np.arange(len(ordered))
    below, above = ordered[rows, low].astype(np.float64), ordered[rows, high].astype(np.float64)
    with np.errstate(invalid="ignore"):
        found = below + (place - low) * (above - below)
    return np.asarray(np.where(count > 0, found, 0.0))


@compiled
def fill_limits(power, have, top, day, edges, hours, fewest, least, out):  # type: ignore[no-untyped-def]
    """Fill the logarithm of each inverter's limit, infinite for none: see ``fit.clipping``."""
    bins = len(edges) - 1
    lowest, width, usable = edges[0], edges[1] - edges[0], len(day)
    counts = np.zeros(bins)
    smooth = np.zeros(bins)
    for s in range(power.shape[0]):
        out[s] = np.inf
        if top[s] <= 0.0:
            continue
        counts[:] = 0.0
        for k in range(usable):
            if have[s, k] > 0.0:
                place = (power[s, k] / top[s] - lowest) / width
                if place >= 0.0 and place < bins:
                    counts[int(place)] += 1.0
        pile = 0
        for b in range(bins):
            smooth[b] = counts[b]
            if b > 0:
                smooth[b] += counts[b - 1]
            if b < bins - 1:
                smooth[b] += counts[b + 1]
            if smooth[b] > smooth[pile]:
                pile = b
        usual = np.median(smooth[: max(pile - 5, 5)])
        above = counts[pile + 5 :].sum()
        if smooth[pile] <= 2.5 * max(usual, 3.0) or above >= 0.25 * smooth[pile]:
            continue
        level = (lowest + width * pile + 0.5 * width) * top[s]
        # whole days at the limit, each for hours
        lasting, held, today = 0, 0, -1
        for k in range(usable):
            if day[k] != today:
                lasting += held * hours >= least
                held, today = 0, day[k]
            if have[s, k] > 0.0 and abs(power[s, k] / level - 1.0) < 0.02:
                held += 1
        lasting += held * hours >= least
        if lasting >= fewest:
            out[s] = np.log(level)


def find_limits(laid: Laid, day: NDArray[np.int32], *, hours: float) -> NDArray[np.float64]:
    """Return the logarithm of each inverter's limit, infinite for none. [kW]

    Parameters
    ----------
    laid
        The readings.
    day
        The solar day of each usable interval.
    hours
        Length of an interval. [h]
    """
    out = np.empty(len(laid.power))
    fill_limits(
        laid.power,
        laid.have,
        laid.top,
        day,
        np.arange(LOWEST_SHARE, 1.1, BIN),
        hours,
        FEWEST_DAYS,
        LEAST_HOURS,
        out,
    )
    return out
