"""Whole-record quality rules: repair with a note, or refuse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import MeterError
from sunveil.meters.numbers_and_dates import Rows, count, name_rows, name_time, percent
from sunveil.meters.reading_options import MeterOptions, UnitSwitch
from sunveil.meters.time_steps import RawReadings

# What a record reaches on good days: above it lie clear moments between clouds, and faults.
TOP_QUANTILE = 0.99

# Far below zero, as a share of the top: a household or a fault; an inverter's own needs are less.
FAR_BELOW = 0.05

# A value repeated in this share of readings, and this often, stands for missing ones.
_CONSTANT_SHARE, _CONSTANT_COUNT = 0.5, 5

# It is dark at those times of day at which all but this share of the readings is below a share of
# the top.
_DARK_SHARE, _DARK_LEVEL = 0.05, 0.02

# A day is dropped where more than this share of its readings is far below zero.
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

# Shorter records are not checked for nights. [s]
_LEAST = 3 * 86400


def tell_net(readings: RawReadings, *, turnable: bool, interval: int) -> RawReadings:
    """Say whether readings are a net meter's, and let generation be above zero in them."""
    # A net meter is far below zero in the dark on most days, and never twice the same. One that
    # counts what is taken from the grid as positive is one once its sign is turned.
    if len(readings) * interval < _LEAST:
        return readings
    if readings.power.min() >= 0.0:
        if readings.net and turnable and _night(readings) < _NIGHT / 2.0:
            raise MeterError(
                f"{readings.where} is said to be a net meter, but is above zero at all times of"
                " day and never below: name what is given to the grid with option `export_column`"
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


def mend_negatives(readings: RawReadings) -> RawReadings:
    """Tell a fault from what an inverter takes at night; a net meter's readings stay."""
    # What is below zero in the dark, or not far, becomes zero; by day, on a day that goes far below
    # zero, it is dropped, and so is a day that is full of such readings.
    power = readings.power
    if readings.net or power.min() >= 0.0:
        return readings
    top = float(np.quantile(power, TOP_QUANTILE))
    negative, far = power < 0.0, power < -FAR_BELOW * top
    same = _is_constant(power, far)
    if top <= 0.0 or -np.quantile(power[~same], 1.0 - TOP_QUANTILE) > 3.0 * top:
        raise MeterError(
            f"{readings.where} counts hardly any generation as positive: if it counts generation"
            " as negative, use option `negate`; if it is a home's net meter, option `net`"
        )
    dark = _dark_times(readings, top)
    wrong = (negative & ~dark & same) | _of_bad_days(readings, dark, far & ~same)
    notes = []
    if small := int((negative & ~wrong).sum()):
        said = "slightly below zero, or at night (night consumption), set to zero."
        notes.append(f"{count(small)} {said}")
    if wrong.any():
        note = f"{count(int(wrong.sum()))} of days that go far below zero, among"
        notes.append(f"{note} {name_rows(readings.rows[wrong])}, dropped.")
    return readings.with_power(np.maximum(power, 0.0)).keep(~wrong, *notes)


def _is_constant(power: NDArray[np.float64], far: Mask) -> Mask:
    """Return which readings far below zero are of one value that comes again and again."""
    values, counts = np.unique(power[far], return_counts=True)
    if not len(counts) or counts.max() < max(_CONSTANT_COUNT, _CONSTANT_SHARE * far.sum()):
        return np.zeros(len(power), dtype=bool)
    return np.asarray(power == values[counts.argmax()])


def _of_bad_days(readings: RawReadings, dark: Mask, far: Mask) -> Mask:
    """Return which readings to leave out, of days that are far below zero by day, or throughout."""
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
    daylight = np.flatnonzero(above > _NIGHT_SHARE)
    if not len(daylight):
        return 24.0
    gaps = np.diff(np.append(daylight, daylight[0] + len(times))) - 1
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
    """Whether a household, or any load beyond an inverter's own, is in the readings."""
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


Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
_DAY = 86_400
_LEAST_DAYS = 3

# What a change of unit by a thousand is taken to be, with the season's share in it.
FACTORS = (500.0, 2000.0)


@dataclass(frozen=True, slots=True, eq=False)
class UnitSwitches:
    """Where a record is a thousand times lower than elsewhere."""

    low: Mask  # which readings are in the larger unit, and so a thousand times lower
    starts: Rows  # the first reading after each change


def find_switches(
    seconds: NDArray[np.int64], power: Array, *, interval: int
) -> UnitSwitches | None:
    """Return where the unit of a record changes, or None where it does not."""
    # Days are compared by their peaks. An outage also lowers them, but does not then follow the
    # course of the sun: the mean day of both parts must have the same shape.
    days = seconds // _DAY
    heads = np.flatnonzero(np.r_[True, np.diff(days) > 0])
    if len(heads) < 2 * _LEAST_DAYS:
        return None
    peaks = np.maximum.reduceat(power, heads)
    low_days = _low_days(peaks)
    if low_days is None:
        return None
    low = np.repeat(low_days, np.diff(np.r_[heads, len(power)]))
    slots = ((seconds % _DAY) // interval).astype(np.int64)
    high_shape, low_shape = (_mean_day(power[part], slots[part]) for part in (~low, low))
    if not _same_shape(high_shape, low_shape):
        return None
    low = _sharpen(low, heads, power=power, shape=high_shape[slots])
    return UnitSwitches(low, np.flatnonzero(np.diff(low)) + 1)


def may_switch(peaks: Array) -> bool:
    """Return whether the peaks of days alone would let a unit change on the way."""
    return _low_days(peaks) is not None


def repair_switches(power: Array, switches: UnitSwitches) -> Array:
    """Return the record in the unit of its longer part."""
    if switches.low.mean() > 0.5:
        return np.where(switches.low, power, power / 1000.0)
    return np.where(switches.low, power * 1000.0, power)


def _low_days(peaks: Array) -> Mask | None:
    """Return which days belong to stretches a thousand times lower, or None without any."""
    bright = peaks > 0.0
    if bright.sum() < 2 * _LEAST_DAYS:
        return None
    levels = np.log10(np.where(bright, peaks, 1.0))
    ordered = np.sort(levels[bright])
    if ordered[-1] - ordered[0] < np.log10(FACTORS[0]):
        return None
    gaps = np.diff(ordered)
    cut = float(ordered[gaps.argmax()] + gaps.max() / 2)
    low = _smoothed(np.where(bright, levels < cut, False), bright)
    counted = [(low & bright).sum(), (~low & bright).sum()]
    if min(counted) < _LEAST_DAYS:
        return None
    ratio = 10.0 ** (np.median(levels[~low & bright]) - np.median(levels[low & bright]))
    return low if FACTORS[0] <= ratio <= FACTORS[1] else None


def _smoothed(low: Mask, bright: Mask) -> Mask:
    """Give days without light, and stretches of a day or two, to the stretch before them."""
    position = np.flatnonzero(bright)
    known = low[position]
    edges = np.flatnonzero(np.r_[True, known[1:] != known[:-1], True])
    for start, end in pairwise(edges):
        if end - start < _LEAST_DAYS and end < len(known):
            known[start:end] = known[start - 1] if start else known[end]
        elif end - start < _LEAST_DAYS and start:
            known[start:end] = known[start - 1]
    before = np.searchsorted(position, np.arange(len(low)), side="right") - 1
    return np.asarray(known[np.maximum(before, 0)])


def _mean_day(power: Array, slots: NDArray[np.int64]) -> Array:
    size = int(slots.max()) + 1
    sums = np.bincount(slots, weights=np.maximum(power, 0.0), minlength=size)
    return np.asarray(sums / np.maximum(np.bincount(slots, minlength=size), 1))


def _same_shape(first: Array, second: Array) -> bool:
    size = max(len(first), len(second))
    ours, theirs = (np.pad(each, (0, size - len(each))) for each in (first, second))
    if ours.std() == 0.0 or theirs.std() == 0.0:
        return False
    return bool(np.corrcoef(ours, theirs)[0, 1] > 0.8)


def _sharpen(low: Mask, heads: Rows, *, power: Array, shape: Array) -> Mask:
    """Move each change from midnight to the reading where it happened."""
    # Around a change, every place to cut costs the readings it leaves on the wrong side of the
    # geometric middle between the two units; the cheapest is taken.
    sharp = low.copy()
    wrong = np.where(
        (power > 0.0) & (shape > 0.01 * shape.max()), np.sign(power - shape / 31.6), 0.0
    )
    for change in np.flatnonzero(np.diff(low)) + 1:
        place = int(np.searchsorted(heads, change))
        start = int(heads[place - 1])
        end = int(heads[place + 1]) if place + 1 < len(heads) else len(low)
        # +1 speaks for the high unit: with a high part after, the cut is where the sum turns.
        to_high = bool(low[change - 1])
        course = np.r_[0.0, np.cumsum(wrong[start:end])] * (1.0 if to_high else -1.0)
        tied = start + np.flatnonzero(course == course.min())
        # In the dark every place is as good: midnight then, or the middle of the night.
        cut = int(change if change in tied else tied[len(tied) // 2])
        sharp[start:cut], sharp[cut:end] = to_high, not to_high
    return sharp


# What loggers write for "nothing came", and the same after somebody divided by 1000.
SENTINELS = (-999.0, -9999.0, -99999.0, -32768.0, -0.999, -9.999, -99.999, -32.768)

# More than any plant gives, and little enough that sums of readings stay finite. [any unit]
_LARGEST = 1e12

# Impossible spikes: above this factor times the quantile at this share. [factor, share]
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
            ~infinite, f"{note} {name_rows(readings.rows[infinite])}, dropped."
        )
    missing: Mask = np.any(np.isnan(readings.columns), axis=0)
    if missing.all():
        raise MeterError(f"{readings.where} has no reading that is a number")
    if missing.any():
        readings = readings.keep(~missing, f"{count(int(missing.sum()), 'empty reading')} dropped.")
    sentinel = np.any([_is_stand_in(power) for power in readings.columns], axis=0)
    if sentinel.any():
        note = f"{count(int(sentinel.sum()))} that a logger writes for missing, dropped."
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
    """Apply every rule to readings in kW on their grid."""
    if not readings.power.any():
        raise MeterError(f"{readings.where} has only zeros: check that this is a generation meter")
    turnable = not (options.negate or sign_known or options.export_column is not None)
    readings = tell_net(readings, turnable=turnable, interval=interval)
    readings = settle_units(readings, UnitSwitch(options.unit_switch), interval=interval)
    readings = mend_negatives(drop_spikes(readings))
    readings = drop_stuck(readings, interval=interval)
    return note_gaps(readings, interval=interval)


def settle_units(readings: RawReadings, policy: UnitSwitch, *, interval: int) -> RawReadings:
    """Refuse or repair a record that changes its unit."""
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
            " correct the file, or set option `unit_switch` to repair"
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
    return readings.keep(~wild, f"{note}, dropped.")


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
        ~stuck, f"{note} {count(int(runs.sum()), 'stretch', 'stretches')} {place} dropped."
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
