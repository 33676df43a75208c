"""From raw columns of one system to its record: the whole way, in order."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sunveil.meters.clock import Stamps, to_utc
from sunveil.meters.grid import RawReadings, find_interval, merge_by_time, merge_duplicates, snap
from sunveil.meters.options import Duplicates, MeterOptions, Unit
from sunveil.meters.quality import blank_each, clean, clean_each, drop_missing
from sunveil.meters.record import SHORT_INTERVAL, Cleaning, Label, Record
from sunveil.meters.wording import Rows


@dataclass(frozen=True, slots=True, eq=False)
class RawSystem:
    """One system as its source gives it.

    Parameters
    ----------
    system_id
        The curator's name of the system.
    where
        The name of the source, for messages.
    rows
        The row of each reading, from 1.
    stamps
        The stamps, in the order of the source.
    values
        The readings, NaN where empty. [``unit``]
    unit
        What the readings count.
    notes
        What was assumed so far.
    """

    system_id: str
    where: str
    rows: Rows
    stamps: Stamps
    values: NDArray[np.float64]
    unit: Unit
    notes: tuple[str, ...] = ()


def to_record(raw: RawSystem, options: MeterOptions) -> Record:
    """Return the record of a system, with every rule applied and noted."""
    known = options.known_label
    instants = to_utc(
        raw.stamps,
        raw.rows,
        timezone=options.timezone,
        label=known or Label.START,
        where=raw.where,
    )
    seconds = np.floor_divide(instants.utc + 500_000, 1_000_000)
    readings = RawReadings(
        seconds, raw.values, raw.rows, raw.where, notes=(*raw.notes, *instants.notes)
    )
    each = options.cleaning is Cleaning.EACH
    # Where a missing reading is as private as any other, all stamps decide spacing, grid and
    # duplicates: what is blank stays in its place until these are settled.
    readings = _sorted(blank_each(readings) if each else drop_missing(readings))
    interval = find_interval(readings)
    label = known or (Label.MIDDLE if interval < SHORT_INTERVAL else Label.START)
    readings = snap(readings, interval, fraction=label.fraction)
    readings = _to_kw(readings, raw.unit, interval=interval, negate=options.negate)
    duplicates = Duplicates(options.duplicates)
    ends = readings.seconds[[0, -1]].view("M8[s]")
    if each:
        readings = clean_each(merge_by_time(readings, duplicates))
    else:
        readings = clean(merge_duplicates(readings, duplicates), options, interval=interval)
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
    )


def _sorted(readings: RawReadings) -> RawReadings:
    back = np.diff(readings.seconds) < 0
    if not back.any():
        return readings
    order = np.argsort(readings.seconds, kind="stable")
    return readings.keep(order, "The rows were not in the order of time and were sorted.")


def _to_kw(readings: RawReadings, unit: Unit, *, interval: int, negate: bool) -> RawReadings:
    hours = interval / 3600 if unit.is_energy else 1.0
    factor = (-unit.kilo if negate else unit.kilo) / hours
    # Adding zero turns -0.0 into 0.0.
    return replace(readings, power=readings.power * factor + 0.0)
