"""From instants to evenly spaced intervals: the spacing, the snapping and the duplicates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import MeterError, ask
from sunveil.meters.options import Duplicates
from sunveil.meters.wording import Rows, count, name_rows, percent

Mask = NDArray[np.bool_]
# More off-grid readings than this are another spacing, not a logger's hiccup.
_STRAYS = 0.01
# As many equal steps in a row, of another length than the usual one, are another spacing.
SUSTAINED = 48


@dataclass(frozen=True, slots=True, eq=False)
class RawReadings:
    """Readings on their way to a record, in the order of time.

    Parameters
    ----------
    seconds
        When: the stamp first, the start of the interval once on the grid. [s since 1970, UTC]
    power
        The readings. [the unit of the source, then kW]
    rows
        The row of the source that each came from.
    where
        The name of the source, for messages.
    notes
        What was done so far.
    net
        Whether they are of a net meter.
    imported
        What was taken from the grid, beside ``power`` as what was given to it, until the one is
        taken from the other; None where ``power`` is all there is.
    """

    seconds: NDArray[np.int64]
    power: NDArray[np.float64]
    rows: Rows
    where: str
    notes: tuple[str, ...] = ()
    net: bool = False
    imported: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.power)

    def keep(self, which: Mask | Rows, *notes: str) -> RawReadings:
        """Return some of the readings, with notes on why."""
        return replace(
            self,
            seconds=self.seconds[which],
            power=self.power[which],
            rows=self.rows[which],
            imported=None if self.imported is None else self.imported[which],
            notes=(*self.notes, *notes),
        )

    def with_power(self, power: NDArray[np.float64], *notes: str) -> RawReadings:
        """Return the readings with other values, with notes on why."""
        return replace(self, power=power, notes=(*self.notes, *notes))

    @property
    def columns(self) -> tuple[NDArray[np.float64], ...]:
        """What was given to the grid and, where it was counted apart, what was taken from it."""
        return (self.power,) if self.imported is None else (self.power, self.imported)

    def with_columns(self, *columns: NDArray[np.float64]) -> RawReadings:
        """Return the readings with other values in each of their columns."""
        return replace(self, power=columns[0], imported=columns[1] if columns[1:] else None)

    def netted(self) -> RawReadings:
        """Return what was given to the grid less what was taken from it, row by row."""
        if self.imported is None:
            return self
        return replace(self, power=self.power - self.imported, imported=None)


def find_interval(readings: RawReadings) -> int:
    """Return the usual spacing of sorted readings, in seconds."""
    where = readings.where
    steps = np.diff(readings.seconds)
    apart = steps > 0
    if not apart.any():
        raise MeterError(
            f"{where} has readings at fewer than two times, which shows no interval;"
            " give a longer record"
        )
    minutes = np.minimum(np.rint(steps[apart] / 60.0).astype(np.int64), 1441)
    usual = int(np.bincount(minutes).argmax())
    if usual == 0:
        raise MeterError(
            f"{where} has readings less than a minute apart; average them to 1 to 60 minutes first"
        )
    if usual > 60:
        raise MeterError(
            f"{where} has readings more than an hour apart; Sunveil needs one every 1 to 60 minutes"
        )
    _refuse_second_spacing(minutes, usual, readings.rows[1:][apart], where)
    return usual * 60


def _refuse_second_spacing(minutes: NDArray[np.int64], usual: int, rows: Rows, where: str) -> None:
    edges = np.flatnonzero(np.r_[True, minutes[1:] != minutes[:-1], True])
    lengths = np.diff(edges)
    other = np.flatnonzero((lengths >= SUSTAINED) & (minutes[edges[:-1]] != usual))
    if len(other):
        stretch = slice(edges[other[0]], edges[other[0] + 1])
        raise MeterError(
            f"{where} has readings {usual} minutes apart, but {minutes[stretch][0]} minutes apart"
            f" at {name_rows(rows[stretch])}; bring it to one spacing, or split it into two files"
        )


def snap(readings: RawReadings, interval: int, *, fraction: float) -> RawReadings:
    """Bring stamps that waver by some seconds onto the grid of interval starts.

    Parameters
    ----------
    readings
        Sorted readings, stamped.
    interval
        Length of an interval. [s]
    fraction
        Where in its interval a stamp stands: 0 at the start, 1 at the end.
    """
    starts = readings.seconds - round(fraction * interval)
    phase = _phase(starts, interval)
    slots = np.floor_divide(starts - phase + interval // 2, interval)
    placed = phase + slots * interval
    stray = np.abs(starts - placed) > max(10, 0.05 * interval)
    snapped = replace(readings, seconds=placed)
    if not stray.any():
        return snapped
    if stray.mean() > _STRAYS:
        raise MeterError(
            f"{readings.where} has readings {interval // 60} minutes apart, but at other times than"
            f" that at {name_rows(readings.rows[stray])}; bring it to one even spacing first"
        )
    left = count(int(stray.sum()))
    return snapped.keep(
        ~stray, f"{left} off the even spacing, among {name_rows(readings.rows[stray])}, left out."
    )


def _phase(starts: NDArray[np.int64], interval: int) -> int:
    """Return how far after whole multiples of the interval most starts are, in seconds."""
    rest = starts % interval
    common = int(np.bincount(rest).argmax())
    around = (rest - common + interval // 2) % interval - interval // 2
    phase = common + int(np.median(around))
    minute = round(phase / 60) * 60
    return (minute if abs(phase - minute) <= 10 else phase) % interval


def merge_duplicates(readings: RawReadings, policy: Duplicates) -> RawReadings:
    """Leave one reading per time; different ones for one time are settled by ``policy``."""
    fresh = np.r_[True, np.diff(readings.seconds) > 0]
    if fresh.all():
        return readings
    heads = np.flatnonzero(fresh)
    low = np.minimum.reduceat(readings.columns, heads, axis=1)
    high = np.maximum.reduceat(readings.columns, heads, axis=1)
    # At night two readings of a meter's own noise may differ: nothing hangs on which one stays.
    dark = 0.005 * max(float(np.quantile(readings.power, 0.99)), 0.0)
    torn: Mask = np.any((high > low) & (readings.net | (high > dark)), axis=0)
    extra = len(readings) - len(heads)
    if not torn.any():
        note = f"{count(extra)} repeated, among {name_rows(readings.rows[~fresh])}, dropped."
        return readings.keep(heads, note)
    tears = torn[np.cumsum(fresh) - 1]
    if policy is Duplicates.REFUSE:
        raise MeterError(
            f"{readings.where} has different readings for the same time at"
            f" {name_rows(readings.rows[tears])}; choose one with"
            f" {ask('duplicates', 'mean')}, first or last; if it holds several systems, name the"
            f" column that tells them apart with {ask('system_column')}; if its clock follows"
            f" daylight saving, name it with {ask('timezone')}"
        )
    sizes = np.diff(np.r_[heads, len(readings)])
    note = (
        f"{count(int(torn.sum()), 'time')} with different readings, among"
        f" {name_rows(readings.rows[tears])}, settled by the {policy.value} of them"
        f" ({percent(int(torn.sum()), len(heads))} of the record)."
    )
    if policy is Duplicates.MEAN:
        means = np.add.reduceat(readings.columns, heads, axis=1) / sizes
        return readings.keep(heads, note).with_columns(*means)
    chosen = heads if policy is Duplicates.FIRST else heads + sizes - 1
    return readings.keep(chosen, note)


def merge_by_time(readings: RawReadings, policy: Duplicates) -> RawReadings:
    """Leave one reading per time and no blank, whatever the readings say.

    Whether a time is there twice is told by the stamps alone: rows without a reading count too.
    """
    again = np.r_[False, np.diff(readings.seconds) == 0]
    if again.any() and policy is Duplicates.REFUSE:
        raise MeterError(
            f"{readings.where} has more than one row for the same time at"
            f" {name_rows(readings.rows[again])}; choose one with {ask('duplicates', 'mean')},"
            " first or last; if it holds several systems, name the column that tells them apart"
            f" with {ask('system_column')}"
        )
    missing: Mask = np.any(np.isnan(readings.columns), axis=0)
    if missing.all() and not readings.net:
        # Nothing to release is as private as anything else: zeros agree with no candidate. Of a
        # net meter a zero says something, and no reading at all is what says nothing.
        return readings.keep(~again).with_power(np.zeros(int((~again).sum())))
    readings = readings.keep(~missing)
    if not len(readings):
        return readings
    heads = np.flatnonzero(np.r_[True, np.diff(readings.seconds) > 0])
    sizes = np.diff(np.r_[heads, len(readings)])
    if policy is Duplicates.MEAN:
        means = np.add.reduceat(readings.columns, heads, axis=1) / sizes
        return readings.keep(heads).with_columns(*means)
    return readings.keep(heads if policy is Duplicates.FIRST else heads + sizes - 1)
