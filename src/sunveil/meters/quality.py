"""What is wrong with readings, one rule each: handled with a note, or refused with the remedy.

Notes and errors name rows, times and counts, never the value of a reading.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import MeterError, ask
from sunveil.meters.grid import Mask, RawReadings
from sunveil.meters.options import MeterOptions, UnitSwitch
from sunveil.meters.unit_switches import find_switches, repair_switches
from sunveil.meters.wording import count, name_rows, name_time, percent

# What loggers write for "nothing came", and the same after somebody divided by 1000.
SENTINELS = (-999.0, -9999.0, -99999.0, -32768.0, -0.999, -9.999, -99.999, -32.768)
# More than any plant gives, and little enough that sums of readings stay finite. [any unit]
_LARGEST = 1e12
# What a record reaches on good days: above it lie clear moments between clouds, and faults.
TOP_QUANTILE = 0.99
# Impossible spikes: so many times what all but a few readings stay below. [factor, share]
SPIKE_FACTOR, SPIKE_SHARE = 20.0, 0.001
# Far below zero, as a share of the top: a household or a fault; an inverter's own needs are less.
FAR_BELOW = 0.05
# The same value in so many of these readings, and at so many, is a stand-in of somebody's own.
_CONSTANT_SHARE, _CONSTANT_COUNT = 0.5, 5
# It is dark at those times of day at which all but this share of the readings is below a share of
# the top.
_DARK_SHARE, _DARK_LEVEL = 0.05, 0.02
# A net meter is far below zero in the dark on more than this share of the days, and a quarter of
# its steps are longer than this share of the top: of eight homes at least 0.9 of the days and 13%
# of the top; what real inverters take at night changes by 0.02% at most.
_NET_DAYS, _NET_STEP = 0.5, 0.002
# A load that hardly changes is no inverter's own where it is deeper than this share of the top.
_NET_DEPTH = 0.15
_NET = "goes far below zero at night on most days, as a net meter does"
# Stuck readings lie above a share of the top, where nothing idles, and below a share of the
# highest, where an inverter clips.
STUCK_FLOOR, STUCK_CEILING = 0.05, 0.95
_STUCK_HOURS = 6.0
_STUCK_READINGS = 8


def drop_missing(readings: RawReadings) -> RawReadings:
    """Leave out empty and infinite readings and loggers' stand-ins for them."""
    infinite = np.isinf(readings.power)
    if infinite.any():
        note = f"{count(int(infinite.sum()), 'infinite reading')}, among"
        readings = readings.keep(
            ~infinite, f"{note} {name_rows(readings.rows[infinite])}, left out."
        )
    missing = np.isnan(readings.power)
    if missing.all():
        raise MeterError(f"{readings.where} has no reading that is a number")
    if missing.any():
        readings = readings.keep(
            ~missing, f"{count(int(missing.sum()), 'empty reading')} left out."
        )
    sentinel = _is_stand_in(readings.power)
    if sentinel.any():
        note = f"{count(int(sentinel.sum()))} that a logger writes for missing, left out."
        readings = readings.keep(~sentinel, note)
    if not len(readings):
        raise MeterError(f"{readings.where} has no reading that is a number")
    return readings


def _is_stand_in(power: NDArray[np.float64]) -> Mask:
    """Return which readings a logger writes for missing, however many digits a file keeps."""
    with np.errstate(over="ignore"):
        return np.isin(power.astype(np.float32), np.array(SENTINELS, dtype=np.float32))


def blank_each(readings: RawReadings) -> RawReadings:
    """Blank infinities and loggers' stand-ins, and hold the rest to what can be added up."""
    power = readings.power
    none = np.isinf(power) | _is_stand_in(power)
    return readings.with_power(np.where(none, np.nan, np.clip(power, -_LARGEST, _LARGEST)))


def clean_each(readings: RawReadings) -> RawReadings:
    """Apply what can be said of one reading alone: nothing is made below zero."""
    return readings.with_power(np.maximum(readings.power, 0.0))


def clean(readings: RawReadings, options: MeterOptions, *, interval: int) -> RawReadings:
    """Apply every rule to readings in kW on their grid.

    Parameters
    ----------
    readings
        Sorted readings, one per interval start. [kW]
    options
        What the curator chose.
    interval
        Length of an interval. [s]
    """
    if not readings.power.any():
        raise MeterError(f"{readings.where} has only zeros: check that this is a generation meter")
    readings = settle_units(readings, UnitSwitch(options.unit_switch), interval=interval)
    readings = drop_spikes(readings)
    readings = settle_negatives(readings, interval=interval)
    readings = drop_stuck(readings, interval=interval)
    return note_gaps(readings, interval=interval)


