"""One system's rows to its Record, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import MeterError
from sunveil.meters.numbers_and_dates import Rows
from sunveil.meters.quality_rules import blank_each, clean, clean_each, drop_missing
from sunveil.meters.reading_options import Duplicates, MeterOptions, Register, Unit, parse_instant
from sunveil.meters.record import SHORT_INTERVAL, Cleaning, Label, Record
from sunveil.meters.registers import differences, find_register
from sunveil.meters.time_steps import (
    RawReadings,
    Stamps,
    find_interval,
    merge_by_time,
    merge_duplicates,
    snap,
    to_longer_spacing,
    to_utc,
)


@dataclass(frozen=True, slots=True, eq=False)
class RawSystem:
    """One system as its source gives it."""

    system_id: str  # the curator's name of the system
    where: str  # the name of the source, for messages
    rows: Rows  # the row of each reading, from 1
    stamps: Stamps  # the stamps, in the order of the source
    values: NDArray[np.float64]  # [`unit`] the readings, NaN where empty
    unit: Unit  # what the readings count
    notes: tuple[str, ...] = ()  # what was assumed so far
    net: bool = False  # whether the source says that it is a net meter
    imported: NDArray[np.float64] | None = None  # [`unit`]
    unit_known: bool = True  # whether anybody said the unit

    def keep(self, which: NDArray[np.bool_]) -> RawSystem:
        """Return some of the rows."""
        return replace(
            self,
            rows=self.rows[which],
            stamps=self.stamps.keep(which),
            values=self.values[which],
            imported=None if self.imported is None else self.imported[which],
        )


def matched(first: RawSystem, other: RawSystem) -> NDArray[np.float64]:
    """Return the readings of one source at the stamps of another, NaN where it has none."""
    if first.unit.is_energy != other.unit.is_energy:
        raise MeterError(f"{first.where} counts one way in energy and the other in power")
    ours, theirs = _stamp_codes(first.stamps), _stamp_codes(other.stamps)
    order = np.argsort(theirs, kind="stable")
    place = np.minimum(np.searchsorted(theirs[order], ours), len(theirs) - 1)
    there = theirs[order][place] == ours
    if 2 * there.sum() < len(there):
        raise MeterError(
            f"{first.where} counts what is given to the grid and what is taken from it at different"
            " times: bring both to the same intervals"
        )
    scale = other.unit.kilo / first.unit.kilo
    with np.errstate(over="ignore"):  # what is too large is infinite, and missing like any other
        return np.where(there, other.values[order][place] * scale, np.nan)


def added_up(parts: Sequence[RawSystem]) -> RawSystem:
    """Return the sum of the tariffs of one register."""
    # Where they are counted at the same times, a time without one of them has no sum; otherwise
    # each time has the tariff that holds then.
    first = parts[0]
    if len({each.unit.is_energy for each in parts}) > 1:
        raise MeterError(f"{first.where} counts one tariff in energy and another in power")
    codes = np.concatenate([_stamp_codes(each.stamps) for each in parts])
    values = np.concatenate([each.values * (each.unit.kilo / first.unit.kilo) for each in parts])
    _, at, place = np.unique(codes, return_index=True, return_inverse=True)
    sums = np.bincount(place, values).astype(np.float64)
    counts = np.bincount(place)
    if 2 * (counts > 1).sum() > len(counts):
        sums[counts < len(parts)] = np.nan
    wall, offset = (
        np.concatenate([getattr(each.stamps, name) for each in parts])[at]
        for name in ("wall", "offset")
    )
    rows = np.concatenate([each.rows for each in parts])[at]
    return replace(
        first, rows=rows, stamps=replace(first.stamps, wall=wall, offset=offset), values=sums
    )


def _stamp_codes(stamps: Stamps) -> NDArray[np.int64]:
    """Return a number for each stamp, and for which time in a row it is there."""
    ahead = np.where(np.isnan(stamps.offset), 0.0, stamps.offset) * 60e6
    instants = stamps.wall - ahead.astype(np.int64)
    order = np.argsort(instants, kind="stable")
    fresh = np.r_[True, np.diff(instants[order]) > 0]
    since = np.arange(len(order)) - np.maximum.accumulate(np.where(fresh, np.arange(len(order)), 0))
    again = np.empty(len(order), dtype=np.int64)
    again[order] = np.minimum(since, 15)
    return instants * 16 + again


def to_record(raw: RawSystem, options: MeterOptions) -> Record:
    """Return the record of a system, with every rule applied and noted."""
    known = options.known_label
    raw = _within_span(raw, options)
    instants = to_utc(
        raw.stamps, raw.rows, timezone=options.timezone, label=known or Label.START, where=raw.where
    )
    seconds = np.floor_divide(instants.utc + 500_000, 1_000_000)
    readings = RawReadings(
        seconds,
        raw.values,
        raw.rows,
        raw.where,
        (*raw.notes, *instants.notes),
        raw.net or options.net,
        raw.imported,
    )
    if instants.skipped is not None:
        readings = readings.keep(~instants.skipped)
    each = options.declared_only
    # Where a missing reading is as private as any other, all stamps decide spacing, grid and
    # duplicates: what is blank stays in its place until these are known.
    readings = _sorted(blank_each(readings) if each else drop_missing(readings), noted=not each)
    register = find_register(readings, options, raw.unit)
    if not each and register is Register.NO:
        readings = to_longer_spacing(
            readings,
            label=known,
            of_energy=raw.unit.is_energy,
            declared_minutes=options.interval_minutes,
        )
    if options.interval_minutes is None:
        remedy = "give option `label` as start or end, " if known is None and not each else ""
        interval = find_interval(readings, remedy)
    else:
        interval = round(60 * options.interval_minutes)
    if register is Register.NO:
        readings = readings.netted()
    else:
        known = Label.END  # a count is of the instant of its stamp
    label = known or (Label.MIDDLE if interval < SHORT_INTERVAL else Label.START)
    readings = snap(readings, interval, fraction=label.fraction)
    duplicates = Duplicates(options.duplicates)
    ends = readings.seconds[[0, -1]].view("M8[s]")
    merge = merge_by_time if each else merge_duplicates
    readings = merge(readings, duplicates)
    if register is not Register.NO:
        readings = _differences(readings, register, interval=interval, each=each)
    negate = options.negate and raw.imported is None
    readings = _to_kw(readings, raw.unit, interval=interval, negate=negate)
    if each:
        readings = clean_each(readings)
    else:
        readings = clean(readings, options, interval=interval, sign_known=raw.imported is not None)
    return Record(
        system_id=raw.system_id,
        times=readings.seconds.view("M8[s]"),
        power_kw=readings.power,
        interval_minutes=interval / 60,
        timezone=instants.timezone,
        label=label,
        label_known=known is not None,
        notes=readings.notes,
        cleaning=Cleaning(options.cleaning),
        rows_span=(ends[0], ends[1]) if each else None,
        differenced=register is not Register.NO,
        net=readings.net,
        unit=raw.unit.value,
        unit_known=raw.unit_known and (each or _unit_is_sure(raw, options)),
    )


def _unit_is_sure(raw: RawSystem, options: MeterOptions) -> bool:
    """Return whether the unit was declared, or the readings do not speak against the header's."""
    # Loggers write watts without a decimal, and kilowatts of a home with several.
    if options.known_unit is not None:
        return True
    values = raw.values[np.isfinite(raw.values)]
    return bool((values != np.round(values)).any())


