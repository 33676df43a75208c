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
_NET = "goes far below zero at night on most days, as a net meter does"


def settle_negatives(readings: RawReadings, *, interval: int) -> RawReadings:
    """Tell a household from a fault and from what an inverter takes at night.

    A net meter is far below zero in the dark on most days, and never twice the same: its readings
    below zero become zero, and it is named. Of anything else, what is below zero in the dark, or
    not far, becomes zero; by day, on a day that goes far below zero, it is left out, and so is
    all of a day that is full of that.

    Parameters
    ----------
    readings
        Sorted readings, one per interval start. [kW]
    interval
        Length of an interval. [s]
    """
    power = readings.power
    if power.min() >= 0.0:
        return readings
    top = float(np.quantile(power, TOP_QUANTILE))
    negative, far = power < 0.0, power < -FAR_BELOW * top
    same = _is_constant(power, far)
    if top <= 0.0 or -np.quantile(power[~same], 1.0 - TOP_QUANTILE) > 3.0 * top:
        raise MeterError(
            f"{readings.where} counts hardly any generation as positive: if it counts generation"
            f" as negative, use {ask('negate')}"
        )
    dark = _dark_times(readings, top)
    if not readings.net and _is_net(readings, dark, far, same, interval=interval):
        readings = replace(readings, net=_NET)
    if readings.net:
        note = f"{count(int(negative.sum()))} below zero, as of a net meter, set to zero."
        return readings.with_power(np.maximum(power, 0.0), note)
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


def _is_net(readings: RawReadings, dark: Mask, far: Mask, same: Mask, *, interval: int) -> bool:
    """Whether a household, or any load beyond an inverter's own, is in the readings.

    Parameters
    ----------
    readings
        Sorted readings, one per interval start. [kW]
    dark, far, same
        Which of them are of dark times of day, far below zero, and of one value again and again.
        Where it is never dark, all times count.
    interval
        Length of an interval. [s]
    """
    power, days = readings.power, readings.seconds // 86400
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
    top = float(np.quantile(power, TOP_QUANTILE))
    restless = len(steps) > 0 and np.quantile(steps, 0.75) > _NET_STEP * top
    return bool(restless or np.median(power[there]) < -_NET_DEPTH * top)
