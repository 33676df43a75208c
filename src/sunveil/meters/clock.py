"""From the stamps in a file to instants in UTC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sunveil.errors import MeterError, ask
from sunveil.meters.options import name_offset, parse_timezone
from sunveil.meters.record import Label
from sunveil.meters.wording import Rows, name_rows

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
    """The stamps of one system as its source gives them.

    Parameters
    ----------
    wall
        What the clock showed, as microseconds since 1970 on that clock. [µs]
    offset
        How far each stamp says that its clock is ahead of UTC, NaN where it does not say. [min]
    zone
        The name of the clock, where the source states it beside the stamps.
    whole_days
        Whether a table has a column for every hour of every day, also for those that the clock
        skips in spring.
    """

    wall: Micros
    offset: NDArray[np.float64]
    zone: str | None = None
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
    """Instants in UTC, the name of the clock they were read from, and what was done.

    ``skipped`` are stamps of hours that the clock skips, in a table that has a column for them.
    """

    utc: Micros
    timezone: str
    notes: tuple[str, ...] = ()
    skipped: NDArray[np.bool_] | None = None


def hours_apart(zone: str, longitude: ArrayLike) -> NDArray[np.float64]:
    """Return how far a clock is from the sun, the shorter way round. [h]

    Daylight saving does not count. UTC may be used anywhere and says nothing of a place: it is
    infinitely far.

    Parameters
    ----------
    zone
        The name of the clock.
    longitude
        Where the sun is seen. [degrees east]
    """
    sun = np.asarray(longitude, dtype=np.float64) / 15.0
    ahead = _hours_ahead(zone)
    if ahead is None:
        return np.full_like(sun, np.inf)
    return np.asarray(np.abs((ahead - sun + 12.0) % 24.0 - 12.0))


def clock_elsewhere(zone: str, longitude: float, *, slack: float = 0.0) -> str | None:
    """Return why a clock cannot be that of a place, None where it can.

    Parameters
    ----------
    zone
        The name of the clock.
    longitude
        The place. [degrees east]
    slack
        How much further off it may be. [h]
    """
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
    """Return the instants that stamps name.

    Parameters
    ----------
    stamps
        The stamps, in the order of the file.
    rows
        The row of each stamp, for messages.
    timezone
        The declared clock, needed for stamps that carry no offset.
    label
        Which instant of its interval a stamp names.
    where
        The name of the source, for messages.
    """
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
            f" check how its dates are written ({ask('time_format')})"
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
            f"{where} has times without a UTC offset: name its clock with {ask('timezone')},"
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
    """Place stamps that the clock skips in spring, where that can be done.

    The end of the last interval before the change is often written as the skipped hour's first
    instant, which is the same instant as the one the clock jumps to.
    """
    skipped = np.flatnonzero(early == _NAT)
    before = _wall_to_utc(wall[skipped] - 1, zone, daylight=True)
    misplaced = skipped[(before == _NAT) | (label is not Label.END)]
    if len(misplaced):
        raise MeterError(
            f"{where} has times that clocks in {name} skip in spring, at"
            f" {name_rows(rows[misplaced])}; if its clock keeps standard time all year, give"
            f" {ask('timezone')} as an offset such as UTC-07:00"
        )
    early, late = early.copy(), late.copy()
    early[skipped] = late[skipped] = before + 1
    return early, late


def _second_passes(wall: Micros, ambiguous: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which stamps of the repeated hour belong to its second pass, by the order of rows.

    In a file in the order of time, the second pass starts where the clock steps back. Elsewhere
    the second of two equal stamps is the later one.
    """
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