def settle_units(readings: RawReadings, policy: UnitSwitch, *, interval: int) -> RawReadings:
    """Refuse or repair a record whose unit changes on the way.

    Parameters
    ----------
    readings
        Sorted readings, one per interval start. [kW]
    policy
        What to do about it.
    interval
        Length of an interval. [s]
    """
    if policy is UnitSwitch.IGNORE:
        return readings
    switches = find_switches(readings.seconds, readings.power, interval=interval)
    if switches is None:
        return readings
    low = readings.rows[switches.low]
    first = int(switches.starts[0])
    if policy is UnitSwitch.REFUSE:
        raise MeterError(
            f"{readings.where} changes its unit by a factor of about 1000 at row"
            f" {readings.rows[first]} ({name_time(readings.seconds[first])}): the smaller unit is"
            f" at {name_rows(readings.rows[~switches.low])}, the larger at {name_rows(low)};"
            f" correct the file, or use {ask('unit_switch', 'repair')}"
        )
    note = (
        f"The unit changed by a factor of 1000 at {count(len(switches.starts), 'time')}, first at"
        f" {name_time(readings.seconds[first])}; all was brought to the unit of the longer part."
    )
    return readings.with_power(repair_switches(readings.power, switches), note)


def drop_spikes(readings: RawReadings) -> RawReadings:
    """Leave out readings that no system could give beside its others."""
    power = readings.power
    rank = len(power) - 1 - max(1, round(SPIKE_SHARE * len(power)))
    if rank < 1:
        return readings
    usual = float(np.partition(power, rank)[rank])
    wild = np.abs(power) > SPIKE_FACTOR * usual
    if usual <= 0.0 or not wild.any():
        return readings
    note = f"{count(int(wild.sum()), 'impossible spike')}, among {name_rows(readings.rows[wild])}"
    return readings.keep(~wild, f"{note}, left out.")


def settle_negatives(readings: RawReadings, *, interval: int) -> RawReadings:
    """Tell a household from a fault and from what an inverter takes at night.

    A net meter is far below zero in the dark on most days, and never twice the same: its readings
    below zero become zero, and it is named. Of anything else, what is below zero in the dark, or
    not far, becomes zero; by day, on a day that goes far below zero, it is left out.

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
    dark = _dark_times(readings, top) if far.any() else negative
    if not readings.net and far.any() and _is_net(readings, dark, far, same, interval=interval):
        readings = replace(readings, net=_NET)
    if readings.net:
        note = f"{count(int(negative.sum()))} below zero, as of a net meter, set to zero."
        return readings.with_power(np.maximum(power, 0.0), note)
    days = readings.seconds // 86400
    wrong = negative & ~dark & (same | np.isin(days, days[far & ~dark & ~same]))
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


def drop_stuck(readings: RawReadings, *, interval: int) -> RawReadings:
    """Leave out long runs of one value, unless at the top, where an inverter clips."""
    power = readings.power
    if len(power) < 2:
        return readings
    same = (np.diff(power) == 0.0) & (np.diff(readings.seconds) == interval)
    edges = np.flatnonzero(np.r_[True, ~same, True])
    lengths = np.diff(edges)
    level = power[edges[:-1]]
    floor = STUCK_FLOOR * float(np.quantile(power, TOP_QUANTILE))
    ceiling = STUCK_CEILING * float(power.max())
    runs = (lengths >= stuck_readings(interval)) & (level > floor) & (level < ceiling)
    if not runs.any():
        return readings
    stuck: Mask = np.repeat(runs, lengths)
    times = readings.seconds[stuck]
    note = f"{count(int(stuck.sum()))} stuck at one value in"
    place = f"between {name_time(times[0])} and {name_time(times[-1])}"
    return readings.keep(
        ~stuck, f"{note} {count(int(runs.sum()), 'stretch', 'stretches')} {place} left out."
    )


def stuck_readings(interval: int) -> int:
    """Return how many equal readings in a row are stuck, of intervals of some length. [s]"""
    return max(_STUCK_READINGS, int(np.ceil(_STUCK_HOURS * 3600 / interval)))


def note_gaps(readings: RawReadings, *, interval: int) -> RawReadings:
    """Say how much of the record's span has no reading."""
    span = int(readings.seconds[-1] - readings.seconds[0]) // interval + 1
    missing = span - len(readings)
    if missing <= 0:
        return readings
    steps = np.diff(readings.seconds)
    longest = int(steps.argmax())
    note = (
        f"{percent(missing, span)} of the intervals have no reading; the longest gap is"
        f" from {name_time(readings.seconds[longest] + interval)}"
        f" to {name_time(readings.seconds[longest + 1])}."
    )
    return readings.keep(np.ones(len(readings), dtype=bool), note)
