"""Timestamps to evenly spaced UTC intervals; duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sunveil.errors import MeterError
from sunveil.meters.numbers_and_dates import Rows, count, name_rows, percent
from sunveil.meters.reading_options import Duplicates, name_offset, parse_timezone
from sunveil.meters.record import Label

Micros = NDArray[np.int64]
MINUTE = 60_000_000

# No clock is further from the sun: Beijing's time in the west of China is three hours off. [h]
FARTHEST = 3.0

# An offset that fewer stamps carry is a slip. [share]
_SLIP = 0.01

# What these say of a place is nothing.
_UNIVERSAL = frozenset({"UTC", "UCT", "GMT", "GMT0", "GMT+0", "GMT-0", "UNIVERSAL", "ZULU"})

# Meters with a clock are younger, and a wrong century is what a misread date looks like.
_EARLIEST, _LATEST = (
    int(np.datetime64(f"{year}-01-01", "us").astype(np.int64)) for year in (1980, 2101)
)


@dataclass(frozen=True, slots=True, eq=False)
class Stamps:
    """The stamps of one system as its source gives them."""

    wall: Micros  # [µs] what the clock showed, as microseconds since 1970 on that clock
    offset: NDArray[np.float64]  # [min]
    zone: str | None = None  # the name of the clock, where the source states it beside the stamps
    whole_days: bool = False

    def keep(self, which: NDArray[np.bool_] | Rows) -> Stamps:
        """Return some of the stamps."""
        return Stamps(self.wall[which], self.offset[which], self.zone, self.whole_days)

    def of_days(self, minutes: Sequence[float]) -> Stamps:
        """Return the stamps of days as those of what the clock shows on each. [min]"""
        wall, size = np.repeat(self.wall, len(minutes)), len(self.wall)
        shown = np.tile((np.asarray(minutes) * MINUTE).astype(np.int64), size)
        wall = np.where(wall == _NAT, _NAT, np.where(wall == _NAT, 0, wall) + shown)
        return Stamps(wall, np.repeat(self.offset, len(minutes)), self.zone, True)


@dataclass(frozen=True, slots=True, eq=False)
class Instants:
    """Instants in UTC, the name of the clock they were read from, and what was done."""

    # `skipped` are stamps of hours that the clock skips, in a table that has a column for them.

    utc: Micros
    timezone: str
    notes: tuple[str, ...] = ()
    skipped: NDArray[np.bool_] | None = None


def hours_apart(zone: str, longitude: ArrayLike) -> NDArray[np.float64]:
    """Return how far a clock is from the sun, the shorter way round. [h]"""
    # Daylight saving does not count. UTC may be used anywhere and says nothing of a place: it is
    # infinitely far.
    sun = np.asarray(longitude, dtype=np.float64) / 15.0
    ahead = _hours_ahead(zone)
    if ahead is None:
        return np.full_like(sun, np.inf)
    return np.asarray(np.abs((ahead - sun + 12.0) % 24.0 - 12.0))


def clock_elsewhere(zone: str, longitude: float, *, slack: float = 0.0) -> str | None:
    """Return why a clock cannot be that of a place, None where it can."""
    apart = float(hours_apart(zone, longitude))
    if apart <= FARTHEST + slack or np.isinf(apart):
        return None
    said = f"its clock, {zone}, is {apart:.1f} hours from the sun at longitude {longitude:.7g}"
    if hours_apart(zone, -longitude) <= FARTHEST:
        return f"{said}: did you mean longitude {-longitude:.7g}?"
    return f"{said}: check the longitude and the time zone"


@lru_cache(maxsize=1024)
def _hours_ahead(zone: str) -> float | None:
    """Return how far a clock is ahead of UTC outside daylight saving, None for UTC itself. [h]"""
    parsed, name = parse_timezone(zone)
    if name.upper().rpartition("/")[2] in _UNIVERSAL:
        return None
    seasons = [datetime(2024, month, 15, tzinfo=UTC).astimezone(parsed) for month in (1, 7)]
    return min((each.utcoffset() or timedelta(0)) / timedelta(hours=1) for each in seasons)


def to_utc(
    stamps: Stamps, rows: Rows, *, timezone: str | None, label: Label, where: str
) -> Instants:
    """Return the instants that stamps name."""
    _refuse_far_years(stamps.wall, rows, where)
    naive = np.isnan(stamps.offset)
    if naive.all():
        return _localise(stamps, rows, timezone=timezone, label=label, where=where)
    if naive.any():
        raise MeterError(
            f"{where} has times without a UTC offset at {name_rows(rows[naive])} and with one"
            " elsewhere; write them all the same way"
        )
    utc = stamps.wall - (stamps.offset * MINUTE).astype(np.int64)
    return _named(utc, stamps, timezone)


def _refuse_far_years(wall: Micros, rows: Rows, where: str) -> None:
    far = (wall < _EARLIEST) | (wall >= _LATEST)
    if far.any():
        raise MeterError(
            f"{where} has times before 1980 or after 2100 at {name_rows(rows[far])};"
            " check how its dates are written (option `time_format`)"
        )


def _named(utc: Micros, stamps: Stamps, declared: str | None) -> Instants:
    """Name the clock of stamps that carry their own offsets."""
    offsets, rows = np.unique(stamps.offset, return_counts=True)
    same = len(offsets) == 1
    # where daylight is saved, the other of both is an hour ahead
    standard = offsets[rows >= _SLIP * len(stamps.offset)].min()
    own = stamps.zone or name_offset(float(standard))
    if declared is None:
        return Instants(utc, own)
    zone, name = parse_timezone(declared)
    if stamps.zone is not None:
        # A stored zone is a choice of display, its instants are UTC: nothing contradicts.
        return Instants(utc, name)
    local = pd.DatetimeIndex(utc.view("M8[us]")).tz_localize("UTC").tz_convert(zone)
    shown = local.tz_localize(None).to_numpy().astype("M8[us]").view(np.int64)
    if (shown == stamps.wall).all():
        return Instants(utc, name)
    carried = own if same else "several offsets"
    return Instants(
        utc,
        own,
        (f"The stamps carry {carried}, which was kept over the declared timezone {name}.",),
    )


def _localise(
    stamps: Stamps, rows: Rows, *, timezone: str | None, label: Label, where: str
) -> Instants:
    wall = stamps.wall
    if timezone is None:
        raise MeterError(
            f"{where} has times without a UTC offset: name its clock with option `timezone`,"
            " such as UTC, UTC-07:00 or America/Denver"
        )
    zone, name = parse_timezone(timezone)
    fixed = zone.utcoffset(None)
    if fixed is not None:
        return Instants(wall - fixed // timedelta(microseconds=1), name)
    early = _wall_to_utc(wall, zone, daylight=True)
    late = _wall_to_utc(wall, zone, daylight=False)
    skipped = early == _NAT
    if skipped.any() and stamps.whole_days:
        kept = _localise(
            stamps.keep(~skipped), rows[~skipped], timezone=timezone, label=label, where=where
        )
        utc = np.zeros(len(wall), dtype=np.int64)
        utc[~skipped] = kept.utc
        return Instants(utc, kept.timezone, kept.notes, skipped)
    if skipped.any():
        early, late = _place_skipped(
            early, late, wall, zone, label=label, rows=rows, where=where, name=name
        )
    second = _second_passes(wall, early != late)
    once = (early != late).any() and not second.any()
    notes = (
        ("The hour that the clock repeats in autumn is there once; it was taken as the first.",)
        if once
        else ()
    )
    return Instants(np.where(second, late, early), name, notes)


_NAT = np.iinfo(np.int64).min


def _wall_to_utc(wall: Micros, zone: tzinfo, *, daylight: bool) -> Micros:
    index = pd.DatetimeIndex(wall.view("M8[us]")).tz_localize(
        zone, ambiguous=np.full(len(wall), daylight), nonexistent="NaT"
    )
    return index.tz_convert("UTC").tz_localize(None).to_numpy().astype("M8[us]").view(np.int64)


def _place_skipped(
    early: Micros,
    late: Micros,
    wall: Micros,
    zone: tzinfo,
    *,
    label: Label,
    rows: Rows,
    where: str,
    name: str,
) -> tuple[Micros, Micros]:
    """Place stamps that the clock skips in spring, where that can be done."""
    # The end of the last interval before the change is often written as the skipped hour's first
    # instant, which is the same instant as the one the clock jumps to.
    skipped = np.flatnonzero(early == _NAT)
    before = _wall_to_utc(wall[skipped] - 1, zone, daylight=True)
    misplaced = skipped[(before == _NAT) | (label is not Label.END)]
    if len(misplaced):
        raise MeterError(
            f"{where} has times that clocks in {name} skip in spring, at"
            f" {name_rows(rows[misplaced])}; if its clock keeps standard time all year, give"
            " option `timezone` as an offset such as UTC-07:00"
        )
    early, late = early.copy(), late.copy()
    early[skipped] = late[skipped] = before + 1
    return early, late


def _second_passes(wall: Micros, ambiguous: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which stamps of the repeated hour belong to its second pass, by the order of rows."""
    # In a file in the order of time, the second pass starts where the clock steps back. Elsewhere
    # the second of two equal stamps is the later one.
    second = np.zeros(len(wall), dtype=bool)
    where = np.flatnonzero(ambiguous)
    if not len(where):
        return second
    if len(wall) > 1 and np.median(np.diff(wall)) < 0:
        return _second_passes(wall[::-1], ambiguous[::-1])[::-1]
    steps_back = np.diff(wall) <= 0
    if not (steps_back & ~(ambiguous[1:] & ambiguous[:-1])).any():
        starts = np.r_[True, np.diff(where) > 1]
        back = np.r_[False, np.diff(wall[where]) <= 0] & ~starts
        run = np.cumsum(starts) - 1
        before = np.cumsum(back)
        second[where] = before > before[np.flatnonzero(starts)][run]
        return second
    order = where[np.argsort(wall[where], kind="stable")]
    repeated = np.r_[False, np.diff(wall[order]) == 0]
    second[order[repeated]] = True
    return second


