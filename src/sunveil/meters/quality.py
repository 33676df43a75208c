"""What is wrong with readings, one rule each: handled with a note, or refused with the remedy.

Notes and errors name rows, times and counts, never the value of a reading.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import MeterError, ask
from sunveil.meters.grid import Mask, RawReadings
from sunveil.meters.negatives import TOP_QUANTILE, settle_negatives, tell_net
from sunveil.meters.options import MeterOptions, UnitSwitch
from sunveil.meters.unit_switches import find_switches, repair_switches
from sunveil.meters.wording import count, name_rows, name_time, percent

# What loggers write for "nothing came", and the same after somebody divided by 1000.
SENTINELS = (-999.0, -9999.0, -99999.0, -32768.0, -0.999, -9.999, -99.999, -32.768)
# More than any plant gives, and little enough that sums of readings stay finite. [any unit]
_LARGEST = 1e12
# Impossible spikes: so many times what all but a few readings stay below. [factor, share]
SPIKE_FACTOR, SPIKE_SHARE = 20.0, 0.001
# Stuck readings lie above a share of the top, where nothing idles, and below a share of the
# highest, where an inverter clips.
STUCK_FLOOR, STUCK_CEILING = 0.05, 0.95
_STUCK_HOURS = 6.0
_STUCK_READINGS = 8


def drop_missing(readings: RawReadings) -> RawReadings:
    """Leave out empty and infinite readings and loggers' stand-ins for them."""
    infinite: Mask = np.any(np.isinf(readings.columns), axis=0)
    if infinite.any():
        note = f"{count(int(infinite.sum()), 'infinite reading')}, among"
        readings = readings.keep(
            ~infinite, f"{note} {name_rows(readings.rows[infinite])}, left out."
        )
    missing: Mask = np.any(np.isnan(readings.columns), axis=0)
    if missing.all():
        raise MeterError(f"{readings.where} has no reading that is a number")
    if missing.any():
        readings = readings.keep(
            ~missing, f"{count(int(missing.sum()), 'empty reading')} left out."
        )
    sentinel = np.any([_is_stand_in(power) for power in readings.columns], axis=0)
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
    held = []
    for power in readings.columns:
        none = np.isinf(power) | _is_stand_in(power)
        held.append(np.where(none, np.nan, np.clip(power, -_LARGEST, _LARGEST)))
    return readings.with_columns(*held)


def clean_each(readings: RawReadings) -> RawReadings:
    """Apply what can be said of one reading alone: nothing is generated below zero."""
    return readings if readings.net else readings.with_power(np.maximum(readings.power, 0.0))


def clean(
    readings: RawReadings, options: MeterOptions, *, interval: int, sign_known: bool = False
) -> RawReadings:
    """Apply every rule to readings in kW on their grid.

    Parameters
    ----------
    readings
        Sorted readings, one per interval start. [kW]
    options
        What the curator chose.
    interval
        Length of an interval. [s]
    sign_known
        Whether the source says which sign is generation's.
    """
    if not readings.power.any():
        raise MeterError(f"{readings.where} has only zeros: check that this is a generation meter")
    turnable = not (options.negate or sign_known or options.export_column is not None)
    readings = tell_net(readings, turnable=turnable, interval=interval)
    readings = settle_units(readings, UnitSwitch(options.unit_switch), interval=interval)
    readings = settle_negatives(drop_spikes(readings))
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
    # a home takes power every day, whether or not it gives any
    level = np.abs(readings.power) if readings.net else readings.power
    switches = find_switches(readings.seconds, level, interval=interval)
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
    power = np.abs(readings.power) if readings.net else readings.power
    rank = len(power) - 1 - max(1, round(SPIKE_SHARE * len(power)))
    if rank < 1:
        return readings
    usual = float(np.partition(power, rank)[rank])
    wild = np.abs(power) > SPIKE_FACTOR * usual
    if usual <= 0.0 or not wild.any():
        return readings
    note = f"{count(int(wild.sum()), 'impossible spike')}, among {name_rows(readings.rows[wild])}"
    return readings.keep(~wild, f"{note}, left out.")


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
