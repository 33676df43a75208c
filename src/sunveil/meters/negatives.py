"""Readings below zero: what an inverter takes itself, a fault, or a household.

Readers know times of day, not the sun: it is dark when a record hardly ever generates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import MeterError, ask
from sunveil.meters.grid import Mask, RawReadings
from sunveil.meters.wording import count, name_rows

# What a record reaches on good days: above it lie clear moments between clouds, and faults.
TOP_QUANTILE = 0.99
# Far below zero, as a share of the top: a household or a fault; an inverter's own needs are less.
FAR_BELOW = 0.05
# The same value in so many of these readings, and at so many, is a stand-in of somebody's own.
_CONSTANT_SHARE, _CONSTANT_COUNT = 0.5, 5
# It is dark at those times of day at which all but this share of the readings is below a share of
# the top.
_DARK_SHARE, _DARK_LEVEL = 0.05, 0.02
# All of a day is left out where more than this share of its readings is far below zero.
_FULL_SHARE = 0.25
# A net meter is far below zero in the dark on more than this share of the days, and a quarter of
# its steps are longer than this share of the top: of eight homes at least 0.9 of the days and 13%
# of the top; what real inverters take at night changes by 0.02% at most.
_NET_DAYS, _NET_STEP = 0.5, 0.002
# A load that hardly changes is no inverter's own where it is deeper than this share of the top.
_NET_DEPTH = 0.15
_NET = "It goes far below zero at night on most days, as a net meter does: taken for one."
TURNED = (
    "What is taken from the grid, as at night, is counted as positive: the sign of all readings"
    " was turned."
)
# A home gives nothing to the grid at night: for so long of every day [h], but for a few readings
# [share]. By day one with much generation takes nothing from it for as long: it then gives more
# than it takes, by this factor. Of eight real homes with half to four times their own generation,
# two weeks at a time or longer, none is turned wrongly and 1% not seen; with batteries of 6 and 13
# kWh 2% and 5%. The ninth gives nothing to the grid.
_NIGHT, _NIGHT_SHARE, _MORE = 8.0, 0.05, 1.2
# What is taken from the grid is a good part of all readings, of any home. [share]
_TAKEN_SHARE = 0.25
# Of readings of less time, nothing is told of nights. [s]
_LEAST = 3 * 86400


def tell_net(readings: RawReadings, *, turnable: bool, interval: int) -> RawReadings:
    """Say whether readings are a net meter's, and let generation be above zero in them.

    A net meter is far below zero in the dark on most days, and never twice the same. One that
    counts what is taken from the grid as positive is one once its sign is turned.

    Parameters
    ----------
    readings
        Sorted readings, one per interval start. [kW]
    turnable
        Whether nobody said which sign is generation's.
    interval
        Length of an interval. [s]
    """
    if len(readings) * interval < _LEAST:
        return readings
    if readings.power.min() >= 0.0:
        if readings.net and turnable and _night(readings) < _NIGHT / 2.0:
            raise MeterError(
                f"{readings.where} is said to be a net meter, but is above zero at all times of"
                f" day and never below: name what is given to the grid with {ask('export_column')}"
            )
        return readings
    turned = readings.with_power(-readings.power + 0.0, TURNED)
    if turnable and _counts_consumption(readings, turned):
        if readings.net:
            return turned
        if _gives_often(turned) and _is_net(turned, interval=interval):
            return replace(turned, net=True, notes=(*readings.notes, _NET, TURNED))
    if not readings.net and _is_net(readings, interval=interval):
        return replace(readings, net=True, notes=(*readings.notes, _NET))
    return readings


def settle_negatives(readings: RawReadings) -> RawReadings:
    """Tell a fault from what an inverter takes at night; a net meter's readings stay.

    What is below zero in the dark, or not far, becomes zero; by day, on a day that goes far below
    zero, it is left out, and so is all of a day that is full of that.
    """
    power = readings.power
    if readings.net or power.min() >= 0.0:
        return readings
    top = float(np.quantile(power, TOP_QUANTILE))
    negative, far = power < 0.0, power < -FAR_BELOW * top
    same = _is_constant(power, far)
    if top <= 0.0 or -np.quantile(power[~same], 1.0 - TOP_QUANTILE) > 3.0 * top:
        raise MeterError(
            f"{readings.where} counts hardly any generation as positive: if it counts generation"
            f" as negative, use {ask('negate')}; if it is a home's net meter, {ask('net')}"
        )
    dark = _dark_times(readings, top)
    wrong = (negative & ~dark & same) | _of_bad_days(readings, dark, far & ~same)
    notes = []
    if small := int((negative & ~wrong).sum()):
        said = "slightly below zero, or at night (night consumption), set to zero."
        notes.append(f"{count(small)} {said}")
    if wrong.any():
        note = f"{count(int(wrong.sum()))} of days that go far below zero, among"
        notes.append(f"{note} {name_rows(readings.rows[wrong])}, left out.")
    return readings.with_power(np.maximum(power, 0.0)).keep(~wrong, *notes)


def _is_constant(power: NDArray[np.float64], far: Mask) -> Mask:
    """Return which readings far below zero are of one value that comes again and again."""
    values, counts = np.unique(power[far], return_counts=True)
    if not len(counts) or counts.max() < max(_CONSTANT_COUNT, _CONSTANT_SHARE * far.sum()):
        return np.zeros(len(power), dtype=bool)
    return np.asarray(power == values[counts.argmax()])


def _of_bad_days(readings: RawReadings, dark: Mask, far: Mask) -> Mask:
    """Return which readings to leave out, of days that are far below zero by day, or throughout.

    Parameters
    ----------
    readings
        Sorted readings, one per interval start. [kW]
    dark, far
        Which of them are of dark times of day, and far below zero.
    """
    _, day = np.unique(readings.seconds // 86400, return_inverse=True)
    full = np.bincount(day, far) > _FULL_SHARE * np.bincount(day)
    if full.mean() > _NET_DAYS:  # so is every night of an inverter that takes much itself
        full[:] = False
    touched = np.bincount(day, far & ~dark) > 0
    return np.asarray(full[day] | (touched[day] & ~dark & (readings.power < 0.0)))


def _dark_times(readings: RawReadings, top: float) -> Mask:
    """Return which readings are of times of day at which there is hardly ever any generation."""
    times, which = np.unique(readings.seconds % 86400, return_inverse=True)
    order = np.argsort(which, kind="stable")
    parts = np.split(readings.power[order], np.searchsorted(which[order], np.arange(1, len(times))))
    usual = np.array([np.quantile(part, 1.0 - _DARK_SHARE) for part in parts])
    return np.asarray((usual <= _DARK_LEVEL * top)[which])


def _night(readings: RawReadings) -> float:
    """Return for how long of every day there is hardly ever a reading above about zero. [h]"""
    # a battery's control wavers around it
    zero = _DARK_LEVEL * np.quantile(np.abs(readings.power), TOP_QUANTILE)
    times, which = np.unique(readings.seconds % 86400, return_inverse=True)
    above = np.bincount(which, readings.power > zero) / np.bincount(which)
    lit = np.flatnonzero(above > _NIGHT_SHARE)
    if not len(lit):
        return 24.0
    gaps = np.diff(np.append(lit, lit[0] + len(times))) - 1
    return 24.0 * float(gaps.max()) / len(times)


def _counts_consumption(readings: RawReadings, turned: RawReadings) -> bool:
    """Whether a net meter counts what is taken from the grid as positive."""
    above, below = readings.power > 0.0, turned.power > 0.0
    if above.mean() < _TAKEN_SHARE or not below.any() or _night(turned) < _NIGHT:
        return False
    if _is_constant(turned.power, below).any():
        return False  # the sun never gives the same for half of the time
    if _night(readings) < _NIGHT or _is_constant(readings.power, above).any():
        return True
    return bool(turned.power[below].sum() > _MORE * readings.power[above].sum())


def _gives_often(readings: RawReadings) -> bool:
    """Whether a home gives more than a little to the grid on most days: a fault does not."""
    _, day = np.unique(readings.seconds // 86400, return_inverse=True)
    little = FAR_BELOW * np.quantile(np.abs(readings.power), TOP_QUANTILE)
    return bool((np.bincount(day, readings.power > little) > 0).mean() > _NET_DAYS)


def _is_net(readings: RawReadings, *, interval: int) -> bool:
    """Whether a household, or any load beyond an inverter's own, is in the readings.

    Parameters
    ----------
    readings
        Sorted readings, one per interval start. [kW]
    interval
        Length of an interval. [s]
    """
    power, days = readings.power, readings.seconds // 86400
    top = float(np.quantile(power, TOP_QUANTILE))
    if top <= 0.0:
        return False
    far = power < -FAR_BELOW * top
    same = _is_constant(power, far)
    dark = _dark_times(readings, top)
    # where it is never dark, all times count
    dark = dark if dark.any() else np.ones(len(dark), dtype=bool)
    nights = _NET_DAYS * len(np.unique(days[dark]))

    def on_most_days(which: Mask) -> bool:
        return len(np.unique(days[which])) > nights

    if on_most_days(dark & same):
        # a load that never changes pulls mornings below zero too; a stand-in for missing does not
        return on_most_days(far & ~same)
    if not on_most_days(dark & far & ~same):
        return False
    there = dark & (power < 0.0) & ~same
    pairs = there[1:] & there[:-1] & (np.diff(readings.seconds) == interval)
    steps = np.abs(np.diff(power))[pairs]
    restless = len(steps) > 0 and np.quantile(steps, 0.75) > _NET_STEP * top
    return bool(restless or np.median(power[there]) < -_NET_DEPTH * top)