Mask = NDArray[np.bool_]

# More off-grid readings than this are another spacing, not a logger's hiccup.
_STRAYS = 0.01

# As many equal steps in a row, of another length than the usual one, are another spacing.
SUSTAINED = 48


@dataclass(frozen=True, slots=True, eq=False)
class RawReadings:
    """Readings on their way to a record, in the order of time."""

    seconds: NDArray[np.int64]  # [s since 1970, UTC]
    power: NDArray[np.float64]  # [the unit of the source, then kW] the readings
    rows: Rows  # the row of the source that each came from
    where: str  # the name of the source, for messages
    notes: tuple[str, ...] = ()  # what was done so far
    net: bool = False  # whether they are of a net meter
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
        # some exports write what is given to the grid with a minus
        return replace(self, power=np.abs(self.power) - np.abs(self.imported), imported=None)


def find_interval(readings: RawReadings, remedy: str = "") -> int:
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
    _refuse_second_spacing(minutes, usual, readings.rows[1:][apart], where, remedy)
    return usual * 60


def to_longer_spacing(
    readings: RawReadings, *, label: Label | None, of_energy: bool, declared_minutes: float | None
) -> RawReadings:
    """Average stretches of short intervals to the longer ones of the rest."""
    minutes = np.rint(np.diff(readings.seconds) / 60.0).astype(np.int64)
    edges = np.flatnonzero(np.r_[True, minutes[1:] != minutes[:-1], True])
    spacings = np.unique(minutes[edges[:-1][np.diff(edges) >= SUSTAINED]])
    if label not in (Label.START, Label.END) or len(spacings) != 2 or (minutes < 1).any():
        return readings
    short, long = (int(each) for each in spacings)
    if long > 60 or long % short or declared_minutes not in (None, long):
        return readings
    step = 60 * long
    gaps = np.r_[0, minutes], np.r_[minutes, 0]
    own, other = gaps[::-1] if label is Label.START else gaps  # its interval, and the one beside it
    is_short = (own == short) | ((other == short) & (own != long))
    phases, sizes = np.unique(readings.seconds[~is_short] % step, return_counts=True)
    since = np.rint((readings.seconds - phases[sizes.argmax()]) / 60.0).astype(np.int64)
    block = since // long if label is Label.START else -(-since // long)
    first = np.flatnonzero(np.diff(block, prepend=block[0] - 1))
    counts = np.diff(np.r_[first, len(block)])
    shorts = np.add.reduceat(is_short.astype(np.int64), first)
    whole = ((counts == 1) & (shorts == 0)) | ((shorts == long // short) & (shorts == counts))
    sums = np.add.reduceat(readings.columns, first, axis=1) / (1 if of_energy else counts)
    note = f"Readings {short} minutes apart were averaged to {long} minutes."
    kept = readings.keep(first[whole], note).with_columns(*sums[:, whole])
    return replace(kept, seconds=phases[sizes.argmax()] + step * block[first[whole]])


def _refuse_second_spacing(
    minutes: NDArray[np.int64], usual: int, rows: Rows, where: str, remedy: str
) -> None:
    edges = np.flatnonzero(np.r_[True, minutes[1:] != minutes[:-1], True])
    lengths = np.diff(edges)
    other = np.flatnonzero((lengths >= SUSTAINED) & (minutes[edges[:-1]] != usual))
    if len(other):
        stretch = slice(edges[other[0]], edges[other[0] + 1])
        raise MeterError(
            f"{where} has readings {usual} minutes apart, but {minutes[stretch][0]} minutes apart"
            f" at {name_rows(rows[stretch])}; {remedy}bring it to one spacing, or split it into two"
            " files"
        )


def snap(readings: RawReadings, interval: int, *, fraction: float) -> RawReadings:
    """Bring stamps that waver by some seconds onto the grid of interval starts."""
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
        ~stray, f"{left} off the even spacing, among {name_rows(readings.rows[stray])}, dropped."
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
    """Leave one reading per time; of different ones for one time, ``policy`` chooses."""
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
            f" {name_rows(readings.rows[tears])}; set option `duplicates` to"
            " mean, first or last; if it holds several systems, name the column of systems with"
            " option `system_column`; if its clock follows daylight saving, name it with option"
            " `timezone`"
        )
    sizes = np.diff(np.r_[heads, len(readings)])
    note = (
        f"{count(int(torn.sum()), 'time')} with different readings, among"
        f" {name_rows(readings.rows[tears])}, resolved by the {policy.value} of them"
        f" ({percent(int(torn.sum()), len(heads))} of the record)."
    )
    if policy is Duplicates.MEAN:
        means = np.add.reduceat(readings.columns, heads, axis=1) / sizes
        return readings.keep(heads, note).with_columns(*means)
    chosen = heads if policy is Duplicates.FIRST else heads + sizes - 1
    return readings.keep(chosen, note)


def merge_by_time(readings: RawReadings, policy: Duplicates) -> RawReadings:
    """Leave one reading per time and no blank, whatever the readings say."""
    # Only times decide whether one is there twice: rows without a reading count too.
    again = np.r_[False, np.diff(readings.seconds) == 0]
    if again.any() and policy is Duplicates.REFUSE:
        raise MeterError(
            f"{readings.where} has more than one row for the same time at"
            f" {name_rows(readings.rows[again])}; set option `duplicates` to"
            " mean, first or last; if it holds several systems, name the column of systems with"
            " option `system_column`"
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