def _differences(
    readings: RawReadings, register: Register, *, interval: int, each: bool
) -> RawReadings:
    """Return the differences of a register; a release without any takes zeros."""
    found = differences(readings, register, interval=interval)
    if not len(found) and not each:
        raise MeterError(f"{readings.where} has no two counts of its register in a row")
    if len(found) or readings.net:
        return found
    return readings.with_power(np.zeros(len(readings)))


def _within_span(raw: RawSystem, options: MeterOptions) -> RawSystem:
    """Drop rows outside the declared span."""
    if options.first is None and options.last is None:
        return raw
    first, last = (parse_instant(name, getattr(options, name)) for name in ("first", "last"))
    wall = raw.stamps.wall.view("M8[us]")
    kept = np.ones(len(wall), dtype=bool)
    if first is not None:
        kept &= wall >= first
    if last is not None:
        kept &= wall <= last
    if not kept.any():
        raise MeterError(
            f"{raw.where} has no times within the span that is declared (options"
            " `first` and `last`)"
        )
    return raw.keep(kept)


def _sorted(readings: RawReadings, *, noted: bool) -> RawReadings:
    back = np.diff(readings.seconds) < 0
    if not back.any():
        return readings
    order = np.argsort(readings.seconds, kind="stable")
    # of a JSON file a reading may decide in which table of its system it comes
    notes = ("The rows were not in the order of time and were sorted.",) if noted else ()
    return readings.keep(order, *notes)


def _to_kw(readings: RawReadings, unit: Unit, *, interval: int, negate: bool) -> RawReadings:
    hours = interval / 3600 if unit.is_energy else 1.0
    factor = (-unit.kilo if negate else unit.kilo) / hours
    # Adding zero turns -0.0 into 0.0.
    return replace(readings, power=readings.power * factor + 0.0)
